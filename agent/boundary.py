"""The line between what people say and what tools return: results are data, whatever they contain.

Above: the session wraps every result before it enters the history, error texts and file names included. The tag is the
same in all conversations. A random one would be another wall, but the system prompt, which must name it, is fixed for
the life of a conversation, and a history rebuilt from its ledger must give the same bytes. What a random tag guards
against, a result that writes the tag itself, is made impossible here instead.
"""

import re
import unicodedata

_NAME = "tool_result"
_NOT_A_NAME = re.compile(r"[^A-Za-z0-9_.:-]")
_MOST_NAME_CHARACTERS = 128

# All that NFKC folds to `<`, unless a letter or digit follows with which no spelling of the tag begins.
_OPENING = re.compile("[<\ufe64\uff1c](?!/?[0-9A-SU-Za-su-z])")
_BRACKETS = frozenset("<>")
_WORD = re.compile(r"[0-9A-Za-z_]")

# Controls, formats, private, lone surrogates and not assigned; marks on a letter; blanks.
_PASSED_OVER = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Mc", "Me", "Mn", "Zl", "Zp", "Zs"})
# Letters and signs that show nothing: fillers of Hangul, and what `agent.visible` lists as by its nature a blank.
_FILLERS = frozenset("\u115f\u1160\u3164\uffa0\u2800\U0001d159\U00016fe4\U00013441\U00013442")


def wrap(tool: str, result: str) -> str:
    """Put a tool's result inside the untrusted-data boundary.

    Anything in it that reads as one of the boundary's own tags has its `<` escaped, so that no result can close the
    boundary or open another: in any case, with blanks or anything invisible inside, in full width or other characters
    that NFKC folds to the tag's. All else of the result stays as it is.
    """
    name = _NOT_A_NAME.sub("_", tool[:_MOST_NAME_CHARACTERS])
    body = _OPENING.sub(_escaped, result)
    return f'<{_NAME} tool="{name}" trust="untrusted-data">\n{body}\n</{_NAME}>'


def _escaped(opening: re.Match[str]) -> str:
    return "&lt;" if _begins_tag(opening.string, opening.end()) else opening.group()


def _begins_tag(text: str, start: int) -> bool:
    """Whether the tag's name is the next thing that can be read; a slash or any other sign may stand before it."""
    found = 0
    for index in range(start, len(text)):
        for char in unicodedata.normalize("NFKC", text[index]).casefold():
            if char == _NAME[found]:
                found += 1
            elif not _is_passed_over(char, before_name=not found):
                return False
        if found == len(_NAME):
            return not _WORD.match(text, index + 1)
    return False


def _is_passed_over(char: str, *, before_name: bool) -> bool:
    if unicodedata.category(char) in _PASSED_OVER or char in _FILLERS:
        return True
    return before_name and char not in _BRACKETS and not char.isalnum()
