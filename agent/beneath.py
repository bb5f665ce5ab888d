"""Opening a path that must stay below a directory, by the kernel's word and not by looking first.

Checking a path and opening it afterwards loses against a process that swaps a directory for a link in between, so
both resolvers here decide while they open. Links are told apart from plain errors by `errno`, as `openat2(2)` does:
EXDEV for what leads out, ELOOP for a link that may not be followed.
"""

import ctypes
import errno
import os
import stat
import struct
from collections.abc import Callable

Resolve = Callable[[int, str, int], int]
"""`(root_fd, relative path, open flags) -> fd`; raises OSError. The path has no `..`, no leading or double slash."""

# openat2(2): the same number on x86_64 and aarch64; `struct open_how` is flags, mode, resolve.
_OPENAT2 = 437
_OPEN_HOW = struct.Struct("QQQ")
_RESOLVE_NO_MAGICLINKS = 0x02
_RESOLVE_BENEATH = 0x08
# The kernel gives EAGAIN when a rename races with the resolution; an attacker must not make that last for ever.
_ATTEMPTS = 200

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long


def openat2_beneath(root_fd: int, path: str, flags: int) -> int:
    """Open with `openat2(RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS)`: links are followed while they stay below."""
    how = _OPEN_HOW.pack(flags | os.O_CLOEXEC, 0, _RESOLVE_BENEATH | _RESOLVE_NO_MAGICLINKS)
    raw = os.fsencode(path)
    code = errno.EAGAIN
    for _ in range(_ATTEMPTS):
        fd: int = _libc.syscall(
            ctypes.c_long(_OPENAT2), ctypes.c_int(root_fd), ctypes.c_char_p(raw), how, ctypes.c_size_t(len(how))
        )
        if fd >= 0:
            return fd
        code = ctypes.get_errno()
        if code not in {errno.EAGAIN, errno.EINTR}:
            break
    raise OSError(code, os.strerror(code), path)


def walk_beneath(root_fd: int, path: str, flags: int) -> int:
    """Open component by component with O_NOFOLLOW, where `openat2` is missing; it follows no link at all."""
    *parents, last = path.split("/")
    here = os.dup(root_fd)
    try:
        for part in parents:
            below = _step(here, part, os.O_PATH | os.O_DIRECTORY)
            os.close(here)
            here = below
        return _step(here, last, flags)
    finally:
        os.close(here)


def _step(directory_fd: int, name: str, flags: int) -> int:
    try:
        fd = os.open(name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory_fd)
    except NotADirectoryError as error:
        # O_DIRECTORY on a link says ENOTDIR; the caller wants to know that it was a link.
        if stat.S_ISLNK(os.stat(name, dir_fd=directory_fd, follow_symlinks=False).st_mode):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), name) from error
        raise
    if flags & os.O_PATH and not flags & os.O_NOFOLLOW and stat.S_ISLNK(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), name)
    return fd


def best_resolver(root_fd: int) -> Resolve:
    """`openat2_beneath` where the kernel (5.6 and later) and its seccomp filter allow it, else `walk_beneath`."""
    try:
        os.close(openat2_beneath(root_fd, ".", os.O_PATH | os.O_DIRECTORY))
    except OSError as error:
        if error.errno not in {errno.ENOSYS, errno.EPERM}:
            raise
        return walk_beneath
    return openat2_beneath
