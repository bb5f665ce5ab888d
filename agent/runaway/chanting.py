"""A model that chants: it repeats one piece of text without end, which costs tokens and leads nowhere.

Above: whoever reads a model's text as it streams. The rule is that of gemini-cli's loop detection (agent-lessons §1):
a chunk of 50 characters met 10 times, five chunks apart on average or less, is a chant, unless what stands between the
places differs. Code, tables and lists repeat by their nature: fenced code and rows of tables are left out, and each
list item, heading, quotation and indented line is looked at by itself.
"""

import re
from collections import deque

_CHUNK = 50
_HITS = 10
_MOST_APART = 5 * _CHUNK * (_HITS - 1)
_MOST_PERIODS = _HITS // 2
# More than a chant's ten places can span.
_KEPT = _MOST_APART + 2 * _CHUNK

_PARTS = re.compile(r"`+|~+|\n|[^`~\n]+")
_MOST_HEAD = 24
"""So many characters of a line tell of which kind it is."""
_TABLE = re.compile(r"\s*(?:\||\+[-=+])")
_ALONE = re.compile(
    r"\s*(?:[-*+•·]|#{1,6}|\d{1,9}[.)、．]|[（(]\d{1,3}[)）]|[一二三四五六七八九十]{1,3}、)(?:\s|$)|\s*[>①-⑳]|\t| {4}"
)


class ChantWatch:
    """Listens to one stream of text. How the text is cut into pieces makes no difference.

    Its memory is bounded, and its work grows with the length of the stream alone.
    """

    def __init__(self) -> None:
        self._found = False
        self._repeats = _Repeats()
        self._fence: _Fence | None = None
        self._run = ""
        self._run_length = 0
        self._begin_line()

    def feed(self, delta: str) -> bool:
        """Take the next piece; whether the stream has been found to chant by now."""
        for part in () if self._found else _PARTS.findall(delta):
            if part[0] in "`~":
                self._extend_run(part)
                continue
            self._end_run()
            if part == "\n":
                self._end_line()
            else:
                self._take(part)
        return self._found

    def _begin_line(self) -> None:
        self._head: str | None = ""
        """How the line begins, until its kind is known."""
        self._is_row = False
        self._is_blank = True

    def _extend_run(self, marks: str) -> None:
        """Collect backticks or tildes, which may go on in the next piece."""
        if self._run != marks[0]:
            self._end_run()
            self._run = marks[0]
        self._run_length += len(marks)

    def _end_run(self) -> None:
        run = _Fence(self._run, self._run_length, at_start=self._is_blank)
        self._run, self._run_length = "", 0
        if self._fence is not None:
            if self._fence.is_closed_by(run):
                self._cross_fence(None)
        elif run.can_open:
            self._cross_fence(run)
        elif run.length:
            self._take(run.mark * min(run.length, _KEPT))

    def _cross_fence(self, fence: "_Fence | None") -> None:
        self._fence = fence
        self._repeats = _Repeats()
        self._head, self._is_row, self._is_blank = None, False, False

    def _end_line(self) -> None:
        if self._fence is None:
            self._settle_kind()
            self._listen("\n")
        else:
            self._fence.at_later_line = True
        self._begin_line()

    def _take(self, text: str) -> None:
        """Take a part of a line."""
        self._is_blank = self._is_blank and text.isspace()
        if self._fence is not None:
            return
        if self._head is None:
            self._listen(text)
            return
        self._head += text
        if len(self._head) >= _MOST_HEAD:
            self._settle_kind()

    def _settle_kind(self) -> None:
        """See by the line's beginning of which kind it is, and go on with what has come of it."""
        if self._head is None:
            return
        head, self._head = self._head, None
        self._is_row = _TABLE.match(head[:_MOST_HEAD]) is not None
        if self._is_row or _ALONE.match(head[:_MOST_HEAD]):
            self._repeats = _Repeats()
        self._listen(head)

    def _listen(self, text: str) -> None:
        if not self._is_row:
            self._found = self._found or self._repeats.feed(text)


class _Fence:
    """A run of backticks or tildes: it may open a fence, or close one."""

    def __init__(self, mark: str, length: int, *, at_start: bool) -> None:
        self.mark = mark
        self.length = length
        self.at_start = at_start
        self.at_later_line = False

    @property
    def can_open(self) -> bool:
        """Models open fences in the middle of a line too; tildes there are but a flourish."""
        return self.length >= 3 and (self.mark == "`" or self.at_start)

    def is_closed_by(self, run: "_Fence") -> bool:
        """One that begins its line ends at the beginning of a later line; or, as code in a line, in its own."""
        in_place = run.at_start or not self.at_start or not self.at_later_line
        return run.mark == self.mark and run.length >= self.length and in_place


class _Repeats:
    """Text in which every chunk is looked for again."""

    def __init__(self) -> None:
        self._text = ""
        self._offset = 0
        """Where in the stream the kept text begins."""
        self._next = 0
        self._places: dict[str, deque[int]] = {}

    def feed(self, text: str) -> bool:
        """Take more; whether a chant was found in it."""
        for start in range(0, len(text), _KEPT):
            self._text += text[start : start + _KEPT]
            if any(self._comes_again(place) for place in self._new_places()):
                return True
            self._forget()
        return False

    def _new_places(self) -> range:
        start, self._next = self._next, max(self._next, self._offset + len(self._text) - _CHUNK + 1)
        return range(start, self._next)

    def _comes_again(self, place: int) -> bool:
        chunk = self._between(place, place + _CHUNK)
        places = self._places.get(chunk)
        if places is None:
            self._places[chunk] = deque([place], maxlen=_HITS)
            return False
        if place - places[-1] < _CHUNK and _is_drawn(chunk):
            return False
        places.append(place)
        if len(places) < _HITS or place - places[0] > _MOST_APART:
            return False
        periods = {self._between(places[index], places[index + 1]) for index in range(_HITS - 1)}
        return len(periods) <= _MOST_PERIODS

    def _between(self, start: int, end: int) -> str:
        return self._text[start - self._offset : end - self._offset]

    def _forget(self) -> None:
        if len(self._text) < 2 * _KEPT:
            return
        self._offset += len(self._text) - _KEPT
        self._text = self._text[-_KEPT:]
        self._places = {chunk: places for chunk, places in self._places.items() if places[-1] >= self._offset}


def _is_drawn(chunk: str) -> bool:
    """Whether it is a line of dashes, a row of dots or noughts or the like: such a run counts once for its length."""
    return len({char for char in chunk if char.isalnum()}) <= 1
