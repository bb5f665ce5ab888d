import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.diff import MAX_DIFF_CHARACTERS, diff, numbered_diff
from agent.equal_lines import equal_runs

pytestmark = pytest.mark.requirement("approval.whole")


def test_a_change_is_shown_with_its_surroundings() -> None:
    before = "".join(f"line {number}\n" for number in range(1, 21))
    compared = diff(before, before.replace("line 10\n", "line ten\nand more\n"))

    assert (compared.added, compared.removed) == (2, 1)
    assert compared.text.split("\n") == [
        "@@ -7,7 +7,8 @@",
        " line 7",
        " line 8",
        " line 9",
        "-line 10",
        "+line ten",
        "+and more",
        " line 11",
        " line 12",
        " line 13",
    ]


def test_changes_far_apart_are_hunks_of_their_own() -> None:
    before = "\n" * 100
    compared = diff(before, f"a{before}b\n")

    assert compared.text.count("@@") == 4
    assert (compared.added, compared.removed) == (2, 1)


def test_a_new_file_is_all_added_and_an_emptied_one_all_removed() -> None:
    assert diff("", "a\nb\n").text == "@@ -0,0 +1,2 @@\n+a\n+b"
    assert diff("a\nb\n", "").text == "@@ -1,2 +0,0 @@\n-a\n-b"
    assert diff("same", "same").text == ""


def test_a_missing_newline_at_the_end_is_told() -> None:
    assert diff("a\n", "a").text == "@@ -1,1 +1,1 @@\n-a\n+a\n\\ No newline at end of file"


def test_changed_line_ends_are_changed_lines_and_can_be_seen() -> None:
    compared = diff("#!/bin/sh\necho 1\n", "#!/bin/sh\r\necho 2\r\n")

    assert compared.text == "@@ -1,2 +1,2 @@\n-#!/bin/sh\n-echo 1\n+#!/bin/sh⟨U+000D⟩\n+echo 2⟨U+000D⟩"
    assert (compared.added, compared.removed) == (2, 2)
    assert diff("a\r\nb\r\n", "a\r\nc\r\n").text == "@@ -1,2 +1,2 @@\n a⟨U+000D⟩\n-b⟨U+000D⟩\n+c⟨U+000D⟩"
    assert diff("a\rb\n", "a\nb\n").removed == 1


def test_what_could_deceive_the_eye_is_written_out_in_every_line() -> None:
    assert diff("", "if admin:\u202e\n\u0338x\n").text == "@@ -0,0 +1,2 @@\n+if admin:⟨U+202E⟩\n+⟨U+0338⟩x"
    assert diff("\ufeffa\n", "a\n").text == "@@ -1,1 +1,1 @@\n-⟨U+FEFF⟩a\n+a"


def test_a_change_of_many_long_lines_is_shown_whole() -> None:
    after = "".join(f"{number} {'x' * 1_980}\n" for number in range(99))
    compared = diff("", after)

    assert compared.whole
    assert compared.text.split("\n")[1:] == [f"+{line}" for line in after.split("\n")[:-1]]


def test_a_huge_change_is_counted_and_says_how_much_is_not_shown() -> None:
    compared = diff("", "12345678\n" * 60_000)
    header, *lines, note = compared.text.split("\n")

    assert (compared.added, compared.removed, compared.whole) == (60_000, 0, False)
    assert header == "@@ -0,0 +1,60000 @@"
    assert lines == ["+12345678"] * 19_998
    assert note == "… 360,018 more characters in 40,002 lines are not shown"


def test_a_rewrite_too_large_to_be_compared_is_taken_out_and_put_in_whole() -> None:
    compared = diff("".join(f"{n % 7}\n" for n in range(20_000)), "".join(f"{n % 7}!\n" for n in range(20_000)))

    assert (compared.added, compared.removed, compared.whole) == (20_000, 20_000, True)


@pytest.mark.parametrize("char", ["x", "\u202e", "\t", "→"])
def test_one_line_of_megabytes_is_shown_as_far_as_there_is_room(char: str) -> None:
    compared = diff("", char * 5_000_000 + "\n")
    header, line, note = compared.text.split("\n")

    assert not compared.whole
    assert len(compared.text) < MAX_DIFF_CHARACTERS + 100
    assert MAX_DIFF_CHARACTERS - len(header) - len(line) < 20 or char == "\t"
    assert note.endswith(" more characters in 1 lines are not shown")
    if char == "x":
        assert note.startswith(f"… {5_000_001 - len(line):,} more")


def test_a_last_line_that_fits_exactly_is_whole() -> None:
    room = MAX_DIFF_CHARACTERS - len("@@ -0,0 +1,1 @@\n+")

    assert diff("", "x" * room + "\n").whole
    assert not diff("", "x" * (room + 1) + "\n").whole


def test_of_a_large_rewrite_only_what_changed_is_shown() -> None:
    before = [f"value {number}" for number in range(20_000)]
    after = [line if number % 5_000 else f"{line}!" for number, line in enumerate(before)]
    compared = diff("\n".join(before), "\n".join(after))

    assert (compared.added, compared.removed, compared.text.count("@@")) == (4, 4, 8)


def test_lines_that_occur_once_hold_a_large_change_together() -> None:
    before = [line for number in range(3_000) for line in (f"def f{number}():", "    pass", "")]
    after = [line for number in range(3_000) for line in (f"def f{number}():", "    return", "    pass", "")]
    compared = diff("\n".join(before), "\n".join(after))

    assert (compared.added, compared.removed) == (3_000, 0)


def test_moved_lines_are_taken_out_once_and_put_in_once() -> None:
    for old, new, equal in (("abcdef", "defabcg", 3), ("xaby", "zaabw", 2), ("", "a", 0), ("abc", "abc", 3)):
        runs = equal_runs(old, new)
        assert sum(length for _, _, length in runs) == equal
        assert all(old[here : here + length] == new[there : there + length] for here, there, length in runs)
        assert runs == sorted(runs)


def test_a_change_without_lines_to_hold_on_to_is_bounded_in_work() -> None:
    before, after = "a\nb\n" * 50_000, "b\nb\na\n" * 40_000 + "c\n"
    assert diff(before, after).removed <= 100_000
    parts = [f"{number}\n" + "a\n" * 120 for number in range(40)]
    assert diff("".join(parts), "".join(part.replace("a\n", "a\nb\n") for part in parts)).added >= 4_800


@pytest.mark.requirement("edit.diff")
def test_a_numbered_diff_has_the_numbers_that_lines_have_afterwards() -> None:
    before = "".join(f"line {number}\r\n" for number in range(1, 21)) + "last"
    after = before.replace("line 2\r\n", "").replace("last", "x" * 500)
    assert numbered_diff(diff(before, after), most_characters=4_000).split("\n") == [
        "     1 | line 1",
        "-      | line 2",
        "     2 | line 3",
        "     3 | line 4",
        "     4 | line 5",
        "…",
        "    17 | line 18",
        "    18 | line 19",
        "    19 | line 20",
        "-      | last (no newline at the end)",
        f"+   20 | {'x' * 400}… (no newline at the end)",
    ]


@pytest.mark.requirement("edit.diff")
def test_a_numbered_diff_ends_where_it_must() -> None:
    shown = numbered_diff(diff("", "a\n" * 100), most_characters=55)
    assert shown.split("\n") == [
        *(f"+    {number} | a" for number in range(1, 6)),
        "… 95 more lines of the diff are not shown",
    ]
    assert numbered_diff(diff("a", "a"), most_characters=55) == ""


TEXTS = st.lists(st.sampled_from(["", "a", "b", "c", "c\r"]), max_size=30).map("\n".join)


@given(TEXTS, TEXTS)
def test_a_diff_applied_to_the_old_text_gives_the_new_one(before: str, after: str) -> None:
    compared = diff(before, after)
    old, new = before.split("\n"), after.split("\n")
    if before == after:
        assert compared.text == ""
        return
    rebuilt: list[str] = []
    position = 0
    for line in compared.text.split("\n"):
        if line.startswith("@@"):
            start, _, count = line.split()[1][1:].partition(",")
            begin = int(start) - (count != "0")
            rebuilt += old[position:begin]
            position = begin
        elif line.startswith("\\"):
            continue
        else:
            position += not line.startswith("+")
            if not line.startswith("-"):
                rebuilt.append(line[1:].replace("⟨U+000D⟩", "\r"))
    rebuilt += old[position:]
    assert [line for line in rebuilt if line] == [line for line in new if line]
