"""PORT: running a program in a project, and nowhere else.

Above: tools and everything else that touches a project with a program. Below: `agent/sandboxes/` (bubblewrap).
It fails closed: where the sandbox cannot be set up, nothing runs and `SandboxUnavailable` names the fix.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from agent.project import Project


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandLimits:
    """What one command may use: seconds, bytes and counts."""

    wall_seconds: float = 60.0
    cpu_seconds: int = 60
    output_bytes: int = 2_000_000
    """Output beyond this is read and dropped in the middle: head and tail are kept."""
    processes: int = 128
    data_bytes: int = 1 << 30
    """Private memory of one process (RLIMIT_DATA). Shared memory and memfd files count neither here nor in another of
    these limits; only a memory limit around the worker (a cgroup, as of systemd or a container) bounds them."""
    file_bytes: int = 256 << 20
    open_files: int = 1024
    temporary_bytes: int = 64 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandResult:
    """How a command ended. `exit_code` is None when it was ended for running too long."""

    exit_code: int | None
    output: str
    """stdout and stderr in the order they were written, undecodable bytes replaced."""
    truncated: bool
    seconds: float

    @property
    def timed_out(self) -> bool:
        """Whether the wall-clock limit ended it."""
        return self.exit_code is None


@dataclass(frozen=True, slots=True, kw_only=True)
class SelfTest:
    """Whether the sandbox holds on this machine; `fix` says what an operator should do when it does not."""

    ok: bool
    backend: str
    detail: str
    fix: str = ""


BackgroundState = Literal["running", "exited", "stopped", "deadline", "orphaned", "lost"]
"""How a background command is: running; ended by itself, on request, by its deadline, or with the process it was tied
to; or ended together with what watched over it, so that nobody knows more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BackgroundCommand:
    """A command that runs, or ran, without anybody waiting for it."""

    command_id: str
    command: str
    """What it was started as, for people and models."""
    state: BackgroundState
    exit_code: int | None
    """Known only of one that ended by itself."""
    seconds: float
    """How long it has run, or did."""
    seconds_left: float
    """Until its deadline; 0 when it has ended."""
    output_bytes: int
    """How much it has printed in all."""

    @property
    def running(self) -> bool:
        """Whether it still runs."""
        return self.state == "running"


@dataclass(frozen=True, slots=True, kw_only=True)
class BackgroundOutput:
    """A piece of what a background command printed; offsets count the bytes of all that it printed."""

    start: int
    content: bytes

    @property
    def end(self) -> int:
        """The offset of the byte after this piece."""
        return self.start + len(self.content)


class Background(Protocol):
    """The background commands of one conversation, found again by whoever opens the same directory.

    Each is owned by a process of its own, not by the one that started it, and ends with all its processes: by itself,
    on request, at its deadline, with the process it is tied to, and with its owner. Beginning and end of what it
    printed are kept. A running one is found and ended even when what is kept of it can no longer be read. When that is
    removed, the command cannot be found any more, and ends by itself within seconds.
    """

    async def start(
        self,
        argv: Sequence[str],
        *,
        project: Project,
        limits: CommandLimits,
        command: str,
        at_most: int,
        lifeline: int | None = None,
    ) -> BackgroundCommand | None:
        """Start `argv` under the same walls as `Sandbox.run`; None when `at_most` run already.

        `limits.wall_seconds` is its deadline, `limits.output_bytes` has no meaning; `lifeline` is a process whose end
        ends it. Cancelling the task that waits here leaves nothing running.

        Raises:
            SandboxUnavailable: the sandbox could not be set up; nothing ran.
        """
        ...

    def all(self) -> Sequence[BackgroundCommand]:
        """Those that run and the latest that ended, oldest first."""
        ...

    def find(self, command_id: str) -> BackgroundCommand | None:
        """One of them, or None when there is none of that id."""
        ...

    def output(self, command_id: str, *, offset: int | None, most_bytes: int) -> BackgroundOutput:
        """At most `most_bytes` from `offset` on, or from the next byte that is kept; without an offset the last ones.

        Nothing when there is none of that id.
        """
        ...

    async def stop(self, command_id: str) -> None:
        """End one and all its processes, and make sure that they are gone; of one that has ended, only make sure.

        Raises:
            SandboxUnavailable: something of it cannot be ended.
        """
        ...

    async def end_all(self) -> None:
        """The same for all of them, and for one that is being started just now.

        Raises:
            SandboxUnavailable: something of one cannot be ended.
        """
        ...


class Sandbox(Protocol):
    """A place where a program sees its project and nothing else, without network."""

    async def run(
        self,
        argv: Sequence[str],
        *,
        project: Project,
        limits: CommandLimits,
        on_output: Callable[[bytes], None] | None = None,
    ) -> CommandResult:
        """Run `argv` with the project as its working directory, and wait for its end and that of all its children.

        Cancelling the task that waits here kills the whole process tree before the cancellation goes on.

        Raises:
            SandboxUnavailable: the sandbox could not be set up; nothing ran.
        """
        ...

    def background(self, directory: Path) -> Background:
        """The background commands kept in `directory`, which is made when it is needed; only we may enter it."""
        ...

    async def check(self) -> SelfTest:
        """Try the real command line on a throw-away project, with probes that must fail."""
        ...
