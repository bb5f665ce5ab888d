import asyncio
import os
import shutil
import signal
from pathlib import Path

import psutil
import pytest

from agent.project import Project
from agent.sandbox import CommandLimits, CommandResult
from agent.sandboxes.bubblewrap import BubblewrapSandbox
from tests.sandbox.places import make_project

LIMITS = CommandLimits(wall_seconds=30.0)
JAVA = 'public class Hello { public static void main(String[] a) { System.out.println("works"); } }'


def shell(sandbox: BubblewrapSandbox, project: Project, command: str, limits: CommandLimits = LIMITS) -> CommandResult:
    return asyncio.run(sandbox.run(["/bin/bash", "-c", command], project=project, limits=limits))


def left_over(marker: str) -> list[int]:
    """Living processes of this machine whose command line has the marker."""
    found: list[int] = []
    for process in psutil.process_iter(["status", "cmdline"]):
        named = any(marker in word for word in process.info["cmdline"] or [])
        if named and process.info["status"] != psutil.STATUS_ZOMBIE:
            found.append(process.pid)
    return found


@pytest.mark.requirement("sandbox.only")
def test_a_command_s_exit_code_and_output_in_order_come_back(sandbox: BubblewrapSandbox, project: Project) -> None:
    result = shell(sandbox, project, "echo one; echo two >&2; echo three; exit 7")

    assert (result.exit_code, result.output) == (7, "one\ntwo\nthree\n")
    assert not result.truncated
    assert not result.timed_out


def test_a_command_that_fails_with_1_is_not_taken_for_a_sandbox_that_failed(
    sandbox: BubblewrapSandbox, project: Project
) -> None:
    assert shell(sandbox, project, "exit 1").exit_code == 1


def test_a_program_that_does_not_exist_gives_127(sandbox: BubblewrapSandbox, project: Project) -> None:
    result = asyncio.run(sandbox.run(["no-such-program"], project=project, limits=LIMITS))

    assert result.exit_code == 127
    assert "no-such-program" in result.output


def test_a_command_killed_by_a_signal_gives_128_and_its_number(sandbox: BubblewrapSandbox, project: Project) -> None:
    assert shell(sandbox, project, "kill -SEGV $$").exit_code == 128 + signal.SIGSEGV


def test_files_written_inside_are_the_project_s(sandbox: BubblewrapSandbox, project: Project) -> None:
    result = shell(sandbox, project, "pwd; mkdir a; echo hello > a/b; echo $HOME")

    assert result.output == "/project\n/project\n"
    assert project.read("a/b", max_bytes=10) == b"hello\n"


def test_what_the_worker_writes_can_be_changed_inside(sandbox: BubblewrapSandbox, project: Project) -> None:
    project.write("deep/note", b"one\n")

    assert shell(sandbox, project, "echo two >> deep/note; mv deep/note deep/moved").exit_code == 0
    assert project.read("deep/moved", max_bytes=100) == b"one\ntwo\n"


def test_a_project_in_a_public_place_is_bound_by_its_descriptor(sandbox: BubblewrapSandbox, outside: Path) -> None:
    with make_project(outside / "project") as project:
        assert shell(sandbox, project, "echo here > file; ls /").exit_code == 0
        assert project.read("file", max_bytes=10) == b"here\n"


def test_no_descriptor_but_the_three_standard_ones_is_open_inside(
    sandbox: BubblewrapSandbox, project: Project, outside: Path
) -> None:
    listing = "for fd in /proc/$$/fd/*; do readlink $fd; done"

    hidden = shell(sandbox, project, listing).output.split()
    with make_project(outside / "project") as public:
        bound = shell(sandbox, public, listing).output.split()

    for links in (hidden, bound):
        assert links[0] == "/dev/null"
        assert len(links) in {3, 4}
        assert not [link for link in links if "project" in link]


@pytest.mark.parametrize(
    ("program", "command"),
    [
        ("python3", "python3 -c 'import multiprocessing; multiprocessing.Lock(); print(\"works\")'"),
        ("node", "echo 'console.log(\"works\")' > a.js && node a.js"),
        ("gcc", "printf '#include <stdio.h>\\nint main(){puts(\"works\");}' > a.c && gcc a.c && ./a.out"),
        (
            "git",
            "git init -q && git -c user.name=a -c user.email=b commit -qm works --allow-empty && git log --format=%s",
        ),
        ("java", f"echo '{JAVA}' > Hello.java && java Hello.java"),
    ],
    ids=lambda value: value if value.isalnum() else "",
)
def test_the_usual_tools_work_inside(sandbox: BubblewrapSandbox, project: Project, program: str, command: str) -> None:
    if shutil.which(program, path="/usr/bin:/bin") is None:
        pytest.skip(f"{program} is not installed on this machine")
    result = shell(sandbox, project, command)

    assert (result.exit_code, result.output) == (0, "works\n")


def test_a_server_and_its_client_can_talk_inside(sandbox: BubblewrapSandbox, project: Project) -> None:
    script = (
        "import socket; s = socket.create_server(('localhost', 0));"
        "c = socket.create_connection(s.getsockname()); c.send(b'x'); print(s.accept()[0].recv(1))"
    )
    assert shell(sandbox, project, f'python3 -c "{script}"').output == "b'x'\n"


def test_output_is_told_while_it_comes(sandbox: BubblewrapSandbox, project: Project) -> None:
    chunks: list[bytes] = []

    async def run() -> None:
        await sandbox.run(["echo", "hello"], project=project, limits=LIMITS, on_output=chunks.append)

    asyncio.run(run())
    assert b"".join(chunks) == b"hello\n"


# The tree


@pytest.mark.requirement("sandbox.tree")
def test_a_daemon_is_dead_when_its_command_has_ended(sandbox: BubblewrapSandbox, project: Project) -> None:
    marker = f"paigate-exit-{os.getpid()}"
    result = shell(
        sandbox,
        project,
        f"setsid bash -c 'exec -a {marker} sleep 300' >/dev/null 2>&1 & "
        f"until grep -qa {marker} /proc/[0-9]*/cmdline 2>/dev/null; do :; done; echo up",
    )

    assert result.output == "up\n"
    assert left_over(marker) == []


@pytest.mark.requirement("sandbox.tree", "sandbox.limits")
def test_a_command_that_runs_too_long_is_ended_with_all_its_children(
    sandbox: BubblewrapSandbox, project: Project
) -> None:
    marker = f"paigate-timeout-{os.getpid()}"
    command = f"trap '' TERM; setsid bash -c 'exec -a {marker} sleep 300' & echo before; exec -a {marker} sleep 300"
    result = shell(sandbox, project, command, CommandLimits(wall_seconds=1.0))

    assert result.timed_out
    assert result.output == "before\n"
    assert result.seconds < 10
    assert left_over(marker) == []


@pytest.mark.requirement("sandbox.tree")
def test_a_sandbox_killed_from_outside_counts_as_a_killed_command(sandbox: BubblewrapSandbox, project: Project) -> None:
    marker = f"paigate-killed-{os.getpid()}"

    def kill(_: bytes) -> None:
        (bwrap,) = [child for child in psutil.Process().children() if marker in " ".join(child.cmdline())]
        bwrap.kill()

    async def run() -> CommandResult:
        argv = ["/bin/bash", "-c", f"echo up; exec -a {marker} sleep 300"]
        return await sandbox.run(argv, project=project, limits=LIMITS, on_output=kill)

    assert asyncio.run(run()).exit_code == 128 + signal.SIGKILL
    assert left_over(marker) == []


@pytest.mark.requirement("sandbox.tree")
def test_cancelling_ends_the_whole_tree_before_it_goes_on(sandbox: BubblewrapSandbox, project: Project) -> None:
    marker = f"paigate-cancel-{os.getpid()}"

    async def run() -> list[int]:
        up = asyncio.Event()
        command = f"setsid bash -c 'exec -a {marker} sleep 300' & echo up; exec -a {marker} sleep 300"
        task = asyncio.create_task(
            sandbox.run(["/bin/bash", "-c", command], project=project, limits=LIMITS, on_output=lambda _: up.set())
        )
        await asyncio.wait_for(up.wait(), 20)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return left_over(marker)

    assert asyncio.run(run()) == []


@pytest.mark.requirement("sandbox.tree")
def test_cancelling_at_any_moment_of_the_start_leaves_nothing(sandbox: BubblewrapSandbox, project: Project) -> None:
    marker = f"paigate-early-{os.getpid()}"

    async def run() -> None:
        await sandbox.run(["true"], project=project, limits=LIMITS)
        for turns in range(40):
            argv = ["/bin/bash", "-c", f"exec -a {marker} sleep 300"]
            task = asyncio.create_task(sandbox.run(argv, project=project, limits=LIMITS))
            for _ in range(turns):
                await asyncio.sleep(0)
            task.cancel()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert left_over(marker) == []

    asyncio.run(run())


def test_cancelling_leaks_no_descriptor(sandbox: BubblewrapSandbox, project: Project) -> None:
    async def run() -> tuple[int, int]:
        await sandbox.run(["true"], project=project, limits=LIMITS)
        before = len(list(Path("/proc/self/fd").iterdir()))
        for _ in range(5):
            task = asyncio.create_task(sandbox.run(["sleep", "300"], project=project, limits=LIMITS))
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await sandbox.run(["true"], project=project, limits=LIMITS)
        await asyncio.sleep(0)
        return before, len(list(Path("/proc/self/fd").iterdir()))

    before, after = asyncio.run(run())
    assert after <= before


# Limits


@pytest.mark.requirement("sandbox.limits")
def test_output_without_end_is_kept_at_head_and_tail_in_bounded_memory(
    sandbox: BubblewrapSandbox, project: Project
) -> None:
    limits = CommandLimits(wall_seconds=60.0, output_bytes=10_000)
    result = shell(sandbox, project, "echo first; head -c 200000000 /dev/zero | tr '\\0' x; echo; echo last", limits)

    assert result.truncated
    assert result.output.startswith("first\nxxx")
    assert result.output.endswith("xxx\nlast\n")
    assert len(result.output) < 10_100


@pytest.mark.requirement("sandbox.limits")
def test_the_number_of_processes_is_limited(sandbox: BubblewrapSandbox, project: Project) -> None:
    project.write(
        "forks.py",
        b"import os, time\n"
        b"count = 0\n"
        b"try:\n"
        b"    while count < 200:\n"
        b"        if os.fork() == 0: time.sleep(300)\n"
        b"        count += 1\n"
        b"except BlockingIOError:\n"
        b"    print(count)\n",
    )
    result = shell(sandbox, project, "python3 forks.py", CommandLimits(wall_seconds=30.0, processes=20))

    assert 5 <= int(result.output) < 20


@pytest.mark.requirement("sandbox.limits")
def test_the_memory_of_a_process_is_limited(sandbox: BubblewrapSandbox, project: Project) -> None:
    limits = CommandLimits(wall_seconds=30.0, data_bytes=128 << 20)
    result = shell(sandbox, project, "python3 -c 'bytearray(400 << 20)'", limits)

    assert result.exit_code == 1
    assert "MemoryError" in result.output


@pytest.mark.requirement("sandbox.limits")
def test_the_size_of_a_file_and_of_the_private_tmp_are_limited(sandbox: BubblewrapSandbox, project: Project) -> None:
    limits = CommandLimits(wall_seconds=30.0, file_bytes=1 << 20, temporary_bytes=1 << 20)
    big = shell(sandbox, project, "head -c 5000000 /dev/zero > big", limits)
    tmp = shell(sandbox, project, "for i in 1 2 3 4; do head -c 500000 /dev/zero > /tmp/$i || exit 9; done", limits)
    others = shell(sandbox, project, "echo x > /dev/x || echo x > /x || echo x > /etc/x || echo x > /var/x", limits)

    assert big.exit_code == 128 + signal.SIGXFSZ
    assert project.list("")[0].size <= 1 << 20
    assert tmp.exit_code == 9
    assert others.exit_code == 1


@pytest.mark.requirement("sandbox.limits")
def test_the_processor_time_is_limited(sandbox: BubblewrapSandbox, project: Project) -> None:
    result = shell(sandbox, project, "while :; do :; done", CommandLimits(wall_seconds=60.0, cpu_seconds=1))

    assert result.exit_code in {128 + signal.SIGKILL, 128 + signal.SIGXCPU}
