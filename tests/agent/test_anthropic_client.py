"""The live client against a strict Messages endpoint over real sockets: requests, errors, tries, time-outs, stopping."""

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncGenerator
from typing import Any

import httpx
import pytest

from agent.errors import (
    ModelBroken,
    ModelContextFull,
    ModelError,
    ModelFiltered,
    ModelOverloaded,
    ModelRefused,
    ModelUnauthorized,
    ModelUnreachable,
)
from agent.http_model.patience import Patience, retry_after
from agent.model import Message, ModelRequest, Reply, TextDelta, ToolCall, ToolSchema, Usage
from agent.models import load_model
from agent.models.anthropic import AnthropicModel
from agent.models.anthropic.history import BEFORE, GO_ON, NO_OUTPUT, NO_RESULT
from agent.providers import resolve
from tests.agent.asking import Pauses, collect, run
from tests.servers.anthropic import (
    MessagesServer,
    calling,
    calls,
    error,
    failure,
    message,
    saying,
    sign,
    start,
    stop,
    text,
    thinking,
)
from tests.servers.model import Gate, ModelServer, Scripted, cut, held, raw, status

KEY = "sk-ant-very-secret"
NAME = "anthropic:claude-scripted"
SYSTEM = Message(role="system", text="Be good.")
ASK = ModelRequest(messages=(SYSTEM, Message(role="user", text="Hello 世界")))
READ = ToolSchema(name="read_file", description="Read", parameters={"type": "object", "properties": {}})
LIST = ToolSchema(name="list_dir", description="List", parameters={"type": "object", "properties": {}})
MARK = {"type": "ephemeral"}


@contextlib.asynccontextmanager
async def model_at(
    place: ModelServer | str, *, spec: str = NAME, key: str = KEY, pauses: Pauses | None = None, **patience: Any
) -> AsyncGenerator[AnthropicModel, None]:
    url = place if isinstance(place, str) else place.base_url
    patient = Patience(pause=pauses or Pauses(), random=lambda: 1.0, **patience)
    model = AnthropicModel(resolve(spec, base_url=url, api_key=key), patience=patient)
    try:
        yield model
    finally:
        await model.aclose()


def ask(place: ModelServer | str, request: ModelRequest = ASK, **settings: Any) -> tuple[list[str], Reply]:
    async def main() -> tuple[list[str], Reply]:
        async with model_at(place, **settings) as model:
            return await collect(model, request)

    return run(main())


def fails(place: ModelServer | str, kind: type[ModelError], **settings: Any) -> str:
    with pytest.raises(kind) as caught:
        ask(place, **settings)
    assert type(caught.value) is kind
    assert KEY not in str(caught.value)
    assert "\n" not in caught.value.detail
    return caught.value.detail


def taken(reply: Reply) -> Message:
    """The reply as a session puts it into the history."""
    return Message(
        role="assistant", text=reply.text, reasoning=reply.reasoning, blocks=reply.blocks, model=reply.model,
        tool_calls=reply.tool_calls,
    )  # fmt: skip


def answered(reply: Reply) -> tuple[Message, ...]:
    results = [Message(role="tool", text="ok", call_id=call.id, tool=call.name) for call in reply.tool_calls]
    return (taken(reply), *results)


# Answers.


@pytest.mark.requirement("anthropic.stream")
def test_text_arrives_in_pieces_and_the_reply_is_their_sum() -> None:
    with MessagesServer([text("Hello there, 你好!", thought="think")], key=KEY) as server:
        deltas, reply = ask(server)
    assert len(deltas) > 1
    assert "".join(deltas) == reply.text == "Hello there, 你好!"
    assert (reply.reasoning, reply.finish_reason, reply.complete) == ("think", "stop", True)
    assert reply.usage == Usage(prompt_tokens=100, completion_tokens=20, cached_tokens=50, written_tokens=20)
    assert reply.model == NAME


@pytest.mark.requirement("anthropic.stream")
def test_text_is_shown_before_the_answer_is_over() -> None:
    gate = Gate()

    async def main() -> None:
        with MessagesServer([held(text("First, then the rest"), gate, after=3)]) as server:
            async with model_at(server) as model, contextlib.aclosing(model.stream(ASK)) as parts:
                assert await anext(parts) == TextDelta(text="First, ")
                gate.set()
                rest = [part async for part in parts]
                assert isinstance(rest[-1], Reply)

    run(main())


@pytest.mark.requirement("anthropic.stream")
def test_an_answer_that_is_not_streamed_is_shown_all_the_same() -> None:
    body = json.dumps({"type": "message", "content": [{"type": "text", "text": "Hi"}], "stop_reason": "end_turn"})
    with MessagesServer([raw(body.encode(), content_type="application/json")]) as server:
        deltas, reply = ask(server)
    assert (deltas, reply.complete) == (["Hi"], True)


@pytest.mark.requirement("anthropic.stream")
@pytest.mark.parametrize("address", ["", "/messages", "/"])
def test_an_address_is_found_however_it_is_written(address: str) -> None:
    with MessagesServer([text("x")] * 2) as server:
        ask(server.base_url + address)
        ask(server.base_url.removesuffix("/v1"))
        assert [request.path for request in server.requests] == ["/v1/messages"] * 2


# Requests.


@pytest.mark.requirement("anthropic.stream", "anthropic.cache")
def test_the_request_has_what_the_endpoint_takes_and_nothing_else() -> None:
    with MessagesServer([text("x")] * 2, key=KEY) as server:
        ask(server, key=f" {KEY}\n")
        ask(server, ModelRequest(messages=ASK.messages, tools=(LIST, READ)), spec="anthropic:claude-opus-5-5")
    first, second = (request.json for request in server.requests)
    assert first == {
        "model": "claude-scripted",
        "max_tokens": 32_000,
        "stream": True,
        "system": [{"type": "text", "text": "Be good.", "cache_control": MARK}],
        "messages": [{"role": "user", "content": [{"type": "text", "text": "Hello 世界", "cache_control": MARK}]}],
    }
    assert second["thinking"] == {"type": "adaptive", "display": "summarized"}
    assert second["tools"][0] == {"name": "list_dir", "description": "List", "input_schema": LIST.parameters}
    assert second["tools"][1]["cache_control"] == MARK
    assert "tool_choice" not in second


@pytest.mark.requirement("anthropic.thinking", "anthropic.history")
def test_thinking_goes_back_first_and_word_for_word_and_all_results_in_one_message() -> None:
    wanted = calls(("read_file", {"path": "a"}), ("list_dir", {"path": "."}), answer="Looking.", thought="Hm, 看看…")
    with MessagesServer([wanted, text("Done.")]) as server:
        _, reply = ask(server, ModelRequest(messages=ASK.messages, tools=(LIST, READ)))
        ask(server, ModelRequest(messages=(*ASK.messages, *answered(reply)), tools=(LIST, READ)))
    _, said, results = server.requests[1].json["messages"]
    assert said["content"] == [
        {"type": "thinking", "thinking": "Hm, 看看…", "signature": sign("Hm, 看看…")},
        {"type": "text", "text": "Looking."},
        *(
            {"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments}
            for call in reply.tool_calls
        ),
    ]  # fmt: skip
    assert [part["tool_use_id"] for part in results["content"]] == [call.id for call in reply.tool_calls]


@pytest.mark.requirement("anthropic.thinking")
def test_thinking_between_texts_and_calls_goes_back_in_its_place() -> None:
    parts = (thinking(0, "one"), saying(1, "A"), thinking(2, "two"), calling(3, "read_file", {}))
    with MessagesServer([message(*parts, reason="tool_use"), text("x"), text("y")]) as server:
        _, reply = ask(server, ModelRequest(messages=ASK.messages, tools=(READ,)))
        ask(server, ModelRequest(messages=(*ASK.messages, *answered(reply)), tools=(READ,)))
        changed = Message(role="assistant", text="A and more", blocks=reply.blocks, tool_calls=reply.tool_calls)
        result = answered(reply)[1]
        ask(server, ModelRequest(messages=(*ASK.messages, changed, result), tools=(READ,)))
    kinds = [[part["type"] for part in request.json["messages"][1]["content"]] for request in server.requests[1:]]
    assert kinds == [["thinking", "text", "thinking", "tool_use"], ["thinking", "thinking", "text", "tool_use"]]


@pytest.mark.requirement("anthropic.thinking", "model.fallback", "model.foreign-reasoning")
def test_thinking_never_goes_to_another_model() -> None:
    record = {"type": "thinking", "thinking": "hm", "signature": sign("hm")}
    foreign = {"type": "reasoning.text", "text": "hm"}
    history = (
        *ASK.messages,
        Message(role="assistant", text="one", blocks=(record,), model="anthropic:claude-other"),
        Message(role="user", text="go"),
        Message(role="assistant", text="two", blocks=(foreign,)),
        Message(role="user", text="go"),
        Message(role="assistant", text="three", blocks=(record,), model=NAME),
        Message(role="user", text="go"),
    )
    with MessagesServer([text("x")]) as server:
        ask(server, ModelRequest(messages=history))
    sent = [part["content"] for part in server.requests[0].json["messages"] if part["role"] == "assistant"]
    assert [[part["type"] for part in content] for content in sent] == [["text"], ["text"], ["thinking", "text"]]


@pytest.mark.requirement("anthropic.thinking")
def test_thinking_that_followed_words_said_only_once_is_not_kept() -> None:
    tail = (Message(role="user", text="Remember the limit."),)
    with MessagesServer([text("x", thought="hm")] * 2) as server:
        assert ask(server, ModelRequest(messages=ASK.messages, tail=tail))[1].blocks == ()
        assert len(ask(server)[1].blocks) == 1


@pytest.mark.requirement("anthropic.thinking", "anthropic.refused-thinking")
@pytest.mark.parametrize(
    "said",
    [
        "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation.",
        "messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified.",
    ],
)
def test_thinking_that_is_refused_is_left_out_at_once_and_from_then_on(said: str) -> None:
    record = {"type": "thinking", "thinking": "hm", "signature": sign("hm")}
    history = (*ASK.messages, Message(role="assistant", text="one", blocks=(record,)), Message(role="user", text="go"))
    pauses = Pauses()

    async def main() -> None:
        refusal = error(400, "invalid_request_error", said)
        with MessagesServer([refusal, text("x", thought="new"), text("y")]) as server:
            async with model_at(server, pauses=pauses) as model:
                _, reply = await collect(model, ModelRequest(messages=history))
                assert reply.blocks == ()
                await collect(model, ModelRequest(messages=history))
        kinds = [[part["type"] for part in request.json["messages"][1]["content"]] for request in server.requests]
        assert kinds == [["thinking", "text"], ["text"], ["text"]]

    run(main())
    assert pauses.seconds == []
    with MessagesServer([error(400, "invalid_request_error", said)] * 2) as server:
        assert "400" in fails(server, ModelRefused)
        assert len(server.requests) == 2


@pytest.mark.requirement("anthropic.cache")
def test_marks_are_where_the_history_ends_and_ended_before_and_never_on_what_is_said_once() -> None:
    call = ToolCall(id="c1", name="read_file", arguments={})
    history = (
        *ASK.messages,
        Message(role="assistant", text="", tool_calls=(call,)),
        Message(role="tool", text="ok", call_id="c1", tool="read_file"),
        Message(role="assistant", text="Done."),
        Message(role="user", text="More."),
    )
    tail = (Message(role="user", text="Remember."), Message(role="system", text="And that."))
    with MessagesServer([text("x")]) as server:
        ask(server, ModelRequest(messages=history, tools=(READ,), tail=tail))
    body = server.requests[0].json
    parts = [part for said in body["messages"] for part in said["content"]]
    marked = [part.get("text", part.get("content")) for part in parts if "cache_control" in part]
    assert marked == ["ok", "More."]
    assert [part["text"] for part in body["messages"][-1]["content"]] == ["More.", "Remember.", "And that."]


@pytest.mark.requirement("anthropic.history")
def test_a_request_that_is_to_be_answered_in_words_keeps_its_tools_and_closes_them() -> None:
    call = ToolCall(id="c1", name="list_dir", arguments={})
    history = (
        *ASK.messages,
        Message(role="assistant", text="", tool_calls=(call,)),
        Message(role="tool", text="", call_id="c1", tool="list_dir"),
    )
    with MessagesServer([text("x")] * 3) as server:
        ask(server, ModelRequest(messages=history, tools=(READ,), may_call=False))
        ask(server, ModelRequest(messages=history))
        ask(server, ModelRequest(messages=ASK.messages, may_call=False))
    first, second, third = (request.json for request in server.requests)
    assert first["tool_choice"] == second["tool_choice"] == {"type": "none"}
    assert [tool["name"] for tool in first["tools"]] == ["read_file"]
    assert [tool["name"] for tool in second["tools"]] == ["list_dir"]
    assert "tools" not in third
    assert second["messages"][-1]["content"][0]["content"] == NO_OUTPUT


@pytest.mark.requirement("anthropic.history")
def test_histories_that_no_session_should_make_are_mended() -> None:
    call = ToolCall(id="functions.read:0", name="read_file", arguments={})
    history = (
        Message(role="assistant", text="I was cut", tool_calls=(call,)),
        Message(role="user", text="Stop that."),
        Message(role="tool", text="a result of nothing", call_id="nobody", tool="read_file"),
        Message(role="assistant", text=" "),
        Message(role="assistant", text="So."),
        Message(role="assistant", text="And so."),
    )
    with MessagesServer([text("x")] * 2) as server:
        assert ask(server, ModelRequest(messages=history))[1].blocks == ()
        ask(server, ModelRequest(messages=()))
    said = server.requests[0].json["messages"]
    assert [part["role"] for part in said] == ["user", "assistant", "user", "assistant", "user"]
    texts = [[part.get("text", part.get("content")) for part in part["content"]] for part in said]
    assert texts[0] == [BEFORE]
    assert texts[2] == [NO_RESULT, "Stop that.", "Result of read_file:\na result of nothing"]
    assert texts[3:] == [["So.", "And so."], [GO_ON]]
    assert said[1]["content"][1]["id"] == said[2]["content"][0]["tool_use_id"]
    assert [part["text"] for part in server.requests[1].json["messages"][0]["content"]] == [GO_ON]


# Errors: one line that names the fix, at once where another try cannot help.

HTML = b"<!DOCTYPE html>\n<html><title>Welcome</title></html>"
FINAL = [
    (error(401, "authentication_error", "invalid x-api-key"), ModelUnauthorized, ["401", "PAIGATE_MODEL_API_KEY"]),
    (error(403, "permission_error", f"not {KEY}"), ModelUnauthorized, ["403", "***"]),
    (error(404, "not_found_error", "model: claude-x"), ModelRefused, ["404", "http://127.0.0.1:", "claude-x"]),
    (error(402, "billing_error", "no credit"), ModelRefused, ["402", "no credit"]),
    (status(302, b"", Location="/login"), ModelRefused, ["redirected", "PAIGATE_MODEL_BASE_URL"]),
    (status(501), ModelOverloaded, ["501"]),
    (raw(HTML, content_type="text/html"), ModelBroken, ["web page", "PAIGATE_MODEL_BASE_URL"]),
    (raw(start(), failure("invalid_request_error", "bad")), ModelRefused, ["bad"]),
    (raw(start(), failure("authentication_error", "no")), ModelUnauthorized, ["PAIGATE_MODEL_API_KEY"]),
    (raw(b'{"error": {"code": 422, "message": "a proxy says no"}}'), ModelRefused, ["422", "a proxy says no"]),
]


@pytest.mark.requirement("anthropic.stream", "model.errors")
@pytest.mark.parametrize(("reply", "kind", "words"), FINAL, ids=range(len(FINAL)))
def test_an_error_that_will_not_pass_is_told_at_once(reply: Scripted, kind: type[ModelError], words: list[str]) -> None:
    pauses = Pauses()
    with MessagesServer([reply]) as server:
        detail = fails(server, kind, pauses=pauses)
    assert (len(server.requests), pauses.seconds) == (1, [])
    assert detail.startswith(f"{NAME}: ")
    assert all(word in detail for word in words), detail


TOO_LONG = [
    "prompt is too long: 208310 tokens > 200000 maximum",
    "input length and `max_tokens` exceed context limit: 1178959 + 64000 > 1000000, decrease input length or `max_tokens` and try again",
]
FILTERED = "Output blocked by content filtering policy"


@pytest.mark.requirement("model.errors", "model.full")
@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        *((error(400, "invalid_request_error", said), ModelContextFull) for said in TOO_LONG),
        *((raw(start(), failure("invalid_request_error", said)), ModelContextFull) for said in TOO_LONG),
        (error(413, "request_too_large", "Request exceeds the maximum size"), ModelContextFull),
        (error(400, "invalid_request_error", FILTERED), ModelFiltered),
        (raw(start(), failure("invalid_request_error", FILTERED)), ModelFiltered),
        (error(400, "invalid_request_error", "max_tokens: 200000 > 64000, which is too many"), ModelRefused),
    ],
)
def test_a_refusal_says_what_it_is_about(reply: Scripted, kind: type[ModelError]) -> None:
    with MessagesServer([reply]) as server:
        fails(server, kind)
    assert len(server.requests) == 1


PASSING = [
    (status(408), ModelOverloaded, "408"),
    (error(429, "rate_limit_error", "slow down"), ModelOverloaded, "slow down"),
    (error(500, "api_error"), ModelOverloaded, "500"),
    (status(502, HTML), ModelOverloaded, "web page"),
    (status(503, b"upstream connect error"), ModelOverloaded, "upstream connect error"),
    (error(529, "overloaded_error", "Overloaded"), ModelOverloaded, "Overloaded"),
    (raw(), ModelBroken, "answered nothing"),
    (raw(b"no healthy upstream"), ModelBroken, "no healthy upstream"),
    (raw(start(), *thinking(0, "hm")), ModelBroken, "cut off"),
    (cut(calls(("read_file", {"path": "a"})), after=3), ModelBroken, "cut off"),
    (raw(start(), failure("overloaded_error", "Overloaded")), ModelOverloaded, "Overloaded"),
    (raw(start(), failure("a_new_error", "later")), ModelOverloaded, "later"),
]


@pytest.mark.requirement("anthropic.stream", "model.retry")
@pytest.mark.parametrize(("reply", "kind", "word"), PASSING, ids=range(len(PASSING)))
def test_an_error_that_may_pass_is_tried_three_times(reply: Scripted, kind: type[ModelError], word: str) -> None:
    pauses = Pauses()
    with MessagesServer([reply] * 3) as server:
        assert word in fails(server, kind, pauses=pauses)
        assert pauses.seconds == [0.5, 1.0]
        assert len({request.body for request in server.requests}) == 1
        server.add(reply, reply, text("At last"))
        assert ask(server)[1].text == "At last"
    assert len(server.requests) == 6


@pytest.mark.requirement("model.retry")
@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (cut(text("Hello there"), after=4), ModelBroken),
        (raw(start(), *saying(0, "Hello"), failure("overloaded_error")), ModelOverloaded),
        (raw(start(), *saying(0, "Hello")), ModelBroken),
    ],
)
def test_nothing_is_tried_again_once_text_was_shown(reply: Scripted, kind: type[ModelError]) -> None:
    pauses = Pauses()
    with MessagesServer([reply, text("again")]) as server:
        fails(server, kind, pauses=pauses)
    assert (len(server.requests), pauses.seconds) == (1, [])


@pytest.mark.requirement("model.errors")
@pytest.mark.parametrize("reply", [text(" \n"), message(), message(thinking(0, "hm"))])
def test_an_empty_answer_is_asked_for_once_more(reply: Scripted) -> None:
    with MessagesServer([reply, reply, text("late")]) as server:
        assert "answered nothing" in fails(server, ModelBroken)
        assert len(server.requests) == 2
        assert ask(server)[1].text == "late"


@pytest.mark.requirement("loop.truncated")
def test_an_answer_cut_before_its_first_word_is_no_empty_answer() -> None:
    with MessagesServer([message(reason="max_tokens")]) as server:
        assert ask(server)[1].finish_reason == "length"


@pytest.mark.requirement("loop.filtered")
def test_a_refusal_is_told_as_one_with_what_was_said_before_it_or_as_an_error() -> None:
    with MessagesServer([text("I would", reason="refusal"), message(reason="refusal")]) as server:
        assert ask(server)[1].finish_reason == "content_filter"
        assert "refused" in fails(server, ModelFiltered)
    assert len(server.requests) == 2


@pytest.mark.requirement("model.retry")
@pytest.mark.parametrize(("asked", "seconds"), [("7", 7.0), ("86400", 30.0), ("soon", 0.5)])
def test_retry_after_is_honoured_up_to_thirty_seconds(asked: str, seconds: float) -> None:
    pauses = Pauses()
    with MessagesServer([error(529, "overloaded_error", Retry_After=asked), text("ok")]) as server:
        ask(server, pauses=pauses)
    assert pauses.seconds == [seconds]
    date = "Wed, 21 Oct 2026 07:28:00 GMT"
    assert retry_after("Wed, 21 Oct 2026 07:28:09 GMT", date) == 9.0
    assert retry_after(date, None) is None


@pytest.mark.requirement("model.errors")
def test_answers_and_errors_without_end_are_cut_off() -> None:
    with MessagesServer([raw(start(), *[b":" * (1 << 20)] * 65), status(400, b"x" * 100_000)]) as server:
        assert "64 MB" in fails(server, ModelBroken)
        assert len(fails(server, ModelRefused)) < 500


@pytest.mark.requirement("model.errors")
def test_an_address_where_nobody_listens_is_told_after_three_tries() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
        pauses = Pauses()
        assert url in fails(url, ModelUnreachable, pauses=pauses)
    assert pauses.seconds == [0.5, 1.0]


@pytest.mark.requirement("model.errors")
def test_an_address_that_cannot_be_is_told_at_once() -> None:
    pauses = Pauses()
    fails(f"http://{'a' * 70}/v1", ModelUnreachable, pauses=pauses)
    assert pauses.seconds == []


@pytest.mark.requirement("model.errors")
@pytest.mark.parametrize("key", ["sk-a\r\nX: y", "sk a", "密钥"])
def test_a_key_that_cannot_be_one_is_told_without_showing_it(key: str) -> None:
    with MessagesServer() as server, pytest.raises(ModelUnauthorized) as caught:
        ask(server, key=key)
    assert key not in str(caught.value)
    assert server.requests == []


@pytest.mark.requirement("model.timeouts")
def test_a_silent_endpoint_is_given_up_on() -> None:
    gate = Gate()
    with MessagesServer([Scripted(before=gate), raw(gate), raw(start(), gate)]) as server:
        fails(server, ModelUnreachable, first=0.2, idle=0.2)
        assert all(request.gone.wait(10) for request in server.requests)
    assert len(server.requests) == 3


@pytest.mark.requirement("model.timeouts", "model.queue")
def test_an_endpoint_that_only_says_it_is_there_is_given_up_on_for_good() -> None:
    with MessagesServer([raw(b": waiting\n\n", Gate())]) as server:
        assert "kept the request waiting" in fails(server, ModelOverloaded, queue=0.2)
    assert len(server.requests) == 1


@pytest.mark.requirement("model.timeouts")
def test_an_answer_that_never_ends_is_given_up_on_for_good() -> None:
    with MessagesServer([raw(start(), Gate())]) as server:
        assert "not whole after" in fails(server, ModelUnreachable, total=0.2)
    assert len(server.requests) == 1


@pytest.mark.requirement("model.timeouts")
@pytest.mark.parametrize("end", [stop(), stop().partition(b"event: message_stop")[0]])
def test_a_connection_left_open_after_the_answer_does_no_harm(end: bytes) -> None:
    with MessagesServer([raw(start(), *saying(0, "Hi"), end, Gate())]) as server:
        assert ask(server, trailing=0.1, drain=0.1)[1].text == "Hi"
        assert server.requests[0].gone.wait(10)


@pytest.mark.requirement("anthropic.stream")
def test_closing_the_iteration_closes_the_connection() -> None:
    async def main() -> None:
        with MessagesServer([held(text("First, then the rest"), Gate(), after=3)]) as server:
            async with model_at(server) as model:
                async with contextlib.aclosing(model.stream(ASK)) as parts:
                    await anext(parts)
                assert await asyncio.to_thread(server.requests[0].gone.wait, 10)

    run(main())


@pytest.mark.requirement("anthropic.stream")
def test_a_model_can_be_asked_again_after_it_was_closed_and_in_another_loop() -> None:
    with MessagesServer([text("one"), text("two"), text("three")]) as server:
        model = load_model(resolve(NAME, base_url=server.base_url, api_key=KEY))
        assert isinstance(model, AnthropicModel)

        async def once() -> str:
            try:
                return (await collect(model, ASK))[1].text
            finally:
                await model.aclose()

        assert [run(once()), run(once())] == ["one", "two"]

        async def with_own_client() -> str:
            resolved = resolve(NAME, base_url=server.base_url, api_key=KEY)
            async with httpx.AsyncClient() as client:
                given = AnthropicModel(resolved, client=client)
                reply = (await collect(given, ASK))[1]
                await given.aclose()
                assert not client.is_closed
                return reply.text

        assert run(with_own_client()) == "three"
