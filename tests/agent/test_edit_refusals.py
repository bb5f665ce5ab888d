"""Edits that are refused: placeholders, and what the errors say."""

from time import process_time

import pytest

from agent.tools.edit import replace
from agent.tools.edit.line_numbers import without_number
from tests.agent.editing import failure

# Placeholders


@pytest.mark.requirement("edit.placeholder")
@pytest.mark.parametrize(
    "line",
    [
        "# ... rest of code ...",
        "// ... existing code ...",
        "// ...existing code...",
        "    // ... rest of the file unchanged ...",
        "# ... (unchanged)",
        "/* ... remaining methods ... */",
        "{/* ... existing JSX ... */}",
        "<!-- ... rest of page ... -->",
        "-- ... remaining columns ...",
        "; ... unchanged ...",
        "% ... rest of document ...",
        "* ... existing code ...",
        "... same as before ...",
        "... existing code ...",
        "(rest of methods ...)",
        "[... rest of the function ...]",
        "# rest of the implementation...",
        "// ... rest of `main()` ...",
        "# ... rest of UserService class ...",
        "// ... keep the rest of the code unchanged",
        "# ... other methods omitted for brevity",
        "...  # ... rest of the implementation unchanged",
        "... // rest of the code",
        "...existing code...",
        "...rest of code",
        "...same as before",
        "rest of the code...",
        "# the rest...",
        "# Keep the rest unchanged...",
        "# keep existing code...",
        "{ ... rest of the options ... }",
        "---- ... remaining columns ... -->",
        "/** ... existing code ... **/",
        "// … same as above …",
        "# … 其余代码不变 …",
        "# 其余代码省略...",
        "// ... 省略 ...",
        "// ...其余代码保持不变",
        "# 同上 ...",
        "/* …… 此处省略其余代码 …… */",
        "// 中间代码不变……",
        "# ...保持不变...",
        "# 其他代码...",
        "# 其他方法与之前一致...",
        "12 | # ... rest of code ...",
    ],
)
def test_a_line_that_stands_for_left_out_code_is_refused(line: str) -> None:
    text = failure("a\nb\n", "a", f"x\n{line}\ny")
    assert "stands for code that is left out" in text
    assert "not found" not in failure("a\n", "q", line, replace_all=True)


@pytest.mark.requirement("edit.placeholder")
@pytest.mark.parametrize(
    "line",
    [
        "...",
        "# ...",
        "x = ...  # rest of it",
        "def f() -> int: ...",
        "...existing,",
        "...existing",
        "...rest",
        "...(existing)",
        "...(existing ?? {}),",
        "...this.existing,",
        "...existing as any",
        "existing...",
        "existing...,",
        "existing, ...",
        "{ ...existing, ...rest }",
        "[...previous, ...rest]",
        "...existing, ...options",
        "...existing, ...rest,",
        "...existing as Props",
        "...remaining satisfies Options,",
        "// { ...existing, ...rest }",
        "# ...existing, ...options",
        "0...remaining",
        "[0...rest]",
        "Types... rest",
        "(existing..., rest...)",
        "function(existing, ...)",
        "Type[remaining, ...]",
        "...  # existing behaviour",
        "...  # rest of the implementation unchanged",
        "flags 12 | ... existing code ...",
        "# Keep the rest...",
        "# Keep all remaining...",
        "# 其他配置见下文...",
        "# 其余部分由调用者负责...",
        "remaining: ...",
        'print("... rest of code ...")',
        '"... rest of code ..."',
        "# Loading remaining items...",
        "# remaining items to process...",
        "Read the rest of the manual...",
        "# ... the remaining arguments are passed on to the parser",
        "# First this...",
        "# rest of the code",
        "return [...existing, item]",
        "# 正在保持连接...",
        "# 正在加载剩余项目...",
        'label: "其余..."',
        "# 等待...",
        f"# ... {'其余代码的说明' * 5}",
        f"# ... rest of {'x' * 200}",
    ],
)
def test_code_and_prose_with_dots_are_written(line: str) -> None:
    assert replace("a\nb\n", "a", line).content == f"{line}\nb\n"


@pytest.mark.requirement("edit.placeholder")
def test_a_placeholder_that_is_in_the_old_text_too_may_stay() -> None:
    kept = "# ... existing code ..."
    assert replace(f"a\n  {kept}\n", f"a\n  {kept}", f"b\n{kept}").content == f"b\n{kept}\n"


# Errors


@pytest.mark.requirement("edit.errors", "tools.edit")
@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("", "x", "old_text is empty"),
        ("", "", "old_text is empty"),
        ("\ufeff", "# ... existing code ...", "old_text is empty"),
        ("no", "# ... existing code ...", "left out"),
        ("a", "a", "No change"),
        ("a\r\n", "a\n", "No change"),
        ("a", "\ufeffa", "No change"),
        ("no", "no", "No change"),
        ("A", "b", "not found in 'f'"),
        (" a", "a", "not found"),
    ],
)
def test_what_cannot_be_replaced_is_told_in_a_fixed_order(old: str, new: str, message: str) -> None:
    for replace_all in (False, True):
        assert message in failure("a\n  \n", old, new, replace_all=replace_all)


@pytest.mark.requirement("edit.errors")
def test_putting_in_what_is_there_is_no_change() -> None:
    assert "No change" in failure("“a”\n", '"a"', "“a”")
    assert "No change" in failure("a", "a\n", "a")
    assert "No change" in failure("a\n", "1 | a", "a")
    assert "No change" in failure("a", "a\n", "a", replace_all=True)


@pytest.mark.requirement("edit.errors")
def test_a_passage_that_is_not_there_is_told_with_what_to_do_and_what_is_nearest() -> None:
    content = "import os\r\n\r\n\r\ndef total(prices):\r\n    return sum(prices)\r\n\r\n\r\nprint(total([1, 2]))\r\n"
    assert failure(content, "def total(prices):\n    return max(prices)\n", path="src/a.py").split("\n") == [
        "old_text was not found in 'src/a.py'. It must match exactly, with its indentation; if you gave it from memory, "
        "read the file again.",
        "Nearest, at line 4:",
        "    4 | def total(prices):",
        "    5 |     return sum(prices)",
    ]


@pytest.mark.requirement("edit.errors")
def test_the_three_nearest_regions_are_shown_in_their_order() -> None:
    lines = [f"value_{number} = compute({number})" for number in range(40)]
    lines[5], lines[17], lines[30] = "the quick brown fox", "the quick brown dog", "a quick brown fox"
    shown = failure("\n".join(lines), "the quikc brown fox").split("\n")[1:]
    assert shown == [
        "Nearest, at line 6:",
        "    6 | the quick brown fox",
        "Nearest, at line 18:",
        "   18 | the quick brown dog",
        "Nearest, at line 31:",
        "   31 | a quick brown fox",
    ]


@pytest.mark.requirement("edit.errors")
def test_nearest_regions_are_found_in_long_files_and_in_scripts_without_blanks() -> None:
    lines = [f"value_{number} = compute({number})" for number in range(100_000)]
    lines[70_000:70_002] = ["if ready:", "    打印所有的订单()"]
    text = failure("\n".join(lines), "if ready:\n    打印全部的订单()")
    assert "\nNearest, at line 70001:\n70001 | if ready:\n70002 |     打印所有的订单()" in text


@pytest.mark.requirement("edit.errors")
def test_what_is_nearest_is_bounded_and_nothing_is_shown_that_is_not_alike() -> None:
    assert "Nearest" not in failure("alpha beta\ngamma\n" * 300, "something else\naltogether")
    assert "Nearest" not in failure("a\n", "\n\n\n\n")
    long = "word " * 1_000
    text = failure(f"{long}one\n" * 20, f"{long}two\n" * 20)
    assert "Nearest, at line 1:\n    1 | word word" in text
    assert len(text) < 3_500
    text = failure(
        "\n\n".join("\n".join(f"{part} {number}" + "x" * 150 for number in range(12)) for part in "abc"),
        "\n".join(f"d {number}" + "x" * 150 for number in range(12)),
    )
    assert text.count("Nearest") == 3
    assert len(text) < 3_500


@pytest.mark.requirement("edit.errors")
@pytest.mark.parametrize(
    ("content", "old"),
    [
        ("x" * (1 << 20), "y" * 1_000),
        ("ab\n" * 1_500_000, "ab\n" * 300_000 + "c"),
        (" ab\n" * 1_000_000, "ab\n" * 30_000 + "c"),
        ((" " * 1_000 + "x") * 1_000, "y   "),
        (" " * 3_000_000 + "x", "y z"),
        ("ﬁ" * 1_000_000, "i"),
        ("的一" * 500_000, "的二"),
        ("\n" * 1_000_000, "\n\n\nx"),
        ("a", "1" * 1_000_000),
        ("a\nb\n" * 100_000, "b\nc\n" * 100_000),
    ],
)
def test_hostile_texts_are_answered_soon(content: str, old: str) -> None:
    assert "not found" in failure(content, old)


@pytest.mark.requirement("edit.placeholder")
@pytest.mark.parametrize(
    "line",
    [" " * 1_000_000 + "x", "x" + " " * 1_000_000 + "1", f"//{'.' * 1_000_000}", "\t1" * 500_000],
    ids=["indentation", "gap", "dots", "numbers"],
)
def test_a_hostile_line_of_new_text_is_written_soon(line: str) -> None:
    assert replace("a\nb\n", "a", line).content == f"{line}\nb\n"


@pytest.mark.requirement("edit.placeholder")
@pytest.mark.parametrize(
    "line", ["// ..." + " " * 100 + "x", "# " + ". " * 20 + "..." + " " * 50 + "*", "." * 118 + " x"]
)
def test_every_line_of_new_text_is_looked_at_once(line: str) -> None:
    new = "\n".join([line] * 40_000)
    begin = process_time()
    assert replace("a\n", "a", new).content == f"{new}\n"
    assert process_time() - begin < 3.0


@pytest.mark.requirement("edit.prefixes")
@pytest.mark.parametrize(
    ("line", "bare"),
    [
        ("   12 | x", "x"),
        ("12→x", "x"),
        ("12\tx | 3 | y", "x | 3 | y"),
        ("total 12 | x", "total 12 | x"),
        ("a\t3\tb", "a\t3\tb"),
        ("x 1→2", "x 1→2"),
        ("", ""),
    ],
)
def test_a_number_is_taken_off_the_beginning_of_a_line_and_nowhere_else(line: str, bare: str) -> None:
    assert without_number(line) == bare
