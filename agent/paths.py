"""Paths as a project takes them: how one is read, which may be written, and how it is told that one cannot be used."""

import errno
import os
import stat
import unicodedata
from collections.abc import Generator
from contextlib import contextmanager

from agent.errors import FileUnsuitable, PathOutside, ProjectError
from agent.visible import quoted

INSIDE = "/project"
"""Where a program in the sandbox sees the project's root."""
PRIVATE = ".paigate"
"""The directory in a project's root that holds what we put there; it is shown only to who asks for it by its path."""

_MAX_DEPTH = 100
_MAX_SHOWN = 200
# Control, format, surrogate, line and paragraph separator: nobody sees them in a list of files.
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_SENTENCES = {
    errno.ELOOP: "is a link that cannot be followed here",
    errno.ENOENT: "does not exist",
    errno.ENOTDIR: "is not a directory, or lies below a file",
    errno.EISDIR: "is a directory",
    errno.ENAMETOOLONG: "is too long for a file name",
    errno.EACCES: "may not be opened: permission denied",
    errno.ENXIO: "is a socket or a device, not a file",
    errno.EAGAIN: "keeps changing while it is opened; try again",
}


def parts_of(path: str) -> tuple[str, ...]:
    """Split a path into its parts below the root; `..` is taken back by name, so that no resolver ever sees one.

    Raises:
        PathOutside: it leads above the root, or is absolute and not below `INSIDE`.
        FileUnsuitable: no file can have such a name.
    """
    parts: list[str] = []
    for part in _relative(path).split("/"):
        if part == ".." and not parts:
            raise PathOutside(f"{named(path)} leads out of the project; stay below its root")
        if part == "..":
            parts.pop()
        elif part not in {"", "."}:
            parts.append(part)
    if len(parts) > _MAX_DEPTH:
        raise FileUnsuitable(f"the path has more than {_MAX_DEPTH} parts")
    return tuple(parts)


def writable_parts_of(path: str) -> tuple[str, ...]:
    """The same for a path that is to be written: it must have no character that a person cannot see.

    Raises:
        PathOutside, FileUnsuitable: as `parts_of`, or it has a control or format character.
    """
    parts = parts_of(path)
    for char in "".join(parts):
        if unicodedata.category(char) in _UNSEEN:
            raise FileUnsuitable(
                f"{named(path)} has a character that cannot be seen (U+{ord(char):04X}); choose a name without it"
            )
    return parts


def named(path: str) -> str:
    """A path in a sentence: quoted, with everything visible, cut when it is very long."""
    return quoted(path if len(path) <= _MAX_SHOWN else f"{path[:_MAX_SHOWN]}…")


@contextmanager
def told(path: str) -> Generator[None]:
    """Turn the system's errors into ours."""
    try:
        yield
    except OSError as error:
        raise explained(path, error) from error


def explained(path: str, error: OSError) -> ProjectError:
    """What to raise for an error of the system."""
    if error.errno == errno.EXDEV:
        return PathOutside(f"{named(path)} leads out of the project through a link")
    if error.errno in _SENTENCES:
        return FileUnsuitable(f"{named(path)} {_SENTENCES[error.errno]}")
    return ProjectError(f"{named(path)} cannot be used: {error.strerror}")


def kind_of(mode: int) -> str:
    """What a thing that is no regular file is called, by its `st_mode`."""
    kinds = {stat.S_IFDIR: "a directory", stat.S_IFIFO: "a named pipe", stat.S_IFSOCK: "a socket"}
    return kinds.get(stat.S_IFMT(mode), "a device")


def _relative(path: str) -> str:
    if "\0" in path:
        raise FileUnsuitable(f"{named(path)} has a NUL character, which no file name can have")
    try:
        os.fsencode(path)
    except UnicodeEncodeError as error:
        raise FileUnsuitable(f"{named(path)} has a character that no file name can have") from error
    if not path.startswith("/"):
        return path
    if path != INSIDE and not path.startswith(f"{INSIDE}/"):
        raise PathOutside(
            f"{named(path)} is outside the project; give a path relative to the project, as in 'src/a.py'"
        )
    return path.removeprefix(INSIDE)
