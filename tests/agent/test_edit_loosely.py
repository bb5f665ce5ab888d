"""Replacing a passage that was shifted, or given with line numbers; and none that is in several places."""

import pytest

from agent.tools.edit import replace
from tests.agent.editing import failure

# A block that is shifted


@pytest.mark.requirement("edit.indent")
@pytest.mark.parametrize(
    ("content", "old", "new", "after"),
    [
        ("  a\n    b\n", "a\n  b\n", "c\n  d\n", "  c\n    d\n"),
        ("a\n  b\n", "  a\n    b\n", "  c\n\n    d\n", "c\n\n  d\n"),
        ("\ta\n\t  b\n", "a\n  b", "c", "\tc\n"),
        ("a\n", "    a\n", "    b\n", "b\n"),
        ("  a\n\n    b\nx", "    a\n  \n      b", "    q", "  q\nx"),
        ("  a\n    b\n", "a\n  b\n", "", ""),
        ("x\r\n  “a” \r\n  b\r\nc", '"a"\nb\n', "d\ne\n", "x\r\n  d\r\n  e\r\nc"),
        ("  a  \n  b  \n", "a\nb", "c", "  c  \n"),
        ("x = 1\nfoo\nbar\n", "\n    foo\n    bar\n", "  # y\n    baz\n", "x = 1  # y\nbaz\n"),
        ("x\n\n  foo\n  bar\n", "\n\nfoo\nbar\n", "\nbaz\n", "x\n  baz\n"),
        ("  a\n  b", "a\nb\n", "c\n", "  c"),
        ("  a\n    b\n\nx", "a\n  b\n   ", "c\n", "  c\n\nx"),
        ("\ufeff  a\n  b\n", "a\nb\n", "c\n", "\ufeff  c\n"),
        ("   a\n  a\n  b\n", "a\nb\n", "c\n", "   a\n  c\n"),
    ],
)
def test_a_block_that_stands_further_in_or_out_is_replaced_there(content: str, old: str, new: str, after: str) -> None:
    assert replace(content, old, new).content == after


@pytest.mark.requirement("edit.indent")
@pytest.mark.parametrize(
    ("content", "old", "new"),
    [
        ("  a\n   b\n", "a\n  b\n", "c\n"),
        ("\ta\n  b\n", "a\nb\n", "c\n"),
        ("\ta\n", "  a\n", "  c\n"),
        ("  a\n  b!\n", "a\nb\n", "c\n"),
        ("  a\n  x\n  b\n", "a\n\nb\n", "c\n"),
        ("a\nb\n", "  a\n  b\n", "  c\n d\n"),
        ("  foo\n  bar\n", "\nfoo\nbar\n", "c\n"),
        ("a\n", "\fa\n", "c\n"),
    ],
)
def test_a_block_that_is_not_shifted_as_a_whole_or_cannot_be_is_not_found(content: str, old: str, new: str) -> None:
    assert "not found" in failure(content, old, new)


@pytest.mark.requirement("edit.indent", "edit.unique")
def test_a_block_in_two_places_is_refused_even_where_only_one_could_be_shifted() -> None:
    text = failure("a\nb\n      a\n      b\n", "  a\n  b\n", "c\n")
    assert "2 times" in text
    assert "lines 1, 3" in text


# Line numbers


@pytest.mark.requirement("edit.prefixes")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    2 | b\n    3 | c\n", "    2 | x\n"),
        ("2→b\n3→c\n", "2→x\n"),
        ("     2\tb\n     3\tc\n", "     2\tx\n"),
        ("2 | b\r\n3 | c\r\n", "x\r\n"),
        ("2 | b\n3 | c\n", "x\n"),
        ("\n2 | b\n3 | c\n", "\n2 | x\n"),
        ("20 | b\n21 | c\n", "20 | x\n"),
    ],
)
def test_line_numbers_of_a_listing_are_taken_off(old: str, new: str) -> None:
    assert replace("a\nb\nc\n", old, new).content == "a\nx\n"


@pytest.mark.requirement("edit.prefixes")
def test_blank_lines_of_a_listing_may_have_no_number() -> None:
    for old in ("1 | a\n2 |\n3 | b", "1 | a\n\n3 | b", "1\ta\n\n2\tb"):
        assert replace("a\n\nb\n", old, "1 | x\n\n3 | y").content == "x\n\ny\n"


@pytest.mark.requirement("edit.prefixes")
def test_new_text_keeps_its_numbers_unless_all_its_lines_have_one() -> None:
    assert replace("a\nb\n", "1 | a", "1 | x\ny").content == "1 | x\ny\nb\n"
    assert replace("a\nb\n", "1 | a", "7\tx").content == "x\nb\n"
    assert replace("a\nb\n", "1 | a\n", "").content == "b\n"


@pytest.mark.requirement("edit.prefixes")
def test_without_its_numbers_a_passage_is_also_found_normalised() -> None:
    assert replace("“a” \nb\n", '1 | "a"\n2 | b', "1 | c").content == "c\n"


@pytest.mark.requirement("edit.prefixes")
def test_a_file_with_numbers_of_its_own_is_edited_as_it_is() -> None:
    assert replace("1 | a\n2 | b\n", "2 | b", "2 | c").content == "1 | a\n2 | c\n"


@pytest.mark.requirement("edit.prefixes")
@pytest.mark.parametrize(
    ("content", "old"),
    [
        ("a\nb\n", "1 | a\n1 | b"),
        ("a\nb\n", "2 | a\n1 | b"),
        ("a\nb\n", "1 | a\n3 | b"),
        ("a\nb\n", "1 | a\nb"),
        ("a\nb\n", "1: a\n2: b"),
        ("a\nb\n", "1|a\n2|b"),
        ("a\nb\n", "１ | a"),
        ("a\nb\n", "22 | a"),
        ("a\nb\n", f"{'1' * 5_000} | a"),
        ("  a\n", "1 | a\n2 | b"),
        ("\n\n", "1 |\n2 |\n3 |"),
        ("a\n\n", "1 | "),
        ("  a\n  b\n", "1 | a\n2 | b\n"),
    ],
)
def test_what_is_no_listing_of_that_place_keeps_its_numbers(content: str, old: str) -> None:
    text = failure(content, old)
    assert "old_text was not found in 'f'. " in text


@pytest.mark.requirement("edit.prefixes")
def test_a_passage_may_have_moved_by_twenty_lines_since_it_was_listed() -> None:
    assert replace("\n" * 21 + "a\n", "2 | a", "b").lines == (22,)
    assert "not found" in failure("\n" * 22 + "a\n", "2 | a", "b")
    assert "not found" in failure("a\n", "22 | a", "b")


# More than one place


@pytest.mark.requirement("edit.unique", "edit.errors")
def test_a_passage_found_several_times_is_refused_with_its_first_lines() -> None:
    text = failure("x\nx\nx\nx\n", "x")
    assert text.startswith("old_text is not unique: it is 4 times in 'f', at lines 1, 2, 3 and more.")
    assert "replace_all" in text
    assert "4 times in the text" in failure("x\nx\nx\nx\n", "x", path="")


@pytest.mark.requirement("edit.unique", "edit.exact")
def test_overlapping_places_count_each() -> None:
    assert "2 times in 'f', at lines 1, 1." in failure("aaa", "aa")
    assert "2 times" in failure("“a”“a”“", '"a"')
    assert "2 times" in failure("a\r\na\r\na\r\n", "a\na\n")


@pytest.mark.requirement("edit.unique")
@pytest.mark.parametrize(
    ("content", "old"),
    [
        # Each is several times in one way and once in the next.
        ("a b\na b\n", "a b"),
        ("“a”\n“a”\n  “a”\nb\n", '"a"\n'),
        ("a\r\nb\na\nb\r\n", "a\nb"),
        ("  a\n  b\n    a\n    b\n", "a\nb\n"),
        ("a\n" * 3, "1 | a"),
        ("“a”\n" * 3, '1 | "a"'),
    ],
)
def test_what_is_in_several_places_is_not_looked_for_more_loosely(content: str, old: str) -> None:
    text = failure(content, old, "new")
    assert " times" in text
    assert "Give more of the lines around it" in text


@pytest.mark.requirement("edit.unique", "edit.errors")
def test_the_lines_of_loosely_found_places_are_those_of_the_file() -> None:
    text = failure("x\r\n“a” \r\ny\r\n“a”\r\n", '"a"\n')
    assert "not exactly in 'f', but 2 times" in text
    assert "lines 2, 4" in text
    text = failure("b\na\na\n", "2 | a")
    assert "not found in 'f' as given; without its line numbers it is there 2 times, at lines 2, 3." in text


@pytest.mark.requirement("edit.unique")
def test_a_million_places_are_not_counted_to_the_end() -> None:
    for content, old in (
        ("a" * 1_000_000, "a"),
        ("a\n" * 500_000, "a\n" * 200_000),
        ("’" * 1_000_000, "'"),
        ("  a\n" * 300_000, "a\na"),
        (" ab\n" * 200_000, "ab\n" * 20_000),
    ):
        assert "at least " in failure(content, old)


@pytest.mark.requirement("edit.unique")
def test_one_place_is_no_match_when_what_follows_cannot_all_be_looked_at() -> None:
    old = "i" + "fi" * 50_000
    assert "not found" in failure(f"{old}”{'ﬁ' * 200_000}", old.replace("i", "ｉ"))
    assert "not found" in failure(" ab\n  ab\n" * 200_000, "ab\nab\nab\n")
