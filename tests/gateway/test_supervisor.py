import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from gateway.processes import AlreadyRunning, DataLock
from tests.gateway.supervised import alive, stand_in, supervised, until

NEEDS_FIRST = "assert (here / 'first').exists(), 'the first part is not ready'"
DAEMON = """
child = subprocess.Popen([sys.executable, "-I", "-S", "-c", "import signal; signal.pause()"], start_new_session=True)
(here / f"child-{os.getpid()}").write_text(str(child.pid))
"""


def pid_of(directory: Path, name: str) -> int:
    return int((directory / name).read_text())


def log_of(directory: Path) -> list[str]:
    return (directory / "log").read_text().splitlines()


@pytest.mark.requirement("cli.up", "setup.stop")
def test_parts_start_in_order_and_ctrl_c_ends_them_in_reverse_leaving_none(tmp_path: Path) -> None:
    parts = {"first": stand_in("first"), "second": stand_in("second", before=NEEDS_FIRST)}
    with supervised(tmp_path, parts) as supervisor:
        supervisor.expect("ready")
        pids = [pid_of(tmp_path, name) for name in parts]
        assert supervisor.end(signal.SIGINT) == 0
        assert not any(map(alive, pids))
    assert log_of(tmp_path) == ["first begins", "second begins", "second ends", "first ends"]
    assert supervisor.said("no process is left")


@pytest.mark.requirement("setup.stop")
def test_a_terminals_ctrl_c_reaches_the_supervisor_alone(tmp_path: Path) -> None:
    with supervised(tmp_path, {"first": stand_in("first")}) as supervisor:
        supervisor.expect("ready")
        pid = pid_of(tmp_path, "first")
        assert os.getsid(pid) == pid != os.getsid(supervisor.process.pid)


@pytest.mark.requirement("setup.stop")
def test_a_grandchild_that_left_for_a_session_of_its_own_is_ended_too(tmp_path: Path) -> None:
    with supervised(tmp_path, {"first": stand_in("first", before=DAEMON)}) as supervisor:
        supervisor.expect("ready")
        grandchild = pid_of(tmp_path, f"child-{pid_of(tmp_path, 'first')}")
        assert alive(grandchild)
        assert supervisor.end() == 0
        assert not alive(grandchild)


@pytest.mark.requirement("cli.restart")
def test_a_killed_part_is_started_again_without_what_it_left_behind(tmp_path: Path) -> None:
    with supervised(tmp_path, {"first": stand_in("first", before=DAEMON)}) as supervisor:
        supervisor.expect("ready")
        pid = pid_of(tmp_path, "first")
        leftover = pid_of(tmp_path, f"child-{pid}")
        os.kill(pid, signal.SIGKILL)
        supervisor.expect("first runs again")
        assert supervisor.said("first was ended by signal 9 (Killed); starting it again in 0.2 s")
        assert pid_of(tmp_path, "first") != pid
        assert not alive(leftover)


@pytest.mark.requirement("cli.restart")
def test_parts_killed_together_come_back_in_their_order(tmp_path: Path) -> None:
    remove = "import atexit; atexit.register((here / 'first').unlink)"
    parts = {"first": stand_in("first"), "second": stand_in("second", before=NEEDS_FIRST + "\n" + remove)}
    with supervised(tmp_path, parts) as supervisor:
        supervisor.expect("ready")
        pids = [pid_of(tmp_path, name) for name in parts]
        (tmp_path / "first").unlink()
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        supervisor.expect("second runs again")
        assert supervisor.said("first runs again")


@pytest.mark.requirement("cli.restart")
def test_the_pause_grows_while_a_part_keeps_failing(tmp_path: Path) -> None:
    flaky = "if (here / 'first').exists(): sys.exit(5)"
    with supervised(tmp_path, {"first": stand_in("first", before=flaky, after="sys.exit(4)")}) as supervisor:
        supervisor.expect("again in 0.8 s")
        assert supervisor.said("first ended with exit code 4; starting it again in 0.2 s")
        assert supervisor.said("first ended with exit code 5 before it was ready")


@pytest.mark.requirement("settings.bad-value")
@pytest.mark.parametrize("code", [3, 78])
def test_a_part_that_fails_at_its_first_start_ends_everything_with_its_code(tmp_path: Path, code: int) -> None:
    fails = f"print('its own reason', file=sys.stderr); sys.exit({code})"
    parts = {"first": stand_in("first"), "second": stand_in("second", before=fails)}
    with supervised(tmp_path, parts) as supervisor:
        assert supervisor.wait() == code
        assert not alive(pid_of(tmp_path, "first"))
    assert supervisor.said("its own reason")
    assert supervisor.said(f"second ended with exit code {code} before it was ready")
    assert "ready" not in supervisor.lines
    assert "Traceback" not in supervisor.text


def test_a_part_that_later_finds_its_settings_wrong_ends_everything(tmp_path: Path) -> None:
    after = "signal.sigwait({signal.SIGUSR1}); sys.exit(78)"
    mask = "signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})"
    with supervised(tmp_path, {"first": stand_in("first", before=mask, after=after)}) as supervisor:
        supervisor.expect("ready")
        os.kill(pid_of(tmp_path, "first"), signal.SIGUSR1)
        assert supervisor.wait() == 78
    assert supervisor.said("first finds its settings wrong")


def test_a_program_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    with supervised(tmp_path, {"first": ["/nowhere/program"]}) as supervisor:
        assert supervisor.wait() != 0
    assert "Traceback" not in supervisor.text
    assert supervisor.said("/nowhere/program")


def test_a_part_that_never_gets_ready_ends_everything(tmp_path: Path) -> None:
    with supervised(tmp_path, {"first": stand_in("first", before="signal.pause()")}, start=0.3) as supervisor:
        assert supervisor.wait() == 1
    assert supervisor.said("first was not ready within 0.3 s")


@pytest.mark.requirement("setup.stop")
def test_a_part_that_ignores_the_request_to_end_is_killed(tmp_path: Path) -> None:
    deaf = "signal.signal(signal.SIGTERM, signal.SIG_IGN)"
    with supervised(tmp_path, {"first": stand_in("first", before=deaf)}, grace=0.3) as supervisor:
        supervisor.expect("ready")
        pid = pid_of(tmp_path, "first")
        assert supervisor.end() == 0
        assert not alive(pid)
    assert supervisor.said("first did not end in time and is killed")


@pytest.mark.requirement("setup.stop")
def test_a_second_ctrl_c_does_not_wait(tmp_path: Path) -> None:
    deaf = "signal.signal(signal.SIGTERM, lambda *_: (here / 'asked').touch())"
    after = "while True: signal.pause()"
    with supervised(tmp_path, {"first": stand_in("first", before=deaf, after=after)}, grace=600) as supervisor:
        supervisor.expect("ready")
        supervisor.process.send_signal(signal.SIGINT)
        until((tmp_path / "asked").exists)
        assert supervisor.end() == 0


@pytest.mark.requirement("setup.stop")
def test_parts_end_by_themselves_when_the_supervisor_is_killed(tmp_path: Path) -> None:
    parts = {"first": stand_in("first"), "second": stand_in("second")}
    with supervised(tmp_path, parts) as supervisor:
        supervisor.expect("ready")
        pids = [pid_of(tmp_path, name) for name in parts]
        supervisor.end(signal.SIGKILL)
        until(lambda: not any(map(alive, pids)))


def test_orphans_that_end_are_cleared_away_while_the_parts_run(tmp_path: Path) -> None:
    orphan = """
if os.fork() == 0:
    if os.fork() == 0:
        (here / "orphan").write_text(str(os.getpid()))
        signal.sigwait({signal.SIGUSR1})
    os._exit(0)
os.wait()
"""
    mask = "signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})"
    with supervised(tmp_path, {"first": stand_in("first", before=mask + orphan)}) as supervisor:
        supervisor.expect("ready")
        until((tmp_path / "orphan").exists)
        until(lambda: (tmp_path / "orphan").read_text() != "")
        pid = pid_of(tmp_path, "orphan")
        os.kill(pid, signal.SIGUSR1)
        until(lambda: not Path(f"/proc/{pid}").exists())
        assert alive(pid_of(tmp_path, "first"))


def test_a_second_holder_of_the_data_directory_is_refused_with_the_firsts_pid(tmp_path: Path) -> None:
    async def twice() -> str:
        lock = await DataLock.take(tmp_path / "lock")
        with pytest.raises(AlreadyRunning) as caught:
            await DataLock.take(tmp_path / "lock")
        lock.release()
        (await DataLock.take(tmp_path / "lock")).release()
        return str(caught.value)

    assert f"process {os.getpid()}" in asyncio.run(twice())


def test_a_process_that_a_killed_holder_left_keeps_the_lock_until_it_ends(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    code = f"""
import asyncio, os, subprocess, sys
from pathlib import Path
from gateway.processes import DataLock
lock = asyncio.run(DataLock.take(Path({str(lock)!r})))
child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=0, stdout=subprocess.DEVNULL, pass_fds=[lock.descriptor])
print("held", flush=True)
os._exit(0)
"""

    async def successor() -> None:
        with pytest.raises(AlreadyRunning):
            await DataLock.take(lock, seconds=0.2)
        waiting = asyncio.create_task(DataLock.take(lock))
        holder.stdin.close()
        (await waiting).release()

    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdin is not None
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        holder.wait(20)
        asyncio.run(successor())
