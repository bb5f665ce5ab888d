"""Replacing a passage that is there as it was given, or but for typography and blanks."""

import pytest

from agent.tools.edit import Edited, replace
from tests.agent.editing import failure

# Exactly


@pytest.mark.requirement("edit.exact", "tools.edit")
def test_a_unique_passage_is_replaced_and_told_with_its_line() -> None:
    assert replace("a\nb\nc\n", "b\n", "x\ny\n") == Edited(content="a\nx\ny\nc\n", count=1, lines=(2,))


@pytest.mark.requirement("edit.exact")
def test_replacements_are_literal() -> None:
    assert replace("f(x) = a.*b", "a.*b", r"\1 $1 \g<0>").content == r"f(x) = \1 $1 \g<0>"


@pytest.mark.requirement("edit.exact", "edit.span")
@pytest.mark.parametrize(
    ("content", "old", "new", "after"),
    [
        ("a\r\nb\r\nc\r\n", "a\nb", "x\ny", "x\r\ny\r\nc\r\n"),
        ("a\r\nb\r\n", "b", "x\ny", "a\r\nx\r\ny\r\n"),
        ("a\nb\n", "a\r\nb", "x\r\ny", "x\ny\n"),
        ("a\r\nb\nc\n", "b\nc", "x\ny", "a\r\nx\ny\n"),
        ("a\r\nb\nc\n", "a\nb\nc", "x\ny", "x\r\ny\n"),
        ("a\r\nb\nc", "c", "x\ny", "a\r\nb\nx\r\ny"),
        ("a\r\n\r\nb\r\n", "\n\n", "\n", "a\r\nb\r\n"),
        ("a\r\nb", "\nb", "\nc", "a\r\nc"),
        ("one line", "one", "1\n", "1\n line"),
        ("a\rb\r\n", "a\rb", "c", "c\r\n"),
        ("a\rb", "a\r", "c", "cb"),
        ("\ufeffa\r\n", "\ufeffa", "b\n", "\ufeffb\r\n\r\n"),
        ("\ufeffa\n", "a", "\ufeffb", "\ufeffb\n"),
        ("a \nb\n", "b", "c", "a \nc\n"),
    ],
)
def test_line_ends_and_marks_of_the_file_stay(content: str, old: str, new: str, after: str) -> None:
    assert replace(content, old, new).content == after


@pytest.mark.requirement("edit.exact", "edit.span")
def test_half_a_line_break_is_never_replaced() -> None:
    assert replace("q\na\r\n", "a\r", "b\r").content == "q\nb\r\n"
    assert replace("q\na\n", "a\r", "b\r").content == "q\nb\n"
    assert "not found" in failure("a\r\n", "a\r", replace_all=True)


@pytest.mark.requirement("edit.exact")
@pytest.mark.parametrize(
    ("content", "old", "new", "after"),
    [
        ("a\nb", "b\n", "c\n", "a\nc"),
        ("a\nb", "b\n", "c", "a\nc"),
        ("a\nb", "b\n", "c\n\n", "a\nc\n"),
        ("a\r\nb", "a\nb\n", "c\n", "c"),
        ("a\nb\na", "a\n", "c\n", "c\nb\na"),
        ("“b”  ", '"b"\n', "c\n", "c"),
        ("  a\n  b", "a\nb\n", "c\n", "  c"),
    ],
)
def test_a_line_break_at_the_end_may_be_the_end_of_the_file(content: str, old: str, new: str, after: str) -> None:
    assert replace(content, old, new).content == after


@pytest.mark.requirement("edit.exact")
@pytest.mark.parametrize(
    ("content", "old"),
    [("a\n", "a\n\n"), ("a", "\na"), ("a", "\n"), ("a", "a\n\n"), ("", "a"), ("ﬁ", "i\n")],
)
def test_no_other_line_break_is_dropped(content: str, old: str) -> None:
    assert "not found" in failure(content, old)


@pytest.mark.requirement("edit.exact")
def test_all_occurrences_are_replaced_from_left_to_right() -> None:
    assert replace("aaa\na", "aa", "b", replace_all=True) == Edited(content="ba\na", count=1, lines=(1,))
    edited = replace("x\r\nx\n", "x\n", "y\n", replace_all=True)
    assert (edited.content, edited.lines) == ("y\r\ny\n", (1, 2))
    assert replace("a a\na", "a", "b", replace_all=True).lines == (1, 1, 2)
    assert replace("a\na", "a\n", "b\n", replace_all=True).content == "b\na"
    assert replace("x\na", "a\n", "b\n", replace_all=True).content == "x\nb"
    assert replace("a\r\nb", "a\nb", "c\nd", replace_all=True).content == "c\r\nd"


@pytest.mark.requirement("edit.exact")
@pytest.mark.parametrize(
    ("content", "old"), [("“a”\n", '"a"'), ("  a\n  b\n", "a\nb"), ("a\n", "1 | a\n"), ("a \nb", "a\nb")]
)
def test_with_replace_all_only_the_exact_text_counts(content: str, old: str) -> None:
    assert replace(content, old, "c").count == 1
    assert "not found" in failure(content, old, "c", replace_all=True)


@pytest.mark.requirement("edit.exact", "edit.errors")
def test_replacing_everywhere_is_bounded() -> None:
    assert "more than 1,000,000 times" in failure("a" * 1_000_001, "a", "b", replace_all=True)
    assert "more than 5,342,880 characters" in failure("a" * 100_000, "a", "b" * 1_000_000, replace_all=True)


# Line by line, normalised


@pytest.mark.requirement("edit.normalised", "edit.span")
@pytest.mark.parametrize(
    ("content", "old", "after"),
    [
        ("say ‘hi’ ‚‛\n", "say 'hi' ''", "new\n"),
        ("say “hi” „‟\n", 'say "hi" ""', "new\n"),
        ("say 'hi'\n", "say ‘hi’", "new\n"),
        ("a‐b‑c‒d–e—f―g−h", "a-b-c-d-e-f-g-h", "new"),
        ("a﹘b", "a—b", "new"),
        ("a\u00a0b\u202fc\u205fd\u3000e\u2002f\u200ag\u2007h", "a b c d e f g h", "new"),
        ("print（ｘ，１）", "print(x,1)", "new"),
        ("ﬁx it", "fix it", "new"),
        ("wait… what", "wait... what", "new"),
        ("a  \nb\t\nc\n", "a\nb\nc", "new\n"),
        ("a\nb\n", "a  \nb\t", "new\n"),
        ("a \u00a0\nb\n", "a\nb", "new\n"),
        ("a\nb\n", "a\u2007\u202f\u00a0\nb", "new\n"),
        ("x “a”  \ny\n", 'x "a"', "new  \ny\n"),
        ("x “a”  \ny\n", 'x "a"\ny', "new\n"),
        ("x  \n“a”\n", '\n"a"', "x  new\n"),
        ("x \r\n“a” \r\nz\r\n", '"a"\nz', "x \r\nnew\r\n"),
        ("\ufeff“a”\n", '"a"', "\ufeffnew\n"),
        ("“a” \n  \nb", '"a"\n\nb', "new"),
        ("“a” \n  \nb", '"a"\n   ', "new  \nb"),
        ("½ ﬁ ﬁ x “a”, ﬁ", 'x "a", fi', "½ ﬁ ﬁ new"),
        ("ﬁ\nﬁ “a”\nﬁ", 'fi "a"\nfi', "ﬁ\nnew"),
    ],
)
def test_typography_and_blanks_at_line_ends_do_not_matter(content: str, old: str, after: str) -> None:
    assert replace(content, old, "new").content == after


@pytest.mark.requirement("edit.normalised", "edit.span")
def test_new_text_goes_in_as_it_was_given() -> None:
    assert replace("x\r\n“foo”\r\ny", '\n"foo"\n', "\n“bar” \n").content == "x\r\n“bar” \r\ny"


@pytest.mark.requirement("edit.normalised")
@pytest.mark.parametrize(
    ("content", "old"),
    [
        ("ﬁx", "ix"),
        ("oﬀ", "of"),
        ("oﬃce", "offi\nce"),
        ("ﬁ" * 100, "if"),
        ("if tea: brew()\n", "if tea:   "),
        ("“a”\n  b\n", '"a"\n   '),
        ("e\u0301", "é"),
        ("a", " \t"),
        ("a", " \n "),
    ],
)
def test_half_a_ligature_and_half_a_line_are_no_match(content: str, old: str) -> None:
    assert "not found" in failure(content, old)


@pytest.mark.requirement("edit.normalised")
def test_half_ligatures_are_dropped_before_places_are_counted() -> None:
    assert replace("ﬁ “i”", 'i"', "x").content == "ﬁ “x"
    assert replace("ﬁ i”", "i", "x").content == "ﬁ x”"
    assert replace("ﬁ. ﬁ! i’", "i'", "x").content == "ﬁ. ﬁ! x"


@pytest.mark.requirement("edit.normalised")
def test_blanks_that_were_given_reach_to_the_end_of_the_line() -> None:
    assert replace("if tea: brew()\nif tea:\n", "if tea:   ", "if tea: pour()").content.endswith("\nif tea: pour()\n")
