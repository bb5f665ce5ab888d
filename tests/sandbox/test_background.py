import asyncio
import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import psutil
import pytest

from agent.errors import SandboxUnavailable
from agent.project import Project
from agent.sandbox import BackgroundCommand, BackgroundState, CommandLimits
from agent.sandboxes.bubblewrap import BubblewrapSandbox
from agent.sandboxes.bubblewrap.background import BubblewrapBackground
from agent.sandboxes.bubblewrap.keeper import LATEST_PIECES, PIECE_BYTES, Output
from agent.sandboxes.bubblewrap.kept import Kept
from tests.sandbox.places import NOBODY, make_project, make_sandbox
from tests.sandbox.test_bubblewrap import left_over

pytestmark = pytest.mark.anyio
ROOT = Path(__file__).parents[2]
FOREVER = "exec -a {marker} sleep 300"


@pytest.fixture
async def background(sandbox: BubblewrapSandbox, tmp_path: Path) -> AsyncIterator[BubblewrapBackground]:
    found = sandbox.background(tmp_path / "background")
    yield found
    await found.end_all()


@pytest.fixture
def marker(request: pytest.FixtureRequest) -> str:
    return f"paigate-{request.node.name[:60]}-{os.getpid()}"


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["/bin/sleep", "300"]) as process:
        yield process
        process.kill()


async def start(
    background: BubblewrapBackground,
    project: Project,
    command: str,
    *,
    seconds: float = 120.0,
    at_most: int = 9,
    lifeline: int | None = None,
) -> BackgroundCommand:
    started = await background.start(
        ["/bin/bash", "-c", command],
        project=project,
        limits=CommandLimits(wall_seconds=seconds),
        command=command,
        at_most=at_most,
        lifeline=lifeline,
    )
    assert started is not None
    return started


async def until(done: Callable[[], object]) -> None:
    async with asyncio.timeout(20):
        while not done():
            await asyncio.sleep(0.02)


async def in_state(background: BubblewrapBackground, command_id: str, state: BackgroundState) -> BackgroundCommand:
    def found() -> BackgroundCommand:
        command = background.find(command_id)
        assert command is not None
        return command

    await until(lambda: found().state == state)
    return found()


def printed(background: BubblewrapBackground, command_id: str, offset: int | None = None) -> bytes:
    return background.output(command_id, offset=offset, most_bytes=10_000).content


def record(tmp_path: Path, command_id: str) -> Path:
    return tmp_path / "background" / command_id / "state.json"


def keeper_of(tmp_path: Path, command_id: str) -> int:
    claim = Kept(tmp_path / "background" / command_id).keeper()
    assert claim
    return claim.pid


# Start, look, stop


@pytest.mark.requirement("tools.background")
async def test_a_command_runs_while_nobody_waits_and_what_it_prints_is_read_on_from_an_offset(
    background, project
) -> None:
    started = await start(background, project, "echo one; until [ -e go ]; do :; done; echo two >&2; exit 3")
    await until(lambda: printed(background, "bg1"))
    first = background.output("bg1", offset=0, most_bytes=100)
    project.write("go", b"")
    ended = await in_state(background, "bg1", "exited")

    assert (started.command_id, started.state, started.exit_code) == ("bg1", "running", None)
    assert 100 < started.seconds_left <= 120
    assert (first.content, first.end) == (b"one\n", 4)
    assert (ended.exit_code, ended.seconds_left, ended.output_bytes) == (3, 0.0, 8)
    assert printed(background, "bg1", first.end) == b"two\n"
    assert printed(background, "bg1", 8) == printed(background, "bg1", 800) == b""
    assert background.output("bg1", offset=None, most_bytes=5).content == b"\ntwo\n"


@pytest.mark.requirement("tools.background", "sandbox.walls")
async def test_the_walls_are_those_of_every_command(background, project) -> None:
    probe = (
        "pwd; id -u; ls /; for fd in /proc/$$/fd/*; do readlink $fd; done; ls -A /root /etc/shadow 2>&1 | head -1;"
        "read -r line || echo no input; echo $PATH; cat /proc/sys/kernel/hostname; ulimit -u; ulimit -t"
    )
    await start(background, project, probe)
    await in_state(background, "bg1", "exited")
    lines = printed(background, "bg1").decode().splitlines()

    assert lines[0] == "/project"
    assert lines[1] == str(NOBODY if os.geteuid() == 0 else os.geteuid())
    assert {"project", "proc", "usr"} <= set(lines)
    assert not {"work", "home", "root", "var"} & set(lines)
    assert "no input" in lines
    assert lines[-3:] == ["sandbox", "128", "60"]
    assert sum(line.startswith(("/dev/null", "pipe:")) for line in lines) == 3
    assert not [line for line in lines if "socket:" in line or "memfd" in line]


@pytest.mark.requirement("tools.background", "sandbox.tree")
async def test_stopping_ends_every_process_and_stopping_again_changes_nothing(background, project, marker) -> None:
    command = f"trap '' TERM; setsid bash -c '{FOREVER.format(marker=marker)}' & echo up; " + FOREVER
    await start(background, project, command.format(marker=marker))
    await until(lambda: printed(background, "bg1"))
    assert left_over(marker)

    await background.stop("bg1")
    assert left_over(marker) == []
    stopped = background.find("bg1")
    await background.stop("bg1")
    assert stopped is not None
    assert (stopped.state, stopped.exit_code) == ("stopped", None)
    assert background.find("bg1") == stopped


@pytest.mark.requirement("tools.background", "sandbox.tree")
async def test_a_command_s_own_daemons_end_with_it(background, project, marker) -> None:
    await start(background, project, f"setsid bash -c '{FOREVER}' & echo up".format(marker=marker))
    ended = await in_state(background, "bg1", "exited")

    assert ended.exit_code == 0
    assert left_over(marker) == []


@pytest.mark.requirement("tools.background")
async def test_one_too_many_is_refused_and_an_end_makes_room(background, project) -> None:
    for _ in range(2):
        await start(background, project, "sleep 300")
    refused = await background.start(
        ["true"], project=project, limits=CommandLimits(), command="true", at_most=2, lifeline=None
    )
    await background.stop("bg1")

    assert refused is None
    assert (await start(background, project, "true", at_most=2)).command_id == "bg3"


@pytest.mark.requirement("tools.background")
async def test_many_that_ended_are_forgotten_and_no_id_comes_twice(background, project) -> None:
    for number in range(1, 12):
        assert (await start(background, project, "true")).command_id == f"bg{number}"
        await in_state(background, f"bg{number}", "exited")

    assert [command.command_id for command in background.all()] == [f"bg{number}" for number in range(3, 12)]


@pytest.mark.parametrize("command_id", ["bg7", "", "..", "../bg1", "bg1/../bg1", "bg1\0", "bg٣"])
async def test_an_id_that_is_none_finds_nothing(background, project, command_id: str) -> None:
    await start(background, project, "echo here")
    await in_state(background, "bg1", "exited")

    await background.stop(command_id)
    assert background.find(command_id) is None
    assert background.output(command_id, offset=None, most_bytes=10).content == b""


async def test_where_nothing_was_started_there_is_nothing_to_end(sandbox: BubblewrapSandbox, tmp_path: Path) -> None:
    background = sandbox.background(tmp_path / "none")

    await background.end_all()
    assert background.all() == []
    assert not (tmp_path / "none").exists()


# Ends


@pytest.mark.requirement("tools.background")
async def test_a_command_is_ended_at_its_deadline(background, project, marker) -> None:
    await start(background, project, FOREVER.format(marker=marker), seconds=0.5)
    ended = await in_state(background, "bg1", "deadline")

    assert 0.5 <= ended.seconds < 10
    assert left_over(marker) == []


@pytest.mark.requirement("tools.background", "sandbox.tree")
async def test_a_killed_keeper_takes_its_command_along(background, project, marker, tmp_path) -> None:
    await start(background, project, FOREVER.format(marker=marker))
    await until(lambda: left_over(marker))
    os.kill(keeper_of(tmp_path, "bg1"), signal.SIGKILL)
    lost = await in_state(background, "bg1", "lost")
    await background.stop("bg1")

    assert left_over(marker) == []
    assert (lost.exit_code, lost.seconds_left) == (None, 0.0)
    assert (await start(background, project, "true")).command_id == "bg2"


@pytest.mark.requirement("tools.background", "sandbox.tree")
async def test_a_command_ends_with_the_process_it_is_tied_to(background, project, marker, sleeper) -> None:
    await start(background, project, FOREVER.format(marker=marker), lifeline=sleeper.pid)
    await until(lambda: left_over(marker))
    sleeper.kill()
    await in_state(background, "bg1", "orphaned")

    assert left_over(marker) == []


@pytest.mark.requirement("tools.background")
async def test_nothing_is_started_when_the_process_it_is_tied_to_is_gone(background, project, sleeper) -> None:
    sleeper.kill()
    os.waitid(os.P_PID, sleeper.pid, os.WEXITED | os.WNOWAIT)
    for _ in range(2):  # once as a zombie, once without a trace
        with pytest.raises(SandboxUnavailable):
            await start(background, project, "touch ran", lifeline=sleeper.pid)
        sleeper.wait()

    assert background.all() == []
    assert not project.exists("ran")


@pytest.mark.requirement("tools.background")
async def test_a_command_outlives_who_started_it_and_is_found_from_disk(
    background, project, marker, tmp_path, outside
) -> None:
    script = f"""
import asyncio, os, signal, sys
from pathlib import Path
from tests.sandbox.places import OWNER, make_sandbox
from tests.sandbox.test_background import start
from agent.project import Project

async def main():
    project = Project.open(Path(sys.argv[1]), owner=OWNER)
    background = make_sandbox(Path(sys.argv[2])).background(Path(sys.argv[3]))
    await start(background, project, "exec -a {marker} sleep 300")
    os.killpg(0, signal.SIGKILL)

asyncio.run(main())
"""
    places = [str(tmp_path / "project"), str(outside / "install"), str(tmp_path / "background")]
    starter = await asyncio.create_subprocess_exec(
        sys.executable, "-c", script, *places, cwd=ROOT, start_new_session=True
    )

    assert await starter.wait() == -signal.SIGKILL
    await until(lambda: left_over(marker))
    assert [command.state for command in background.all()] == ["running"]
    await background.end_all()
    assert left_over(marker) == []
    assert [command.state for command in background.all()] == ["stopped"]


@pytest.mark.requirement("tools.background")
async def test_all_of_a_conversation_are_ended_at_once(background, project, marker) -> None:
    for _ in range(3):
        await start(background, project, FOREVER.format(marker=marker))
    await until(lambda: len(left_over(marker)) >= 3)
    await background.end_all()

    assert left_over(marker) == []
    assert {command.state for command in background.all()} == {"stopped"}


@pytest.mark.requirement("tools.background")
async def test_a_keeper_that_hangs_is_ended_itself(background, project, marker, tmp_path) -> None:
    await start(background, project, FOREVER.format(marker=marker))
    keeper = keeper_of(tmp_path, "bg1")
    os.kill(keeper, signal.SIGSTOP)
    await background.stop("bg1")

    assert left_over(marker) == []
    assert not psutil.pid_exists(keeper) or psutil.Process(keeper).status() == psutil.STATUS_ZOMBIE


async def test_a_sandbox_killed_from_outside_counts_as_a_killed_command(background, project, marker) -> None:
    await start(background, project, f"echo up; {FOREVER.format(marker=marker)}")
    await until(lambda: left_over(marker))
    for pid in left_over(marker):
        if psutil.Process(pid).name() == "bwrap":
            os.kill(pid, signal.SIGKILL)
            break
    ended = await in_state(background, "bg1", "exited")

    assert ended.exit_code == 128 + signal.SIGKILL
    assert left_over(marker) == []


async def test_another_process_that_got_the_pid_is_left_alone(background, project, tmp_path, sleeper) -> None:
    await start(background, project, "true")
    await in_state(background, "bg1", "exited")
    await until(lambda: not Kept(tmp_path / "background/bg1").alive())
    path = record(tmp_path, "bg1")
    told = {**json.loads(path.read_text()), "first": [sleeper.pid, "1"], "state": "running"}
    path.write_text(json.dumps(told))
    await background.end_all()

    assert sleeper.poll() is None


@pytest.mark.requirement("sandbox.tree")
async def test_what_a_killed_keeper_could_leave_is_killed_by_its_record(background, project, tmp_path, sleeper) -> None:
    await start(background, project, "true")
    await in_state(background, "bg1", "exited")
    path = record(tmp_path, "bg1")
    start_time = Path(f"/proc/{sleeper.pid}/stat").read_text().rpartition(")")[2].split()[19]
    path.write_text(json.dumps({**json.loads(path.read_text()), "first": [sleeper.pid, start_time]}))
    await background.stop("bg1")

    assert sleeper.poll() == -signal.SIGKILL


async def test_a_record_that_cannot_be_read_is_no_command_and_is_cleared_away(background, project, tmp_path) -> None:
    for torn in ("bg1", "bg2"):
        (tmp_path / "background" / torn).mkdir(parents=True)
    record(tmp_path, "bg1").write_text('{"command": "tr')
    await background.end_all()

    assert background.all() == []
    assert (await start(background, project, "true")).command_id == "bg3"


UNREADABLE = ["{", "[]", "null", "3", "[" * 100_000, '{"command": "true"}', "\udcff", None]


def spoil(path: Path, content: str | None) -> None:
    if content is None:
        path.unlink()
    else:
        path.write_bytes(os.fsencode(content))


@pytest.mark.requirement("tools.background", "sandbox.tree")
@pytest.mark.parametrize("content", UNREADABLE, ids=lambda content: str(content)[:20])
async def test_a_running_command_is_found_and_stopped_when_its_record_cannot_be_read(
    background, project, marker, tmp_path, content
) -> None:
    await start(background, project, f"echo up; {FOREVER.format(marker=marker)}")
    await until(lambda: printed(background, "bg1"))
    spoil(record(tmp_path, "bg1"), content)
    (found,) = background.all()
    async with asyncio.timeout(5):
        await background.stop("bg1")

    assert left_over(marker) == []
    assert (found.state, found.command, found.output_bytes) == ("running", "(its record cannot be read)", 3)
    assert 0 <= found.seconds < 10
    assert 100 < found.seconds_left <= 122
    assert background.find("bg1").state == "stopped"


@pytest.mark.requirement("tools.background", "sandbox.tree")
async def test_all_are_ended_also_one_without_a_record_whose_keeper_hangs(
    background, project, marker, tmp_path
) -> None:
    for _ in range(2):
        await start(background, project, FOREVER.format(marker=marker))
    await until(lambda: len(left_over(marker)) >= 2)
    os.kill(keeper_of(tmp_path, "bg2"), signal.SIGSTOP)
    for command_id in ("bg1", "bg2"):
        spoil(record(tmp_path, command_id), "{")
    async with asyncio.timeout(10):
        await background.end_all()

    await until(lambda: not left_over(marker))
    assert [command.command_id for command in background.all()] == ["bg1"]


@pytest.mark.requirement("tools.background", "sandbox.tree")
@pytest.mark.parametrize("gone", ["bg1", "bg1/lock", "."])
async def test_a_command_ends_when_what_finds_it_is_removed(background, project, marker, tmp_path, gone: str) -> None:
    await start(background, project, FOREVER.format(marker=marker))
    await until(lambda: left_over(marker))
    path = tmp_path / "background" / gone
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()
        path.touch()

    await until(lambda: not left_over(marker))
    assert not background.all() or not background.all()[0].running


WRONG = [
    [],
    None,
    "record",
    {"command": 1},
    {"command": None},
    {"state": "asleep"},
    {"state": []},
    {"exit_code": "0"},
    {"exit_code": True},
    {"exit_code": 10**30},
    {"first": [1]},
    {"first": [1, "2", 3]},
    {"first": [10**30, "2"]},
    {"first": {"pid": 1}},
    {"started": "now"},
    {"started": 10**400},
    {"deadline": None},
    {"deadline": float("nan")},
    {"ended": [1]},
    {"ended": float("inf")},
]


@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: repr(wrong)[:40])
async def test_a_record_of_the_wrong_shape_is_none(background, project, tmp_path, wrong: object) -> None:
    await start(background, project, "true")
    await in_state(background, "bg1", "exited")
    path = record(tmp_path, "bg1")
    await until(lambda: not Kept(path.parent).alive())
    path.write_text(json.dumps({**json.loads(path.read_text()), **wrong} if isinstance(wrong, dict) else wrong))

    await background.end_all()
    assert (background.all(), background.find("bg1")) == ([], None)
    assert (await start(background, project, "true")).command_id == "bg2"


async def test_a_lock_that_somebody_else_holds_is_told_as_such(background, tmp_path) -> None:
    (tmp_path / "background/bg1").mkdir(parents=True)
    with (tmp_path / "background/bg1/lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(SandboxUnavailable, match=r"not known holds .*/bg1/lock, .*could not be ended"):
            await background.stop("bg1")


@pytest.mark.requirement("tools.background", "sandbox.tree")
async def test_many_starts_and_stops_leave_nothing_but_what_is_remembered(
    background, project, marker, tmp_path
) -> None:
    await start(background, project, "true")
    await background.stop("bg1")
    descriptors = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(30):
        started = await start(background, project, FOREVER.format(marker=marker))
        await background.stop(started.command_id)

    assert left_over(marker) == []
    assert len(list(Path("/proc/self/fd").iterdir())) == descriptors
    assert {path.name for path in (tmp_path / "background").iterdir()} == {
        "lock",
        *(f"bg{number}" for number in range(23, 32)),
    }


# Starts that fail


def slow_start(outside: Path, script: str) -> BubblewrapSandbox:
    """A sandbox whose start takes the way over `script`, which is told the real program as its arguments."""
    programs = outside / "programs"
    programs.mkdir()
    programs.chmod(0o777)
    (programs / "choom").write_text(f"#!/bin/sh\n{script}\n")
    (programs / "choom").chmod(0o755)
    return make_sandbox(outside / "install", search_path=f"{programs}:{os.environ['PATH']}")


SLOWLY = 'cd "${0%/*}"; touch begun; until [ -e go ]; do sleep 0.02; done; exec /usr/bin/choom "$@"'


@pytest.mark.requirement("tools.background", "sandbox.only")
async def test_a_sandbox_that_cannot_be_set_up_is_told_and_leaves_nothing(project, outside, tmp_path) -> None:
    background = slow_start(outside, "echo it is broken >&2; exit 1").background(tmp_path / "background")

    with pytest.raises(SandboxUnavailable, match="it is broken"):
        await start(background, project, "touch ran")
    assert background.all() == []
    assert not project.exists("ran")


@pytest.mark.requirement("tools.background")
async def test_cancelling_a_start_leaves_nothing_running(project, outside, tmp_path, marker) -> None:
    background = slow_start(outside, SLOWLY).background(tmp_path / "background")
    task = asyncio.create_task(start(background, project, f"touch ran; {FOREVER.format(marker=marker)}"))
    await until((outside / "programs/begun").exists)
    task.cancel()
    (outside / "programs/go").touch()

    with pytest.raises(asyncio.CancelledError):
        await task
    assert background.all() == []
    assert left_over(marker) == []


@pytest.mark.requirement("tools.background")
async def test_nothing_runs_when_the_starter_is_killed_before_it_knows(project, outside, tmp_path) -> None:
    slow_start(outside, SLOWLY)
    script = f"""
import asyncio, os
from pathlib import Path
from tests.sandbox.places import OWNER, make_sandbox
from tests.sandbox.test_background import start
from agent.project import Project

sandbox = make_sandbox(Path({str(outside / "install")!r}), search_path={f"{outside / 'programs'}:"!r} + os.environ["PATH"])
background = sandbox.background(Path({str(tmp_path / "background")!r}))
asyncio.run(start(background, Project.open(Path({str(tmp_path / "project")!r}), owner=OWNER), "touch ran; sleep 300"))
"""
    starter = await asyncio.create_subprocess_exec(sys.executable, "-c", script, cwd=ROOT)
    await until((outside / "programs/begun").exists)
    starter.kill()
    await starter.wait()
    background = make_sandbox(outside / "install").background(tmp_path / "background")
    assert [command.running for command in background.all()] == [True]
    (outside / "programs/go").touch()

    assert (await in_state(background, "bg1", "stopped")).exit_code is None
    assert not project.exists("ran")


async def test_a_place_that_cannot_be_written_to_is_told(sandbox: BubblewrapSandbox, project, tmp_path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(SandboxUnavailable, match="No background command can be kept"):
        await start(sandbox.background(tmp_path / "file/background"), project, "true")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "small"
    place.mkdir()
    mounted = subprocess.run(["/bin/mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", str(place)], check=False)
    if mounted.returncode:
        pytest.skip("only root can mount a small disk, and not in every container")
    yield place
    subprocess.run(["/bin/umount", "--lazy", str(place)], check=True)


@pytest.mark.requirement("tools.background")
async def test_on_a_full_disk_an_end_is_known_and_no_start_goes_on(sandbox, project, small_disk) -> None:
    background = sandbox.background(small_disk / "background")
    await start(background, project, "head -c 1000000 /dev/zero; touch full; until [ -e go ]; do :; done; exit 3")
    await until(lambda: project.exists("full"))
    with pytest.raises(SandboxUnavailable, match="No space left"):
        await start(background, project, "touch ran")
    project.write("go", b"")
    ended = await in_state(background, "bg1", "exited")

    assert ended.exit_code == 3
    assert not project.exists("ran")


# Output


@pytest.mark.requirement("tools.background", "sandbox.limits")
async def test_of_a_huge_output_the_beginning_and_the_end_are_kept_in_bounded_room(
    background, project, tmp_path
) -> None:
    await start(background, project, "echo first; head -c 100000000 /dev/zero | tr '\\0' x; echo; echo last")
    ended = await in_state(background, "bg1", "exited")
    kept = sum(path.stat().st_size for path in (tmp_path / "background/bg1").iterdir())
    gap = background.output("bg1", offset=50_000_000, most_bytes=100)

    assert ended.output_bytes == 100_000_012
    assert kept <= (1 + LATEST_PIECES) * PIECE_BYTES + 1_000
    assert printed(background, "bg1", 0).startswith(b"first\nxxx")
    assert printed(background, "bg1").endswith(b"xxx\nlast\n")
    assert len(printed(background, "bg1")) == 10_000
    assert gap.start > 99_000_000
    assert gap.content == b"x" * 100


async def test_what_was_printed_is_for_nobody_else(background, project, tmp_path) -> None:
    await start(background, project, "echo secret")
    await in_state(background, "bg1", "exited")

    assert (tmp_path / "background").stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o077 for path in (tmp_path / "background").rglob("*")} == {0}


def test_output_that_cannot_be_written_is_left_out_and_what_follows_keeps_its_place(tmp_path: Path) -> None:
    output = Output(tmp_path / "gone")
    output.add(b"lost")
    (tmp_path / "gone").mkdir()
    output.add(b"kept")
    output.add(b" too")

    (file,) = (tmp_path / "gone").iterdir()
    assert (file.name, file.read_bytes()) == ("output.4", b"kept too")


async def test_files_that_are_no_output_are_none(background, project, tmp_path) -> None:
    await start(background, project, "echo here")
    await in_state(background, "bg1", "exited")
    for name in (
        "output.",
        "output.x",
        "output.-5",
        "output.1_0",
        "output.٣",
        "output.9.new",
        f"output.{'9' * 5_000}"[:255],
    ):
        (tmp_path / "background/bg1" / name).write_text("not printed")

    assert printed(background, "bg1", 0) == b"here\n"
    assert background.find("bg1").output_bytes == 5


def test_a_project_in_a_public_place_is_brought_in_as_well(sandbox: BubblewrapSandbox, outside: Path, tmp_path) -> None:
    async def run() -> bytes:
        background = sandbox.background(tmp_path / "background")
        with make_project(outside / "project") as project:
            await start(background, project, "echo here > file; cat file")
            await in_state(background, "bg1", "exited")
        return printed(background, "bg1")

    assert asyncio.run(run()) == b"here\n"
