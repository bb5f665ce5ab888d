"""Properties of splitting and rendering, for any text."""

from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.render import from_markdown
from gateway.text import Builder, Limit, RichText, Span, characters, split, utf8_bytes, utf16_units

STYLES = ("bold", "italic", "strike", "code", "pre", "link", "quote")
PIECES = st.one_of(
    st.text(max_size=20),
    st.text(alphabet=" \t\n.。a漢", max_size=20),
    st.sampled_from(["👩‍👩‍👧", "👍🏽", "🇩🇪", "🇫🇷🇯", "e\u0301\u0302", "한", "क्षि", "\r\n", "🎉", "\n\n", "    x"]),
)
MEASURES = st.sampled_from([characters, utf16_units, utf8_bytes])
MARKS = st.sampled_from(
    [
        "**",
        "_",
        "~~",
        "`",
        "```py\n",
        "\n```\n",
        "[",
        "](",
        "](https://a.example)",
        "![",
        ")",
        "> ",
        "- ",
        "1. ",
        "# ",
        "*",
    ]
) | st.sampled_from(
    [
        "| ",
        " |\n|-|-|\n",
        "\n",
        "\n\n",
        "    ",
        "<b>",
        "&amp;",
        "\\",
        "---\n",
        "<https://b.example>",
        "[x]: ",
        "  \n",
        "\x00",
    ]
)
WORDS = st.text(alphabet="abcXYZ019漢字éß", min_size=1, max_size=8)
MARKDOWN = st.lists(st.one_of(MARKS, WORDS, st.just(" "), st.text(max_size=5)), max_size=40).map("".join)


@st.composite
def rich_texts(draw: st.DrawFn) -> RichText:
    built, depth = Builder(), 0
    for _ in range(draw(st.integers(0, 30))):
        if depth < 4 and draw(st.booleans()):
            built.open(draw(st.sampled_from(STYLES)), draw(st.sampled_from(["", "https://a.example"])))
            depth += 1
        built.add(draw(PIECES))
        if depth and draw(st.booleans()):
            built.close()
            depth -= 1
    return built.build()


def assert_valid(rich: RichText) -> None:
    order = [(span.start, -span.end) for span in rich.spans]
    assert order == sorted(order)
    ends: list[int] = []
    for span in rich.spans:
        assert 0 <= span.start < span.end <= len(rich.text)
        while ends and ends[-1] <= span.start:
            ends.pop()
        assert not ends or span.end <= ends[-1]
        ends.append(span.end)


def places(whole: str, parts: list[RichText]) -> list[int]:
    """Where each part begins in the whole; what lies between two is at most blanks and one newline."""
    found, position = [], 0
    for part in parts:
        begin = position
        while not whole.startswith(part.text, begin):
            assert whole[begin] in " \t\n"
            begin += 1
        assert whole[position:begin].count("\n") <= 1
        found.append(begin)
        position = begin + len(part.text)
    assert whole[position:].strip(" \t") in {"", "\n"}
    return found


def styles_at(rich: RichText, position: int) -> set[Span]:
    return {(span.style, span.value) for span in rich.spans if span.start <= position < span.end}


@settings(deadline=None, max_examples=300)
@given(rich_texts(), st.integers(4, 60), MEASURES)
def test_parts_are_within_the_limit_and_lose_neither_text_nor_style(rich, units, measure):
    parts = split(rich, Limit(units, measure))
    for begin, part in zip(places(rich.text, parts), parts, strict=True):
        assert part.text
        assert measure(part.text) <= units
        assert_valid(part)
        for offset in (offset for offset, character in enumerate(part.text) if not character.isspace()):
            assert styles_at(part, offset) == styles_at(rich, begin + offset)


@settings(deadline=None)
@given(
    st.lists(st.sampled_from(["👩‍👩‍👧", "👍🏽", "🇩🇪", "e\u0301", "한", "x", " ", "\n", "क्षि"]), max_size=60),
    st.integers(8, 40),
)
def test_no_cut_is_inside_a_cluster(clusters, units):
    whole, edges = "".join(clusters), {0}
    for cluster in clusters:
        edges.add(max(edges) + len(cluster))
    parts = split(RichText(whole), Limit(units, utf16_units))
    for begin, part in zip(places(whole, parts), parts, strict=True):
        assert begin in edges
        assert begin + len(part.text) in edges


@settings(deadline=None, max_examples=400)
@given(MARKDOWN)
def test_any_markdown_is_rendered_to_valid_rich_text(markdown):
    rich = from_markdown(markdown)
    assert_valid(rich)
    assert bool(rich.text.strip()) == bool(markdown.strip())


@settings(deadline=None, max_examples=300)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["", "**", "_", "~~", "`", "> ", "- ", "1. ", "# ", "> - ", "    "]),
            WORDS,
            st.sampled_from([" ", "\n", "\n\n"]),
        )
    )
)
def test_every_word_of_the_source_is_kept_in_order(pieces):
    markdown = "".join(
        mark + word + (mark if mark.strip("*_~`") == "" and mark.strip() else "") + gap for mark, word, gap in pieces
    )
    text, position = from_markdown(markdown).text, 0
    for _, word, _ in pieces:
        position = text.index(word, position) + len(word)
