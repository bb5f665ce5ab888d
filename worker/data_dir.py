"""The data directory: ours alone, and where the processes of a host tell one another that they are ready."""

import os
from pathlib import Path


def private_directory(path: Path) -> Path:
    """Make `path` a directory that only this user can enter, or find that it is one.

    Raises:
        PermissionError: it exists and belongs to somebody else, is open to others, or is no directory.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        path.mkdir(mode=0o700)
    except FileExistsError:
        state = path.lstat()
        if state.st_uid != os.getuid():
            raise PermissionError(f"{path} belongs to another user") from None
        if state.st_mode & 0o170077 != 0o040000:
            raise PermissionError(f"{path} is open to others: chmod 700 {path}") from None
    return path


def ready_path(data_dir: Path, name: str) -> Path:
    """Where the process `name` leaves its pid once it is ready."""
    return data_dir / "run" / f"{name}.ready"


def mark_ready(data_dir: Path, name: str) -> None:
    """Tell whoever supervises this process that it is ready.

    Raises:
        OSError: the data directory cannot be written.
    """
    path = ready_path(data_dir, name)
    private_directory(path.parent)
    draft = path.with_suffix(f".{os.getpid()}")
    draft.write_text(str(os.getpid()), encoding="ascii")
    draft.replace(path)
