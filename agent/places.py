"""What there is in a project, and where: entries of a directory, and the real place of a file."""

import hashlib
import json
import os
import stat
from dataclasses import dataclass

from agent.errors import FileUnsuitable
from agent.paths import kind_of, named


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One name in a directory. A link is not a directory; `size` is in bytes."""

    name: str
    is_directory: bool
    size: int
    target: str | None = None
    """For a link: where it points to."""
    kind: str = ""
    """For what is neither a file, a directory nor a link, what it is: `a named pipe`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a file really is or would be, the links among its parents followed."""

    path: str
    """Relative to the root, without links."""
    directory: tuple[int, int]
    """Device and inode of the nearest directory above that exists."""

    def pre_image(self, before: bytes | None) -> str:
        """SHA-256 in hex over this place and what it holds now; None means that nothing is there."""
        content = None if before is None else hashlib.sha256(before).hexdigest()
        return hashlib.sha256(json.dumps([self.path, self.directory, content]).encode()).hexdigest()


def entry_at(name: str, directory_fd: int) -> Entry:
    """What is called `name` in an open directory; of what is gone by now, only the name."""
    try:
        status = os.stat(name, dir_fd=directory_fd, follow_symlinks=False)
        target = os.readlink(name, dir_fd=directory_fd) if stat.S_ISLNK(status.st_mode) else None
    except OSError:
        return Entry(name=name, is_directory=False, size=0)
    is_directory = stat.S_ISDIR(status.st_mode)
    ordinary = is_directory or stat.S_ISREG(status.st_mode) or target is not None
    return Entry(
        name=name,
        is_directory=is_directory,
        size=status.st_size,
        target=target,
        kind="" if ordinary else kind_of(status.st_mode),
    )


def require_file(path: str, fd: int) -> None:
    """Make sure that what was opened is a regular file.

    Raises:
        FileUnsuitable: it is something else; the message says what.
    """
    mode = os.fstat(fd).st_mode
    if not stat.S_ISREG(mode):
        raise FileUnsuitable(f"{named(path)} is {kind_of(mode)}, not a file that can be read")
