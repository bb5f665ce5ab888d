"""The whole command line of one sandboxed program: account, memory order, `bwrap` with its options, limits, program."""

import os
import platform
import subprocess
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from agent.errors import SandboxUnavailable
from agent.paths import INSIDE
from agent.project import Owner, Project
from agent.sandbox import CommandLimits
from agent.sandboxes.bubblewrap.options import SandboxView
from agent.sandboxes.bubblewrap.programs import (
    Bwrap,
    find_bwrap,
    find_program,
    find_ripgrep,
    public_directory,
    reachable,
)
from agent.sandboxes.bubblewrap.seccomp import AUDIT_ARCHITECTURES

# A project below a directory closed to the sandbox's account (a home of root) is first bound, as root and in a mount
# namespace of its own, to a place that the account can reach. Standard input is the project's descriptor: what was
# bound must be that very directory. It is closed before anything of the command runs.
_BIND_AS_ROOT = (
    '"$1" --no-canonicalize --bind "$2" "$3" && [ "$3" -ef /proc/self/fd/0 ] && shift 3 && exec "$@" </dev/null'
)

_NAMESPACES_FIX = (
    "Allow unprivileged user namespaces: sysctl user.max_user_namespaces above 0, kernel.unprivileged_userns_clone=1, "
    "on Ubuntu kernel.apparmor_restrict_unprivileged_userns=0; in a container, a seccomp profile that allows them."
)
_FIXES = {
    "namespace": _NAMESPACES_FIX,
    "uid map": _NAMESPACES_FIX,
    "mount proc": "The container masks /proc: run it with --security-opt systempaths=unconfined.",
    "No space left": "Make room on that disk.",
    "prlimit": "Install util-linux (apt install util-linux).",
}
OTHER_FIX = "Run `paigate doctor` as the user of the worker to see more."


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """What the operator chose: the account of commands, where to lay out programs, and where to look for them."""

    account: Owner | None
    install_dir: Path
    search_path: str
    bundled: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Programs:
    """What a command line is made of."""

    bwrap: Bwrap
    choom: Path
    setpriv: Path | None
    """Only where this process is root."""
    ripgrep: Path | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """What to start, and the descriptors that it takes."""

    argv: tuple[str, ...]
    stdin: int
    descriptors: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Way:
    """How the project gets in: what to run before all else, the option of bwrap, and the descriptors that it takes."""

    before: tuple[str, ...] = ()
    bind: tuple[str, ...]
    stdin: int = subprocess.DEVNULL
    descriptors: tuple[int, ...] = ()


def find_programs(place: Place) -> Programs:
    """Find the programs that work here.

    Raises:
        SandboxUnavailable: one is missing, or the account cannot be used.
    """
    _require_account(place.account)
    account = place.account if os.geteuid() == 0 else None
    find_program("prlimit", place.search_path, account)
    return Programs(
        bwrap=find_bwrap(place.search_path, account=account, install_dir=place.install_dir, bundled=place.bundled),
        choom=find_program("choom", place.search_path, account),
        setpriv=find_program("setpriv", place.search_path, None) if account else None,
        ripgrep=find_ripgrep(place.search_path, account=account, install_dir=place.install_dir),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Launcher:
    """Makes the command lines of one project and one set of limits."""

    place: Place
    programs: Programs
    project: Project
    limits: CommandLimits

    def prepare(self, files: ExitStack, argv: Sequence[str], *, status_fd: int) -> Launch:
        """The command line that runs `argv`, telling bwrap's JSON status to `status_fd`; `files` closes descriptors.

        Raises:
            SandboxUnavailable: the project cannot be brought in.
            OSError: a descriptor cannot be made.
        """
        account = self.place.account or Owner(os.geteuid(), os.getegid())
        way = self._way()
        view = SandboxView(files, bind=way.bind, account=account, limits=self.limits, ripgrep=self.programs.ripgrep)
        options = view.arguments("--json-status-fd", str(status_fd))
        command = [*way.before, *_as_account(self.programs, account), str(self.programs.bwrap.path), "--args", options]
        command += ["--", *argv]
        return Launch(argv=tuple(command), stdin=way.stdin, descriptors=(*view.descriptors, *way.descriptors))

    def limited(self, argv: Sequence[str]) -> list[str]:
        """What to run inside: `argv` within the limits."""
        # Set inside, so that processes are counted in this user namespace and not over all of the account's.
        limits = self.limits
        return [
            "prlimit",
            f"--nproc={limits.processes}",
            f"--cpu={limits.cpu_seconds}",
            f"--data={limits.data_bytes}",
            f"--fsize={limits.file_bytes}",
            f"--nofile={limits.open_files}",
            "--core=0",
            "--",
            *argv,
        ]

    def _way(self) -> _Way:
        place = self.place
        path = Path(f"/proc/self/fd/{self.project.root_fd}").readlink()
        if self.programs.setpriv is None or place.account is None or reachable(path, place.account):
            bind = ("--bind-fd", str(self.project.root_fd), INSIDE)
            return _Way(bind=bind, descriptors=(self.project.root_fd,))
        public = public_directory(public_directory(place.install_dir, place.account) / "project", place.account)
        unshare, mount = (find_program(name, place.search_path, None) for name in ("unshare", "mount"))
        before = (str(unshare), "--mount", "--propagation", "private", "--", "/bin/sh", "-c", _BIND_AS_ROOT, "sh")
        before += (str(mount), str(path), str(public))
        return _Way(before=before, bind=("--bind", str(public), INSIDE), stdin=self.project.root_fd)


def not_set_up(output: str) -> SandboxUnavailable:
    """What to raise when bwrap ended before the command began, by what it said."""
    said = output.strip().splitlines()[-1:]
    detail = f"The sandbox could not be set up ({said[0] if said else 'without a word'})"
    fix = next((fix for part, fix in _FIXES.items() if part in output), OTHER_FIX)
    return SandboxUnavailable(detail, fix)


def _require_account(account: Owner | None) -> None:
    if os.geteuid() == 0:
        if account is None or 0 in {account.uid, account.gid}:
            raise SandboxUnavailable(
                "The worker runs as root, and no unprivileged account is set for commands",
                "Set the sandbox's uid and gid to those of another account, or run as a plain user.",
            )
    elif account is not None and account.uid != os.geteuid():
        raise SandboxUnavailable(
            f"Commands should run under uid {account.uid}, but only root can change to it",
            "Leave the sandbox's uid unset, or run the worker as root.",
        )
    if platform.machine() not in AUDIT_ARCHITECTURES:
        raise SandboxUnavailable(
            f"There is no system call filter for {platform.machine()}", "Use an x86_64 or aarch64 machine."
        )


def _as_account(programs: Programs, account: Owner) -> list[str]:
    change = []
    if programs.setpriv is not None:
        change = [str(programs.setpriv), f"--reuid={account.uid}", f"--regid={account.gid}"]
        change += ["--clear-groups", "--inh-caps=-all"]
    # When memory runs out, the command goes first and not the worker.
    return [*change, str(programs.choom), "-n", "1000", "--"]
