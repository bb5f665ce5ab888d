"""What an edit of a large file costs, and the diff of a file that is written anew."""

import difflib
import time
from collections.abc import Callable
from pathlib import Path

from agent.diff import diff
from agent.tools.edit import EditError, replace
from tests.benchmarks.report import Sizes, times

BYTES = 5 << 20
LINES = 20_000


def run(_directory: Path, sizes: Sizes) -> list[str]:
    content = "".join(f"    value_{number} = compute(alpha, {number})  # step\n" for number in range(BYTES // 40))[
        :BYTES
    ]
    old = "".join(content.splitlines(keepends=True)[50_000:50_003])
    typed = content.replace("alpha", "“α”")
    bare = ("a bare str.replace", lambda: content.replace(old, "x\n", 1))
    typed_bare = ("a bare str.replace", lambda: typed.replace(old, "x\n", 1))
    return [
        _line("edit 5 MB, exact", lambda: replace(content, old, "x\n"), bare, sizes),
        _line("edit 5 MB, normalised", lambda: replace(typed, old.replace("alpha", '"α"'), "x\n"), typed_bare, sizes),
        _line("edit 5 MB, shifted", lambda: replace(content, old.replace("    ", ""), "x\n"), bare, sizes),
        _line("edit 5 MB, not found", lambda: _missed(content, old.replace("# step", "# stop")), bare, sizes),
        _rewrite(sizes),
    ]


def _missed(content: str, old: str) -> None:
    try:
        replace(content, old, "x\n")
    except EditError:
        return
    raise AssertionError("the passage was found")


def _rewrite(sizes: Sizes) -> str:
    """A file of which every line changes but each tenth, against difflib on a fiftieth of it."""
    before = [f"value_{number} = compute({number})" for number in range(LINES)]
    after = [line if number % 10 == 0 else f"{line}  # new" for number, line in enumerate(before)]
    old, new = "\n".join(before), "\n".join(after)
    few = LINES // 50
    plain = ("difflib on 1/50 of the lines", lambda: list(difflib.unified_diff(before[:few], after[:few])))
    return _line("diff of 20,000 lines", lambda: diff(old, new), plain, sizes)


def _line(name: str, work: Callable[[], object], plain: tuple[str, Callable[[], object]], sizes: Sizes) -> str:
    ours, theirs = list[float](), list[float]()
    for _ in range(sizes.turns):
        for each, seconds in ((work, ours), (plain[1], theirs)):
            begin = time.monotonic()
            each()
            seconds.append(time.monotonic() - begin)
    return times(name, ours, plain=(plain[0], theirs))
