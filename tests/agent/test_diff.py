from hypothesis import given
from hypothesis import strategies as st

from agent.diff import MAX_DIFF_CHARACTERS, diff, visible


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


def test_line_ends_are_shown_only_when_nothing_else_differs() -> None:
    assert diff("a\r\nb\r\n", "a\r\nc\r\n").text == "@@ -1,2 +1,2 @@\n a\n-b\n+c"
    assert diff("a\r\n", "a\n").text == "@@ -1,1 +1,1 @@\n-a\\r\n+a"


def test_a_huge_change_is_bounded_and_counted() -> None:
    before = "".join(f"{number % 7}\n" for number in range(60_000))
    after = "".join(f"{number % 5}\n" for number in range(60_000))
    compared = diff(f"x\n{before}", f"x\n{after}")

    assert compared.added > 50_000
    assert len(compared.text) < MAX_DIFF_CHARACTERS + 100
    assert compared.text.endswith("more lines of this diff are not shown")


def test_a_line_of_a_megabyte_is_cut_and_says_so() -> None:
    compared = diff("", "x" * 1_000_000)

    assert len(compared.text) < 2_000
    assert "characters of this line are not shown" in compared.text


def test_what_could_deceive_the_eye_is_written_as_an_escape() -> None:
    assert visible("a\u202eb\x1b[31m\r\u2066\ufeff\u2028") == "a\\u202eb\\x1b[31m\\r\\u2066\\ufeff\\u2028"
    assert visible("tab\t日本\u3000語 👩\u200d💻\n") == "tab\t日本\u3000語 👩\u200d💻\n"


TEXTS = st.lists(st.sampled_from(["", "a", "b", "c"]), max_size=30).map("\n".join)


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
                rebuilt.append(line[1:])
    rebuilt += old[position:]
    assert [line for line in rebuilt if line] == [line for line in new if line]
