"""Reasoning that a model marks inside its text."""


class ThinkFilter:
    """Takes `<think>…</think>` at the very start of a text apart from it, as some models mark their reasoning."""

    _OPEN, _CLOSE = "<think>", "</think>"

    def __init__(self) -> None:
        self.reasoning: list[str] = []
        self._place = "start"
        self._held: str = ""

    def feed(self, text: str) -> str:
        """Take the next piece and return what of the text is certain by now."""
        if self._place == "text":
            return text
        self._held += text
        if self._place == "start":
            begin = self._held.lstrip()
            if not begin.startswith(self._OPEN):
                return "" if self._OPEN.startswith(begin) else self._release()
            self._place, self._held = "inside", begin.removeprefix(self._OPEN)
        if self._place == "inside":
            inside, close, rest = self._held.partition(self._CLOSE)
            if not close:
                self._keep_reasoning(len(inside) - len(self._CLOSE) + 1)
                return ""
            self.reasoning.append(inside)
            self._place, self._held = "after", rest
        self._held = self._held.lstrip()
        return self._release() if self._held else ""

    def close(self) -> str:
        """Return what was still held back; reasoning that was never closed stays reasoning."""
        if self._place == "inside":
            self._keep_reasoning(len(self._held))
        return self._release()

    def _keep_reasoning(self, end: int) -> None:
        if end > 0:
            self.reasoning.append(self._held[:end])
            self._held = self._held[end:]

    def _release(self) -> str:
        released = self._held
        self._held, self._place = "", "text"
        return released
