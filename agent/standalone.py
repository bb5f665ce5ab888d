"""A session without queue and chat: every tool, the sandbox, and a ledger beside the project.

The composition root of the library used alone. An approval is answered with `session.resume`.
"""

import os
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from agent.exchange import Terms
from agent.ledger import Ledger
from agent.model import Model
from agent.project import Owner, Project
from agent.sandboxes import load as load_sandbox
from agent.session import Session, UserMessage
from agent.tool import ToolContext
from agent.tools import load_tools


class SaidMessages:
    """An inbox that holds what was said so far."""

    def __init__(self, *texts: str) -> None:
        self._waiting: list[UserMessage] = []
        for text in texts:
            self.say(text)

    def say(self, text: str) -> None:
        """Say something; a session at work takes it at its next step."""
        self._waiting.append(UserMessage(message_id=os.urandom(8).hex(), text=text))

    async def waiting(self) -> Sequence[UserMessage]:
        """See `agent.session.Inbox`."""
        return tuple(self._waiting)

    async def taken(self, message_ids: Sequence[str]) -> None:
        """See `agent.session.Inbox`."""
        self._waiting = [message for message in self._waiting if message.message_id not in message_ids]


@contextmanager
def open_session(
    directory: Path,
    *,
    model: Model,
    says: str = "",
    ledger: Path | None = None,
    terms: Terms | None = None,
    owner: Owner | None = None,
) -> Generator[Session]:
    """Open a session in the existing project at `directory`; what `says` is its first message.

    The ledger is by default `DIRECTORY.ledger.jsonl` beside the project; one that is there is gone on with. `owner` is
    the unprivileged account of files and commands, needed where this process is root.

    Raises:
        FileUnsuitable: no directory is there.
        LedgerBusy: another process has the ledger open.
    """
    directory = directory.absolute()
    sandbox = load_sandbox("bubblewrap")(uid=owner.uid if owner else None, gid=owner.gid if owner else None)
    path = ledger or directory.with_name(f"{directory.name}.ledger.jsonl")
    with Project.open(directory, owner=owner) as project, Ledger(path, clock=lambda: datetime.now(UTC)) as opened:
        yield Session(
            model=model,
            tools=load_tools(),
            context=ToolContext(project=project, sandbox=sandbox, lifeline=os.getpid()),
            ledger=opened,
            inbox=SaidMessages(*filter(None, [says])),
            terms=terms,
        )
