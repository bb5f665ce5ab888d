"""A project: one directory, and the only door through which this process touches files in it.

The directory is opened once; each path is resolved below that descriptor by the kernel, so neither `..`, an absolute
path, a link nor a rename race leads out. Programs do not come through here: they run in the sandbox.
"""

import errno
import os
import secrets
import stat
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from agent.beneath import Resolve, best_resolver
from agent.errors import FileUnsuitable
from agent.paths import explained, kind_of, named, parts_of, told, writable_parts_of
from agent.places import Entry, Place, entry_at, require_file

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


class Project:
    """One directory and its files.

    Paths are relative to the root, with `/` between parts. `/project` and `/project/x`, the sandbox's view of the
    root, mean the root and `x`; any other absolute path is outside. Links are followed while they stay below the root.
    A name with a character that nobody sees (control, format) can be read but not written.

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
        with told(path), self._opened(parts_of(path), _READ) as fd:
            require_file(path, fd)
            data = _at_most(max_bytes + 1, fd)
            if len(data) > max_bytes:
                raise FileUnsuitable(f"{named(path)} is larger than {max_bytes:,} bytes")
            return data

    def head(self, path: str, *, max_bytes: int) -> bytes:
        """How a regular file begins: its first `max_bytes`, or all of it."""
        with told(path), self._opened(parts_of(path), _READ) as fd:
            require_file(path, fd)
            return _at_most(max_bytes, fd)

    def write(self, path: str, data: bytes) -> None:
        """Put `data` at `path` in one step, durably: readers see the old file or the new one.

        Makes missing parents, and keeps the permission bits of a file that is replaced. A link is not written through.
        """
        parts = writable_parts_of(path)
        if not parts:
            raise _is_root(path)
        with told(path), self._parent(parts) as parent_fd:
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

    def place(self, path: str) -> Place:
        """Where `write` would put a file now; raises what it would raise about the path, and makes nothing."""
        parts = writable_parts_of(path)
        if not parts:
            raise _is_root(path)
        with told(path), self._nearest(parts[:-1]) as (fd, missing):
            if not missing:
                self._mode_to_keep(path, parts, fd)
            status = os.fstat(fd)
            place = "/".join((*self._parts_to(fd), *missing, parts[-1]))
            return Place(path=place, directory=(status.st_dev, status.st_ino))

    def real_path(self, path: str) -> str:
        """Where the file at `path` really is, every link followed, as `Place.path` has it."""
        with told(path), self._opened(parts_of(path), os.O_PATH) as fd:
            return "/".join(self._parts_to(fd))

    def remove(self, path: str) -> None:
        """Remove the file or the empty directory at `path`; of a link, the link itself."""
        parts = parts_of(path)
        if not parts:
            raise _is_root(path)
        with told(path), self._opened(parts[:-1], _LIST) as parent_fd:
            try:
                os.unlink(parts[-1], dir_fd=parent_fd)
            except IsADirectoryError:
                os.rmdir(parts[-1], dir_fd=parent_fd)

    def make_directory(self, path: str) -> None:
        """Make the directory and its missing parents; one that is already there is left as it is."""
        with told(path):
            os.close(self._directory(writable_parts_of(path)))

    def exists(self, path: str) -> bool:
        """Whether something is at `path`; a link that leads nowhere is not there."""
        try:
            with self._opened(parts_of(path), os.O_PATH):
                return True
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError as error:
            raise explained(path, error) from error

    def list(self, path: str) -> tuple[Entry, ...]:
        """What is in the directory at `path` (`""` or `.` for the root), sorted by name."""
        with self.directory(path) as fd, told(path), os.scandir(fd) as entries:
            return tuple(entry_at(name, fd) for name in sorted(entry.name for entry in entries))

    @contextmanager
    def directory(self, path: str, *, follow: bool = True) -> Generator[int]:
        """The open directory at `path`, for looking through it; with `follow=False` it must not itself be a link."""
        with told(path):
            fd = self._resolve(self.root_fd, "/".join(parts_of(path)) or ".", _LIST | (0 if follow else os.O_NOFOLLOW))
        try:
            yield fd
        finally:
            os.close(fd)

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

    @contextmanager
    def _nearest(self, parts: Sequence[str]) -> Generator[tuple[int, Sequence[str]]]:
        """The deepest directory on the way that exists, and the parts below it that do not."""
        missing: tuple[str, ...] = ()
        while True:
            try:
                fd = self._resolve(self.root_fd, "/".join(parts) or ".", _LIST)
                break
            except FileNotFoundError:
                if not parts:
                    raise
                parts, missing = parts[:-1], (parts[-1], *missing)
        try:
            if missing and _is_there(missing[0], fd):
                # A link that leads nowhere: no directory can be made in its place.
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
            yield fd, missing
        finally:
            os.close(fd)

    def _parts_to(self, fd: int) -> tuple[str, ...]:
        """The way from the root to an open directory, as the kernel knows it."""
        here, root = (Path(f"/proc/self/fd/{each}").readlink() for each in (fd, self.root_fd))
        # Either may be renamed between the two readings: the way counts only if it leads to that very directory.
        if here.is_relative_to(root):
            parts = here.relative_to(root).parts
            with self._opened(parts, os.O_PATH) as found:
                if os.path.samestat(os.fstat(found), os.fstat(fd)):
                    return parts
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))

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
            raise FileUnsuitable(f"{named(path)} is a link to {named(target)}; give the path of the file itself")
        if not stat.S_ISREG(present.st_mode):
            raise FileUnsuitable(f"{named(path)} is {kind_of(present.st_mode)}, not a file that can be replaced")
        return present.st_mode & 0o777


def _is_root(path: str) -> FileUnsuitable:
    return FileUnsuitable(f"{named(path)} is the project itself, not a file")


def _is_there(name: str, directory_fd: int) -> bool:
    try:
        os.stat(name, dir_fd=directory_fd, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def _at_most(count: int, fd: int) -> bytes:
    data = bytearray()
    while chunk := os.read(fd, min(_CHUNK, count - len(data))):
        data += chunk
    return bytes(data)
