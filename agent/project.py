"""A project: one directory, and the only door through which this process touches files in it.

The directory is opened once; each path is resolved below that descriptor by the kernel, so neither `..`, an absolute
path, a link nor a rename race leads out. Programs do not come through here: they run in the sandbox.
"""

import errno
import hashlib
import os
import secrets
import stat
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from agent.beneath import Resolve, best_resolver
from agent.errors import FileUnsuitable, PathOutside, ProjectError

INSIDE = "/project"
"""Where a program in the sandbox sees the project's root."""

MAX_DIGEST_BYTES = 64 << 20
_MAX_DEPTH = 100
_CHUNK = 1 << 20
_LIST = os.O_RDONLY | os.O_DIRECTORY | os.O_NONBLOCK
# Without O_NONBLOCK the mere opening of a FIFO waits for a writer.
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Owner:
    """The account that files of a project belong to, where the worker itself runs as root."""

    uid: int
    gid: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One name in a directory. A link is not a directory; `size` is in bytes."""

    name: str
    is_directory: bool
    size: int


class Project:
    """One directory and its files.

    Paths are relative to the root, with `/` between parts. `/project` and `/project/x`, the sandbox's view of the
    root, mean the root and `x`; any other absolute path is outside. Links are followed while they stay below the root.

    Every method raises `PathOutside` for a path that leads out, and `FileUnsuitable` when what is there cannot be used
    as asked; both are `ProjectError` with a message fit for the model. Close it, or use it as a context manager.
    """

    def __init__(self, root_fd: int, *, name: str, owner: Owner | None, resolve: Resolve) -> None:
        self.root_fd = root_fd
        self.name = name
        self.owner = owner
        self._resolve = resolve

    @classmethod
    def open(cls, path: Path, *, name: str | None = None, owner: Owner | None = None) -> Self:
        """Open the existing directory at `path`, which must not itself be a link; `name` is its last part if not given.

        Files and directories written are given to `owner`; without one they belong to this process.

        Raises:
            FileUnsuitable: no directory is there.
        """
        try:
            root_fd = os.open(path, _LIST | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError as error:
            raise FileUnsuitable(f"the project {path.name!r} cannot be opened: {error.strerror}") from error
        try:
            return cls(root_fd, name=path.name if name is None else name, owner=owner, resolve=best_resolver(root_fd))
        except BaseException:
            os.close(root_fd)
            raise

    def close(self) -> None:
        """Give the directory back; closing again does nothing."""
        if self.root_fd >= 0:
            os.close(self.root_fd)
            self.root_fd = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def read(self, path: str, *, max_bytes: int) -> bytes:
        """The bytes of a regular file of at most `max_bytes`, counted while reading and not by its stated size."""
        with _told(path), self._opened(_parts(path), _READ) as fd:
            _require_file(path, fd)
            data = bytearray()
            while chunk := os.read(fd, min(_CHUNK, max_bytes + 1 - len(data))):
                data += chunk
            if len(data) > max_bytes:
                raise FileUnsuitable(f"{path!r} is larger than {max_bytes:,} bytes")
            return bytes(data)

    def write(self, path: str, data: bytes) -> None:
        """Put `data` at `path` in one step, durably: readers see the old file or the new one.

        Makes missing parents, and keeps the permission bits of a file that is replaced. A link is not written through.
        """
        parts = _parts(path)
        if not parts:
            raise FileUnsuitable(f"{path!r} is the project itself, not a file")
        with _told(path), self._parent(parts) as parent_fd:
            mode = self._mode_to_keep(path, parts, parent_fd)
            temporary = f".{secrets.token_hex(8)}.tmp"
            try:
                self._fill(temporary, data, mode, parent_fd)
                os.rename(temporary, parts[-1], src_dir_fd=parent_fd, dst_dir_fd=parent_fd)
            except BaseException:
                with suppress(FileNotFoundError):
                    os.unlink(temporary, dir_fd=parent_fd)
                raise
            os.fsync(parent_fd)

    def make_directory(self, path: str) -> None:
        """Make the directory and its missing parents; one that is already there is left as it is."""
        with _told(path):
            os.close(self._directory(_parts(path)))

    def exists(self, path: str) -> bool:
        """Whether something is at `path`; a link that leads nowhere is not there."""
        try:
            with self._opened(_parts(path), os.O_PATH):
                return True
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError as error:
            raise _explained(path, error) from error

    def digest(self, path: str) -> str:
        """SHA-256 of the present bytes, in hex; empty when nothing is there. At most `MAX_DIGEST_BYTES`."""
        if not self.exists(path):
            return ""
        return hashlib.sha256(self.read(path, max_bytes=MAX_DIGEST_BYTES)).hexdigest()

    def list(self, path: str) -> tuple[Entry, ...]:
        """What is in the directory at `path` (`""` or `.` for the root), sorted by name."""
        with _told(path), self._opened(_parts(path), _LIST) as fd, os.scandir(fd) as entries:
            return tuple(sorted((_entry(entry) for entry in entries), key=lambda entry: entry.name))

    @contextmanager
    def _opened(self, parts: Sequence[str], flags: int) -> Generator[int]:
        fd = self._resolve(self.root_fd, "/".join(parts) or ".", flags)
        try:
            yield fd
        finally:
            os.close(fd)

    @contextmanager
    def _parent(self, parts: Sequence[str]) -> Generator[int]:
        fd = self._directory(parts[:-1])
        try:
            yield fd
        finally:
            os.close(fd)

    def _directory(self, parts: Sequence[str]) -> int:
        """Open a directory, making it and its parents when they are missing; the caller closes it."""
        relative = "/".join(parts) or "."
        try:
            return self._resolve(self.root_fd, relative, _LIST)
        except FileNotFoundError:
            with self._parent(parts) as parent_fd:
                try:
                    os.mkdir(parts[-1], 0o755, dir_fd=parent_fd)
                except FileExistsError:
                    # Somebody else made it, or it is a link to nothing, which the next line then tells.
                    return self._resolve(self.root_fd, relative, _LIST)
                fd = os.open(parts[-1], _LIST | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent_fd)
            if self.owner is not None:
                os.fchown(fd, self.owner.uid, self.owner.gid)
            return fd

    def _fill(self, name: str, data: bytes, mode: int, parent_fd: int) -> None:
        fd = os.open(name, _NEW_FILE, 0o600, dir_fd=parent_fd)
        with os.fdopen(fd, "wb") as file:
            file.write(data)
            file.flush()
            if self.owner is not None:
                os.fchown(fd, self.owner.uid, self.owner.gid)
            os.fchmod(fd, mode)
            os.fsync(fd)

    def _mode_to_keep(self, path: str, parts: Sequence[str], parent_fd: int) -> int:
        try:
            present = os.stat(parts[-1], dir_fd=parent_fd, follow_symlinks=False)
        except FileNotFoundError:
            return 0o644
        if stat.S_ISLNK(present.st_mode):
            target = os.readlink(parts[-1], dir_fd=parent_fd)
            # Opening tells a link that leads out of the project.
            with suppress(FileNotFoundError), self._opened(parts, os.O_PATH):
                pass
            raise FileUnsuitable(f"{path!r} is a link to {target!r}; give the path of the file itself")
        if not stat.S_ISREG(present.st_mode):
            raise FileUnsuitable(f"{path!r} is {_kind(present.st_mode)}, not a file that can be replaced")
        return present.st_mode & 0o777


def _parts(path: str) -> tuple[str, ...]:
    """Split a path into its parts below the root; `..` is taken back by name, so that no resolver ever sees one."""
    parts: list[str] = []
    for part in _relative(path).split("/"):
        if part == ".." and not parts:
            raise PathOutside(f"{path!r} leads out of the project; stay below its root")
        if part == "..":
            parts.pop()
        elif part not in {"", "."}:
            parts.append(part)
    if len(parts) > _MAX_DEPTH:
        raise FileUnsuitable(f"the path has more than {_MAX_DEPTH} parts")
    return tuple(parts)


def _relative(path: str) -> str:
    if "\0" in path:
        raise FileUnsuitable(f"{path!r} has a NUL character, which no file name can have")
    try:
        os.fsencode(path)
    except UnicodeEncodeError as error:
        raise FileUnsuitable(f"{path!r} has a character that no file name can have") from error
    if not path.startswith("/"):
        return path
    if path != INSIDE and not path.startswith(f"{INSIDE}/"):
        raise PathOutside(f"{path!r} is outside the project; give a path relative to the project, as in 'src/a.py'")
    return path.removeprefix(INSIDE)


@contextmanager
def _told(path: str) -> Generator[None]:
    """Turn the system's errors into ours."""
    try:
        yield
    except OSError as error:
        raise _explained(path, error) from error


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


def _explained(path: str, error: OSError) -> ProjectError:
    shown = path if len(path) <= 200 else f"{path[:200]}…"
    if error.errno == errno.EXDEV:
        return PathOutside(f"{shown!r} leads out of the project through a link")
    if error.errno in _SENTENCES:
        return FileUnsuitable(f"{shown!r} {_SENTENCES[error.errno]}")
    return ProjectError(f"{shown!r} cannot be used: {error.strerror}")


def _require_file(path: str, fd: int) -> None:
    mode = os.fstat(fd).st_mode
    if not stat.S_ISREG(mode):
        raise FileUnsuitable(f"{path!r} is {_kind(mode)}, not a file that can be read")


def _kind(mode: int) -> str:
    kinds = {stat.S_IFDIR: "a directory", stat.S_IFIFO: "a named pipe", stat.S_IFSOCK: "a socket"}
    return kinds.get(stat.S_IFMT(mode), "a device")


def _entry(entry: os.DirEntry[str]) -> Entry:
    try:
        size = entry.stat(follow_symlinks=False).st_size
    except FileNotFoundError:
        size = 0  # removed since the directory was read
    return Entry(name=entry.name, is_directory=entry.is_dir(follow_symlinks=False), size=size)
