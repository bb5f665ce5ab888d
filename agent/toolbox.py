"""The tools of a session as one thing: find a call's tool, check its arguments, run it, word what went wrong."""

from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import structlog
from pydantic import ValidationError

from agent.errors import ProjectError, SandboxUnavailable, ToolFailure
from agent.model import ToolCall, ToolSchema
from agent.runaway import result_mark
from agent.spill import spill
from agent.tool import Preview, Risk, Tool, ToolArguments, ToolContext, ToolResult

MOST_MARKED = 1_000
_log = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedCall:
    """A call whose tool exists, whose arguments are valid, and whose effect has been previewed."""

    call: ToolCall
    tool: Tool[Any]
    arguments: ToolArguments
    preview: Preview

    @property
    def acts(self) -> bool:
        """Whether it does something, so that its intent goes on disk before and its result after."""
        return self.tool.risk is not Risk.READ or self.tool.acts


class Toolbox:
    """The tools a session may use, sorted by name."""

    def __init__(self, tools: Iterable[Tool[Any]], context: ToolContext, new_id: Callable[[], str]) -> None:
        self._tools = {tool.name: tool for tool in sorted(tools, key=lambda tool: tool.name)}
        self._context = context
        self._new_id = new_id
        self.schemas: tuple[ToolSchema, ...] = tuple(tool.schema() for tool in self._tools.values())

    @property
    def project(self) -> str:
        """The name of the project that the tools work in."""
        return self._context.project.name

    async def check(self, call: ToolCall) -> CheckedCall:
        """Find the tool, validate the arguments, and preview the effect.

        Raises:
            ToolFailure, ProjectError: the text tells the model how to mend its call.
        """
        tool = self._tools.get(call.name)
        if tool is None:
            raise ToolFailure(f"There is no tool {call.name!r}. The tools are: {', '.join(self._tools)}.")
        if call.malformed is not None:
            raise ToolFailure(f"The arguments are not a JSON object: {call.malformed[:200]!r}. Send the call again.")
        try:
            arguments = tool.arguments.model_validate(call.arguments)
        except ValidationError as error:
            raise ToolFailure(_explain(error)) from error
        with _edge(call.name):
            preview = await tool.preview(arguments, self._context)
        return CheckedCall(call=call, tool=tool, arguments=arguments, preview=preview)

    def only_looks(self, name: str) -> bool:
        """Whether calls of the tool may run beside each other; of an unknown tool they may not."""
        tool = self._tools.get(name)
        return tool is not None and tool.parallel_safe and tool.risk is Risk.READ and not tool.acts

    async def run(self, checked: CheckedCall, emit: Callable[[str], None]) -> ToolResult:
        """Run a checked call; whatever goes wrong becomes a result that says so.

        What the call prints goes to `emit` as it comes; a result that is too long goes to a file of the project.
        """
        try:
            with _edge(checked.call.name):
                result = await checked.tool.run(checked.arguments, replace(self._context, emit=emit))
                return self._fitting(checked.tool, replace(result, mark=_mark(result)))
        except (ToolFailure, ProjectError) as failure:
            return ToolResult(text=str(failure), ok=False)
        except SandboxUnavailable as failure:
            text = f"The sandbox could not start, so nothing was run. {failure}"
            return ToolResult(text=text, ok=False, alarm=str(failure))

    def _fitting(self, tool: Tool[Any], result: ToolResult) -> ToolResult:
        if tool.most_characters is None or len(result.text) <= tool.most_characters:
            return result
        text = spill(
            result.text,
            tool=tool.name,
            project=self._context.project,
            name=self._new_id(),
            most_characters=tool.most_characters,
        )
        return replace(result, text=text)


def _mark(result: ToolResult) -> str:
    """Of a failure its own words, by which its kind is told; of a success what is the same for the same result."""
    return result_mark(result.text) if result.ok else result.text[:MOST_MARKED]


@contextmanager
def _edge(tool: str) -> Generator[None]:
    """Make of whatever a broken tool raises a failure of its call: it must not end the conversation."""
    try:
        yield
    except (ToolFailure, ProjectError, SandboxUnavailable):
        raise
    except Exception as error:
        _log.exception("tool.broke", tool=tool)
        kind = type(error).__name__
        raise ToolFailure(
            f"The tool broke ({kind}); whether it took effect is unknown. Look before you repeat it."
        ) from error


def _explain(error: ValidationError) -> str:
    problems = [f"{'.'.join(map(str, item['loc'])) or 'arguments'}: {item['msg']}" for item in error.errors()]
    return "The arguments do not fit: " + "; ".join(problems) + ". Mend them and send the call again."
