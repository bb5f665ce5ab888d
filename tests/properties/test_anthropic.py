"""However a Messages answer is cut it is read alike; whatever the history is, the endpoint accepts what is made of it."""

import itertools
import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.model import Message, ModelRequest, Reply, ToolCall, ToolSchema
from agent.models.anthropic import read_message
from agent.models.anthropic.reader import MessageReader
from agent.models.anthropic.request import encode_request
from tests.servers.anthropic import (
    block,
    body_complaint,
    calling,
    failure,
    redacted,
    saying,
    sign,
    start,
    stop,
    thinking,
)

texts = st.text(max_size=12) | st.sampled_from(["\n", "😀", "\ud83d", "\ude00", "{}", '"}'])
utf8 = st.text(st.characters(codec="utf-8"), max_size=12)
contents = st.one_of(
    st.builds(lambda said: lambda at: saying(at, said), utf8),
    st.builds(lambda said: lambda at: thinking(at, said), utf8),
    st.builds(lambda name, said: lambda at: calling(at, name, said), st.sampled_from(["", "read"]), utf8 | st.just("{}")),
    st.just(redacted),
    st.builds(lambda kind, part: lambda at: block(at, {"type": kind}, part),
        st.sampled_from(["text", "thinking", "tool_use", "other"]),
        st.dictionaries(st.sampled_from(["type", "text", "thinking", "partial_json"]),
            st.sampled_from(["text_delta", "input_json_delta", "", 3, None]))),
)  # fmt: skip


@st.composite
def bodies(draw: st.DrawFn) -> bytes:
    """A stream of plausible and odd blocks, perhaps torn at its end."""
    pieces = [start()] if draw(st.booleans()) else []
    for at, content in enumerate(draw(st.lists(contents, max_size=5))):
        pieces += content(draw(st.sampled_from([at, 0, at + 1])))
    pieces.append(draw(st.sampled_from([b"", stop(), stop("tool_use"), failure("overloaded_error"), b"data: {"])))
    body = b"".join(pieces) + draw(st.binary(max_size=4))
    if draw(st.booleans()):
        body = body.replace(b"\n", b"\r\n")
    return body[: draw(st.integers(0, len(body)))] if draw(st.booleans()) else body


def cut(data: Any, body: bytes) -> list[bytes]:
    places = sorted(data.draw(st.lists(st.integers(0, len(body)), max_size=12)))
    return [body[a:b] for a, b in itertools.pairwise([0, *places, len(body)])]


@pytest.mark.requirement("anthropic.stream")
@given(bodies(), st.data())
def test_any_cut_of_any_stream_gives_the_same_reply(body: bytes, data: st.DataObject) -> None:
    whole = read_message([body])
    assert read_message(cut(data, body)) == whole
    assert read_message([body[i : i + 1] for i in range(len(body))]) == whole
    (whole.text + whole.reasoning).encode()


@pytest.mark.requirement("anthropic.stream")
@given(bodies(), st.data())
def test_what_is_shown_while_it_streams_begins_the_text_of_the_reply(body: bytes, data: st.DataObject) -> None:
    reader = MessageReader()
    shown = "".join([reader.feed(piece) for piece in cut(data, body)])
    assert reader.finish().text.startswith(shown)


@pytest.mark.requirement("anthropic.stream")
@given(st.binary(max_size=200))
def test_no_bytes_make_the_reader_fail(body: bytes) -> None:
    assert isinstance(read_message([body]), Reply)


ids = st.sampled_from(["a", "b", "call.1:0", "", "调用"])
records = st.lists(
    st.sampled_from(
        [
            {"type": "thinking", "thinking": "hm", "signature": sign("hm")},
            {"type": "redacted_thinking", "data": "x"},
            {"type": "text", "text": "Hi"},
            {"type": "tool_use"},
            {"type": "reasoning.text", "text": "another vendor's"},
        ]
    ),
    max_size=4,
).map(tuple)
said = st.sampled_from(["", " ", "\n", "Hi", "你好 \ud83d"])
messages = st.one_of(
    st.builds(Message, role=st.sampled_from(["system", "user"]), text=said),
    st.builds(Message, role=st.just("tool"), text=said, call_id=ids, tool=st.sampled_from(["", "read"])),
    st.builds(
        Message,
        role=st.just("assistant"),
        text=said,
        blocks=records,
        model=st.sampled_from(["", "anthropic:claude", "deepseek:x"]),
        tool_calls=st.lists(
            st.builds(ToolCall, id=ids, name=st.just("read"), arguments=st.just({"a": 1})),
            max_size=2,
            unique_by=lambda call: call.id,
        ).map(tuple),
    ),
)


def with_own_ids(history: list[Message]) -> list[Message]:
    """No call id is used twice in a conversation: the session sees to that."""
    used: dict[str, str] = {}
    numbers = itertools.count()
    made: list[Message] = []
    for message in history:
        calls = [ToolCall(id=f"{call.id}{next(numbers)}", name="read", arguments={}) for call in message.tool_calls]
        used |= {old.id: new.id for old, new in zip(message.tool_calls, calls, strict=True)}
        made.append(
            Message(
                role=message.role,
                text=message.text,
                blocks=message.blocks,
                model=message.model,
                tool_calls=tuple(calls),
                call_id=used.get(message.call_id, message.call_id),
                tool=message.tool,
            )
        )
    return made


READ = ToolSchema(name="read", description="Read", parameters={"type": "object"})
TAIL = (Message(role="user", text="Remember."),)


def encoded(history: list[Message], tail: tuple[Message, ...] = (), tools: tuple[ToolSchema, ...] = (READ,)) -> bytes:
    request = ModelRequest(messages=history, tail=tail, tools=tools)
    return encode_request(request, model="claude", max_tokens=9, fields={}, echo_of="anthropic:claude")


@pytest.mark.requirement("anthropic.history")
@given(st.lists(messages, max_size=8).map(with_own_ids), st.sampled_from([(), TAIL]), st.sampled_from([(), (READ,)]))
def test_every_history_makes_a_request_that_is_accepted(
    history: list[Message], tail: tuple[Message, ...], tools: tuple[ToolSchema, ...]
) -> None:
    body = json.loads(encoded(history, tail, tools))
    assert body_complaint(body) == ""
    results = [part for message in body["messages"] for part in message["content"] if part["type"] == "tool_result"]
    assert len(results) == sum(len(message.tool_calls) for message in history)


@st.composite
def proper_histories(draw: st.DrawFn) -> list[Message]:
    """Histories as sessions make them: every call is answered before anything else is said."""
    made = [Message(role="system", text="Be good."), Message(role="user", text="Do it.")]
    numbers = itertools.count()
    for _ in range(draw(st.integers(0, 4))):
        calls = tuple(
            ToolCall(id=f"c{next(numbers)}", name="read", arguments={}) for _ in range(draw(st.integers(0, 3)))
        )
        made.append(Message(role="assistant", text="Hi", blocks=draw(records), tool_calls=calls))
        made += [Message(role="tool", text="ok", call_id=call.id, tool="read") for call in calls]
        made += [Message(role="user", text="More.")] if not calls or draw(st.booleans()) else []
    return made


@pytest.mark.requirement("anthropic.cache", "anthropic.history")
@given(proper_histories())
def test_without_its_cache_marks_each_request_extends_the_bytes_of_the_one_before(history: list[Message]) -> None:
    asked = [at for at in range(2, len(history) + 1) if at == len(history) or history[at].role == "assistant"]
    bodies = [re.sub(rb',"cache_control":\{"type":"ephemeral"\}', b"", encoded(history[:at])) for at in asked]
    for earlier, later in itertools.pairwise(bodies):
        assert later.startswith(earlier.removesuffix(b"]}"))
