"""Chanting in one stream: what is cut off, and what repeats by its nature."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.runaway.chanting import ChantWatch

pytestmark = pytest.mark.requirement("runaway.chanting")

SENTENCE = "I will now fix the bug in the parser. "

CHANTS = {
    "a sentence": SENTENCE * 20,
    "lines": "I will try it once more.\n" * 30,
    "Chinese": "我现在来修复这个问题。" * 20,
    "a short word": "ok " * 100,
    "after something else": "A fine beginning, with this and that.\n\n" + SENTENCE * 20,
    "a paragraph": (SENTENCE + "Then I will run the tests, and I will look at what they say about it.\n\n") * 14,
    "after code": "```py\nx = 1\n```\n" + SENTENCE * 20,
    "after a fence in tildes": "~~~\nx\n~~~\n" + SENTENCE * 20,
    "after code in a line": "Run ```make``` now. " + SENTENCE * 20,
    "after a code line": "```make```\n" + SENTENCE * 20,
    "in one list item": "- " + SENTENCE * 20,
    "with inline code": "I call `run` again. " * 20,
    "with a flourish": "So good~~~ " * 40,
    "a line of dashes without end": "-" * 2_000,
    "backticks in pairs": "`` a" * 300,
    "a longer fence holds a shorter": "````md\n```py\n````\n" + SENTENCE * 20,
}

CALM = {
    "nothing": "",
    "fenced code": "Here:\n```py\n" + "x = 1\n" * 500 + "```\nDone.",
    "fenced in tildes": "~~~\n" + "x = 1\n" * 500 + "~~~\n",
    "a fence begun in a line": "Here: ```py\n" + "x = 1\n" * 500 + "```\nDone.",
    "a fence that is not closed": "```\n" + SENTENCE * 50,
    "a fence with another mark in it": "```\n~~~\n" + SENTENCE * 50,
    "a fence named in code": "```\nprint('```')\n" + SENTENCE * 50,
    "indented fence": "  1. so:\n     ```\n" + "     x = 1\n" * 300 + "     ```\n",
    "a table": "| name | value |\n|------|-------|\n" + "| a | 0 |\n" * 300,
    "a wide row": "| 0 " * 300 + "|\n",
    "a grid": "+---+---+\n" * 200,
    "a list": "- the same item, word for word the same item\n" * 100,
    "a numbered list": "1. the same item, word for word the same item\n" * 100,
    "a Chinese list": "一、 同样的一项，一字不差的同样的一项\n" * 100,
    "headings": "## The same heading, word for word the same\n" * 100,
    "a quotation": "> the same line, word for word the same line\n" * 100,
    "indented code": "    x = the_same_line_of_code(word, for_word)\n" * 100,
    "a line of dashes": "Before\n" + "-" * 120 + "\nafter\n",
    "a row of noughts": "[" + "0, " * 120 + "0]",
    "nine times": SENTENCE * 9,
    "the same beginning each time": "".join(
        f"The file src/main/java/com/example/service/impl/number_{i}.java is fine, {i * 37} lines.\n" for i in range(60)
    ),
    "twice, then numbers": SENTENCE * 2 + "".join(f"{i:05}, " for i in range(99)),
    "long paragraphs": ("".join(f"word{i} " for i in range(100)) + "\n") * 12,
}


def heard(text: str, size: int) -> bool:
    watch = ChantWatch()
    pieces = [text[i : i + size] for i in range(0, len(text), size)]
    return any(watch.feed(piece) for piece in pieces)


@pytest.mark.parametrize("size", [1, 7, 100_000])
@pytest.mark.parametrize("text", CHANTS.values(), ids=CHANTS.keys())
def test_a_chant_is_heard(text: str, size: int) -> None:
    assert heard(text, size)


@pytest.mark.parametrize("size", [1, 7, 100_000])
@pytest.mark.parametrize("text", CALM.values(), ids=CALM.keys())
def test_what_repeats_by_its_nature_is_let_be(text: str, size: int) -> None:
    assert not heard(text, size)


def test_a_chant_is_heard_early_and_stays_heard() -> None:
    watch = ChantWatch()
    fed = 0
    while not watch.feed("I will try it once more. "):
        fed += 25
    assert fed < 400
    assert watch.feed("")
    assert watch.feed("Something else entirely.")


def test_a_long_stream_is_kept_in_bounds() -> None:
    watch = ChantWatch()
    for i in range(20_000):
        assert not watch.feed(f"Line {i * 7919} says {i * 104729} and no more.\n")
    kept = watch._repeats  # what is promised to be bounded
    assert len(kept._text) < 10_000
    assert len(kept._places) < 10_000


pieces = st.lists(
    st.sampled_from([SENTENCE, "```", "`", "~~~", "\n", "- ", "| ", "    ", "x" * 60, "0, " * 30, "我", "# ", "12. "])
    | st.text(max_size=5),
    max_size=60,
)


@given(pieces, st.integers(1, 12), st.lists(st.integers(0, 3_000), max_size=8))
def test_how_a_stream_is_cut_makes_no_difference(parts: list[str], times: int, places: list[int]) -> None:
    text = "".join(parts) * times
    cuts = sorted({0, len(text), *[place for place in places if place < len(text)]})
    whole = ChantWatch().feed(text)
    watch = ChantWatch()
    assert any(watch.feed(text[a:b]) for a, b in pairwise(cuts)) == whole
    assert heard(text, 1) == whole
