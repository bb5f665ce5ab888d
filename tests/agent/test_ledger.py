"""The record on disk: whole lines or none, and nothing passed over."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from agent.errors import LedgerCorrupt
from agent.ledger import Ledger
from tests.agent.bench import Clock


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledgers" / "c.jsonl"


@contextmanager
def room_for(size: int) -> Iterator[None]:
    """Let files of this process grow to `size` bytes only, as on a disk that is full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.requirement("loop.ledger")
def test_a_torn_last_line_is_cut_off_and_the_next_one_fits(path: Path) -> None:
    with Ledger(path, clock=Clock()) as ledger:
        ledger.read()
        ledger.append("one", {"text": "eins"})
    with path.open("ab") as file:
        file.write(b'{"v":1,"n":2,"at":"2026-01-01T00')
    with Ledger(path, clock=Clock()) as ledger:
        assert [entry.kind for entry in ledger.read()] == ["one"]
        ledger.append("two", {})
    with Ledger(path, clock=Clock()) as ledger:
        assert [entry.kind for entry in ledger.read()] == ["one", "two"]


@pytest.mark.requirement("loop.ledger")
def test_a_line_that_does_not_fit_on_the_disk_is_not_written_at_all(path: Path) -> None:
    with Ledger(path, clock=Clock()) as ledger:
        ledger.read()
        ledger.append("one", {})
        with room_for(path.stat().st_size + 50), pytest.raises(OSError, match="too large"):
            ledger.append("message_taken", {"text": "长" * 4000})
        ledger.append("two", {})
    with Ledger(path, clock=Clock()) as ledger:
        assert [entry.kind for entry in ledger.read()] == ["one", "two"]


@pytest.mark.requirement("loop.ledger")
@pytest.mark.parametrize(
    "line",
    [
        b"garbage\n",
        b'{"v":1,"n":5,"at":"2026-01-01T00:00:00+00:00","kind":"x","data":{}}\n',
        b'{"v":99,"n":2,"at":"2026-01-01T00:00:00+00:00","kind":"x","data":{}}\n',
        b"[]\n",
        b"\xff\xfe\n",
    ],
)
def test_a_line_in_the_middle_that_cannot_be_read_stops_everything(path: Path, line: bytes) -> None:
    with Ledger(path, clock=Clock()) as ledger:
        ledger.read()
        ledger.append("one", {})
    with path.open("ab") as file:
        file.write(line)
    with Ledger(path, clock=Clock()) as ledger, pytest.raises(LedgerCorrupt, match="line 2") as caught:
        ledger.read()
    assert str(path) not in str(caught.value)


def test_a_guard_that_refuses_keeps_the_entry_out(path: Path) -> None:
    def refuse() -> None:
        raise PermissionError("the lease is lost")

    with Ledger(path, clock=Clock(), guard=refuse) as ledger:
        ledger.read()
        with pytest.raises(PermissionError):
            ledger.append("one", {})
    assert path.read_bytes() == b""
