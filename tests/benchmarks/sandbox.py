"""What the sandbox adds to a command, with a project and an account as the worker chooses them."""

import asyncio
import os
import time
from pathlib import Path

from agent.project import Project
from agent.sandbox import CommandLimits, Sandbox
from tests.benchmarks.report import Sizes, times
from worker.build import build_sandbox, command_owner
from worker.settings import WorkerSettings, read_settings
from worker.workspaces import Workspaces

COMMAND = "true"


def run(directory: Path, sizes: Sizes) -> list[str]:
    directory.mkdir(mode=0o700)
    settings = read_settings(WorkerSettings)
    workspaces = Workspaces(directory / "workspaces", owner=command_owner(settings))
    with workspaces.open("p1", "hello") as project:
        sandboxed, bare = asyncio.run(_measure(build_sandbox(settings), project, sizes.commands))
    account = f"root, its commands as uid {settings.sandbox_uid}" if os.geteuid() == 0 else "a plain user"
    return [times(f"sandbox, `{COMMAND}`", sandboxed, plain=("a bare process", bare)) + f"; run by {account}"]


async def _measure(sandbox: Sandbox, project: Project, count: int) -> tuple[list[float], list[float]]:
    sandboxed, bare = list[float](), list[float]()
    limits = CommandLimits()
    for number in range(-1, count):
        begin = time.monotonic()
        result = await sandbox.run([COMMAND], project=project, limits=limits)
        between = time.monotonic()
        assert result.exit_code == 0, result
        process = await asyncio.create_subprocess_exec(COMMAND)
        await process.wait()
        end = time.monotonic()
        # The first looks for the programs it needs.
        if number >= 0:
            sandboxed.append(between - begin)
            bare.append(end - between)
    return sandboxed, bare
