"""Long results: all of one goes to a file of the project, and its head and tail to the model.

The files are for `read_file`, which shows so much of a line and no more: longer lines are broken, so that every
character of even a single endless line is within reach of some range. They lie in a directory that git ignores, count
as the project's own, and only the newest are kept.
"""

import os
import re
import stat
import unicodedata
from contextlib import suppress
from itertools import islice

from agent.errors import FileUnsuitable, ProjectError
from agent.paths import PRIVATE
from agent.project import Project
from agent.text_file import MAX_TEXT_BYTES

OUTPUTS = f"{PRIVATE}/outputs"
HEAD_CHARACTERS = 2_000
TAIL_CHARACTERS = 800
LINE_CHARACTERS = 2_000
"""Longer lines are broken in the file: `read_file` shows no more of one."""
MOST_FILES = 40
MOST_BYTES = 50_000_000
"""So much is kept in `OUTPUTS`; the oldest go first."""

_IGNORE_ALL = f"{PRIVATE}/.gitignore"
_MOST_LOOKED_AT = 10_000
_NOT_A_NAME = re.compile(r"[^A-Za-z0-9_-]")
_MOST_NAME = 60
# A NUL would make a binary file of it, and a lone surrogate cannot be written.
_UNWRITABLE = re.compile("[\0\ud800-\udfff]")
_MOST_JOINED = 32
_JOINER = "\u200d"


def spill(result_text: str, *, tool: str, project: Project, name: str, most_characters: int = 32_000) -> str:
    """Keep a result as `<name>-<tool>.txt` in `OUTPUTS`, and give what the model is told instead of it.

    When no file can be made, as on a full disk or where a link is in the way, that is about `most_characters` of the
    text, and why there are no more.
    """
    text = _UNWRITABLE.sub("\ufffd", result_text)
    path = f"{OUTPUTS}/{_file_name(name)}-{_file_name(tool)}.txt"
    lines = _broken(text)
    content = "\n".join(lines).encode()
    try:
        _keep(project, path, _within(content))
    except ProjectError as error:
        note = f"[{tool}: {len(text):,} characters, cut here; they could not be kept in a file: {error}]"
        return f"{note}\n{_ends(text, most_characters - TAIL_CHARACTERS)}"
    head_lines = len(_broken(text[: _fit(text, HEAD_CHARACTERS)]))
    notes = [f"[{tool}: {len(lines):,} lines, {len(text):,} characters, kept in {path}]"]
    if len(lines) > text.count("\n") + 1:
        notes.append(f"[Lines longer than {LINE_CHARACTERS:,} characters are broken there.]")
    if len(content) > MAX_TEXT_BYTES:
        notes.append(f"[Of its middle, {len(content) - MAX_TEXT_BYTES:,} bytes are left out there.]")
    more = f'[Read on with read_file: path "{path}", with offset and limit; the head above ends in line {head_lines}.]'
    return "\n".join((*notes, _ends(text, HEAD_CHARACTERS), more))


def _keep(project: Project, path: str, content: bytes) -> None:
    for each in (path, _IGNORE_ALL):
        # A link among the directories would lead these files to ones of the project's own.
        if project.place(each).path != each:
            raise FileUnsuitable(f"{PRIVATE} or what is in it is a link")
    if not project.exists(_IGNORE_ALL):
        project.write(_IGNORE_ALL, b"*\n")
    project.make_directory(OUTPUTS)
    _make_room(project, len(content))
    project.write(path, content)


def _make_room(project: Project, size: int) -> None:
    """Remove the oldest files until one more of `size` bytes fits."""
    with project.directory(OUTPUTS, follow=False) as fd:
        files = _files(fd)
        total = size + sum(bytes_ for _, bytes_, _ in files)
        count = len(files) + 1
        for _, bytes_, name in files:
            if count <= MOST_FILES and total <= MOST_BYTES:
                break
            with suppress(OSError):
                os.unlink(name, dir_fd=fd)
            count -= 1
            total -= bytes_


def _files(fd: int) -> list[tuple[int, int, str]]:
    """Time of the last change in ns, size and name of the files in an open directory, oldest first."""
    found: list[tuple[int, int, str]] = []
    with suppress(OSError), os.scandir(fd) as entries:
        for entry in islice(entries, _MOST_LOOKED_AT):
            with suppress(OSError):
                status = entry.stat(follow_symlinks=False)
                if stat.S_ISREG(status.st_mode):
                    found.append((status.st_mtime_ns, status.st_size, entry.name))
    return sorted(found)


def _within(content: bytes) -> bytes:
    """The content, or head and tail of it in whole lines where `read_file` would not open all of it."""
    if len(content) <= MAX_TEXT_BYTES:
        return content
    note = b"\n... the middle is left out ...\n"
    half = (MAX_TEXT_BYTES - len(note)) // 2
    return content[: content.rindex(b"\n", 0, half)] + note + content[content.index(b"\n", len(content) - half) + 1 :]


def _broken(text: str) -> list[str]:
    """The lines of a text, the long ones in pieces."""
    lines: list[str] = []
    for line in text.removesuffix("\n").split("\n"):
        start = 0
        while len(line) - start > LINE_CHARACTERS:
            end = _fit(line, start + LINE_CHARACTERS)
            lines.append(line[start:end])
            start = end
        lines.append(line[start:])
    return lines


def _ends(text: str, head_characters: int) -> str:
    """The head and the tail of a text that is longer than both."""
    if len(text) <= head_characters + TAIL_CHARACTERS:
        return text
    head, tail = _fit(text, head_characters), _fit(text, len(text) - TAIL_CHARACTERS)
    return f"{text[:head]}\n… {tail - head:,} characters left out …\n{text[tail:]}"


def _fit(text: str, at: int) -> int:
    """Where to cut near `at`, a little before it when the cut would fall into what is seen as one character."""
    for cut in range(at, max(0, at - _MOST_JOINED), -1):
        if not _joined(text, cut):
            return cut
    return at


def _joined(text: str, at: int) -> bool:
    if at >= len(text):
        return False
    before, after = text[at - 1], text[at]
    flags = all("\U0001f1e6" <= char <= "\U0001f1ff" for char in (before, after))
    skin = "\U0001f3fb" <= after <= "\U0001f3ff"
    mark = unicodedata.category(after)[0] == "M"
    return flags or skin or mark or _JOINER in (before, after) or (before, after) == ("\r", "\n")


def _file_name(text: str) -> str:
    return _NOT_A_NAME.sub("_", text)[:_MOST_NAME] or "_"
