"""What the keeper of a background command is told, tells and writes down, as JSON."""

from typing import Literal, TypedDict

Ending = Literal["exited", "stopped", "deadline", "orphaned"]


class Order(TypedDict):
    """What the keeper is to do. Descriptors are its own, of pairs first its end; -1 stands for none."""

    directory: str
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
    keeper: int
    """Pid of the keeper; 0 before it has begun."""
    first: tuple[int, str] | None
    """The first process of the namespace: its pid, and when it was started as proc_pid_stat(5) tells it."""
    started: float
    deadline: float
    ended: float | None
