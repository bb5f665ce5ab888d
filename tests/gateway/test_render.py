"""Markdown as models write it, and what a phone shows of it."""

import pytest

from gateway.render import from_markdown
from gateway.text import RichText


def shown(markdown: str) -> tuple[str, list[tuple[str, ...]]]:
    """The text, and each span as style, piece of text and value."""
    rich = from_markdown(markdown)
    return rich.text, [(s.style, rich.text[s.start : s.end], *([s.value] if s.value else [])) for s in rich.spans]


@pytest.mark.parametrize(
    ("markdown", "text", "spans"),
    [
        ("", "", []),
        ("plain", "plain", []),
        ("# Title\n\nBody", "Title\n\nBody", [("bold", "Title")]),
        ("## Title\nBody", "Title\nBody", [("bold", "Title")]),
        ("Title\n=====", "Title", [("bold", "Title")]),
        ("# A `b` **c**", "A b c", [("bold", "A b c"), ("code", "b")]),
        (
            "*i* _i_ **b** __b__ ~~s~~",
            "i i b b s",
            [("italic", "i"), ("italic", "i"), ("bold", "b"), ("bold", "b"), ("strike", "s")],
        ),
        ("**b *i* b**", "b i b", [("bold", "b i b"), ("italic", "i")]),
        ("***both***", "both", [("italic", "both"), ("bold", "both")]),
        ("snake_case_name and 2*3*4", "snake_case_name and 234", [("italic", "3")]),
        ("**unfinished", "**unfinished", []),
        ("**你好**，世界", "你好，世界", [("bold", "你好")]),
        ("`a*b*` ``c`d``", "a*b* c`d", [("code", "a*b*"), ("code", "c`d")]),
        ("one\ntwo  \nthree\\\nfour", "one\ntwo\nthree\nfour", []),
        ("one\n\n\n\ntwo", "one\n\ntwo", []),
        (r"\*not italic\*", "*not italic*", []),
        ("&copy; &lt;b&gt; &#128077;", "© <b> 👍", []),
    ],
)
def test_words_and_emphasis(markdown, text, spans):
    assert shown(markdown) == (text, spans)


@pytest.mark.parametrize(
    ("markdown", "text", "spans"),
    [
        ("```py\nx = 1\n\ny = 2\n```", "x = 1\n\ny = 2", [("pre", "x = 1\n\ny = 2", "py")]),
        ("```\n  indented\n```", "  indented", [("pre", "  indented")]),
        ("~~~java title=A.java\nclass A {}\n~~~", "class A {}", [("pre", "class A {}", "java")]),
        ("````\n```\ninner\n```\n````", "```\ninner\n```", [("pre", "```\ninner\n```")]),
        ("```py\nnever closed", "never closed", [("pre", "never closed", "py")]),
        ("See:\n```sh\nls\n```\nand\n\n    four\n", "See:\nls\nand\n\nfour", [("pre", "ls", "sh"), ("pre", "four")]),
        ("```py\n```", "```py\n```", []),
        ("```diff\n-a\n+b\n```", "-a\n+b", [("pre", "-a\n+b", "diff")]),
        ("- run\n  ```sh\n  ls -l\n  ```\n- done", "• run\nls -l\n• done", [("pre", "ls -l", "sh")]),
        ("- ```\n  code\n  ```", "• \ncode", [("pre", "code")]),
        ("> ```\n> code\n> ```", "code", [("quote", "code"), ("pre", "code")]),
    ],
)
def test_code_blocks_keep_every_blank_and_their_language(markdown, text, spans):
    assert shown(markdown) == (text, spans)


@pytest.mark.parametrize(
    ("markdown", "text"),
    [
        ("- a\n- b", "• a\n• b"),
        ("Steps:\n- a\n- b\n\nDone", "Steps:\n• a\n• b\n\nDone"),
        ("- a\n\n- b", "• a\n\n• b"),
        ("1. a\n2. b\n10. c", "1. a\n2. b\n10. c"),
        ("3) a\n4) b", "3) a\n4) b"),
        ("- a\n  - b\n    1. c\n- d", "• a\n  • b\n    1. c\n• d"),
        ("- a\n  more\n\n  second", "• a\n  more\n\n  second"),
        ("- - a\n  - b", "• • a\n  • b"),
        ("-\n- b", "• \n• b"),
        ("* [ ] open\n* [x] done", "• [ ] open\n• [x] done"),
        ("1. 安装\n2. 运行", "1. 安装\n2. 运行"),
    ],
)
def test_lists_have_bullets_numbers_and_indentation(markdown, text):
    assert from_markdown(markdown).text == text


@pytest.mark.parametrize(
    ("markdown", "text", "spans"),
    [
        ("> one\n> two\n\nafter", "one\ntwo\n\nafter", [("quote", "one\ntwo")]),
        ("> one\n\n> two", "one\n\ntwo", [("quote", "one"), ("quote", "two")]),
        ("> a\n> > b\n> > c\n>\n> d", "a\n> b\n> c\n\nd", [("quote", "a\n> b\n> c\n\nd")]),
        ("> - a\n> - **b**", "• a\n• b", [("quote", "• a\n• b"), ("bold", "b")]),
        ("a\n\n---\n\nb", "a\n\n———\n\nb", []),
    ],
)
def test_quotes_and_rules(markdown, text, spans):
    assert shown(markdown) == (text, spans)


@pytest.mark.parametrize(
    ("markdown", "text", "spans"),
    [
        ("[docs](https://a.example/x?y=1&z=%20)", "docs", [("link", "docs", "https://a.example/x?y=1&z=%20")]),
        ("<https://a.example>", "https://a.example", [("link", "https://a.example", "https://a.example")]),
        ("[**b**](https://a.example)", "b", [("link", "b", "https://a.example"), ("bold", "b")]),
        ("[](https://a.example)", "https://a.example", [("link", "https://a.example", "https://a.example")]),
        ("[Ann](tg://user?id=42)", "Ann", [("link", "Ann", "tg://user?id=42")]),
        ("[mail](mailto:a@b.example)", "mail (a@b.example)", [("link", "mail", "mailto:a@b.example")]),
        ("<a@b.example>", "a@b.example", [("link", "a@b.example", "mailto:a@b.example")]),
        ("[run](src/运行.py)", "run (src/运行.py)", []),
        ("[src/a.py](src/a.py)", "src/a.py", []),
        ("[x](javascript:alert(1))", "[x](javascript:alert(1))", []),
        ("[x](ftp://a.example)", "x (ftp://a.example)", []),
        ("[x](http://)", "x (http://)", []),
        ("![a *cat*](https://a.example/c.png)", "a cat", [("link", "a cat", "https://a.example/c.png")]),
        ("![](shot.png)", "shot.png", []),
        ("[![build](https://a.example/b.svg)](https://a.example)", "build", [("link", "build", "https://a.example")]),
        (
            "[<https://b.example>](https://a.example)",
            "https://b.example",
            [("link", "https://b.example", "https://a.example")],
        ),
        ("[WARN]: disk is full", "[WARN]: disk is full", []),
    ],
)
def test_only_addresses_that_a_chat_can_open_are_links(markdown, text, spans):
    assert shown(markdown) == (text, spans)


@pytest.mark.parametrize(
    "html", ["<b>bold</b>", "a <br> b", "<div>\n<p>x</p>\n</div>", "<script>alert(1)</script>", "<!-- note -->"]
)
def test_raw_html_is_shown_as_it_is_written(html):
    assert shown(html) == (html, [])


def test_a_narrow_table_is_in_columns_that_count_wide_characters_twice():
    assert shown("| file | 行 |\n|---|--:|\n| `a.py` | 12 |\n| 测试 | 3 |") == (
        "file  行\na.py  12\n测试  3",
        [("pre", "file  行\na.py  12\n测试  3")],
    )


def test_a_wide_table_or_one_with_links_is_a_few_lines_a_row():
    wide = "| name | what it does |\n|---|---|\n| **run** | starts everything that there is to start |\n| stop | |"
    assert shown(wide) == (
        "name: run\nwhat it does: starts everything that there is to start\n\nname: stop\nwhat it does: —",
        [("bold", "name"), ("bold", "run"), ("bold", "what it does"), ("bold", "name"), ("bold", "what it does")],
    )
    assert shown("| a |\n|---|\n| [b](https://a.example) |")[0] == "a: b"


def test_a_table_without_rows_shows_its_heads():
    heads = [f"a rather long head {number}" for number in range(3)]
    assert shown(f"| {' | '.join(heads)} |\n|---|---|---|")[0] == " | ".join(heads)


def test_text_nested_deeper_than_anyone_could_follow_stays_as_it_is_written():
    for markdown in (">" * 500 + " deep", "- " * 300 + "deep"):
        assert from_markdown(markdown) == RichText(markdown)


def test_a_half_of_a_surrogate_pair_is_replaced_so_that_the_text_can_be_sent():
    assert from_markdown("a \ud83d b").text == "a \ufffd b"
