"""Text files of a project, as the tools read, show and change them."""

import hashlib

from agent.diff import diff, visible
from agent.errors import FileUnsuitable, ToolFailure
from agent.project import Project
from agent.tool import FileChange, Preview

MAX_TEXT_BYTES = 5 << 20
BYTE_ORDER_MARK = "\ufeff"


def decoded(path: str, content: bytes) -> str:
    """The bytes of a file as text, unchanged but for the coding.

    Raises:
        FileUnsuitable: they are not UTF-8 text.
    """
    if b"\0" in content:
        raise FileUnsuitable(f"{path!r} is a binary file, not text")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise FileUnsuitable(f"{path!r} is not UTF-8 text (byte {error.start})") from error


def encoded(path: str, text: str) -> bytes:
    """Text as the bytes of a file.

    Raises:
        ToolFailure: it is larger than `MAX_TEXT_BYTES`, or has characters that UTF-8 cannot hold.
    """
    try:
        content = text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ToolFailure(f"The text for {path!r} has a lone surrogate at character {error.start}.") from error
    if len(content) > MAX_TEXT_BYTES:
        raise ToolFailure(
            f"{path!r} would have {len(content):,} bytes; the limit is {MAX_TEXT_BYTES:,}. Write smaller files."
        )
    return content


def present(project: Project, path: str) -> bytes | None:
    """What a file holds, or None when nothing is there."""
    return project.read(path, max_bytes=MAX_TEXT_BYTES) if project.exists(path) else None


def change_of(path: str, before: bytes | None, after: bytes) -> tuple[FileChange, str]:
    """How many lines would come and go, and the diff; that of a binary file says only its size."""
    new = after.decode("utf-8")
    try:
        old = decoded(path, before or b"")
        note = ""
    except FileUnsuitable:
        old = ""
        note = f"replaces a binary file of {len(before or b''):,} bytes\n"
    compared = diff(old, new)
    change = FileChange(path=path, added=compared.added, removed=compared.removed)
    return change, f"{note}{compared.text or 'no change'}"


def change_preview(path: str, before: bytes | None, after: bytes) -> Preview:
    """A file's change as a person is shown it, bound to the bytes it was made from (as `Project.digest` has them)."""
    change, text = change_of(path, before, after)
    pre_image = "" if before is None else hashlib.sha256(before).hexdigest()
    title = visible(path) if before is not None else f"{visible(path)} (new)"
    return Preview(title=title, detail=text, kind="diff", pre_image=pre_image, changes=(change,))
