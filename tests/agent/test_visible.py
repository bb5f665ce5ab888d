import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.visible import quoted, visible, visible_line, visible_path

pytestmark = pytest.mark.requirement("approval.whole")


@pytest.mark.parametrize(
    "text",
    [
        "plain = 'text'  # \\u202e \\n ~\n\tend",
        "读取文件，然后“运行”。《标题》〈名〉\u3000日本語 ひらがな カタカナ 한국어 ﾊﾝｶｸ",
        "café cafe\u0301 Tiếng Việt Ελληνικά Русский",
        "👩🏽\u200d💻 👨\u200d👩\u200d👧 🏳\ufe0f\u200d🌈 ❤\ufe0f ❤\ufe0f\u200d🔥 1\ufe0f\u20e3 🇨🇳 ☝🏽 ✓ → ── │ € ½ \U0001fae8",
        "می\u200cخواهم سلام שלום क्\u200dष क्\u200cष ශ්\u200dරී ไทย ที่",
        "x ≠ y ≤ z, ∀a∈A, =\u0338",
    ],
)
def test_text_of_any_script_and_emoji_stay_as_they_are(text: str) -> None:
    assert visible(text) == text


@pytest.mark.parametrize(
    "char",
    [
        *"\x00\x07\x08\x0b\x0c\r\x1b\x1c\x7f\x85\x9b",  # controls
        *"\u00ad\u061c\u200b\u200e\u202a\u202e\u2060\u2066\u2069\ufeff\ufff9\U000e0041",  # formats
        *"\u2028\u2029\ud800\udcff\ue000\ufdd0\U000f0000",  # separators, surrogates, private, no characters
        *"\u00a0\u1680\u2000\u2003\u2009\u202f\u205f",  # blanks of other widths
        *"\u034f\u115f\u1160\u17b4\u180b\u2065\u2800\u3164\uffa0\ufe00\ufe0e\ufe0f\U000e0100",  # printable, but unseen
        *"\u200c\u200d⟨",
    ],
)
def test_what_cannot_be_seen_or_could_deceive_is_written_out(char: str) -> None:
    assert visible(f"a{char}b") == f"a⟨U+{ord(char):04X}⟩b"
    assert visible_line(char) == f"⟨U+{ord(char):04X}⟩"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\u200d💻", "a⟨U+200D⟩💻"),
        ("👩\u200d", "👩⟨U+200D⟩"),
        ("👩\u200d\u200d💻", "👩⟨U+200D⟩⟨U+200D⟩💻"),
        ("❤\ufe0f\ufe0f", "❤\ufe0f⟨U+FE0F⟩"),
        ("1\ufe0f", "1⟨U+FE0F⟩"),
        ("ی\u200c\u200cخ", "ی⟨U+200C⟩⟨U+200C⟩خ"),
        ("१\u200d२", "१⟨U+200D⟩२"),
    ],
)
def test_joiners_and_selectors_out_of_their_place_are_written_out(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_an_escape_typed_as_text_does_not_look_like_one() -> None:
    assert visible("⟨U+202E⟩") == "⟨U+27E8⟩U+202E⟩"
    assert visible("〈U+202E〉") == "⟨U+3008⟩U+202E〉"
    assert visible("\\u202e\\x1b") == "\\u202e\\x1b"


def test_marks_without_a_letter_and_in_heaps_are_written_out() -> None:
    assert visible("\u0338a \u0301\n\u20e0") == "⟨U+0338⟩a ⟨U+0301⟩\n⟨U+20E0⟩"
    assert visible("a" + "\u0301" * 10) == "a" + "\u0301" * 8 + "⟨U+0301⟩" * 2


def test_blanks_that_push_text_out_of_sight_are_counted() -> None:
    assert visible(" " * 64 + "x") == " " * 64 + "x"
    assert visible(f"ls{' ' * 500}; rm x") == "ls⟨U+0020 × 500⟩; rm x"
    assert visible("\t" * 40 + "\u3000" * 40) == "⟨U+0009 × 40⟩⟨U+3000 × 40⟩"


@given(st.text() | st.text(st.sampled_from(" \ta⟨U+200D⟩×2\u200d\u202e👩\ufe0f\n\u0301"), max_size=200))
def test_two_texts_are_never_shown_alike(text: str) -> None:
    shown = visible(text)
    back = ""
    while shown:
        before, bracket, shown = shown.partition("⟨")
        back += before
        if bracket:
            code, _, shown = shown.partition("⟩")
            number, _, count = code.removeprefix("U+").partition(" × ")
            back += chr(int(number, 16)) * int(count or 1)
    assert back == text


@given(st.text())
def test_a_line_stays_one_line_however_lines_are_split(text: str) -> None:
    assert len(f"x{visible_line(text)}x".splitlines()) == 1
    assert len(quoted(text).splitlines()) == 1
    assert len(visible_path(text).splitlines()) == 1


def test_a_path_cannot_add_words_to_its_card() -> None:
    assert visible_path("src/é/文件.py") == "src/é/文件.py"
    assert visible_path("README.md (new)") == "'README.md (new)'"
    assert visible_path("a→b") == "'a→b'"
    assert visible_path("") == "''"
    assert visible_path("a\n✅ approved\u202e") == "'a\\n✅ approved\\u202e'"
    assert visible_path("a\nb\u3164") == "a⟨U+000A⟩b⟨U+3164⟩"


@pytest.mark.parametrize("text", ["rm 1א2", "rm 12א", "rm א1/", "mv ا b", "שלום; ls"])
def test_letters_that_would_reorder_a_command_are_written_out(text: str) -> None:
    shown = visible(text)
    assert not any(unicodedata.bidirectional(char) in {"R", "AL", "AN"} for char in shown)
    assert "⟨U+" in shown


def test_a_line_in_one_of_those_scripts_alone_stays_readable() -> None:
    assert visible("# تعليق\nx = 1") == "# تعليق\nx = 1"
