"""The one live message of a task: what is being done now, what was done, how long it took."""

from gateway.adapter import Outgoing
from gateway.cards import tool_words
from gateway.catalogue import say
from gateway.text import Builder
from worker.messages import CallLine, Language, Progress

_TITLE = 80
_MARKS = {"running": "▸", "done": "✓", "failed": "✗", "waiting": "?"}
_ENDED = {"finished": "✓", "partly": "⚠️", "stopped": "■", "failed": "✗", "waiting": "?"}
"""States after which this message is not touched again: a card follows, or the answer. It becomes a single line."""


def render_progress(progress: Progress, language: Language) -> Outgoing:
    """The live message, and at last its single line."""
    built = Builder()
    mark = _ENDED.get(progress.state, "…")
    built.add(f"{mark} {say(f'progress.{progress.state}', language)}", "bold").add(_facts(progress, language))
    if progress.state not in _ENDED:
        for line in progress.calls:
            built.add("\n")
            _add_call(built, line, language)
        if progress.text_tail.strip():
            built.add("\n").add(progress.text_tail.strip(), "italic")
    return Outgoing(text=built.build(), role="progress", silent=True)


def _facts(progress: Progress, language: Language) -> str:
    facts: list[str] = []
    if progress.step:
        ended = progress.state in _ENDED
        facts.append(
            say("progress.steps", language, steps=progress.step)
            if ended
            else say("progress.step", language, step=progress.step)
        )
    facts.append(say("progress.seconds", language, seconds=round(progress.seconds)))
    return "".join(f" · {fact}" for fact in facts)


def _add_call(built: Builder, line: CallLine, language: Language) -> None:
    title = line.title.split("\n", 1)[0]
    shown = title if len(title) <= _TITLE else f"{title[:_TITLE]}…"
    built.add(f"{_MARKS[line.state]} {tool_words(line.tool, language)} ").add(shown, "code")
