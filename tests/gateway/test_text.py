"""Rich text: building it, and where it is cut."""

import pytest

from gateway.text import (
    Builder,
    Limit,
    RichText,
    Span,
    characters,
    join,
    plain,
    split,
    utf8_bytes,
    utf16_units,
)

FAMILY = "👩‍👩‍👧"


def parts(rich: RichText | str, units: int, measure=characters) -> list[str]:
    rich = plain(rich) if isinstance(rich, str) else rich
    return [part.text for part in split(rich, Limit(units, measure))]


# Building


def test_a_builder_styles_pieces_and_nests_rich_text_with_the_outer_span_first():
    inner = Builder().add("see ").add("docs", "link", "https://a.example").build()
    rich = Builder().add("Now ").add(inner, "bold").add("!").build()
    assert rich.text == "Now see docs!"
    assert rich.spans == (Span(4, 12, "bold"), Span(8, 12, "link", "https://a.example"))


def test_a_builder_closes_what_is_open_and_keeps_no_empty_or_repeated_style():
    rich = Builder().add("", "code").open("bold").add(Builder().add("a", "bold").build()).add("b", "bold").build()
    assert rich == RichText("ab", (Span(0, 2, "bold"),))


def test_texts_are_joined_with_their_spans_moved():
    bold = Builder().add("b", "bold").build()
    assert join([bold, bold], ", ") == RichText("b, b", (Span(0, 1, "bold"), Span(3, 4, "bold")))


# Measuring


@pytest.mark.parametrize(
    ("text", "points", "units", "octets"),
    [("a", 1, 1, 1), ("汉", 1, 1, 3), ("🎉", 1, 2, 4), (FAMILY, 5, 8, 18), ("\ud83d", 1, 1, 3)],
)
def test_lengths_are_counted_in_the_platforms_unit(text, points, units, octets):
    assert (characters(text), utf16_units(text), utf8_bytes(text)) == (points, units, octets)


# Cutting


def test_an_empty_text_has_no_parts_and_one_that_fits_is_left_alone():
    styled = RichText(" a \n", (Span(1, 2, "bold"),))
    assert split(plain(""), Limit(5, characters)) == []
    assert split(styled, Limit(4, characters)) == [styled]


@pytest.mark.parametrize(
    ("text", "units", "expected"),
    [
        ("one two\nthree\n\nfour five", 20, ["one two\nthree\n", "four five"]),
        ("one two\nthree four", 14, ["one two", "three four"]),
        ("It works. Then it stops", 15, ["It works.", "Then it stops"]),
        ("做完了。现在运行测试", 7, ["做完了。", "现在运行测试"]),
        ("alpha beta gamma", 11, ["alpha beta", "gamma"]),
        ("alpha   beta", 6, ["alpha", "beta"]),
        ("abcdefgh", 3, ["abc", "def", "gh"]),
        ("line\n    indented", 14, ["line", "    indented"]),
    ],
)
def test_the_cut_is_at_the_best_place_paragraph_line_sentence_word(text, units, expected):
    assert parts(text, units) == expected


def test_a_paragraph_too_near_the_start_is_no_place_to_cut():
    assert parts("a\n\n" + "word " * 8 + "end", 30)[0].startswith("a\n\nword word")


@pytest.mark.parametrize("cluster", [FAMILY, "👍🏽", "🇩🇪", "e\u0301", "한", "क्षि", "1️⃣", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "\r\n"])
def test_a_cluster_is_never_cut_while_it_fits(cluster):
    for units in range(len(cluster), 3 * len(cluster)):
        assert all(part.replace(cluster, "") == "" for part in parts(cluster * 9, units) if cluster != "\r\n")
        assert all("\n" not in part[:1] for part in parts(cluster * 9, units) if cluster == "\r\n")


def test_a_cluster_over_the_limit_is_cut_between_code_points():
    assert parts(FAMILY, 3, utf16_units) == ["👩\u200d", "👩\u200d", "👧"]
    assert parts("🎉🎉", 1, utf16_units) == ["🎉", "🎉"]


def test_flags_are_not_taken_apart_however_many_stand_in_a_row():
    assert parts("🇩🇪🇫🇷🇯🇵", 3) == ["🇩🇪", "🇫🇷", "🇯🇵"]


def test_a_span_over_a_cut_is_closed_and_opened_again():
    rich = Builder().open("quote").add("say ").add("alpha beta", "bold").close().add(" end").build()
    assert split(rich, Limit(9, characters)) == [
        RichText("say alpha", (Span(0, 9, "quote"), Span(4, 9, "bold"))),
        RichText("beta end", (Span(0, 4, "quote"), Span(0, 4, "bold"))),
    ]


def test_a_code_block_is_cut_at_its_lines_and_keeps_language_and_indentation():
    code = "\n".join(f"    step_{number}()" for number in range(6))
    found = split(Builder().add(code, "pre", "py").build(), Limit(33, characters))
    assert "\n".join(part.text for part in found) == code
    assert all(part.spans == (Span(0, len(part.text), "pre", "py"),) for part in found)
    assert all(part.text.startswith("    step") for part in found)


def test_a_code_block_that_would_be_cut_goes_whole_to_the_next_part_or_stays_whole_in_this_one():
    prose, code = "word " * 5 + "word.", "a = 1\n\nb = 2\n"
    after = Builder().add(prose + "\n").add(code, "pre").build()
    before = Builder().add(prose + "\n").add(code + "c", "pre").add("\nmuch more text").build()
    assert parts(after, 40) == [prose, code]
    assert parts(before, 48) == [f"{prose}\n{code}c", "much more text"]


def test_every_measure_is_obeyed_to_the_unit():
    text = "汉字🎉 word " * 200
    for measure in (characters, utf16_units, utf8_bytes):
        assert max(measure(part) for part in parts(text, 50, measure)) <= 50
    assert max(utf16_units(part) for part in parts("a🎉" * 500, 50, utf16_units)) == 50


def test_a_measure_that_counts_less_than_characters_lets_longer_parts_pass():
    assert parts("x" * 100, 3, lambda text: len(text) // 10) == ["x" * 39, "x" * 39, "x" * 22]
