"""How the demo model fulfils a wish: which tools it asks for, one after the other, and what it says at the end.

A wish is a generator that yields calls and is sent their results. Nothing is remembered between requests: with each
one the generators run again from the beginning, fed with the results that the history holds.
"""

import re
import shlex
from collections.abc import Collection, Generator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from agent.models.demo.grammar import Language
from agent.models.demo.results import Call, Result
from agent.models.demo.wishes import WHATEVER_WAS_LAST, Change, Create, List, Read, Run, Wish, Write
from agent.models.demo.words import block, code, say

_MOST_PAGES = 20
_PAGE_LINES = 2_000
_RUNNERS = {
    ".py": "python3",
    ".java": "java",
    ".js": "node",
    ".mjs": "node",
    ".sh": "bash",
    ".rb": "ruby",
    ".pl": "perl",
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What to say of a wish, and whether it was fulfilled."""

    text: str
    fulfilled: bool = True


Steps = Generator[Call, Result, Outcome]


@dataclass(frozen=True, slots=True)
class Situation:
    """What a wish may need to know: the person's language, the results up to now, and the tools' options."""

    language: Language
    results: Sequence[Result]
    options: Collection[str]
    """`tool.argument` of every argument that the tools of the request take."""

    def say(self, key: str, **values: str) -> str:
        """A text in the person's language."""
        return say(self.language, key, **values)


def steps(wish: Wish, situation: Situation) -> Steps:
    """The steps of one wish."""
    match wish:
        case Change():
            return _change(wish, situation)
        case Write():
            return _write(wish, situation)
        case Create():
            return _create(wish, situation)
        case Run():
            return _run(wish, situation)
        case List():
            return _list(wish, situation)
        case Read():
            return _read(wish, situation)


def _change(wish: Change, situation: Situation) -> Steps:
    path = code(wish.path)
    text = yield from _whole_text(wish.path)
    if isinstance(text, Result):
        return _not_done("change", text, situation, path=path)
    old = wish.literal if wish.literal and wish.literal in text else wish.old
    count = text.count(old)
    if not count:
        return Outcome(situation.say("absent", path=path, old=code(old)), fulfilled=False)
    arguments: dict[str, Any] = {"path": wish.path, "old_text": old, "new_text": wish.new}
    if count > 1 and "edit_file.replace_all" in situation.options:
        arguments["replace_all"] = True
    result = yield Call("edit_file", arguments)
    if result.state != "done":
        return _not_done("change", result, situation, path=path)
    new = code(str(result.arguments.get("new_text", "")))
    return _done("changed", result, situation, path=path, old=code(old), new=new, count=str(count))


def _write(wish: Write, situation: Situation) -> Steps:
    path = code(wish.path)
    result = yield Call("write_file", {"path": wish.path, "content": wish.content})
    if result.state != "done":
        return _not_done("write", result, situation, path=path)
    return _done("written", result, situation, path=path)


def _create(wish: Create, situation: Situation) -> Steps:
    name = _project_name(wish.name) if wish.name else f"{wish.language}-app"
    if not name:
        return Outcome(situation.say("unusable_name", name=code(wish.name)), fulfilled=False)
    result = yield Call("create_project", {"name": name, "type": wish.language})
    if result.state != "done":
        return _not_done("create", result, situation, path=code(name))
    created = situation.say("created", path=code(name), kind=wish.language)
    if wish.name not in {"", name}:
        created += " " + situation.say("renamed", written=code(wish.name))
    return Outcome(created)


def _project_name(written: str) -> str:
    """The name as `create_project` takes it: `[a-z][a-z0-9_-]{0,63}`; nothing if it would not be the same name then."""
    if not written.isascii():
        return ""
    name = re.sub(r"[^a-z0-9_-]+", "-", written.lower()).strip("-_")
    name = f"app-{name}" if name[:1].isdigit() else name
    return name if len(name) <= 64 else ""


def _run(wish: Run, situation: Situation) -> Steps:
    command = wish.target if wish.is_command else _command_for(wish.target, situation.results)
    if not command:
        return Outcome(situation.say("nothing_to_run"), fulfilled=False)
    result = yield Call("execute_command", {"command": command})
    shown = code(str(result.arguments.get("command", "")))
    if result.state == "not run":
        return _not_done("run", result, situation, command=shown)
    worked = result.state == "done"
    said = ("ran" if worked else "ran_badly") + ("_changed" if result.is_changed else "")
    output = result.text.partition("\n")[2] if worked else result.text
    return Outcome(situation.say(said, command=shown, output=block(output, situation.language)), worked)


def _list(wish: List, situation: Situation) -> Steps:
    path = code(wish.path)
    result = yield Call("list_dir", {"path": wish.path})
    if result.state != "done":
        return _not_done("list", result, situation, path=path)
    return Outcome(situation.say("listed", path=path, output=block(result.text, situation.language)))


def _read(wish: Read, situation: Situation) -> Steps:
    path = code(wish.path)
    result = yield Call("read_file", {"path": wish.path})
    if result.state != "done":
        return _not_done("read", result, situation, path=path)
    return Outcome(situation.say("shown", path=path, output=block(result.text, situation.language)))


def _whole_text(path: str) -> Generator[Call, Result, str | Result]:
    """The text of a file, read page by page if it is long; the result that tells why if it cannot be read."""
    pages: list[str] = []
    arguments: dict[str, Any] = {"path": path}
    for _ in range(_MOST_PAGES):
        result = yield Call("read_file", dict(arguments))
        if result.state != "done":
            return result
        header, _, numbered = result.text.partition("\n")
        if not re.fullmatch(r"lines \d+-\d+ of \d+", header):
            return result.text
        pages.append(re.sub(r"^ *\d+ \| ", "", numbered, flags=re.MULTILINE))
        further = re.search(r"\n… continue with offset=(\d+)$", pages[-1])
        if not further:
            break
        pages[-1] = pages[-1][: further.start() + 1]
        arguments = {"path": path, "offset": int(further[1]), "limit": _PAGE_LINES}
    return "".join(pages)


def _done(what: str, result: Result, situation: Situation, **names: str) -> Outcome:
    return Outcome(f"{_changed_note(result, situation)}{situation.say(what, **names)}")


def _not_done(what: str, result: Result, situation: Situation, **names: str) -> Outcome:
    """What was not done, and why: the person's reason, Paigate's, or the tool's."""
    said = f"{_changed_note(result, situation)}{situation.say(f'not_done_{what}', **names)}"
    return Outcome(f"{said} {result.why_not(situation.language)}", fulfilled=False)


def _changed_note(result: Result, situation: Situation) -> str:
    return f"{situation.say('changed_by_you')} " if result.is_changed else ""


def _command_for(target: str, results: Sequence[Result]) -> str:
    """The command that runs a target: a file by its kind, a project that was created here, else the target itself."""
    latest_first = list(reversed(results))
    if target == WHATEVER_WAS_LAST:
        commands = map(_command_of, latest_first)
        return next((command for command in commands if command is not None), "")
    project = ("create_project", _project_name(target.rstrip("/")))
    made = [result for result in latest_first if (result.call.tool, result.arguments.get("name")) == project]
    if made:
        return next(filter(None, map(_command_of, made)), "")
    return _file_command(target) or target


def _command_of(result: Result) -> str | None:
    """How to run what a call was about: nothing if it is not there, None if it is not a thing to run."""
    if result.call.tool == "execute_command":
        return str(result.arguments.get("command", ""))
    if result.call.tool == "create_project":
        hint = re.search(r"Run it with: (.+)$", result.text)
        return hint[1] if hint else ""
    return _file_command(str(result.arguments.get("path", "")))


def _file_command(path: str) -> str | None:
    runner = None if " " in path else _RUNNERS.get(PurePosixPath(path).suffix.lower())
    return f"{runner} {shlex.quote(path)}" if runner else None
