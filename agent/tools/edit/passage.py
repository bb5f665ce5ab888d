"""In which order the ways to find a passage are tried, from the strictest to the loosest."""

from dataclasses import dataclass, replace

from agent.tools.edit.block import find_block
from agent.tools.edit.line_numbers import unnumbered, without_numbers
from agent.tools.edit.reading import Found, Original, plainest

# How far from its line number a passage may begin: the text may have grown since it was listed.
_MOST_LINES_OFF = 20


@dataclass(frozen=True, slots=True)
class Passage:
    """Where a passage is, what is to stand there, and how loosely it had to be read."""

    found: Found
    new: str
    exact: bool = True
    numbered: bool = False


def find_passage(original: Original, old: str, new: str) -> Passage | None:
    """Find a passage the strictest way there is; when that gives several places, no looser way is tried.

    In order: exactly; line by line, as `Original.normalised` reads it; as a block that is shifted as a whole; and
    without the line numbers of a listing, again exactly and line by line. None when it is nowhere.
    """
    return _exact_or_normalised(original, old, new) or _shifted(original, old, new) or _numbered(original, old, new)


def _exact_or_normalised(original: Original, old: str, new: str) -> Passage | None:
    found = original.exact.find(old)
    if found.spans:
        return Passage(found, new)
    found = _normalised(original, old)
    return Passage(found, new, exact=False) if found.spans else None


def _normalised(original: Original, old: str) -> Found:
    lines = old.split("\n")
    bare = [line.rstrip() for line in lines]
    passage = plainest("\n".join(bare))
    if not passage.strip():
        return Found()
    # Blanks at the end were meant as such: nothing else may follow where they stood.
    return original.normalised.find(passage, ends_line=bare[-1] != lines[-1])


def _shifted(original: Original, old: str, new: str) -> Passage | None:
    found, shifted = find_block(original, old, new)
    return Passage(found, shifted, exact=False) if found.spans else None


def _numbered(original: Original, old: str, new: str) -> Passage | None:
    listing = unnumbered(old)
    if listing is None or not listing.text.strip():
        return None
    passage = _exact_or_normalised(original, listing.text, without_numbers(new))
    if passage is None:
        return None
    only = passage.found.spans[0] if len(passage.found.spans) == 1 else None
    if only and abs(only.line - listing.first) > _MOST_LINES_OFF:
        return None
    return replace(passage, numbered=True)
