"""However the bytes of an answer are cut, the same answer is read."""

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agent.http_model.loose_json import NOT_JSON, load
from agent.model import Reply
from agent.models.openai_compatible import read_reply
from agent.models.openai_compatible.body import ReplyReader
from agent.sse import EventReader

pytestmark = pytest.mark.requirement("model.stream")

texts = st.text(max_size=12) | st.sampled_from(
    ["<think>", "</think>", "<th", "\n", "😀", "\ud83d", "\ude00", "{}", '"}']
)
names = st.sampled_from(["", "read", "read_file", "list_dir"])
fragments = st.fixed_dictionaries(
    {"function": st.fixed_dictionaries({}, optional={"name": names, "arguments": texts})},
    optional={"index": st.integers(0, 2) | st.none(), "id": st.sampled_from(["", "a", "b", "call_1"])},
)
details = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["reasoning.text", "reasoning.encrypted"]),
        "index": st.integers(0, 1) | st.none(),
        "id": st.sampled_from(["a", "b"]) | st.none(),
        "text": texts,
        "data": texts,
        "signature": st.none() | st.just("s"),
    },
)
deltas = st.fixed_dictionaries(
    {},
    optional={
        "content": texts | st.none(),
        "reasoning_content": texts,
        "reasoning_details": st.lists(details, max_size=2),
        "tool_calls": st.lists(fragments, max_size=2),
    },
)
chunks = st.fixed_dictionaries(
    {
        "choices": st.lists(
            st.fixed_dictionaries(
                {"finish_reason": st.sampled_from([None, "stop", "length", "sensitive"])},
                optional={"delta": deltas, "message": deltas, "index": st.integers(0, 2) | st.none()},
            ),
            max_size=2,
        )
    },
    optional={"usage": st.just({"prompt_tokens": 3, "completion_tokens": 2}), "error": st.none() | st.just("busy")},
)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "choices",
                    "delta",
                    "error",
                    "message",
                    "content",
                    "tool_calls",
                    "usage",
                    "index",
                    "function",
                    "id",
                    "code",
                ]
            ),
            inner,
            max_size=3,
        )
    ),
    max_leaves=12,
)
lines = st.sampled_from([b"\n", b"\r\n", b"\r"])


@st.composite
def bodies(draw: st.DrawFn) -> bytes:
    """A stream of plausible and odd events, with line ends of most kinds, perhaps torn at its end."""
    end = draw(lines)
    begins = [b"", b"\n \n", b"\xef\xbb\xbf", b"\n\xef\xbb", b": hello" + end + end, b"{"]
    parts: list[bytes] = [draw(st.sampled_from(begins))]
    for data in draw(st.lists(chunks | values | st.just("[DONE]"), max_size=8)):
        written = (
            b"[DONE]"
            if data == "[DONE]"
            else json.dumps(data, ensure_ascii=draw(st.booleans())).encode("utf-8", "replace")
        )
        parts.append(b"data: " + written + end + draw(lines | st.just(end)) * draw(st.integers(0, 2)))
    body = b"".join(parts) + draw(st.binary(max_size=4))
    return body[: draw(st.integers(0, len(body)))] if draw(st.booleans()) else body


def cut(data: Any, body: bytes) -> list[bytes]:
    places = sorted(data.draw(st.lists(st.integers(0, len(body)), max_size=12)))
    return [body[a:b] for a, b in zip([0, *places], [*places, len(body)], strict=True)]


@given(bodies(), st.data())
def test_any_cut_of_any_stream_gives_the_same_reply(body: bytes, data: st.DataObject) -> None:
    whole = read_reply([body])
    assert read_reply(cut(data, body)) == whole
    assert read_reply([body[i : i + 1] for i in range(len(body))]) == whole


@given(bodies(), st.data())
def test_what_is_shown_while_it_streams_begins_the_text_of_the_reply(body: bytes, data: st.DataObject) -> None:
    reader = ReplyReader()
    shown = "".join([reader.feed(piece) for piece in cut(data, body)])
    reply = reader.finish()
    assert reply.text.startswith(shown)
    (reply.text + reply.reasoning + "".join(call.name for call in reply.tool_calls)).encode()


@given(bodies(), st.data())
def test_any_cut_has_as_many_events(body: bytes, data: st.DataObject) -> None:
    def events(pieces: list[bytes]) -> tuple[bool, bool, bool]:
        reader = ReplyReader()
        for piece in pieces:
            reader.feed(piece)
        return reader.events > 0, reader.finishing, reader.ended

    assert events(cut(data, body)) == events([body])


json_like = st.text(st.sampled_from('{}[]",:\\ud83deE+-.0123456789 \n\ttrufalsn\x00N'), max_size=24)
written_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
).map(json.dumps)


@given(json_like | written_values)
@example("1" * 5000)
@example('{"a": 1, "b": 2, "a": 3}')
@example('["\\ud83d", "\\ud83d\\ude00", "\\ud83d\\u0041"]')
@example("[NaN, -Infinity, 1e400, -0, -0.0, 1E5, 0.1234567890123456789012345]")
@example("[" * 201 + "]" * 201)
def test_the_fast_reader_of_json_reads_what_the_standard_one_does(text: str) -> None:
    try:
        expected = json.loads(text)
    except (ValueError, RecursionError):
        assert load(text) is NOT_JSON
    else:
        # Their forms are compared, which tell 1 from 1.0 and from true, and in which NaN equals itself.
        assert repr(load(text)) == repr(expected)


@given(st.binary(max_size=200))
def test_no_bytes_make_the_reader_fail(body: bytes) -> None:
    assert isinstance(read_reply([body]), Reply)


@given(st.lists(st.text(st.characters(blacklist_characters="\r\n", codec="utf-8"), max_size=20), max_size=6), lines)
def test_events_come_out_as_they_went_in(events: list[str], end: bytes) -> None:
    reader = EventReader()
    body = b"".join(b"data: " + event.encode() + end + end for event in events)
    assert reader.feed(body) + reader.close() == events
