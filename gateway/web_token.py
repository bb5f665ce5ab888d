"""The secret in the web chat's link: made once, kept in the data directory, readable by its owner only."""

import os
import secrets
from pathlib import Path

_NAME = "web-token"
_BYTES = 24


def web_token(data_dir: Path) -> str:
    """Return the token of this data directory, and make it on first use; safe when two processes ask at once.

    Raises:
        OSError: the data directory cannot be written, or the token not read.
    """
    path = data_dir / _NAME
    if not path.exists():
        draft = data_dir / f".{_NAME}-{os.getpid()}"
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(secrets.token_urlsafe(_BYTES))
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(draft, path)  # refuses where another process was first, so that both read the same token
        except FileExistsError:
            pass
        finally:
            draft.unlink()
    return path.read_text(encoding="ascii").strip()
