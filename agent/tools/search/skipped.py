"""Directories in which nobody looks for source: what tools made, and what version control keeps."""

from collections.abc import Iterable

from agent.paths import PRIVATE

SKIPPED = frozenset(
    {
        *(".git", PRIVATE, ".paicli", ".idea", ".gradle", ".venv", "__pycache__"),
        *("target", "node_modules", "dist", "build", "coverage"),
    }
)


def to_skip(asked_for: Iterable[str]) -> frozenset[str]:
    """The names to skip; one that is asked for by name is looked into."""
    return SKIPPED.difference(asked_for)
