"""Ending a task that a limit or the guard against going in circles stopped: what the model and the person are told.

The model is asked once more, without tools, for a report of what there is. Its text, or when that fails the plain
facts, goes out under a heading that says that the task was not completed, and why.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from agent.limits import LimitName
from agent.runaway import ReasonKind
from agent.text_calls import holds_unread_call

Language = Literal["zh", "en"]

ValveKind = LimitName | ReasonKind | Literal["malformed"]
"""What ended a task: a limit by its name, a way of going in circles, or replies that could not be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Valve:
    """Why a task must end now: the kind, what it is about (a tool, or a limit with its unit), and how often it came."""

    kind: ValveKind
    subject: str = ""
    count: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What is certain about a task, for when the model cannot be asked: calls that worked and not, files changed."""

    calls_done: int
    calls_failed: int
    files: Sequence[str]


MOST_FILES = 20

_REASONS: dict[ValveKind, tuple[str, str]] = {
    "tokens": ("token limit {subject}", "达到 token 上限 {subject}"),
    "cost": ("cost limit {subject}", "达到费用上限 {subject}"),
    "steps": ("limit of {subject} steps", "达到步数上限 {subject}"),
    "seconds": ("time limit of {subject} s", "达到时间上限 {subject} 秒"),
    "repeated": ("the same step {count} times in a row", "同一步骤连续重复 {count} 次"),
    "errors": ("the same error of {subject} {count} times in a row", "{subject} 连续 {count} 次出现同样的错误"),
    "cycle": ("the same steps in a circle, {count} times", "步骤循环往复 {count} 次"),
    "refused": ("the same refused call {count} times", "同一被拒绝的调用重复 {count} 次"),
    "monologue": ("the same words {count} times", "重复同样的话 {count} 次"),
    "chanting": ("the model's answer repeated itself without end", "模型的回答不断重复"),
    "malformed": ("{count} calls in a row that could not be read", "连续 {count} 次调用无法解析"),
}
_HEADINGS = ("⚠️ Partly done ({reason})", "⚠️ 部分完成（{reason}）")
_FILES = ("Files changed: {files}.", "已修改的文件：{files}。")
_NO_FILES = ("No file was changed.", "没有修改文件。")
_CALLS = (
    "Done: {done} tool calls; {failed} failed or were refused. The model gave no report.",
    "已完成 {done} 次工具调用，{failed} 次失败或被拒绝。模型没有给出报告。",
)
_NEXT = ("Next step: say \u201cgo on\u201d to continue from here.", "下一步：发送“继续”，即可从这里接着做。")
_INSTRUCTION = """\
[paigate] This task must end now: {reason}. Do not call tools; none will run. From what you have, write the report for \
the person, in their language, in four short parts: what is done; what of it was verified, by which result; what is \
not done or blocked; the next step. Do not claim that the task is complete."""

_CUT = ("(The answer was cut at the model's length limit.)", "（回答达到模型长度上限，已被截断。）")
_FILTERED = ("(The provider's content filter ended this answer.)", "（服务商的内容过滤中止了这个回答。）")
_NOT_RUN = (
    "(The model wrote a tool call as plain text; it was not executed.)",
    "（模型把一次工具调用写成了普通文本；它没有被执行。）",
)


def ending_notice(ending: str, answer: str, language: Language) -> str:
    """What the person must be told of how an answer ended; nothing when it is whole."""
    if ending == "length":
        return _in(language, _CUT)
    if ending == "content_filter":
        return _in(language, _FILTERED)
    return _in(language, _NOT_RUN) if holds_unread_call(answer) else ""


def closing_instruction(valve: Valve) -> str:
    """What the model is told in its last request of the task."""
    return _INSTRUCTION.format(reason=_reason(valve, "en"))


def heading(valve: Valve, language: Language) -> str:
    """The line above the report."""
    return _in(language, _HEADINGS).format(reason=_reason(valve, language))


def plain_report(facts: Facts, language: Language) -> str:
    """The report when the model gave none."""
    calls = _in(language, _CALLS).format(done=facts.calls_done, failed=facts.calls_failed)
    named = ", ".join(facts.files[:MOST_FILES]) + (" …" if len(facts.files) > MOST_FILES else "")
    files = _in(language, _FILES).format(files=named) if named else _in(language, _NO_FILES)
    return "\n".join([calls, files, _in(language, _NEXT)])


def _reason(valve: Valve, language: Language) -> str:
    return _in(language, _REASONS[valve.kind]).format(subject=valve.subject, count=valve.count)


def _in(language: Language, texts: tuple[str, str]) -> str:
    return texts[language == "zh"]
