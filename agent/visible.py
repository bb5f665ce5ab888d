"""Text of any origin made fit for a person's eyes: what would hide, reorder or imitate something is written out.

A character that cannot be seen for what it is becomes `⟨U+202E⟩`. The opening bracket itself is written so as well;
every `⟨` on a card is therefore ours, and two different texts are never shown alike because of what nobody can see.
Letters of all scripts, accents and emoji stay as they are; but letters that run from right to left are written out in
a line that also holds Latin letters, digits or signs of a shell, since they would change the order these are seen in.
"""

import re
import unicodedata
from itertools import groupby

# Blanks that push the rest of a line out of sight.
_MOST_BLANKS = 64
# More marks on one letter than any script writes grow into the lines above and below.
_MOST_MARKS = 8

# Most characters of most texts, settled without a closer look: ASCII, Latin, kana, Chinese characters, Hangul.
_SUSPECT = re.compile(
    rf"[ \t\u3000]{{{_MOST_BLANKS + 1},}}|[^ -~\n\t\u00c0-\u024f\u3041-\u3096\u30a1-\u30fa\u4e00-\u9fff\uac00-\ud7a3]"
)
# Unicode's Default_Ignorable_Code_Point (DerivedCoreProperties.txt), then what is by its nature a blank: Braille, a
# musical notehead, a Khitan filler and two Egyptian ones.
_NOTHING_TO_SEE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
    "\u2800\U0001d159\U00016fe4\U00013441\U00013442]"
)
# The blocks of emoji-variation-sequences.txt; Python knows no property for them.
_EMOJI = (
    "[\u00a9\u00ae\u203c\u2049\u2122\u2139\u2194-\u21aa\u231a-\u23ff\u24c2\u25aa-\u27bf\u2934\u2935\u2b05-\u2b55"
    "\u3030\u303d\u3297\u3299\U0001f000-\U0001faff]"
)
# Arabic and its relatives, and the scripts of India, where a joiner between two letters changes their shape.
_JOINED = r"[\u0620-\u065f\u066e-\u06d3\u06d5-\u06dc\u06fa-\u06ff\u0710-\u088e\u08a0-\u08e1\u0900-\u0dff]"
_UNSEEN_IN_ITS_PLACE = re.compile(
    f"(?:(?<={_EMOJI})|(?<={_EMOJI}\ufe0f))\u200d(?={_EMOJI})|(?<={_EMOJI})\ufe0f|(?<=[0-9#*])\ufe0f(?=\u20e3)"
    rf"|(?<={_JOINED})(?<!\d)[\u200c\u200d](?={_JOINED})(?!\d)"
)
# The blocks of scripts that run from right to left (Bidi_Class R and AL), and what they would reorder.
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefe\U00010800-\U00010fff\U0001e800-\U0001efff]")
_ORDERED = re.compile(r"[0-9A-Za-z/\\;|&<>$`]")
_OTHER_BRACKETS = "〈\u2329❬"
# Python's tables are older than the newest emoji; all of these blocks are set aside for them.
_FUTURE_EMOJI = range(0x1F000, 0x1FB00)


def visible(text: str) -> str:
    """A text of several lines so that what is shown is what is there; line feeds and tabs stay as they are."""
    if not _RIGHT_TO_LEFT.search(text):
        return _SUSPECT.sub(_written, text)
    return "\n".join(_visible_order(line) for line in text.split("\n"))


def visible_line(text: str) -> str:
    """The same for a text that must stay one line, as a title: line feeds and tabs are written out too."""
    return visible(text).replace("\n", _escape("\n")).replace("\t", _escape("\t"))


def quoted(text: str) -> str:
    """The same in quotation marks, for the middle of a sentence."""
    return visible_line(repr(text))


def visible_path(path: str) -> str:
    """The same for a path on a card; it is quoted where its blanks or signs could pass for words of the card itself."""
    shown = visible_line(path)
    return quoted(path) if not path or any(char.isspace() or char in "→'\"" for char in shown) else shown


def _visible_order(line: str) -> str:
    mixed = _RIGHT_TO_LEFT.search(line) and _ORDERED.search(line)
    return _SUSPECT.sub(_written_in_order if mixed else _written, line)


def _written_in_order(found: re.Match[str]) -> str:
    return _escape(found.group()) if _RIGHT_TO_LEFT.match(found.group()) else _written(found)


def _written(found: re.Match[str]) -> str:
    if len(found.group()) > 1:
        return "".join(_escape(char, len(list(run))) for char, run in groupby(found.group()))
    return found.group() if _is_seen(found.string, found.start()) else _escape(found.group())


def _escape(char: str, count: int = 1) -> str:
    return f"⟨U+{ord(char):04X}⟩" if count == 1 else f"⟨U+{ord(char):04X} × {count}⟩"


def _is_seen(text: str, index: int) -> bool:
    """Whether the character can be told by looking, where it stands."""
    char = text[index]
    if _UNSEEN_IN_ITS_PLACE.match(text, index):
        return True
    if char == "⟨" or (char in _OTHER_BRACKETS and text.startswith("U+", index + 1)) or _NOTHING_TO_SEE.match(char):
        return False
    match unicodedata.category(char):
        case "Mn" | "Mc" | "Me":
            return _is_carried(text, index)
        case "Cn":
            return ord(char) in _FUTURE_EMOJI
        case category:
            return char == "\u3000" or category[0] in "LNPS"


def _is_carried(text: str, index: int) -> bool:
    """Whether a mark stands on a letter or sign, and not on a blank or on too many marks."""
    before = text[max(0, index - _MOST_MARKS) : index]
    if not before or unicodedata.category(before[-1])[0] not in "LNPSM":
        return False
    return len(before) < _MOST_MARKS or not all(unicodedata.category(char)[0] == "M" for char in before)
