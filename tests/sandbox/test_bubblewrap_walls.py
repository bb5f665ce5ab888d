import asyncio
import os
import platform
import socket
from pathlib import Path

import pytest

from agent.project import Project
from agent.sandbox import CommandLimits, CommandResult
from agent.sandboxes.bubblewrap import BubblewrapSandbox
from agent.sandboxes.bubblewrap.seccomp import AUDIT_ARCHITECTURES, PERSONALITY, REFUSED
from tests.sandbox.places import AS_ROOT, NOBODY

LIMITS = CommandLimits(wall_seconds=30.0)
CONNECT = (
    "import socket, sys; s = socket.socket(getattr(socket, sys.argv[1])); s.connect(eval(sys.argv[2])); print('in')"
)


def run(sandbox: BubblewrapSandbox, project: Project, *argv: str) -> CommandResult:
    return asyncio.run(sandbox.run(argv, project=project, limits=LIMITS))


def connect(sandbox: BubblewrapSandbox, project: Project, family: str, address: object) -> CommandResult:
    return run(sandbox, project, "python3", "-c", CONNECT, family, repr(address))


@pytest.mark.requirement("sandbox.network")
def test_a_server_of_this_machine_cannot_be_reached(sandbox: BubblewrapSandbox, project: Project) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        result = connect(sandbox, project, "AF_INET", listener.getsockname())

    assert result.exit_code == 1
    assert "refused" in result.output


@pytest.mark.requirement("sandbox.network")
def test_there_is_no_interface_but_loopback_and_no_route(sandbox: BubblewrapSandbox, project: Project) -> None:
    interfaces = run(sandbox, project, "cat", "/proc/net/dev").output.splitlines()[2:]
    unreachable = connect(sandbox, project, "AF_INET", ("192.0.2.1", 80))

    assert [line.split(":")[0].strip() for line in interfaces] == ["lo"]
    assert "unreachable" in unreachable.output


@pytest.mark.requirement("sandbox.network")
@pytest.mark.parametrize("family", ["AF_NETLINK", "AF_PACKET", "AF_VSOCK"])
def test_other_kinds_of_sockets_are_refused(sandbox: BubblewrapSandbox, project: Project, family: str) -> None:
    script = f"import socket; socket.socket(socket.{family}, socket.SOCK_RAW)"

    assert "OSError: [Errno 97]" in run(sandbox, project, "python3", "-c", script).output


@pytest.mark.requirement("sandbox.network")
def test_multipath_tcp_is_refused(sandbox: BubblewrapSandbox, project: Project) -> None:
    script = "import socket; socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)"

    assert "OSError: [Errno 93]" in run(sandbox, project, "python3", "-c", script).output


@pytest.mark.requirement("sandbox.walls")
@pytest.mark.parametrize(
    "name", ["memfd_secret", "process_madvise", "statmount", "listmount", "open_tree_attr", "personality"]
)
def test_calls_that_hide_memory_or_show_mounts_are_refused_by_the_real_kernel(
    sandbox: BubblewrapSandbox, project: Project, name: str
) -> None:
    column = list(AUDIT_ARCHITECTURES).index(platform.machine())
    numbers = {name: pair[column] for name, pair in REFUSED.items()} | {"personality": PERSONALITY[platform.machine()]}
    script = "import ctypes; l = ctypes.CDLL(None, use_errno=True); print(l.syscall({}, {}), ctypes.get_errno())"
    no_randomization = 0x0040000

    assert run(sandbox, project, "python3", "-c", script.format(numbers[name], no_randomization)).output == "-1 1\n"


@pytest.mark.requirement("sandbox.walls")
def test_unix_sockets_of_this_machine_cannot_be_reached(
    sandbox: BubblewrapSandbox, project: Project, outside: Path
) -> None:
    path = outside / "redis.sock"
    abstract = f"\0paigate-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as by_path, socket.socket(socket.AF_UNIX) as by_name:
        by_path.bind(str(path))
        path.chmod(0o777)
        by_name.bind(abstract)
        for listener, address in ((by_path, str(path)), (by_name, abstract)):
            listener.listen()
            assert connect(sandbox, project, "AF_UNIX", address).exit_code == 1


@pytest.mark.requirement("sandbox.walls", "flow.apart")
def test_another_project_cannot_be_seen(sandbox: BubblewrapSandbox, project: Project, outside: Path) -> None:
    other = outside / "other"
    other.mkdir()
    secret = other / "secret"
    secret.write_text("other people's")
    if AS_ROOT:
        os.chown(other, NOBODY, NOBODY)
        os.chown(secret, NOBODY, NOBODY)

    for command in (["cat", str(secret)], ["ls", str(outside)], ["cat", f"/project/../..{secret}"]):
        result = run(sandbox, project, *command)
        assert result.exit_code != 0
        assert "No such file" in result.output


@pytest.mark.requirement("sandbox.walls")
def test_a_link_to_the_outside_leads_nowhere_inside(
    sandbox: BubblewrapSandbox, project: Project, outside: Path
) -> None:
    (outside / "secret").write_text("x")
    os.symlink(outside / "secret", "link", dir_fd=project.root_fd)

    assert run(sandbox, project, "cat", "link").exit_code == 1


@pytest.mark.requirement("sandbox.walls")
def test_the_environment_holds_nothing_of_the_worker(
    sandbox: BubblewrapSandbox, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PAIGATE_MODEL_KEY", "hunter2")
    result = run(sandbox, project, "/bin/bash", "-c", "env; cat /proc/[0-9]*/environ | tr '\\0' '\\n'")
    names = {line.split("=")[0] for line in result.output.splitlines() if "=" in line}

    assert "hunter2" not in result.output
    assert names <= {"PATH", "HOME", "LANG", "TERM", "PWD", "SHLVL", "_", "OLDPWD"}


@pytest.mark.requirement("sandbox.walls")
def test_no_process_of_the_worker_can_be_seen(sandbox: BubblewrapSandbox, project: Project) -> None:
    processes = run(sandbox, project, "/bin/bash", "-c", "ls -d /proc/[0-9]*; cat /proc/[0-9]*/cmdline").output

    assert len([line for line in processes.splitlines() if line.startswith("/proc/")]) <= 4
    assert "pytest" not in processes


@pytest.mark.requirement("sandbox.walls")
def test_nothing_outside_of_project_and_tmp_can_be_written(sandbox: BubblewrapSandbox, project: Project) -> None:
    everywhere = r"find / \( -path /usr -o -path /proc \) -prune -o"
    script = f"{everywhere} -type d -exec touch {{}}/probe ';'; touch /usr/probe; {everywhere} -name probe -print >&3"
    written = run(sandbox, project, "/bin/bash", "-c", f"exec 3>&1 >/dev/null 2>&1; {script}").output

    assert sorted(written.split()) == ["/dev/shm/probe", "/project/probe", "/tmp/probe"]


@pytest.mark.requirement("sandbox.walls")
@pytest.mark.parametrize(
    "command",
    [
        "unshare --user true",
        "unshare --mount true",
        "mount -o remount,rw,bind /",
        "mount -t tmpfs none /project",
        "cat /etc/shadow",
        "ls /root",
        "nsenter --target 1 --mount true",
    ],
)
def test_the_ways_out_are_closed(sandbox: BubblewrapSandbox, project: Project, command: str) -> None:
    assert run(sandbox, project, "/bin/bash", "-c", command).exit_code not in {0, 127}


@pytest.mark.requirement("setup.root", "sandbox.walls")
def test_commands_run_under_an_unprivileged_account_without_capabilities(
    sandbox: BubblewrapSandbox, project: Project
) -> None:
    status = run(sandbox, project, "cat", "/proc/self/status").output
    fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)

    assert fields["Uid"].split() == [str(NOBODY if AS_ROOT else os.geteuid())] * 4
    assert {fields[name] for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {"0" * 16}
    assert fields["NoNewPrivs"] == "1"
    assert fields["Seccomp"] == "2"


@pytest.mark.requirement("sandbox.walls")
def test_a_directory_put_in_the_project_s_place_is_not_used(
    sandbox: BubblewrapSandbox, project: Project, tmp_path: Path, outside: Path
) -> None:
    (outside / "secret").write_text("x")
    project.write("mine", b"")
    (tmp_path / "project").rename(tmp_path / "moved")
    (tmp_path / "project").symlink_to(outside)

    assert run(sandbox, project, "ls").output == "mine\n"
