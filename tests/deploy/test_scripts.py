import os
import re
import shutil
import stat
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gateway.cli import app
from gateway.settings import Settings
from tests.sandbox.places import AS_ROOT, NOBODY, public_directory

ROOT = Path(__file__).parents[2]
SCRIPTS = ["deploy/run", "deploy/test", ".ci/run"]
SERVICES = ["deploy/systemd/paigate.service", "deploy/compose.yaml", "deploy/Dockerfile"]
LOCKS = ["deploy/requirements.lock", "deploy/requirements-dev.lock"]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """What the scripts need of the checkout, with a path that holds a blank."""
    place = tmp_path / "a checkout"
    shutil.copytree(ROOT / "deploy", place / "deploy")
    shutil.copytree(ROOT / ".ci", place / ".ci")
    shutil.copy(ROOT / "pyproject.toml", place)
    return place


def tools(directory: Path, **programs: str) -> str:
    """A search path that holds little but `programs`, each the text of a script."""
    directory.mkdir()
    names = {"bash", "env", "dirname", "basename", "cat", "cut", "sha256sum", "flock", "rm", "id", "readlink"}
    for name in names - programs.keys():
        (directory / name).symlink_to(str(shutil.which(name)))
    for name, text in programs.items():
        (directory / name).write_text(f"#!{shutil.which('bash')}\n{text}\n")
        (directory / name).chmod(0o755)
    return str(directory)


def run(script: Path, path: str, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [script, *arguments],
        env={"PATH": path, "HOME": str(script.parent), **variables},
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )


def test_the_scripts_can_be_run_and_are_valid() -> None:
    for script in SCRIPTS:
        assert (ROOT / script).stat().st_mode & stat.S_IXUSR
        assert (ROOT / script).read_text().startswith("#!/usr/bin/env bash\n")
    for script in [*SCRIPTS, "deploy/setup.sh"]:
        subprocess.run([str(shutil.which("bash")), "-n", ROOT / script], check=True)


@pytest.mark.requirement("setup.ci")
def test_ci_calls_the_tests_with_the_very_process(checkout: Path, tmp_path: Path) -> None:
    (checkout / "deploy/test").write_text("#!/usr/bin/env bash\necho tested $$\n")
    path = tools(tmp_path / "bin")
    with subprocess.Popen([checkout / ".ci/run"], env={"PATH": path}, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.read() == f"tested {process.pid}\n"


@pytest.mark.requirement("setup.lock")
@pytest.mark.parametrize("lock", LOCKS)
def test_every_package_is_pinned_with_hashes(lock: str) -> None:
    entries = (ROOT / lock).read_text().replace("\\\n", " ").splitlines()
    packages = [entry for entry in entries if entry.strip() and not entry.lstrip().startswith("#")]
    assert len(packages) > 20
    for package in packages:
        assert re.match(r"[A-Za-z0-9._-]+==[^ ]+ .*--hash=sha256:[0-9a-f]{64}", package), package


@pytest.mark.requirement("setup.lock")
def test_the_development_lock_holds_the_runtime_one() -> None:
    runtime, development = ({*re.findall(r"^([^ =#]+==\S+)", (ROOT / lock).read_text(), re.M)} for lock in LOCKS)
    assert runtime < development


@pytest.mark.requirement("setup.lock")
def test_no_file_names_a_package_index() -> None:
    index = re.compile(r"(--(extra-)?index-url|--find-links|--trusted-host|pypi\.org|pythonhosted\.org)")
    files = [*LOCKS, *SCRIPTS, "deploy/setup.sh", "deploy/Dockerfile", "pyproject.toml"]
    assert [file for file in files if index.search((ROOT / file).read_text())] == []


def test_without_a_new_enough_python_the_fix_is_named(checkout: Path, tmp_path: Path) -> None:
    path = tools(tmp_path / "bin", python3="exit 1")
    for script in ("run", "test"):
        result = run(checkout / "deploy" / script, path)
        assert result.returncode == 1
        assert result.stderr.startswith("error: no Python 3.11, 3.12 or 3.13 was found\n  fix: apt install python3")


def test_without_venv_and_pip_the_fix_is_named(checkout: Path, tmp_path: Path) -> None:
    bare = 'case "$*" in *version_info*) exit 0 ;; --version) echo Python 3.11 ;; *) exit 1 ;; esac'
    result = run(checkout / "deploy/run", tools(tmp_path / "bin", python3=bare))
    assert result.returncode == 1
    assert result.stderr.endswith(
        "error: this Python can make no virtual environment\n  fix: apt install python3-venv\n"
    )


@pytest.mark.requirement("setup.run-again")
def test_what_is_set_up_already_is_not_set_up_again(checkout: Path, tmp_path: Path) -> None:
    python = f"""
echo "$*" >> {tmp_path}/calls
case "$*" in --version) echo Python 3.11 ;; *"-m venv"*) mkdir -p .venv/bin; cp "$0" .venv/bin/python; cp "$0" .venv/bin/pip ;; esac
"""
    path = tools(tmp_path / "bin", python3=python)
    for name in ("mkdir", "cp"):
        (tmp_path / "bin" / name).symlink_to(str(shutil.which(name)))
    run(checkout / "deploy/run", path)
    (checkout / ".venv/bin/paigate").write_text("#!/usr/bin/env bash\necho up $$ $*\n")
    (checkout / ".venv/bin/paigate").chmod(0o755)
    first = (tmp_path / "calls").read_text()
    assert "--require-hashes" in first
    (tmp_path / "calls").unlink()
    with subprocess.Popen(
        [checkout / "deploy/run", "--config", "f"], env={"PATH": path}, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.read() == f"up {process.pid} up --show-link --config f\n"
    assert "install" not in (tmp_path / "calls").read_text()
    with (checkout / "deploy/requirements.lock").open("a") as lock:
        lock.write("# changed\n")
    run(checkout / "deploy/run", path)
    assert "--require-hashes" in (tmp_path / "calls").read_text()


@contextmanager
def foreign_checkout(checkout: Path) -> Iterator[Path]:
    """The checkout where another user can read it and not write; as a plain user, we are that user."""
    with public_directory() as place:
        foreign = place / "checkout"
        shutil.copytree(checkout, foreign, symlinks=True)
        for directory in (foreign, foreign / "deploy", *foreign.glob(".venv")):
            directory.chmod(0o555)
        try:
            yield foreign
        finally:
            for directory in (foreign, foreign / "deploy", *foreign.glob(".venv")):
                directory.chmod(0o755)


def run_as_plain_user(script: Path) -> subprocess.CompletedProcess[str]:
    user = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if AS_ROOT else {}
    return subprocess.run(
        [script], env={"PATH": os.defpath}, capture_output=True, text=True, timeout=20, check=False, **user
    )


@pytest.mark.requirement("setup.user")
@pytest.mark.parametrize("script", ["run", "test"])
def test_a_user_who_may_not_write_an_unfinished_checkout_is_told_who_must_set_it_up(
    checkout: Path, script: str
) -> None:
    with foreign_checkout(checkout) as foreign:
        result = run_as_plain_user(foreign / "deploy" / script)
    assert (result.returncode, result.stdout) == (1, "")
    error, fix = result.stderr.splitlines()
    assert error == f"error: {foreign} is not set up for this user, who may not write there"
    assert fix.startswith("  fix: as its owner: ./deploy/run --help")


@pytest.mark.requirement("setup.user")
def test_a_user_for_whom_the_environments_python_is_out_of_reach_is_told_which_it_is(checkout: Path) -> None:
    (checkout / ".venv/bin").mkdir(parents=True)
    (checkout / ".venv/bin/python").symlink_to("python3")
    (checkout / ".venv/bin/python3").symlink_to("/root/own/python3.11")
    with foreign_checkout(checkout) as foreign:
        result = run_as_plain_user(foreign / "deploy/run")
    assert (result.returncode, result.stdout) == (1, "")
    error, fix = result.stderr.splitlines()
    assert error.endswith(f"{foreign} was set up with a Python that this user cannot run: /root/own/python3.11")
    assert "PYTHON=/usr/bin/python3" in fix


def test_a_service_keeps_the_link_out_of_its_journal_and_says_how_to_get_it() -> None:
    for file in SERVICES:
        assert "--show-link" not in (ROOT / file).read_text()
    for file in ("deploy/systemd/paigate.service", "deploy/compose.yaml", "deploy/RUNBOOK.md"):
        assert "/paigate link" in (ROOT / file).read_text()


def test_what_the_runbook_and_the_service_files_name_exists() -> None:
    texts = {file: (ROOT / file).read_text() for file in ("deploy/RUNBOOK.md", *SERVICES)}
    commands = {command.name for command in app.registered_commands}
    for file, text in texts.items():
        named = {name.lower() for name in re.findall(r"PAIGATE_([A-Z_]+)", text)}
        assert named <= {*Settings.model_fields, "config"}, file
        assert set(re.findall(r"paigate ([a-z]+)`", text)) <= commands, file
    sources = "".join(path.read_text() for folder in ("gateway", "worker") for path in (ROOT / folder).rglob("*.py"))
    events = set(re.findall(r"`((?:adapter|telegram|outbound|reconcile)\.\w+)`", texts["deploy/RUNBOOK.md"]))
    assert len(events) > 5
    assert {event for event in events if f'"{event}"' not in sources} == set()


@pytest.mark.requirement("setup.test-chromium")
def test_without_root_and_chromium_the_tests_say_what_to_install(checkout: Path, tmp_path: Path) -> None:
    script = checkout / "deploy/test"
    script.write_text(script.read_text().replace("/usr/bin/chromium", "/nowhere/chromium"))
    (checkout / "deploy/setup.sh").write_text((ROOT / "deploy/setup.sh").read_text() + "\nset_up() { :; }\n")
    result = run(script, tools(tmp_path / "bin", id="echo 1000"))
    assert result.returncode == 1
    assert result.stderr.startswith("error: the browser tests need chromium\n  fix: as root: apt-get install chromium")
