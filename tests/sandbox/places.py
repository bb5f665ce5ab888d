"""Projects and sandboxes for tests, for root and for a plain user alike."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from agent.project import Owner, Project
from agent.sandboxes.bubblewrap import BubblewrapSandbox

AS_ROOT = os.geteuid() == 0
NOBODY = 65534
OWNER = Owner(NOBODY, NOBODY) if AS_ROOT else None


@contextmanager
def public_directory() -> Iterator[Path]:
    """A directory that every account of the machine can read; pytest's own are private."""
    path = Path(tempfile.mkdtemp(prefix="paigate-test-"))
    path.chmod(0o755)
    try:
        yield path
    finally:
        shutil.rmtree(path)


def make_sandbox(install_dir: Path, *, search_path: str | None = None, bundled: bool = True) -> BubblewrapSandbox:
    return BubblewrapSandbox(
        uid=NOBODY if AS_ROOT else None, install_dir=install_dir, search_path=search_path, bundled=bundled
    )


def make_project(path: Path) -> Project:
    """A private directory of the account that commands run under."""
    path.mkdir(mode=0o700)
    if OWNER is not None:
        os.chown(path, OWNER.uid, OWNER.gid)
    return Project.open(path, owner=OWNER)
