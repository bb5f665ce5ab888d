"""The secret in the web chat's link: made once, kept in the data directory, readable by its owner only."""

import os
import secrets
import tempfile
from contextlib import suppress
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
        descriptor, draft = tempfile.mkstemp(dir=data_dir, prefix=f".{_NAME}-")
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(secrets.token_urlsafe(_BYTES))
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileExistsError):  # another process was first: both read its token
            os.link(draft, path)
        Path(draft).unlink()
    return path.read_text(encoding="ascii").strip()
