"""Short jobs that need the project or what runs in it: sending a file, ending background commands.

An errand is on record until its outcome is in the outbox, so that the reconciler finds one whose job was lost.
"""

import unicodedata
from datetime import datetime

import structlog

from agent.errors import ProjectError, SandboxUnavailable
from worker.about import About, read_about
from worker.keys import Keys, chat_key
from worker.messages import Content, Errand, FileOut, Notice, OutboxEntry
from worker.outbox import Outbox
from worker.queue import TurnQueue
from worker.store import Store
from worker.workshop import Workshop, end_background

MAX_FILE_BYTES = 20 * 1024 * 1024
LOST_SECONDS = 5.0
GIVEN_UP_SECONDS = 60.0
_log = structlog.get_logger()


async def do_errand(workshop: Workshop, conversation_id: str, entry_id: str) -> None:
    """Post the file that was asked for, or the reason why not, once."""
    raw = await workshop.store.field(Keys(conversation_id).errands, entry_id)
    if raw is None:
        return
    about = await workshop.about(conversation_id)
    errand = Errand.model_validate_json(raw)
    if errand.kind == "end_background":
        content = await _end_background(workshop, conversation_id, about, errand.asked_at)
    else:
        content = await _read_file(workshop, conversation_id, about, errand.path)
    await _finish(workshop.store, workshop.outbox, about, conversation_id, entry_id, content)


async def _read_file(workshop: Workshop, conversation_id: str, about: About, path: str) -> Content:
    try:
        with workshop.workspaces.open(about.person_id, about.project) as project:
            data = project.read(path, max_bytes=MAX_FILE_BYTES)
    except ProjectError as error:
        return Notice(key="file.refused", values={"detail": str(error)})
    blob = await workshop.outbox.keep_blob(conversation_id, data)
    return FileOut(name=_file_name(path), size=len(data), blob=blob)


async def _end_background(workshop: Workshop, conversation_id: str, about: About, asked_at: datetime) -> Content | None:
    """End what ran in the background when it was asked for, and tell of it only if anything did, or does still."""
    age = (workshop.clock() - asked_at).total_seconds()
    try:
        ended = await end_background(workshop.sandbox, workshop.background / conversation_id, older_than=age)
    except SandboxUnavailable as error:
        _log.error("errand.background_unended", conversation_id=conversation_id, detail=str(error))
        left = await workshop.store.text(chat_key(about.address.key)) != conversation_id
        key = "new.background_failed" if left else "stop.background_failed"
        return Notice(key=key, values={"detail": str(error)})
    return Notice(key="stop.background", values={"count": str(ended)}) if ended else None


def _file_name(path: str) -> str:
    """The last part of a path, without characters that would show another name than the file has."""
    name = path.rstrip("/").rsplit("/", 1)[-1]
    return "".join("_" if unicodedata.category(char)[0] in "CZ" and char != " " else char for char in name) or "file"


async def reconcile_errands(
    store: Store, queue: TurnQueue, outbox: Outbox, conversation_id: str, now: datetime
) -> None:
    """Call again for errands whose job was lost, and tell the person of one that does not come to an end."""
    for entry_id, raw in (await store.fields(Keys(conversation_id).errands)).items():
        errand = Errand.model_validate_json(raw)
        age = (now - errand.asked_at).total_seconds()
        if age < LOST_SECONDS or not queue.has_lost_errand(entry_id):
            continue
        if age < GIVEN_UP_SECONDS:
            await queue.call_errand(conversation_id, entry_id)
        else:
            about = await read_about(store, conversation_id)
            failed = Notice(key="file.failed" if errand.kind == "file" else "stop.background_late")
            await _finish(store, outbox, about, conversation_id, entry_id, failed)


async def _finish(
    store: Store, outbox: Outbox, about: About, conversation_id: str, entry_id: str, content: Content | None
) -> None:
    if content is not None:
        await outbox.post(
            OutboxEntry(
                entry_id=entry_id,
                conversation_id=conversation_id,
                address=about.address,
                language=about.language,
                content=content,
            )
        )
    await store.drop_field(Keys(conversation_id).errands, entry_id)
