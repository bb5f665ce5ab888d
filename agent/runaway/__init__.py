"""Seeing that a task goes round in circles: the same step, the same error, the same words, again and again."""

from agent.runaway.chanting import ChantWatch
from agent.runaway.error_family import FAMILIES
from agent.runaway.fingerprint import result_mark
from agent.runaway.guard import CallOutcome, Reason, ReasonKind, RunawayGuard

__all__ = ["FAMILIES", "CallOutcome", "ChantWatch", "Reason", "ReasonKind", "RunawayGuard", "result_mark"]
