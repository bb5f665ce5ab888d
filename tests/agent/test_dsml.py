"""Calls that DeepSeek writes as text: read where nothing is doubtful, else left as text, and never half shown."""

import asyncio
import json
from collections.abc import Sequence
from contextlib import aclosing
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.model import Message, ModelRequest, Reply, TextDelta, ToolCall, ToolSchema
from agent.models.openai_compatible import OpenAICompatibleModel
from agent.models.openai_compatible.dsml import DsmlText, read_block
from agent.providers import PROVIDERS
from agent.text_calls import DSML_OPENINGS, holds_unread_call
from tests.servers.model import ModelServer, Scripted, calls, delta, event, raw, text

pytestmark = pytest.mark.requirement("model.dsml")

TOOLS = tuple(ToolSchema(name=name, description="", parameters={"type": "object"}) for name in ("read_file", "run"))
ASK = ModelRequest(messages=(Message(role="user", text="Go"),), tools=TOOLS)


def tag(name: str, bar: str = "｜") -> str:
    return f"<{bar}DSML{bar}{name}>"


def end(name: str, bar: str = "｜") -> str:
    return f"</{bar}DSML{bar}{name}>"


def parameter(name: str, value: str, *, string: str = "true", bar: str = "｜") -> str:
    return tag(f'parameter name="{name}" string="{string}"', bar) + value + end("parameter", bar)


def invoke(name: str, *parameters: str, bar: str = "｜") -> str:
    return "\n".join([tag(f'invoke name="{name}"', bar), *parameters, end("invoke", bar)])


def block(*invokes: str, container: str = "tool_calls", bar: str = "｜") -> str:
    return "\n".join([tag(container, bar), *invokes, end(container, bar)])


READ = invoke("read_file", parameter("path", "a.py"))
LIMITED = invoke("read_file", parameter("path", " a.py\n"), parameter("limit", " 5 ", string="false"))

WELL_FORMED = {
    "one call": (block(READ), [("read_file", {"path": "a.py"})]),
    "blanks in text stay, JSON is read": (block(LIMITED), [("read_file", {"path": " a.py\n", "limit": 5})]),
    "no parameters": (block(invoke("run")), [("run", {})]),
    "two calls": (block(READ, invoke("run")), [("read_file", {"path": "a.py"}), ("run", {})]),
    "calls": (block(READ, container="calls"), [("read_file", {"path": "a.py"})]),
    "function_calls": (block(READ, container="function_calls"), [("read_file", {"path": "a.py"})]),
    "on one line": (block(READ).replace("\n", ""), [("read_file", {"path": "a.py"})]),
    "doubled bars": (block(invoke("run", bar="｜｜"), bar="｜｜"), [("run", {})]),
    "plain bars": (block(invoke("run", bar="|"), bar="|"), [("run", {})]),
    "markup in a text": (
        block(invoke("run", parameter("command", "echo '<b>|</b>' | wc"))),
        [("run", {"command": "echo '<b>|</b>' | wc"})],
    ),
    "an object and a list": (
        block(invoke("run", parameter("a", '{"b": [1, null]}', string="false"))),
        [("run", {"a": {"b": [1, None]}})],
    ),
    "escaped halves": (block(invoke("run", parameter("a", '"\\ud83d"', string="false"))), [("run", {"a": "\ufffd"})]),
    "as many as may be": (block(*[invoke("run")] * 32), [("run", {})] * 32),
}


@pytest.mark.parametrize(("written", "expected"), WELL_FORMED.values(), ids=WELL_FORMED)
def test_a_well_formed_block_is_read(written: str, expected: list[tuple[str, Any]]) -> None:
    assert read_block(written, {"read_file", "run"}) == expected


DOUBTFUL = {
    "another tool": block(invoke("rm")),
    "one other tool": block(READ, invoke("rm")),
    "another container": block(READ, container="tools"),
    "no container": READ,
    "not ended": block(READ).removesuffix(end("tool_calls")),
    "call not ended": block(READ.removesuffix(end("invoke"))),
    "parameter not ended": block(invoke("run", tag('parameter name="a" string="true"') + "x")),
    "parameter in a parameter": block(invoke("run", tag('parameter name="a" string="true"'), parameter("b", "x"))),
    "no kind": block(invoke("run", tag('parameter name="a"') + "x" + end("parameter"))),
    "another kind": block(invoke("run", parameter("a", "x", string="yes"))),
    "no JSON": block(invoke("run", parameter("a", "x", string="false"))),
    "not a number": block(invoke("run", parameter("a", "NaN", string="false"))),
    "the same parameter twice": block(invoke("run", parameter("a", "1"), parameter("a", "2"))),
    "words between calls": block(READ, "and then", READ),
    "words between parameters": block(invoke("run", "first", parameter("a", "x"))),
    "words after it": block(READ) + "\nThat is all.",
    "two blocks": block(READ) + "\n" + block(READ),
    "no call": block(),
    "mixed bars": block(invoke("run", bar="|")),
    "too many calls": block(*[invoke("run")] * 33),
    "too many parameters": block(invoke("run", *[parameter(f"p{number}", "x") for number in range(65)])),
    "too long": block(invoke("run", parameter("a", "x" * 256_000))),
    "nothing": "",
}


@pytest.mark.parametrize("written", DOUBTFUL.values(), ids=DOUBTFUL)
def test_whatever_is_doubtful_is_left_as_text(written: str) -> None:
    assert read_block(written, {"read_file", "run"}) is None


def streamed(
    pieces: Sequence[str], *, request: ModelRequest = ASK, finish_reason: str = "stop", own: tuple[ToolCall, ...] = ()
) -> tuple[str, Reply]:
    """What was shown while it streamed, and the reply after it."""
    held = DsmlText(request)
    shown = "".join([held.feed(piece) for piece in pieces])
    whole = Reply(text="".join(pieces), complete=True, finish_reason=finish_reason, tool_calls=own)
    return shown, held.read(whole)


def test_the_block_is_never_shown_and_becomes_calls() -> None:
    written = f"Let me look.\n\n{block(READ, invoke('run'))}\n"
    shown, reply = streamed(list(written))
    assert shown == reply.text == "Let me look."
    assert [(call.id, call.name) for call in reply.tool_calls] == [("dsml_call_1", "read_file"), ("dsml_call_2", "run")]


def test_ids_differ_from_all_of_the_history() -> None:
    earlier = (
        ToolCall(id="dsml_call_1", name="run", arguments={}),
        ToolCall(id="dsml_call_3", name="run", arguments={}),
    )
    history = (*ASK.messages, Message(role="assistant", text="", tool_calls=earlier))
    _, reply = streamed([block(*[READ] * 3)], request=ModelRequest(messages=history, tools=TOOLS))
    assert [call.id for call in reply.tool_calls] == ["dsml_call_2", "dsml_call_4", "dsml_call_5"]


NOT_READ = {
    "no tools": {"request": ModelRequest(messages=ASK.messages)},
    "no call is allowed": {"request": ModelRequest(messages=ASK.messages, tools=TOOLS, may_call=False)},
    "cut": {"finish_reason": "length"},
    "filtered": {"finish_reason": "content_filter"},
    "there are real calls": {"own": (ToolCall(id="c1", name="run", arguments={}),)},
}


@pytest.mark.parametrize("settings", NOT_READ.values(), ids=NOT_READ)
def test_a_block_that_must_not_run_stays_text(settings: dict[str, Any]) -> None:
    _, reply = streamed([block(READ)], **settings)
    assert (reply.text, reply.tool_calls) == (block(READ), settings.get("own", ()))


def test_a_block_that_is_shown_as_code_stays_text() -> None:
    written = f"It looks like this:\n```\n{block(READ)}"
    assert streamed([written])[1].text == written


def test_a_block_without_an_end_is_shown_once_it_is_too_long() -> None:
    pieces = [tag("tool_calls"), *["x" * 1000] * 300, "the end"]
    shown, reply = streamed(pieces)
    assert shown == reply.text == "".join(pieces)
    assert reply.tool_calls == ()


mixed = st.lists(
    st.sampled_from([*DSML_OPENINGS[:3], tag("tool_calls")[:6], "<", "</", " ", "\n", "Hm. ", block(READ), block("x")])
    | st.text(max_size=4),
    max_size=6,
)


@given(mixed, st.data())
def test_any_cut_shows_and_reads_the_same(parts: list[str], data: st.DataObject) -> None:
    written = "".join(parts)
    places = sorted(data.draw(st.lists(st.integers(0, len(written)), max_size=8)))
    pieces = [written[a:b] for a, b in zip([0, *places], [*places, len(written)], strict=True)]
    shown, reply = streamed(pieces)
    assert (shown, reply) == streamed([written])
    assert reply.text.startswith(shown)
    assert reply.tool_calls or reply.text == written


def asked(reply: Scripted, provider: str) -> tuple[list[str], Reply]:
    async def main() -> tuple[list[str], Reply]:
        deltas: list[str] = []
        with ModelServer([reply]) as server:
            model = OpenAICompatibleModel(
                name=f"{provider}:m", base_url=server.base_url, api_key="k", model="m", provider=PROVIDERS[provider]
            )
            async with aclosing(model.stream(ASK)) as parts:
                async for part in parts:
                    if isinstance(part, Reply):
                        await model.aclose()
                        return deltas, part
                    deltas.append(part.text if isinstance(part, TextDelta) else "")
        raise AssertionError("no reply came")

    return asyncio.run(main())


def test_the_client_reads_them_for_deepseek_and_for_no_other() -> None:
    written = f"Looking.\n{block(READ)}"
    deltas, reply = asked(text(written), "deepseek")
    assert "".join(deltas) == reply.text == "Looking."
    assert [(call.name, call.arguments) for call in reply.tool_calls] == [("read_file", {"path": "a.py"})]
    deltas, reply = asked(text(written), "openai")
    assert "".join(deltas) == reply.text == written
    assert reply.tool_calls == ()


def test_the_client_shows_what_stays_text() -> None:
    written = f"Looking.\n{block(invoke('rm'))}"
    deltas, reply = asked(text(written), "deepseek")
    assert "".join(deltas) == reply.text == written


@pytest.mark.parametrize(
    "reply",
    [
        raw(json.dumps({"choices": [{"message": {"content": block(READ)}}]}).encode()),
        raw(delta("stop", content=block(READ)).rstrip()),
        raw(delta(content="\n\n"), delta("stop", content=block(READ)), event(b"[DONE]")),
    ],
)
def test_the_client_reads_a_block_that_came_at_once(reply: Scripted) -> None:
    deltas, answer = asked(reply, "deepseek")
    assert ("".join(deltas), answer.text, len(answer.tool_calls)) == ("", "", 1)


def test_real_calls_of_deepseek_come_as_before() -> None:
    deltas, reply = asked(calls(("run", {"a": 1}), answer="Running. "), "deepseek")
    assert ("".join(deltas), reply.text, len(reply.tool_calls)) == ("Running. ", "Running. ", 1)


UNREAD = [
    block(READ),
    f"Hm.\n{tag('tool_calls')}",
    tag('invoke name="run"', "||"),
    "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function",
    "Let me see.\n<tool_call>\n{",
    "  <minimax:tool_call>",
    "<function_calls>\n",
    '<invoke name="run">',
    "<|tool_calls_section_begin|>",
    '[TOOL_CALLS][{"name": "run"}]',
    f"```py\nx = 1\n```\n{block(READ)}",
]


@pytest.mark.requirement("loop.not-run")
@pytest.mark.parametrize("written", UNREAD)
def test_a_call_left_in_the_text_is_noticed(written: str) -> None:
    assert holds_unread_call(written)


@pytest.mark.requirement("loop.not-run")
@pytest.mark.parametrize(
    "written",
    [
        "",
        "Done. a < b [1]",
        "The tag <tool_call> begins a call.",
        f"```\n{block(READ)}\n```",
        f"~~~\n{block(READ)}",
        f"It writes `{tag('tool_calls')}` first.",
        "DSML is DeepSeek's markup.",
        "\n" * 50_000 + "<x>",
    ],
)
def test_text_about_calls_is_no_call(written: str) -> None:
    assert not holds_unread_call(written)
