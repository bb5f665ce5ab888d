"""Where the paths of a command lead, as far as one can tell without running it."""

import posixpath
import re
from fnmatch import fnmatchcase
from typing import Literal

from agent.commands.tree import DECODED, DOWNLOADED, UNKNOWN
from agent.paths import INSIDE

HOME = "/~"
"""Stands for the home directory, which is the project's root for a program in the sandbox."""

Place = Literal["inside", "all", "home", "temporary", "outside", "unknown"]

_ALL_UNKNOWN = str.maketrans({DOWNLOADED: UNKNOWN, DECODED: UNKNOWN})
_HARMLESS_DEVICES = re.compile(r"/dev/(?:null|zero|full|random|urandom|tty|std(?:in|out|err)|fd/\d+|shm/.+|pts/\d+)\Z")
_SYSTEM_CONTROLS = re.compile(r"/sys/|/proc/sys|/boot(?:/|\Z)")
_PRIVATE = ("/tmp/", "/dev/shm/")  # noqa: S108  they are the sandbox's own, new for each command
_SOCKET = re.compile(r"/dev/(?:tcp|udp)/")
# Patterns that every name fits, or every one that begins with a letter.
_EVERYTHING = re.compile(
    r"(?=.*[*?])(?:[*?.]|\[\[:al\w+:\]\]|\[(?:[!^][^]]{0,80}|[^]]{0,80}(?:a-z|A-Z)[^]]{0,80})\])+\Z"
)
_WILD = re.compile(r"[*?[]")
_MAX_PATTERN = 1_000
_HISTORY = ("objects", "refs", "packed-refs", "HEAD")
_SECRET = re.compile(
    r"(?:^|/)(?:\.env(?!\.(?:example|sample|template|dist)\b)(?:\.[\w.-]+)?|id_(?:rsa|dsa|ecdsa|ed25519)|\.netrc|\.pypirc"
    r"|\.git-credentials|\.pgpass|\.htpasswd|credentials(?:\.\w+)?|secrets?\.\w+|shadow|environ|\.vault-pass\w*"
    r"|[^/]+\.(?:pem|key|p12|pfx|jks|keystore|kdbx))\Z|(?:^|/)\.(?:ssh|gnupg|aws|kube)/.",
    re.IGNORECASE,
)


def resolved(path: str, directory: str | None) -> str:
    """The absolute path that a path means in a directory; it begins with `UNKNOWN` if that cannot be told."""
    path = path.translate(_ALL_UNKNOWN)
    if not path.startswith("/"):
        path = f"{UNKNOWN if directory is None else directory}/{path}"
    known = posixpath.normpath(path)
    return f"/{known.lstrip('/')}" if known.startswith("/") else known


def place_of(path: str, directory: str | None) -> Place:
    """Whether a path leads into the project, to all of it or its history, to what is private, or elsewhere.

    `home` is the home directory by its name and what is below it: inside as well, but who names it means another one.
    """
    whole = resolved(path, directory)
    if whole.startswith((UNKNOWN, "..")):
        return "unknown"
    whole += "/"
    if whole.startswith(_PRIVATE):
        return "temporary"
    if whole.startswith(f"{HOME}/"):
        return "home"
    if not whole.startswith(f"{INSIDE}/"):
        return "outside"
    return _within(whole[len(INSIDE) + 1 : -1])


def _within(below: str) -> Place:
    first, _, rest = below.partition("/")
    if not first or _EVERYTHING.match(first) or (fits(first, ".git") and _is_history(rest)):
        return "all"
    return "unknown" if UNKNOWN in below else "inside"


def _is_history(below: str) -> bool:
    """Whether commits or branches go if this part of `.git` does; git's own locks hold neither."""
    first, _, rest = below.partition("/")
    return not first or (any(fits(first, name) for name in _HISTORY) and not rest.endswith(".lock"))


def fits(pattern: str, name: str) -> bool:
    """Whether the shell would put a name in place of a pattern."""
    return pattern.startswith(".") == name.startswith(".") and is_like(pattern, name)


def is_like(pattern: str, name: str) -> bool:
    """Whether a name fits a pattern in which `*` may stand for anything; one that nobody writes may fit."""
    if not _WILD.search(pattern):
        return pattern == name
    return len(pattern) > _MAX_PATTERN or fnmatchcase(name, pattern.replace("[^", "[!"))


def is_device(path: str, directory: str | None) -> bool:
    """Whether writing to it writes to a disk or controls the machine."""
    whole = resolved(path, directory)
    if _SYSTEM_CONTROLS.match(whole):
        return True
    return whole.startswith("/dev/") and not (_HARMLESS_DEVICES.match(whole) or _SOCKET.match(whole))


def is_harmless(path: str, directory: str | None) -> bool:
    """Whether what is written there is gone or only shown."""
    return _HARMLESS_DEVICES.match(resolved(path, directory)) is not None


def is_socket(path: str) -> bool:
    """Whether bash would open a connection for it."""
    return _SOCKET.match(path) is not None


def may_hold_secrets(path: str) -> bool:
    """Whether its name is one that keys and passwords have."""
    return _SECRET.search(path) is not None


def is_everything(path: str, directory: str | None) -> bool:
    """Whether it is the whole machine or a home directory."""
    return resolved(path, directory) in {"/", HOME, "/home", "/root"}


def shown(path: str) -> str:
    """A path as a person reads it in a reason."""
    text = path.translate(_ALL_UNKNOWN).replace(HOME, "~").replace(UNKNOWN, "…")
    return text if len(text) <= 60 else f"{text[:40]}…{text[-19:]}"
