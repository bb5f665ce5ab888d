"""A `bwrap` process together with everything in its pid namespace, from start to the last process's end."""

import asyncio
import json
import os
import signal
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from agent.errors import SandboxUnavailable
from agent.sandboxes.bubblewrap.output import HeadAndTail

_T = TypeVar("_T")

_CHUNK = 1 << 16
# bwrap tells the namespace's first process within milliseconds; killed before that, it could leave one behind.
_STATUS_SECONDS = 2.0
# After SIGKILL only the kernel is left to do something.
_END_SECONDS = 10.0


class ProcessTree:
    """One run of a program that writes bwrap's JSON status to `status_fd`. Call `end` whatever happens.

    The status names the first process of the namespace; when that has gone the kernel has ended all others.
    """

    def __init__(self, output: HeadAndTail, on_output: Callable[[bytes], None] | None) -> None:
        self._output = output
        self._on_output = on_output
        self._status_read, self.status_fd = os.pipe()
        self._process: asyncio.subprocess.Process | None = None
        self._status: asyncio.Task[None] | None = None
        self._reported = asyncio.Event()
        self._namespace_made = False
        self._first_process = -1
        self._gone = asyncio.Event()
        self._exit_code: int | None = None

    @property
    def exit_code(self) -> int | None:
        """The command's exit code, 128 and the signal's number when one ended it; None when no command was begun."""
        killed = self._process is not None and (self._process.returncode or 0) < 0
        if self._exit_code is None and self._namespace_made and killed:
            # Ended from outside, as by the kernel for want of memory: bwrap had no time to tell.
            return 128 + signal.SIGKILL
        return self._exit_code

    async def start(self, argv: Sequence[str], *, pass_fds: Sequence[int], stdin: int) -> None:
        """Start it with an empty environment.

        Raises:
            OSError: it could not be executed.
        """
        self._process = await asyncio.create_subprocess_exec(
            *argv,
            stdin=stdin,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            pass_fds=(*pass_fds, self.status_fd),
            env={},
            cwd="/",
            umask=0o022,
        )
        self.status_fd = _closed(self.status_fd)
        reader = asyncio.StreamReader()
        pipe = os.fdopen(self._status_read, "rb", buffering=0)
        self._status_read = -1
        await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
        self._status = asyncio.create_task(self._follow(reader))

    async def finish(self) -> None:
        """Wait until the command has ended and all its output is taken."""
        if self._process is None or self._process.stdout is None or self._status is None:
            raise RuntimeError("finish() needs start() first")
        while chunk := await self._process.stdout.read(_CHUNK):
            self._output.add(chunk)
            if self._on_output is not None:
                self._on_output(chunk)
        await self._process.wait()
        await asyncio.shield(self._status)

    async def end(self) -> None:
        """Kill whatever still runs, and wait until nothing of the tree is left.

        Raises:
            SandboxUnavailable: the kernel did not end it within ten seconds.
        """
        try:
            if self._process is not None and self._status is not None:
                await self._end(self._process, self._status)
        except TimeoutError as error:
            raise SandboxUnavailable(
                "A command's processes are still there after SIGKILL", "Look for hung I/O."
            ) from error
        finally:
            if self._first_process >= 0:
                asyncio.get_running_loop().remove_reader(self._first_process)
            self._first_process = _closed(self._first_process)
            self._status_read = _closed(self._status_read)
            self.status_fd = _closed(self.status_fd)

    async def _end(self, process: asyncio.subprocess.Process, status: asyncio.Task[None]) -> None:
        if process.returncode is None:
            with suppress(TimeoutError):
                async with asyncio.timeout(_STATUS_SECONDS):
                    await self._reported.wait()
            with suppress(ProcessLookupError):
                process.kill()
        async with asyncio.timeout(_END_SECONDS):
            if self._first_process >= 0:
                with suppress(ProcessLookupError):
                    signal.pidfd_send_signal(self._first_process, signal.SIGKILL)
                await self._gone.wait()
            while process.stdout is not None and (chunk := await process.stdout.read(_CHUNK)):
                self._output.add(chunk)
            await process.wait()
            await status

    async def _follow(self, reader: asyncio.StreamReader) -> None:
        while line := await reader.readline():
            record: dict[str, Any] = json.loads(line)
            if "child-pid" in record:
                self._namespace_made = True
                self._watch(record["child-pid"])
                self._reported.set()
            self._exit_code = record.get("exit-code", self._exit_code)
        self._reported.set()

    def _watch(self, pid: int) -> None:
        try:
            self._first_process = os.pidfd_open(pid)
        except ProcessLookupError:
            return
        asyncio.get_running_loop().add_reader(self._first_process, self._gone.set)


async def uninterrupted(work: Coroutine[Any, Any, _T]) -> _T:
    """Await `work` to its end even when cancelled meanwhile; the cancellation goes on afterwards."""
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        if not task.cancelled():
            task.exception()  # taken, so that it is not reported as forgotten
        raise cancelled
    return task.result()


def _closed(fd: int) -> int:
    if fd >= 0:
        os.close(fd)
    return -1
