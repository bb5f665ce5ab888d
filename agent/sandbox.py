"""PORT: running a program in a project, and nowhere else.

Above: tools and everything else that touches a project with a program. Below: `agent/sandboxes/` (bubblewrap).
It fails closed: where the sandbox cannot be set up, nothing runs and `SandboxUnavailable` names the fix.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

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

    async def check(self) -> SelfTest:
        """Try the real command line on a throw-away project, with probes that must fail."""
        ...
