"""What a command sees inside the sandbox, in the options of `bwrap`.

The root is built from nothing: `/usr` and a few files of `/etc`, all read-only, a private `/tmp`, and the project. A
host root as the base (`--ro-bind / /`) would show the files and the sockets of everybody.
"""

import os
import platform
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from agent.paths import INSIDE
from agent.project import Owner
from agent.sandbox import CommandLimits
from agent.sandboxes.bubblewrap.seccomp import seccomp_filter

_SHARED_MEMORY_BYTES = 16 << 20
# Where programs that Paigate brings along are found, before those of the host, whose versions differ.
_BROUGHT = "/tools"
_ENVIRONMENT = {
    "PATH": f"{_BROUGHT}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": INSIDE,
    "LANG": "C.UTF-8",
    "TERM": "dumb",
}
_NAMESPACES = ("user", "ipc", "pid", "net", "uts", "cgroup-try")
_HOST_NAME = "sandbox"
_ETC = ("alternatives", "ssl", "nsswitch.conf", "localtime", "ld.so.cache", "ld.so.conf", "ld.so.conf.d")


class SandboxView:
    """The options of one run, and the descriptors that they name; `files` closes those.

    `bind` is the option that brings the project in; `account` is who the command runs as, for `/etc/passwd`;
    `ripgrep` is the file that is `rg` inside.
    """

    def __init__(
        self, files: ExitStack, *, bind: Sequence[str], account: Owner, limits: CommandLimits, ripgrep: Path | None
    ) -> None:
        self._files = files
        self.descriptors: list[int] = []
        isolation = [f"--unshare-{namespace}" for namespace in _NAMESPACES]
        isolation += ["--disable-userns", "--die-with-parent", "--new-session", "--cap-drop", "ALL"]
        isolation += ["--hostname", _HOST_NAME, "--seccomp", self._file(seccomp_filter(platform.machine()))]
        self.options = [
            *isolation,
            *_system_directories(),
            *("--perms", "0755", "--dir", _BROUGHT),
            *(("--ro-bind", str(ripgrep), f"{_BROUGHT}/rg") if ripgrep else ()),
            *self._etc(account),
            *_pseudo_file_systems(limits),
            *bind,
            *("--remount-ro", "/", "--chdir", INSIDE, "--clearenv"),
            *(word for name, value in _ENVIRONMENT.items() for word in ("--setenv", name, value)),
        ]

    def arguments(self, *more: str) -> str:
        """The number of a descriptor for `bwrap --args`, with all options and `more`."""
        return self._file("".join(f"{option}\0" for option in (*self.options, *more)).encode())

    def _file(self, content: bytes) -> str:
        fd = os.memfd_create("sandbox")
        self._files.callback(os.close, fd)
        os.write(fd, content)
        os.lseek(fd, 0, os.SEEK_SET)
        self.descriptors.append(fd)
        return str(fd)

    def _etc(self, account: Owner) -> list[str]:
        """A few harmless files of the host, and our own for those that name its users and networks."""
        # A JDK of Debian keeps its settings in /etc/java-17-openjdk and links there from /usr.
        java = sorted(path.name for path in Path("/etc").glob("java*"))
        options = ["--dir", "/etc"]
        options += [word for name in (*_ETC, *java) for word in ("--ro-bind-try", f"/etc/{name}", f"/etc/{name}")]
        own = {
            "passwd": f"agent:x:{account.uid}:{account.gid}:agent:{INSIDE}:/bin/bash\n",
            "group": f"agent:x:{account.gid}:\n",
            "hosts": f"127.0.0.1 localhost {_HOST_NAME}\n::1 localhost\n",
        }
        for name, content in own.items():
            options += ["--perms", "0444", "--ro-bind-data", self._file(content.encode()), f"/etc/{name}"]
        return options


def _system_directories() -> list[str]:
    options = ["--ro-bind", "/usr", "/usr"]
    for name in ("bin", "sbin", "lib", "lib32", "lib64", "libx32"):
        path = Path("/", name)
        if path.is_symlink():
            options += ["--symlink", str(path.readlink()), str(path)]
        elif path.is_dir():
            options += ["--ro-bind", str(path), str(path)]
    return options


def _pseudo_file_systems(limits: CommandLimits) -> list[str]:
    # A tmpfs without a size may fill half of the machine's memory. /dev is one as well, so it is closed to writing.
    return [
        *("--proc", "/proc", "--dev", "/dev"),
        *_temporary("dev/shm", _SHARED_MEMORY_BYTES),
        *("--remount-ro", "/dev"),
        *_temporary("tmp", limits.temporary_bytes),
    ]


def _temporary(name: str, size: int) -> list[str]:
    return ["--size", str(size), "--perms", "1777", "--tmpfs", f"/{name}"]
