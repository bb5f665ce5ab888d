"""The live client against a strict endpoint over real sockets: answers, errors, tries, time-outs, and stopping."""

import asyncio
import contextlib
import itertools
import json
import socket
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import replace
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
from agent.http_model.patience import Patience, backoff, retry_after
from agent.model import Message, ModelRequest, Reply, TextDelta, ToolCall, ToolSchema, Usage
from agent.models import FAMILIES, load_family, load_model
from agent.models.openai_compatible import OpenAICompatibleModel
from agent.models.openai_compatible.request import RequestEncoder
from agent.providers import PROVIDERS, resolve
from tests.agent.asking import Pauses, collect, run
from tests.servers.model import (
    Gate,
    ModelServer,
    Scripted,
    calls,
    cut,
    delta,
    event,
    held,
    raw,
    status,
    text,
)

KEY = "sk-very-secret-key"
ASK = ModelRequest(messages=(Message(role="user", text="Hello 世界"),))
READ = ToolSchema(name="read_file", description="Read", parameters={"type": "object", "properties": {}})


@contextlib.asynccontextmanager
async def model_at(
    server: ModelServer | str,
    *,
    pauses: Callable[[float], Awaitable[None]] | None = None,
    provider: str = "compatible",
    key: str = KEY,
    **patience: Any,
) -> AsyncGenerator[OpenAICompatibleModel, None]:
    model = OpenAICompatibleModel(
        name="compatible:scripted",
        base_url=server if isinstance(server, str) else server.base_url,
        api_key=key,
        model="scripted",
        provider=PROVIDERS[provider],
        patience=Patience(pause=pauses or Pauses(), random=lambda: 1.0, **patience),
    )
    try:
        yield model
    finally:
        await model.aclose()


def ask(server: ModelServer | str, request: ModelRequest = ASK, **settings: Any) -> tuple[list[str], Reply]:
    async def main() -> tuple[list[str], Reply]:
        async with model_at(server, **settings) as model:
            return await collect(model, request)

    return run(main())


def fails(server: ModelServer | str, kind: type[ModelError], **settings: Any) -> str:
    with pytest.raises(kind) as caught:
        ask(server, **settings)
    assert type(caught.value) is kind
    assert KEY not in str(caught.value)
    assert "\n" not in caught.value.detail
    return caught.value.detail


@pytest.mark.requirement("model.stream")
def test_text_arrives_in_pieces_and_the_reply_is_their_sum() -> None:
    with ModelServer([text("Hello there, 你好!", reasoning="think")]) as server:
        deltas, reply = ask(server)
    assert len(deltas) > 1
    assert "".join(deltas) == reply.text == "Hello there, 你好!"
    assert (reply.reasoning, reply.finish_reason, reply.complete) == ("think", "stop", True)
    assert reply.usage == Usage(prompt_tokens=100, completion_tokens=20, cached_tokens=40)


@pytest.mark.requirement("model.stream")
def test_text_is_shown_before_the_answer_is_over() -> None:
    gate = Gate()

    async def main() -> None:
        with ModelServer([held(text("First, then the rest"), gate, after=2)]) as server:
            async with model_at(server) as model, contextlib.aclosing(model.stream(ASK)) as parts:
                assert await anext(parts) == TextDelta(text="First, ")
                gate.set()
                rest = [part async for part in parts]
                assert isinstance(rest[-1], Reply)

    run(main())


@pytest.mark.requirement("model.stream")
def test_calls_come_whole_in_the_reply() -> None:
    with ModelServer(
        [calls(("read_file", {"path": "a.py"}), ("list_dir", {"path": "."}), answer="Looking.")]
    ) as server:
        deltas, reply = ask(server)
    assert deltas == ["Looking."]
    assert [(call.name, call.arguments) for call in reply.tool_calls] == [
        ("read_file", {"path": "a.py"}),
        ("list_dir", {"path": "."}),
    ]


@pytest.mark.requirement("model.stream")
def test_a_plain_json_answer_is_shown_and_complete() -> None:
    body = json.dumps({"choices": [{"message": {"content": "Hi"}}]}).encode()
    with ModelServer([raw(body, content_type="application/json")]) as server:
        assert ask(server) == (["Hi"], Reply(text="Hi", complete=True))


@pytest.mark.requirement("model.stream")
@pytest.mark.parametrize("last", [delta("stop", content="Hi"), delta(content="Hi") + event(b"[DONE]")])
def test_a_connection_left_open_or_broken_after_the_answer_does_no_harm(last: bytes) -> None:
    with ModelServer([raw(last, Gate()), cut(raw(last), after=1)]) as server:
        for _ in range(2):
            assert ask(server, trailing=0.1, drain=0.1)[1].text == "Hi"
        assert server.requests[0].gone.wait(10)


@pytest.mark.requirement("model.stream")
def test_a_connection_is_used_again() -> None:
    accepted: list[Any] = []

    async def main() -> None:
        with ModelServer([text("one"), text("two")]) as server:
            process = server._http.process_request
            server._http.process_request = lambda *a: (accepted.append(a), process(*a))[1]
            async with model_at(server) as model:
                assert model.name == "compatible:scripted"
                await collect(model, ASK)
                await collect(model, ASK)

    run(main())
    assert len(accepted) == 1


@pytest.mark.requirement("loop.steady")
def test_each_request_extends_the_bytes_of_the_one_before() -> None:
    call = ToolCall(id="c1", name="read_file", arguments={"path": "é.py", "b": 1, "a": 2})
    history = (
        Message(role="system", text="Be good."),
        Message(role="user", text="读 é.py"),
        Message(role="assistant", text="", reasoning="because", tool_calls=(call,)),
        Message(role="tool", text="<tool_result>…</tool_result>", call_id="c1", tool="read_file"),
        Message(role="assistant", text="Done."),
        Message(role="user", text="Thanks \ud83d"),
    )
    lengths = (2, 4, 6)
    with ModelServer([text("x")] * len(lengths)) as server:
        for length in lengths:
            ask(server, ModelRequest(messages=history[:length], tools=(READ,)), provider="deepseek")
    bodies = [request.body for request in server.requests]
    for earlier, later in itertools.pairwise(bodies):
        assert earlier.endswith(b"]}")
        assert later.startswith(earlier.removesuffix(b"]}") + b",")
    assert '"path":"é.py","b":1,"a":2'.replace('"', '\\"').encode() in bodies[1]


@pytest.mark.requirement("loop.steady", "loop.transient")
def test_what_is_said_once_follows_the_history_and_is_in_no_later_request() -> None:
    once = Message(role="user", text="Answer now.")
    later = (*ASK.messages, Message(role="assistant", text="Yes."), Message(role="user", text="And?"))
    with ModelServer([text("x")] * 3) as server:
        ask(server)
        ask(server, ModelRequest(messages=ASK.messages, tail=(once,)))
        ask(server, ModelRequest(messages=later))
    plain, told, next_one = (request.body for request in server.requests)
    assert told == plain.removesuffix(b"]}") + b',{"role":"user","content":"Answer now."}]}'
    assert next_one.startswith(plain.removesuffix(b"]}") + b",")


@pytest.mark.requirement("model.stream")
def test_the_request_has_what_the_provider_takes_and_nothing_else() -> None:
    with ModelServer([text("x")] * 4, key=KEY) as server:
        ask(server)
        ask(server, provider="step")
        ask(server, ModelRequest(messages=ASK.messages, tools=(READ,)), key=f" {KEY}\n")
        ask(server, ModelRequest(messages=ASK.messages, tools=(READ,), may_call=False), provider="minimax")
    first, second, third, fourth = (request.json for request in server.requests)
    assert list(first) == ["model", "stream", "stream_options", "messages"]
    assert first["messages"] == [{"role": "user", "content": "Hello 世界"}]
    assert list(second) == ["model", "stream", "reasoning_format", "messages"]
    assert third["tools"][0]["function"] == {
        "name": "read_file",
        "description": "Read",
        "parameters": {"type": "object", "properties": {}},
    }
    assert list(fourth) == ["model", "stream", "stream_options", "reasoning_split", "messages"]


RECORD = {"type": "reasoning.text", "index": 0, "text": "hm", "signature": "s/g="}
CALLED = (ToolCall(id="c1", name="read_file", arguments={}),)
ECHOES: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "deepseek": ("deepseek", {}, {"content": "ok", "reasoning_content": "hm"}),
    "deepseek, none": ("deepseek", {"reasoning": ""}, {"content": "ok", "reasoning_content": " "}),
    "deepseek, its own": ("deepseek", {"model": "compatible:scripted"}, {"content": "ok", "reasoning_content": "hm"}),
    "deepseek, of another model": ("deepseek", {"model": "a:b"}, {"content": "ok", "reasoning_content": " "}),
    "kimi, none, with a call": (
        "kimi",
        {"reasoning": "", "text": "", "tool_calls": CALLED},
        {"content": None, "reasoning_content": " "},
    ),
    "hunyuan": ("hunyuan", {}, {"content": "ok", "reasoning_content": "hm"}),
    "glm": ("glm", {}, {"content": "ok", "reasoning_content": "hm"}),
    "minimax": ("minimax", {"blocks": (RECORD,)}, {"content": "ok", "reasoning_details": [RECORD]}),
    "minimax, its own": (
        "minimax",
        {"blocks": (RECORD,), "model": "compatible:scripted"},
        {"content": "ok", "reasoning_details": [RECORD]},
    ),
    "openrouter": ("openrouter", {"blocks": (RECORD, RECORD)}, {"content": "ok", "reasoning_details": [RECORD] * 2}),
    "openrouter, of another model": ("openrouter", {"blocks": (RECORD,), "model": "a:b"}, {"content": "ok"}),
    "openrouter, no records": ("openrouter", {}, {"content": "ok"}),
    "openai": ("openai", {"blocks": (RECORD,)}, {"content": "ok"}),
    "step": ("step", {}, {"content": "ok"}),
    "any other": ("compatible", {}, {"content": "ok"}),
}


@pytest.mark.requirement("model.echo", "model.foreign-reasoning")
@pytest.mark.parametrize(("provider", "fields", "expected"), ECHOES.values(), ids=ECHOES)
def test_reasoning_goes_back_to_those_that_want_it_as_they_gave_it(
    provider: str, fields: dict[str, Any], expected: dict[str, Any]
) -> None:
    answer = Message(**{"role": "assistant", "text": "ok", "reasoning": "hm", **fields})
    results = tuple(Message(role="tool", text="x", call_id=call.id, tool=call.name) for call in answer.tool_calls)
    with ModelServer([text("x")]) as server:
        ask(server, ModelRequest(messages=(*ASK.messages, answer, *results, *ASK.messages)), provider=provider)
    sent = server.requests[0].json["messages"][1]
    assert sent.pop("role") == "assistant"
    sent.pop("tool_calls", None)
    assert sent == expected


@pytest.mark.requirement("model.echo")
def test_tags_are_put_around_reasoning_for_a_provider_that_wants_them() -> None:
    provider = replace(PROVIDERS["compatible"], echoes_reasoning=True, reasoning_field="think")
    said = Message(role="assistant", text="ok", reasoning="hm")
    request = ModelRequest(messages=(said, replace(said, model="another:one"), replace(said, reasoning="")))
    body = json.loads(RequestEncoder(model="m", provider=provider).encode(request, usage=True))
    assert [message["content"] for message in body["messages"]] == ["<think>hm</think>ok", "ok", "ok"]


@pytest.mark.requirement("model.echo")
def test_records_of_reasoning_come_back_whole() -> None:
    parts = ({**RECORD, "text": "h", "signature": None}, {"index": 0, "text": "m"}, {"index": 0, "signature": "s/g="})
    with ModelServer(
        [raw(*(delta(reasoning_details=[part]) for part in parts), delta("stop", content="ok"))]
    ) as server:
        _, reply = ask(server, provider="openrouter")
    assert (reply.reasoning, reply.text, reply.blocks) == ("hm", "ok", (RECORD,))


@pytest.mark.requirement("model.stream")
def test_an_endpoint_that_knows_no_stream_options_is_asked_without() -> None:
    refusal = status(400, {"error": {"message": "Unknown parameter: 'stream_options'"}})
    pauses = Pauses()

    async def main() -> None:
        with ModelServer([refusal, text("one"), text("two")]) as server:
            async with model_at(server, pauses=pauses) as model:
                await collect(model, ASK)
                await collect(model, ASK)
        assert ["stream_options" in request.json for request in server.requests] == [True, False, False]

    run(main())
    assert pauses.seconds == []


@pytest.mark.requirement("model.errors")
def test_an_endpoint_that_complains_of_what_was_not_sent_is_not_asked_forever() -> None:
    refusal = status(400, {"error": {"message": "Unknown parameter: 'stream_options'"}})
    with ModelServer([refusal] * 2) as server:
        assert "stream_options" in fails(server, ModelRefused)
        assert len(server.requests) == 2


# Errors: one line that names the fix, at once where another try cannot help.

HTML = b"<!DOCTYPE html>\n<html><title>Welcome</title></html>"
FINAL = [
    (status(401), ModelUnauthorized, ["401", "PAIGATE_MODEL_API_KEY", "scripted 401"]),
    (status(403, HTML), ModelUnauthorized, ["403", "PAIGATE_MODEL_API_KEY"]),
    (status(401, {"error": f"bad key {KEY}"}), ModelUnauthorized, ["***"]),
    (status(404), ModelRefused, ["404", "http://127.0.0.1:", "scripted"]),
    (status(404, HTML), ModelRefused, ["404", "web page", "PAIGATE_MODEL_BASE_URL"]),
    (status(400), ModelRefused, ["400", "scripted 400"]),
    (status(400, []), ModelRefused, ["400", "[]"]),
    (status(400, b"x" * 200_000), ModelRefused, ["400", "xxx…"]),
    (status(402, {"error": {"message": "Insufficient Balance"}}), ModelRefused, ["402", "Insufficient Balance"]),
    (status(422, {"detail": [{"loc": ["a"], "msg": "wrong"}]}), ModelRefused, ["422", "wrong"]),
    (status(429, {"error": {"message": "pay", "code": "insufficient_quota"}}), ModelRefused, ["quota", "pay"]),
    (status(302, b"", Location="/login"), ModelRefused, ["redirected", "PAIGATE_MODEL_BASE_URL"]),
    (status(501), ModelOverloaded, ["501"]),
    (raw(HTML, content_type="text/html"), ModelBroken, ["web page", "PAIGATE_MODEL_BASE_URL"]),
    (raw(event({"error": {"message": "bad\nthing", "code": 400}})), ModelRefused, ["bad thing"]),
    (raw(event({"error": {"message": "no", "type": "authentication_error"}})), ModelUnauthorized, ["KEY"]),
]


@pytest.mark.requirement("model.errors")
@pytest.mark.parametrize(("reply", "kind", "words"), FINAL, ids=lambda value: getattr(value, "__name__", None))
def test_an_error_that_will_not_pass_is_told_at_once(reply: Scripted, kind: type[ModelError], words: list[str]) -> None:
    pauses = Pauses()
    with ModelServer([reply]) as server:
        detail = fails(server, kind, pauses=pauses)
    assert (len(server.requests), pauses.seconds) == (1, [])
    assert detail.startswith("compatible:scripted: ")
    assert all(word in detail for word in words), detail


PASSING = [
    (status(408), ModelOverloaded, "408"),
    (status(429), ModelOverloaded, "429"),
    (status(500, b""), ModelOverloaded, "500"),
    (status(502, HTML), ModelOverloaded, "502"),
    (status(503, b"upstream connect error"), ModelOverloaded, "upstream connect error"),
    (status(529), ModelOverloaded, "529"),
    (raw(), ModelBroken, "answered nothing"),
    (raw(b"no healthy upstream"), ModelBroken, "no healthy upstream"),
    (cut(text("Hi"), after=1), ModelBroken, "cut off"),
    (raw(delta(role="assistant", content="")), ModelBroken, "cut off"),
    (cut(calls(("read_file", {"path": "a"})), after=3), ModelBroken, "cut off"),
    (raw(event({"error": {"message": "Server overloaded", "code": None}})), ModelOverloaded, "overloaded"),
    (raw(event({"error": {"message": "later", "code": "503"}})), ModelOverloaded, "later"),
]


@pytest.mark.requirement("model.retry")
@pytest.mark.parametrize(("reply", "kind", "word"), PASSING, ids=range(len(PASSING)))
def test_an_error_that_may_pass_is_tried_three_times(reply: Scripted, kind: type[ModelError], word: str) -> None:
    pauses = Pauses()
    with ModelServer([reply] * 3) as server:
        assert word in fails(server, kind, pauses=pauses)
    assert (len(server.requests), pauses.seconds) == (3, [0.5, 1.0])
    assert len({request.body for request in server.requests}) == 1


@pytest.mark.requirement("model.retry")
@pytest.mark.parametrize("reply", [reply for reply, _, _ in PASSING], ids=range(len(PASSING)))
def test_a_later_try_may_succeed(reply: Scripted) -> None:
    with ModelServer([reply, reply, text("At last")]) as server:
        deltas, answer = ask(server)
    assert "".join(deltas) == answer.text == "At last"


@pytest.mark.requirement("model.retry")
@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (cut(text("Hello there"), after=3), ModelBroken),
        (raw(delta(content="Hello"), event({"error": {"message": "overloaded"}})), ModelOverloaded),
        (raw(delta(content="Hello")), ModelBroken),
    ],
)
def test_nothing_is_tried_again_once_text_was_shown(reply: Scripted, kind: type[ModelError]) -> None:
    pauses = Pauses()
    with ModelServer([reply, text("again")]) as server:
        fails(server, kind, pauses=pauses)
    assert (len(server.requests), pauses.seconds) == (1, [])


@pytest.mark.requirement("model.errors")
@pytest.mark.parametrize("reply", [text(""), text(" \n"), text("", reasoning="hm")])
def test_an_empty_answer_is_asked_for_once_more(reply: Scripted) -> None:
    with ModelServer([reply, reply, text("late")]) as server:
        assert "answered nothing" in fails(server, ModelBroken)
        assert len(server.requests) == 2
        assert ask(server)[1].text == "late"


@pytest.mark.requirement("loop.truncated")
def test_an_answer_cut_before_its_first_word_is_no_empty_answer() -> None:
    with ModelServer([text("", finish="length")]) as server:
        assert ask(server)[1].finish_reason == "length"


@pytest.mark.requirement("loop.filtered")
@pytest.mark.parametrize("finish", ["content_filter", "sensitive"])
def test_an_answer_that_was_filtered_before_its_first_word_is_told_at_once(finish: str) -> None:
    with ModelServer([text("", finish=finish), calls(("run", {}), finish=finish), text("no")]) as server:
        for asked in (1, 2):
            assert "content filter" in fails(server, ModelFiltered)
            assert len(server.requests) == asked


@pytest.mark.requirement("loop.filtered")
def test_an_answer_that_was_filtered_in_the_middle_is_whole_and_says_so() -> None:
    with ModelServer([calls(("run", {}), answer="It is", finish="content_filter")]) as server:
        _, reply = ask(server)
    assert (reply.text, reply.finish_reason, reply.complete) == ("It is", "content_filter", True)
    assert len(reply.tool_calls) == 1


FULL = [
    "This model's maximum context length is 131072 tokens. However, you requested 141403 tokens",
    "Range of input length should be [1, 30720]",
    "Invalid request: Your request exceeded model token limit: 262144",
    "invalid params, context window exceeds limit (2013)",
    "Input length (160062 tokens) exceeds the maximum allowed length (59862 tokens).",
    "prompt is too long: 204800 tokens > 200000 maximum",
    "the request exceeds the available context size",
    "too many tokens",
    "Prompt 超长",
    "输入内容超过模型上下文长度",
]


@pytest.mark.requirement("model.errors", "model.full")
@pytest.mark.parametrize("message", FULL)
def test_a_conversation_that_is_too_long_is_an_error_of_its_own(message: str) -> None:
    bodies = [
        status(400, {"error": {"message": message}}),
        status(422, {"message": message, "code": "InvalidParameter"}),
        status(500, {"error": {"message": message}}),
        raw(event({"error": {"message": message, "code": 400}})),
        raw(event({"error": {"message": message}})),
    ]
    with ModelServer(bodies) as server:
        for _ in bodies:
            fails(server, ModelContextFull)
    assert len(server.requests) == len(bodies)


@pytest.mark.requirement("model.errors")
@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (status(413, HTML), ModelContextFull),
        (status(400, {"error": {"message": "no", "code": "context_length_exceeded"}}), ModelContextFull),
        (status(400, {"error": {"message": "Content Exists Risk"}}), ModelFiltered),
        (status(400, {"error": {"message": "no", "code": "content_filter"}}), ModelFiltered),
        (status(400, {"code": "data_inspection_failed", "message": "Input data may contain"}), ModelFiltered),
        (raw(event({"error": {"code": "1301", "message": "可能包含不安全或敏感内容"}})), ModelFiltered),
        (status(400, {"error": {"message": "max_tokens must be in [1, 8192]"}}), ModelRefused),
    ],
)
def test_a_refusal_says_what_it_is_about(reply: Scripted, kind: type[ModelError]) -> None:
    with ModelServer([reply]) as server:
        assert fails(server, kind)


@pytest.mark.requirement("model.retry")
@pytest.mark.parametrize(
    "reply",
    [
        status(429, {"error": {"message": "Request too large: tokens per min exceeded"}}),
        raw(event({"error": {"message": "Request rate limit of tokens exceeded, too many tokens per minute"}})),
        raw(delta("insufficient_system_resource")),
        raw(delta("network_error", reasoning_content="hm")),
        raw(delta(reasoning_content="hm")),
    ],
)
def test_what_only_sounds_final_is_tried_again(reply: Scripted) -> None:
    with ModelServer([reply, text("At last")]) as server:
        assert ask(server)[1].text == "At last"


@pytest.mark.requirement("model.errors")
@pytest.mark.parametrize("message", [{"message": "overloaded", "code": 503}, "overloaded", [{"msg": "overloaded"}]])
def test_an_error_in_the_middle_keeps_what_was_shown(message: Any) -> None:
    shown: list[str] = []

    async def main(server: ModelServer) -> None:
        async with model_at(server) as model, contextlib.aclosing(model.stream(ASK)) as parts:
            async for part in parts:
                assert isinstance(part, TextDelta)
                shown.append(part.text)

    reply = raw(delta(content="Hello"), event({"error": message}), delta(content="no"))
    with ModelServer([reply]) as server, pytest.raises(ModelOverloaded, match="overloaded"):
        run(main(server))
    assert shown == ["Hello"]


@pytest.mark.requirement("model.retry")
@pytest.mark.parametrize(
    ("asked", "seconds"), [("7", 7.0), ("0.1", 0.5), ("86400", 30.0), ("9" * 400, 0.5), ("soon", 0.5), ("-1", 0.5)]
)
def test_retry_after_is_honoured_up_to_thirty_seconds(asked: str, seconds: float) -> None:
    pauses = Pauses()
    with ModelServer([status(429, Retry_After=asked), text("ok")]) as server:
        ask(server, pauses=pauses)
    assert pauses.seconds == [seconds]


@pytest.mark.requirement("model.retry")
def test_a_date_in_retry_after_counts_from_the_date_of_the_response() -> None:
    date = "Wed, 21 Oct 2026 07:28:00 GMT"
    assert retry_after("Wed, 21 Oct 2026 07:28:09 GMT", date) == 9.0
    assert retry_after("Wed, 21 Oct 2026 07:27:00 GMT", date) == 0.0
    assert retry_after(date, None) is None


@pytest.mark.requirement("model.retry")
def test_waits_double_with_jitter_up_to_thirty_seconds() -> None:
    assert [backoff(tries, wait=None, random=1.0) for tries in (1, 2, 3, 7, 8, 40)] == [0.5, 1.0, 2.0, 30.0, 30.0, 30.0]
    assert backoff(1, wait=None, random=0.0) == 0.25


@pytest.mark.requirement("model.errors", "model.retry")
def test_an_address_where_nobody_listens_is_told_after_three_tries() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        pauses = Pauses()
        assert url in fails(url, ModelUnreachable, pauses=pauses)
    assert pauses.seconds == [0.5, 1.0]


@pytest.mark.requirement("model.errors")
@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:99999/v1", "ftp://127.0.0.1/v1", "nonsense", "http://", f"http://{'a' * 70}/v1"]
)
def test_an_address_that_is_none_is_told_at_once(url: str) -> None:
    pauses = Pauses()
    fails(url, ModelUnreachable, pauses=pauses)
    assert pauses.seconds == []


@pytest.mark.requirement("model.errors")
@pytest.mark.parametrize("key", ["sk-a\r\nX: y", "sk a", "密钥"])
def test_a_key_that_cannot_be_one_is_told_without_showing_it(key: str) -> None:
    with ModelServer() as server, pytest.raises(ModelUnauthorized) as caught:
        ask(server, key=key)
    assert key not in str(caught.value)
    assert server.requests == []


# Time-outs: each on its own, against a server that really keeps silent.

COMMENT = b": keep-alive\n\n"
SILENT = {
    "before the status": Scripted(before=Gate()),
    "before the first byte": raw(Gate()),
    "after a comment": raw(COMMENT, Gate()),
    "in the first event": raw(b'data: {"choices', Gate()),
}


@pytest.mark.requirement("model.timeouts", "model.retry")
@pytest.mark.parametrize("reply", SILENT.values(), ids=SILENT)
def test_an_endpoint_that_is_silent_before_its_first_event_is_given_up_on(reply: Scripted) -> None:
    with ModelServer([reply] * 3) as server:
        fails(server, ModelUnreachable, first=0.2)
        assert all(request.gone.wait(10) for request in server.requests)
    assert len(server.requests) == 3


@pytest.mark.requirement("model.timeouts")
def test_an_endpoint_that_falls_silent_between_events_is_given_up_on() -> None:
    with ModelServer([raw(delta(role="assistant"), Gate())] * 3 + [raw(delta(content="Hi"), Gate())]) as server:
        assert "fell silent" in fails(server, ModelUnreachable, idle=0.2)
        assert len(server.requests) == 3
        assert "fell silent" in fails(server, ModelUnreachable, idle=0.2)
        assert len(server.requests) == 4


@pytest.mark.requirement("model.timeouts")
def test_an_address_that_takes_no_connection_is_given_up_on() -> None:
    with contextlib.ExitStack() as kept:
        full = kept.enter_context(socket.socket())
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        for _ in range(
            3
        ):  # Linux lets one more wait than asked for; the next ones get no answer to their first packet.
            waiting = kept.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(full.getsockname())
        pauses = Pauses()
        url = f"http://127.0.0.1:{full.getsockname()[1]}/v1"
        assert "no answer in time" in fails(url, ModelUnreachable, pauses=pauses, connect=0.2)
    assert pauses.seconds == [0.5, 1.0]


async def dripping(
    opening: bytes, drip: bytes, *, last: bytes = b"", drips: int = 10_000, **patience: Any
) -> tuple[int, list[str], Reply]:
    """Ask an endpoint that sends `opening`, then `drip` every now and then, then `last`; also, how often it was asked."""
    asked: list[None] = []
    stop = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        asked.append(None)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + opening)
        with contextlib.suppress(ConnectionError):
            for _ in range(drips):
                writer.write(drip)
                await writer.drain()
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(stop.wait(), 0.02)
                if stop.is_set():
                    break
            writer.write(last)
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        try:
            async with model_at(url, **patience) as model:
                deltas, reply = await collect(model, ASK)
                return len(asked), deltas, reply
        except ModelError as error:
            error.add_note(f"asked {len(asked)} times")
            raise
        finally:
            stop.set()


@pytest.mark.requirement("model.timeouts", "model.queue")
def test_an_endpoint_that_says_it_is_still_there_is_waited_for() -> None:
    asked, deltas, reply = run(
        dripping(b"", COMMENT, drips=60, last=delta("stop", content="Hi"), first=0.6, queue=30.0, idle=0.6)
    )
    assert (asked, deltas, reply.text) == (1, ["Hi"], "Hi")


@pytest.mark.requirement("model.timeouts")
@pytest.mark.parametrize("drip", [COMMENT, b"\n"])
def test_an_endpoint_that_only_says_it_is_there_is_given_up_on_for_good(drip: bytes) -> None:
    with pytest.raises(ModelOverloaded, match="kept the request waiting") as caught:
        run(dripping(b"", drip, queue=0.3))
    assert caught.value.__notes__ == ["asked 1 times"]


@pytest.mark.requirement("model.timeouts")
def test_comments_extend_nothing_once_the_answer_began() -> None:
    with pytest.raises(ModelUnreachable, match="fell silent") as caught:
        run(dripping(delta(role="assistant"), COMMENT, idle=0.3))
    assert caught.value.__notes__ == ["asked 3 times"]


@pytest.mark.requirement("model.timeouts")
def test_an_answer_that_never_ends_is_given_up_on_for_good() -> None:
    with pytest.raises(ModelUnreachable, match="not whole after") as caught:
        run(dripping(b"", delta(reasoning_content="hm"), total=0.3))
    assert caught.value.__notes__ == ["asked 1 times"]


@pytest.mark.requirement("control.stop")
@pytest.mark.parametrize("before_status", [True, False])
def test_cancelling_closes_the_connection_at_once(before_status: bool) -> None:
    gate = Gate()
    reply = text("Hello there")
    script = Scripted(before=gate) if before_status else held(reply, gate, after=2)

    async def main() -> float:
        with ModelServer([script]) as server:
            async with model_at(server) as model:
                task = asyncio.create_task(collect(model, ASK))
                await asyncio.to_thread(server.wait_for, 1)
                task.cancel()
                began = time.monotonic()
                with pytest.raises(asyncio.CancelledError):
                    await task
                assert await asyncio.to_thread(server.requests[0].gone.wait, 10)
                return time.monotonic() - began

    assert run(main()) < 2


@pytest.mark.requirement("control.stop")
def test_closing_the_iteration_closes_the_connection() -> None:
    async def main() -> None:
        with ModelServer([held(text("Hello there"), Gate(), after=2)]) as server:
            async with model_at(server) as model:
                parts = model.stream(ASK)
                await anext(parts)
                await parts.aclose()
                assert await asyncio.to_thread(server.requests[0].gone.wait, 10)

    run(main())


@pytest.mark.requirement("control.stop")
def test_cancelling_between_two_tries_ends_them() -> None:
    async def main() -> None:
        waiting = asyncio.Event()

        async def forever(seconds: float) -> None:
            waiting.set()
            await asyncio.Event().wait()

        with ModelServer([status(503), text("no")]) as server:
            async with model_at(server, pauses=forever) as model:
                task = asyncio.create_task(collect(model, ASK))
                await waiting.wait()
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
            assert len(server.requests) == 1

    run(main())


@pytest.mark.requirement("model.stream")
def test_a_model_may_be_used_in_one_event_loop_after_another() -> None:
    with ModelServer([text("one"), text("two")]) as server:
        model = load_model(resolve("compatible:m", base_url=server.base_url, api_key=None))
        assert isinstance(model, OpenAICompatibleModel)

        async def once() -> str:
            _, reply = await collect(model, ASK)
            await model.aclose()
            return reply.text

        assert [run(once()), run(once())] == ["one", "two"]
    assert "authorization" not in server.requests[0].headers


@pytest.mark.requirement("model.stream")
def test_a_client_that_is_passed_in_is_used_and_left_open() -> None:
    async def main() -> None:
        async with httpx.AsyncClient(headers={"X-Given": "yes"}) as client:
            with ModelServer([text("hi")]) as server:
                model = OpenAICompatibleModel(
                    name="a:b",
                    base_url=server.base_url,
                    api_key="",
                    model="b",
                    provider=PROVIDERS["compatible"],
                    client=client,
                )
                await collect(model, ASK)
                await model.aclose()
                assert not client.is_closed
                assert server.requests[0].headers["x-given"] == "yes"

    run(main())


@pytest.mark.requirement("model.errors")
def test_an_answer_without_end_is_given_up_on() -> None:
    megabyte = b"data: " + b" " * (1 << 20)
    with ModelServer([raw(*[megabyte] * 65)]) as server:
        assert "longer than 64 MB" in fails(server, ModelBroken)
    assert len(server.requests) == 1


@pytest.mark.requirement("model.stream")
def test_many_answers_stream_at_once() -> None:
    async def main() -> None:
        with ModelServer(respond=lambda body: text(body["messages"][-1]["content"] * 20)) as server:
            async with model_at(server) as model:
                asked = [
                    collect(model, ModelRequest(messages=(Message(role="user", text=f"<{n}>"),))) for n in range(24)
                ]
                replies = await asyncio.gather(*asked)
        assert [reply.text for _, reply in replies] == [f"<{n}>" * 20 for n in range(24)]

    run(main())


def test_a_family_that_does_not_exist_is_refused_with_the_names() -> None:
    with pytest.raises(ValueError, match="openai_compatible"):
        load_family("telepathy")
    assert all(callable(load_family(name)) for name in FAMILIES)
    assert {provider.family for provider in PROVIDERS.values()} <= set(FAMILIES)


def test_a_model_on_plain_http_reads_no_certificates() -> None:
    code = """
import ssl
ssl.SSLContext.load_verify_locations = None
from agent.models import load_model
from agent.providers import resolve
load_model(resolve("compatible:m", base_url="http://127.0.0.1:9/v1", api_key=None))
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=20)


def test_a_key_is_never_in_a_representation() -> None:
    resolved = resolve("deepseek", base_url=None, api_key=KEY)
    assert KEY not in repr(resolved) + str(resolved) + repr(load_model(resolved))
