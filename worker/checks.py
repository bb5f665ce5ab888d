"""What `paigate doctor` finds out, one record a check."""

from typing import Literal

from worker.messages import Record

CheckState = Literal["ok", "warn", "fail"]


class Check(Record):
    """One thing that was looked at. `fix` says what an operator should do, and is empty when all is well."""

    name: str
    state: CheckState
    detail: str
    fix: str = ""
