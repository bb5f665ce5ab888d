"""Text files of a project, as the tools read, show and change them."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from agent.diff import Diff, diff
from agent.errors import FileUnsuitable, ToolFailure
from agent.paths import named, parts_of
from agent.project import Place, Project
from agent.tool import FileChange, Preview, SeenFile
from agent.visible import visible_path

MAX_TEXT_BYTES = 5 << 20
BYTE_ORDER_MARK = "\ufeff"


def decoded(path: str, content: bytes) -> str:
    """The bytes of a file as text, unchanged but for the coding.

    Raises:
        FileUnsuitable: they are not UTF-8 text.
    """
    if b"\0" in content:
        raise FileUnsuitable(f"{named(path)} is a binary file, not text")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise FileUnsuitable(f"{named(path)} is not UTF-8 text (byte {error.start})") from error


def encoded(path: str, text: str) -> bytes:
    """Text as the bytes of a file.

    Raises:
        ToolFailure: it is larger than `MAX_TEXT_BYTES`, or has characters that UTF-8 cannot hold.
    """
    try:
        content = text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ToolFailure(f"The text for {named(path)} has a lone surrogate at character {error.start}.") from error
    if len(content) > MAX_TEXT_BYTES:
        raise ToolFailure(
            f"{named(path)} would have {len(content):,} bytes; the limit is {MAX_TEXT_BYTES:,}. Write smaller files."
        )
    return content


def present(project: Project, path: str) -> bytes | None:
    """What a file holds, or None when nothing is there."""
    return project.read(path, max_bytes=MAX_TEXT_BYTES) if project.exists(path) else None


def seen_file(place: str, content: bytes) -> SeenFile:
    """What the model knows once it was shown these bytes, or wrote them; `place` is where the file really is."""
    return SeenFile(path=place, digest=hashlib.sha256(content).hexdigest())


def require_fresh(place: str, content: bytes, seen: Mapping[str, str], *, must_know: bool) -> None:
    """Make sure that the model knows a file as it now is, so that nobody's work is written over unseen.

    `seen` maps real places to digests, as in `ToolContext`. A file it has never seen passes unless it `must_know`.

    Raises:
        ToolFailure: the file was changed since, or it must be known and is not.
    """
    known = seen.get(place)
    if known is None and must_know:
        raise ToolFailure(f"{named(place)} has not been read in this conversation. Read it first, then change it.")
    if known is not None and known != seen_file(place, content).digest:
        raise ToolFailure(f"{named(place)} has changed since you last read it. Read it again, then change it.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What becomes of one file: its counts, and the diff as a person is shown it, which need not be `whole`."""

    file: FileChange
    detail: str
    whole: bool
    compared: Diff


def change_of(place: Place, before: bytes | None, after: bytes) -> Change:
    """Compare a file, None where there is none, with what shall replace it; one that is no text counts as empty."""
    new = after.decode("utf-8")
    note, nothing = "", "no change"
    try:
        old = decoded(place.path, before or b"")
    except FileUnsuitable:
        old, note, nothing = "", f"replaces a binary file of {len(before or b''):,} bytes\n", "by an empty one"
    compared = diff(old, new)
    return Change(
        file=FileChange(path=visible_path(place.path), added=compared.added, removed=compared.removed),
        detail=note + (compared.text or ("an empty file" if before is None else nothing)),
        whole=compared.whole,
        compared=compared,
    )


def change_preview(project: Project, path: str, before: bytes | None, after: bytes) -> Preview:
    """A file's change as a person is shown it, bound to its real place and to the bytes it was made from.

    Raises:
        PathOutside, FileUnsuitable: `path` cannot be written.
    """
    place = project.place(path)
    change = change_of(place, before, after)
    title = change.file.path
    if "/".join(parts_of(path)) != place.path:
        title = f"{visible_path(path)} → {title}"
    return Preview(
        title=title if before is not None else f"{title} (new)",
        detail=change.detail,
        kind="diff",
        whole=change.whole,
        pre_image=place.pre_image(before),
        changes=(change.file,),
    )
