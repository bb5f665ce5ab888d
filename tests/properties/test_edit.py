"""Properties of replacing a passage, for any text."""

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from agent.tools.edit import EditError, replace

# Few different pieces, so that passages repeat, overlap, and nearly match.
PIECES = st.sampled_from(
    [
        "a",
        "b",
        "a b",
        " ",
        "  ",
        "\t",
        "\n",
        "\r\n",
        "\r",
        "“",
        '"',
        "’",
        "—",
        "-",
        "ﬁ",
        "fi",
        "…",
        "\u00a0",
        "é",
        "漢",
        "1 | ",
    ]
)
TEXTS = st.lists(PIECES, max_size=24).map("".join)
PLAIN = st.lists(st.sampled_from(["a", "b", " ", "\n", "é"]), max_size=16).map("".join)
MARKS = st.sampled_from(["", "\ufeff"])


def flat(text: str) -> str:
    return text.replace("\r\n", "\n")


def overlapping(text: str, passage: str) -> int:
    return sum(text.startswith(passage, start) for start in range(len(text)))


@pytest.mark.requirement("edit.span")
@settings(max_examples=400)
@given(MARKS, TEXTS, TEXTS, TEXTS, TEXTS)
def test_everything_around_the_passage_is_kept(mark: str, before: str, old: str, after: str, new: str) -> None:
    # A carriage return of its own before a line break is none of it.
    assume("\r\r\n" not in new)
    content = f"{mark}{before}[{old}]{after}"
    try:
        edited = replace(content, f"[{old}]", f"<{new}>")
    except EditError:
        return
    assert edited.content.startswith(f"{mark}{before}<")
    assert edited.content.endswith(f">{after}")
    inside = edited.content[len(mark) + len(before) + 1 : len(edited.content) - len(after) - 1]
    assert flat(inside) == flat(new)


@pytest.mark.requirement("edit.span")
@settings(max_examples=400)
@given(MARKS, TEXTS, TEXTS, st.booleans())
def test_however_loosely_it_is_found_the_text_outside_is_kept(mark: str, content: str, old: str, by: bool) -> None:
    sign = "⟦" if by else "⟦⟧"
    content = mark + content
    try:
        edited = replace(content, old, sign)
    except EditError:
        return
    before, found, after = edited.content.partition(sign)
    assert found
    shifted = before.rstrip(" \t")
    assert content.startswith((before, shifted))
    assert content.endswith(after)
    assert len(shifted) + len(after) <= len(content)


@pytest.mark.requirement("edit.exact", "edit.unique")
@given(PLAIN, PLAIN.filter(bool), PLAIN)
def test_a_passage_that_is_there_is_replaced_if_and_only_if_it_is_there_once(content: str, old: str, new: str) -> None:
    assume(old != new)
    count = overlapping(content, old)
    if count == 1:
        edited = replace(content, old, new)
        assert edited.content == content.replace(old, new)
        assert edited.lines == (content[: content.index(old)].count("\n") + 1,)
    elif count > 1:
        with pytest.raises(EditError, match=f"{count} times"):
            replace(content, old, new)
    if count:
        edited = replace(content, old, new, replace_all=True)
        assert (edited.content, edited.count) == (content.replace(old, new), content.count(old))


@pytest.mark.requirement("edit.span")
@given(MARKS, PLAIN, PLAIN.filter(bool), PLAIN.filter(bool), st.sampled_from(["\n", "\r\n"]))
def test_the_reverse_of_an_edit_gives_the_text_back(mark: str, content: str, old: str, new: str, end: str) -> None:
    content = mark + content.replace("\n", end)
    try:
        edited = replace(content, old, new)
        # Only what was exactly there can come back as it was.
        assume(old in flat(content))
        back = replace(edited.content, new, old)
    except EditError:
        return
    # The end of the text may have stood for a line break.
    assume(new in flat(edited.content))
    assert flat(back.content) == flat(content)
    # Which kind of line break it had, no text without one can tell.
    assert back.content == content or end not in edited.content


@pytest.mark.requirement("edit.span")
@given(TEXTS, TEXTS, TEXTS, st.booleans())
def test_no_line_break_is_torn(content: str, old: str, new: str, everywhere: bool) -> None:
    assume("\r" not in content.replace("\r\n", "") and "\n" not in content.replace("\r\n", ""))
    assume("\r" not in flat(old) + flat(new))
    try:
        edited = replace(content, old, new, replace_all=everywhere)
    except EditError:
        return
    bare = edited.content.replace("\r\n", "")
    assert "\r" not in bare
    assert "\n" not in bare or "\r\n" not in content


@pytest.mark.requirement("edit.indent")
@given(
    st.lists(st.sampled_from(["a", "  b", "\tc", "", "d e"]), min_size=1, max_size=5).filter(any),
    st.sampled_from([" ", "    ", "\t"]),
)
def test_a_block_is_found_however_far_it_was_shifted(lines: list[str], blanks: str) -> None:
    shifted = [blanks + line if line else line for line in lines]
    marked = [f"{line}!" if line else line for line in lines]
    for here, there in ((lines, shifted), (shifted, lines)):
        content = "".join(f"{line}\n" for line in ("[", *here, "]"))
        new = marked if there is lines else [blanks + line if line else line for line in marked]
        old, new = ("".join(f"{line}\n" for line in each) for each in (there, new))
        edited = replace(f"{content}", f"{old}", f"{new}") if old not in content else None
        if edited is not None and len(old.strip().split("\n")) == len(lines):
            assert len(edited.content) == len(content) + sum(map(bool, lines))
