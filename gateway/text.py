"""Neutral rich text: what is said before a platform's form is chosen, and how to split it within a limit."""

from dataclasses import dataclass
from typing import Literal

Style = Literal["bold", "italic", "strike", "code", "pre", "link", "quote"]


@dataclass(frozen=True, slots=True)
class Span:
    """A style over `text[start:end]`, in code points. `value` is a link's address or a code block's language."""

    start: int
    end: int
    style: Style
    value: str = ""


@dataclass(frozen=True, slots=True)
class RichText:
    """Text and the spans over it. Spans may nest, never cross, and are sorted by start, then by falling end."""

    text: str
    spans: tuple[Span, ...] = ()
