"""What the keeper of a background command is told, tells and writes down, as JSON."""

from typing import Literal, TypedDict, TypeGuard, cast

Ending = Literal["exited", "stopped", "deadline", "orphaned"]


class Order(TypedDict):
    """What the keeper is to do. Descriptors are its own, of pairs first its end; -1 stands for none."""

    directory: str
    lock: int
    record: "Record"
    """How the command stands at first."""
    argv: list[str]
    stdin: int
    descriptors: list[int]
    status: tuple[int, int]
    gate: tuple[int, int]
    lifeline: int
    seconds: float


class Answer(TypedDict):
    """Whether the command runs now, or else what bwrap said instead."""

    ok: bool
    said: str


class Record(TypedDict):
    """How a command stands; times are seconds since 1970."""

    command: str
    state: Literal["running", "exited", "stopped", "deadline", "orphaned"]
    exit_code: int | None
    first: tuple[int, str] | None
    """The first process of the namespace: its pid, and when it was started as proc_pid_stat(5) tells it."""
    started: float
    deadline: float
    ended: float | None


_STATES = ("running", "exited", "stopped", "deadline", "orphaned")


def is_record(found: object) -> TypeGuard[Record]:
    """Whether what was read has the shape of a record, with numbers that one can reckon with."""
    if not isinstance(found, dict):
        return False
    told = cast("dict[str, object]", found)
    return (
        set(Record.__annotations__) <= set(told)
        and isinstance(told["command"], str)
        and told["state"] in _STATES
        and (told["exit_code"] is None or _is_count(told["exit_code"]))
        and (told["first"] is None or _is_process(told["first"]))
        and all(_is_time(told[name]) for name in ("started", "deadline"))
        and (told["ended"] is None or _is_time(told["ended"]))
    )


def _is_count(found: object) -> bool:
    return type(found) is int and 0 <= found < 1 << 31


def _is_process(found: object) -> bool:
    if not isinstance(found, list):
        return False
    pid, start, *more = [*cast("list[object]", found), None, None]
    return _is_count(pid) and isinstance(start, str) and len(more) == 2


def _is_time(found: object) -> bool:
    return isinstance(found, int | float) and 0 <= found < 1e12
