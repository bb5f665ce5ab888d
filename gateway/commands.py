"""What a person can say to Paigate itself. Commands never wait behind work and never reach the model."""

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import get_args

from gateway.adapter import Said
from gateway.catalogue import say
from gateway.voice import Voice
from worker.control import Control
from worker.messages import Language, Mode, Status

# The slash may be that of a Chinese keyboard, and what follows the word any blank or stop.
_COMMAND = re.compile(r"[/／](?P<name>[A-Za-z_]+)(@\w+)?(?P<rest>(?:[\s。，.!！,].*)?)", re.DOTALL)
_MODES: dict[str, Mode] = {
    **{mode: mode for mode in get_args(Mode)},
    "计划": "plan",
    "询问": "ask",
    "编辑": "edits",
    "自动": "auto",
}
_STOPS = " \t\n\u3000。，.!！,"


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One command as it was said: its name without the slash, and the rest of the line."""

    name: str
    rest: str
    said: Said
    language: Language


def read_command(said: Said, language: Language) -> Command | None:
    """The command a message is, if it is one: a slash and a word, at the very start."""
    found = _COMMAND.fullmatch(said.text.strip())
    if found is None:
        return None
    return Command(name=found["name"].lower(), rest=found["rest"].strip(), said=said, language=language)


class Commands:
    """Carries commands out, and answers in the chat. `work` takes what is not for Paigate itself."""

    def __init__(self, control: Control, voice: Voice, work: Callable[[Said, Language], Awaitable[None]]) -> None:
        self._control = control
        self._voice = voice
        self._work = work
        self._known: dict[str, Callable[[Command], Awaitable[None]]] = {
            "start": self._help,
            "help": self._help,
            "new": self._new,
            "stop": self._stop,
            "status": self._status,
            "file": self._file,
            "mode": self._mode,
        }

    async def carry_out(self, command: Command) -> None:
        """Do what was said; a command that is delivered again does no harm."""
        known = self._known.get(command.name)
        if known is None:
            await self._reply(command, "command.unknown", name=f"/{command.name[:40]}")
        else:
            await known(command)

    async def _help(self, command: Command) -> None:
        await self._reply(command, "help.text")

    async def _new(self, command: Command) -> None:
        said = command.said
        state, dropped = await self._control.renew(said.address, said.sender, said.message_id)
        key = "new.done" if state == "idle" else "new.done_stopped"
        await self._reply(command, f"{key}_dropped" if dropped else key, dropped=str(dropped))
        if command.rest:
            await self._work(replace(said, text=command.rest), command.language)

    async def _stop(self, command: Command) -> None:
        conversation_id = await self._control.conversation(command.said.address, command.said.sender)
        state, waiting = await self._control.stop(conversation_id)
        if state in {"idle", "queued"}:
            await self._reply(command, f"stop.{state}{'_waiting' if waiting else ''}", waiting=str(waiting))

    async def _status(self, command: Command) -> None:
        status = await self._control.status(command.said.address)
        values = {"standing": _standing(status, command.language), "mode": _mode_name(status, command.language)}
        await self._reply(command, "status.with_mode", **values)

    async def _mode(self, command: Command) -> None:
        wanted = command.rest.strip(_STOPS).lower()
        modes = say("mode.all", command.language)
        if not wanted:
            status = await self._control.status(command.said.address)
            await self._reply(command, "mode.now", mode=_mode_name(status, command.language), modes=modes)
        elif wanted not in _MODES:
            await self._reply(command, "mode.unknown", name=wanted[:40], modes=modes)
        else:
            await self._set_mode(command, _MODES[wanted])

    async def _set_mode(self, command: Command, mode: Mode) -> None:
        said = command.said
        await self._control.set_mode(await self._control.conversation(said.address, said.sender), mode)
        status = await self._control.status(said.address)
        runs = status is not None and status.state == "running"
        await self._reply(command, f"mode.set_{mode}{'_running' if runs else ''}")

    async def _file(self, command: Command) -> None:
        verb, _, path = command.rest.partition(" ")
        if verb.lower() != "get" or not path.strip():
            await self._reply(command, "command.file_usage")
            return
        conversation_id = await self._control.conversation(command.said.address, command.said.sender)
        entry_id = self._voice.entry_id(command.said)
        await self._control.fetch_file(conversation_id, path.strip(), entry_id)

    async def _reply(self, command: Command, key: str, **values: str) -> None:
        await self._voice.reply(command.said, command.language, key, **values)


def _standing(status: Status | None, language: Language) -> str:
    if status is None:
        return say("status.none", language)
    key = f"status.{status.state}{'_waiting' if status.waiting else ''}"
    title = status.approvals[0].title if status.approvals else ""
    return say(key, language, project=status.project, waiting=status.waiting, title=title)


def _mode_name(status: Status | None, language: Language) -> str:
    return say(f"mode.name_{status.mode if status else 'ask'}", language)
