"""Short jobs that a person waits for and that need the project: sending one of its files."""

from agent.errors import ProjectError
from worker.messages import Content, FileOut, Notice, OutboxEntry
from worker.workshop import Workshop

MAX_FILE_BYTES = 20 * 1024 * 1024


async def send_file(workshop: Workshop, conversation_id: str, path: str, entry_id: str) -> None:
    """Post a file of the project to the conversation's chat, or the reason why not; once per `entry_id`."""
    about = await workshop.about(conversation_id)
    content: Content
    try:
        with workshop.workspaces.open(about.person_id, about.project) as project:
            data = project.read(path, max_bytes=MAX_FILE_BYTES)
        blob = await workshop.outbox.keep_blob(conversation_id, data)
        content = FileOut(name=path.rsplit("/", 1)[-1], size=len(data), blob=blob)
    except ProjectError as error:
        content = Notice(key="file.refused", values={"detail": str(error)})
    await workshop.outbox.post(
        OutboxEntry(
            entry_id=entry_id,
            conversation_id=conversation_id,
            address=about.address,
            language=about.language,
            content=content,
        )
    )
