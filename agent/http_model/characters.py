"""Text from somebody else, made fit to be kept and shown. Pure."""


def whole_characters(text: str) -> str:
    """Join surrogate pairs that were sent as two escapes; a half without its other half becomes U+FFFD."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def one_line(text: str, limit: int = 300) -> str:
    """`text` on one line, cut to `limit` characters."""
    flat = " ".join(whole_characters(text).split())
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"


class WholeCharacters:
    """Text that arrives in pieces: half of a surrogate pair at the end of one waits for the other half."""

    def __init__(self) -> None:
        self._half = ""

    def feed(self, text: str) -> str:
        """Take the next piece and return what is whole by now."""
        if self._half:
            text, self._half = self._half + text, ""
        if text.isascii():
            return text
        if "\ud800" <= text[-1] <= "\udbff":
            text, self._half = text[:-1], text[-1]
        return whole_characters(text)

    def close(self) -> str:
        """What stands for a half that waits in vain."""
        lost, self._half = self._half, ""
        return "\ufffd" if lost else ""
