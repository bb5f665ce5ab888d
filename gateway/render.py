"""Markdown, as models write it, to neutral rich text that reads well on a phone."""

import re
import unicodedata
from collections.abc import Sequence

from markdown_it import MarkdownIt
from markdown_it.token import Token

from gateway.text import Builder, RichText, Style, join, plain

# Parsing recurses once a level of quotes and lists, and drops what lies deeper than this.
_DEEPEST = 60
_WEB = re.compile(r"(?:https?|tg)://[^\s/]", re.IGNORECASE)
_MONOSPACED_COLUMNS = 34
_RULE = "———"
_STYLES: dict[str, Style] = {"em": "italic", "strong": "bold", "s": "strike"}
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def _parser() -> MarkdownIt:
    # "[WARN]: disk is full" is a reference definition, which would vanish from the text: so references are off.
    return (
        MarkdownIt("commonmark", {"html": False, "maxNesting": _DEEPEST})
        .enable(["table", "strikethrough"])
        .disable("reference")
    )


_MARKDOWN = _parser()


def from_markdown(markdown: str) -> RichText:
    """Turn CommonMark with tables and strikethrough into rich text; every input is valid and keeps its words.

    Raw HTML is plain text. Line ends stay line ends. Only http, https, mailto and tg addresses become links; an address
    that a chat cannot open follows its label in brackets. Text that would show nothing, or is nested deeper than anyone
    could follow, stays as it is written.
    """
    markdown = _LONE_SURROGATE.sub("\ufffd", markdown)
    tokens = _MARKDOWN.parse(markdown)
    if any(token.level >= _DEEPEST - 1 for token in tokens):
        return plain(markdown)
    page = _Page(tokens).render()
    return page if page.text.strip() else plain(markdown)


class _Page:
    """Lays out blocks one under the other, apart as far as they are in the source: by a line end or a blank line."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        self._tokens = tokens
        self._built = Builder()
        self._indents: list[str] = []
        self._items: list[Token] = []
        self._marker = ""
        self._quotes = 0
        self._quote_is_open = False
        self._last_line = 0

    def render(self) -> RichText:
        position = 0
        while position < len(self._tokens):
            token = self._tokens[position]
            if token.type == "table_open":
                end = next(n for n in range(position, len(self._tokens)) if self._tokens[n].type == "table_close")
                self._block(token, _table(self._tokens[position:end]))
                position = end
            elif token.type in {"paragraph_open", "heading_open"}:
                self._prose(token, self._tokens[position + 1])
            else:
                self._other(token)
            position += 1
        return self._built.build()

    def _prose(self, token: Token, content: Token) -> None:
        self._begin(token)
        text = _inline(content.children or [], "\n" + "".join(self._indents))
        self._built.add(text, "bold" if token.type == "heading_open" else None)

    def _other(self, token: Token) -> None:
        match token.type:
            case "fence" | "code_block":
                language = token.info.split()[0] if token.info.split() else ""
                self._block(token, Builder().add(token.content.removesuffix("\n"), "pre", language).build())
            case "hr":
                self._block(token, plain(_RULE))
            case "blockquote_open":
                self._quotes += 1
                self._indents.append("> " if self._quotes > 1 else "")
            case "blockquote_close":
                self._quotes -= 1
                self._indents.pop()
                self._close_quote()
            case "list_item_open":
                bullet = f"{token.info}{token.markup} " if token.info else "• "
                self._items.append(token)
                self._marker = (self._marker or "".join(self._indents)) + bullet
                self._indents.append("  ")
            case "list_item_close":
                item = self._items.pop()
                if self._marker:
                    self._begin(item)
                self._indents.pop()
            case _:
                pass

    def _block(self, token: Token, content: RichText) -> None:
        """Add lines that bear no indentation; a list marker before them has a line of its own."""
        bears_marker = bool(self._marker)
        self._begin(token, indented=bears_marker)
        self._built.add("\n" if bears_marker and content.text else "").add(content)

    def _begin(self, token: Token, *, indented: bool = True) -> None:
        """Start a line for the block, after a blank line if the source has one."""
        first, after = token.map or (self._last_line, self._last_line)
        if self._built.length:
            self._built.add("\n" if first <= self._last_line else "\n\n")
        self._last_line = after
        if self._quotes and not self._quote_is_open:
            self._built.open("quote")
            self._quote_is_open = True
        if indented:
            self._built.add(self._marker or "".join(self._indents))
        self._marker = ""

    def _close_quote(self) -> None:
        if not self._quotes and self._quote_is_open:
            self._built.close()
            self._quote_is_open = False


def _inline(tokens: Sequence[Token], line_end: str, *, inside_link: bool = False) -> RichText:
    """Render a paragraph's content; its lines are joined by `line_end`."""
    built = Builder()
    position = 0
    while position < len(tokens):
        token = tokens[position]
        if token.type == "link_open":
            end = next(number for number in range(position + 1, len(tokens)) if tokens[number].level == token.level)
            label = _inline(tokens[position + 1 : end], line_end, inside_link=True)
            built.add(label if inside_link else _link(label, str(token.attrs["href"])))
            position = end
        elif token.type == "image":
            label = plain(_inline(token.children or [], " ").text)
            built.add(label if inside_link else _link(label, str(token.attrs["src"])))
        elif token.type in {"softbreak", "hardbreak"}:
            built.add(line_end)
        elif token.nesting > 0:
            built.open(_STYLES[token.tag])
        elif token.nesting < 0:
            built.close()
        else:
            built.add(token.content, "code" if token.type == "code_inline" else None)
        position += 1
    return built.build()


def _link(label: RichText, address: str) -> RichText:
    """Link the label where the address is one to open in a chat; any other than a web address is shown behind it."""
    shown = _MARKDOWN.normalizeLinkText(address).removeprefix("mailto:")
    label = label if label.text.strip() else plain(shown)
    on_web = _WEB.match(address)
    built = Builder()
    if on_web or address.lower().startswith("mailto:"):
        built.add(label, "link", address)
    else:
        built.add(label)
    if not on_web and shown not in {"", label.text}:
        built.add(f" ({shown})")
    return built.build()


def _table(tokens: Sequence[Token]) -> RichText:
    """Lay a table out: in columns where a phone has the room, else a few `key: value` lines a row."""
    rows: list[list[RichText]] = []
    linked = False
    for token in tokens:
        if token.type == "tr_open":
            rows.append([])
        elif token.type == "inline":
            rows[-1].append(_inline(token.children or [], " "))
            linked = linked or any(span.style == "link" for span in rows[-1][-1].spans)
    widths = [max(_columns(cell.text) for cell in column) for column in zip(*rows, strict=True)]
    if not linked and sum(widths) + 2 * (len(widths) - 1) <= _MONOSPACED_COLUMNS:
        return Builder().add("\n".join(_row(row, widths) for row in rows), "pre").build()
    header, *body = rows
    if not body:
        return join([cell for cell in header if cell.text], " | ")
    return join([_record(header, row) for row in body], "\n\n")


def _row(cells: Sequence[RichText], widths: Sequence[int]) -> str:
    padded = (cell.text + " " * (width - _columns(cell.text)) for cell, width in zip(cells, widths, strict=True))
    return "  ".join(padded).rstrip()


def _record(header: Sequence[RichText], row: Sequence[RichText]) -> RichText:
    lines: list[RichText] = []
    for key, value in zip(header, row, strict=True):
        name = Builder().add(key, "bold").add(": " if key.text else "")
        lines.append(name.add(value if value.text or not key.text else plain(_RULE[0])).build())
    return join([line for line in lines if line.text], "\n")


def _columns(text: str) -> int:
    """Width in a monospaced font: East Asian wide characters take two columns, combining marks none."""
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    return len(text) + wide - sum(unicodedata.combining(character) > 0 for character in text)
