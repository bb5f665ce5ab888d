"""Looking through the directories of a project, in bounded time and memory, without following a link."""

import heapq
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from agent.errors import ProjectError
from agent.paths import parts_of, told
from agent.places import Entry, entry_at
from agent.project import Project

MOST_LOOKED_AT = 200_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """The first entries of a directory, directories before the rest, each sorted by name."""

    entries: tuple[Entry, ...]
    total: int
    """How many entries there are, as far as was looked."""
    whole: bool
    """False when there are more than were looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """One directory on a walk. Taking a name out of `directories` keeps the walk from entering it."""

    parts: tuple[str, ...]
    directories: list[str]
    files: list[str]
    """Names of regular files, and of links to whatever."""


def list_directory(
    project: Project, path: str, *, at_most: int, hidden: Sequence[str] = (), most_looked_at: int = MOST_LOOKED_AT
) -> Listing:
    """The first `at_most` entries of the directory at `path`, without those called as in `hidden`.

    Raises:
        PathOutside, FileUnsuitable: as `Project`.
    """
    with project.directory(path) as fd, told(path):
        with os.scandir(fd) as entries:
            looked_at = list(islice(entries, most_looked_at + 1))
        whole = len(looked_at) <= most_looked_at
        known = [(not entry.is_dir(follow_symlinks=False), entry.name) for entry in looked_at[:most_looked_at]]
        shown = [each for each in known if each[1] not in hidden]
        first = heapq.nsmallest(at_most, shown)
        return Listing(entries=tuple(entry_at(name, fd) for _, name in first), total=len(shown), whole=whole)


def entry(project: Project, path: str) -> Entry:
    """What is at `path`, not following it when it is a link.

    Raises:
        PathOutside, FileUnsuitable: the directory that it is in cannot be opened.
    """
    *above, name = parts_of(path) or (".",)
    with project.directory("/".join(above)) as fd:
        return entry_at(name, fd)


class Walk:
    """A walk through the directory at `path` and everything below it, every directory before those in it.

    What cannot be opened below the start is passed over and named in `closed`. After `most_looked_at` entries it ends,
    and `whole` is False.
    """

    def __init__(self, project: Project, path: str, *, most_looked_at: int = MOST_LOOKED_AT) -> None:
        self._project = project
        self._start = parts_of(path)
        self._left = most_looked_at
        self.whole = True
        self.closed: list[str] = []

    def __iter__(self) -> Iterator[Level]:
        """Go through it once.

        Raises:
            PathOutside, FileUnsuitable: the directory to start at cannot be opened, as `Project`.
        """
        waiting = [self._start]
        while waiting and self.whole:
            parts = waiting.pop()
            try:
                level = self._level(parts)
            except ProjectError:
                if parts == self._start:
                    raise
                self.closed.append("/".join(parts))
                continue
            yield level
            waiting += [(*parts, name) for name in sorted(level.directories, reverse=True)]

    def _level(self, parts: tuple[str, ...]) -> Level:
        level = Level(parts=parts, directories=[], files=[])
        path = "/".join(parts)
        # A directory that was swapped for a link since its parent was read is not entered either.
        with self._project.directory(path, follow=parts == self._start) as fd, told(path), os.scandir(fd) as entries:
            for entry in entries:
                if self._left == 0:
                    self.whole = False
                    break
                self._left -= 1
                if entry.is_dir(follow_symlinks=False):
                    level.directories.append(entry.name)
                elif entry.is_file(follow_symlinks=False) or entry.is_symlink():
                    level.files.append(entry.name)
        return level
