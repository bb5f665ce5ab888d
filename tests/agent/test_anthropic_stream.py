"""What is read from a Messages stream: text, calls, thinking, counts, reasons to stop, and what is broken in it."""

import json
from typing import Any

import pytest

from agent.model import ToolCall, Usage
from agent.models.anthropic import read_message
from tests.servers.anthropic import (
    END,
    block,
    calling,
    calls,
    event,
    failure,
    message,
    redacted,
    saying,
    sign,
    start,
    stop,
    text,
    thinking,
)
from tests.servers.model import Scripted


def read(reply: Scripted) -> Any:
    return read_message(piece for piece in reply.pieces if isinstance(piece, bytes))


@pytest.mark.requirement("anthropic.stream")
def test_text_is_read_with_its_reason_to_stop_and_its_tokens() -> None:
    reply = read(text("Hello there, 你好!"))
    assert (reply.text, reply.finish_reason, reply.complete, reply.error) == ("Hello there, 你好!", "stop", True, None)
    assert reply.usage == Usage(prompt_tokens=100, completion_tokens=20, cached_tokens=50, written_tokens=20)


@pytest.mark.requirement("anthropic.stream")
def test_calls_are_read_with_their_arguments() -> None:
    reply = read(
        calls(("read_file", {"path": "é.py", "deep": {"a": [1]}}), ("list_dir", {}), answer="So:", ids=("a", "b"))
    )
    assert reply.text == "So:"
    assert reply.finish_reason == "tool_calls"
    assert reply.tool_calls == (
        ToolCall(id="a", name="read_file", arguments={"path": "é.py", "deep": {"a": [1]}}),
        ToolCall(id="b", name="list_dir", arguments={}),
    )


@pytest.mark.requirement("anthropic.stream")
@pytest.mark.parametrize("written", ['{"path": "a', "[1]", "null", '{"a":1} {"b":2}', '{"a": NaN}'])
def test_arguments_that_are_no_object_are_kept_as_they_came(written: str) -> None:
    (call,) = read(calls(("read_file", written))).tool_calls
    assert (call.arguments, call.malformed) == ({}, written)


@pytest.mark.requirement("anthropic.stream")
def test_a_call_may_come_whole_in_its_start_without_an_id_or_twice_under_one_id() -> None:
    content = {"type": "tool_use", "id": "", "name": "read_file", "input": {"path": "a"}}
    reply = read(message(block(0, content), calling(1, "x", {}, "same"), calling(2, "y", {}, "same")))
    assert [(call.id, call.name) for call in reply.tool_calls] == [
        ("toolu_0", "read_file"),
        ("same", "x"),
        ("toolu_2", "y"),
    ]
    assert reply.tool_calls[0].arguments == {"path": "a"}


@pytest.mark.requirement("anthropic.thinking")
def test_thinking_is_kept_word_for_word_with_its_signature() -> None:
    reply = read(message(thinking(0, "Let me see…"), redacted(1), saying(2, "Yes."), calling(3, "x", {}, "i")))
    assert reply.reasoning == "Let me see…"
    assert reply.blocks == (
        {"type": "thinking", "thinking": "Let me see…", "signature": sign("Let me see…")},
        {"type": "redacted_thinking", "data": "opaque"},
    )


@pytest.mark.requirement("anthropic.thinking")
def test_thinking_between_texts_and_calls_keeps_its_place() -> None:
    reply = read(
        message(
            thinking(0, "one"), saying(1, "A"), thinking(2, "two"), calling(3, "x", {}, "i"), thinking(4, "three"),
            calling(5, "y", {}, "j"),
        )
    )  # fmt: skip
    assert [block.get("thinking", block["type"]) for block in reply.blocks] == [
        "one", "text", "two", "tool_use", "three", "tool_use",
    ]  # fmt: skip
    assert reply.text == "A"


@pytest.mark.requirement("anthropic.thinking")
def test_thinking_that_was_cut_before_its_signature_is_not_kept() -> None:
    cut = block(0, {"type": "thinking", "thinking": ""}, {"type": "thinking_delta", "thinking": "hm"})
    empty = block(1, {"type": "redacted_thinking"})
    reply = read(message(cut, empty, reason="max_tokens"))
    assert (reply.reasoning, reply.blocks, reply.finish_reason) == ("hm", (), "length")


@pytest.mark.requirement("anthropic.stream")
@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("tool_use", "tool_calls"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("pause_turn", "length"),
        ("refusal", "content_filter"),
        ("something_new", "something_new"),
    ],
)
def test_a_reason_to_stop_is_told_in_the_words_of_all_models(reason: str, expected: str) -> None:
    assert read(text("x", reason=reason)).finish_reason == expected


@pytest.mark.requirement("anthropic.stream")
def test_an_answer_is_complete_with_a_reason_to_stop_or_the_end_mark_and_not_before() -> None:
    whole = read_message([start(), *saying(0, "Hi"), END])
    assert (whole.complete, whole.finish_reason) == (True, None)
    delta = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}}
    assert read_message([start(), *saying(0, "Hi"), event(delta)]).complete
    cut = read_message([start(), *saying(0, "Hi")])
    assert (cut.text, cut.complete, cut.error) == ("Hi", False, None)


@pytest.mark.requirement("anthropic.stream")
def test_an_error_in_the_stream_is_told_and_what_came_before_is_kept() -> None:
    reply = read_message(
        [start(), *saying(0, "Hi"), failure("overloaded_error", "Over\nloaded"), *saying(1, "no"), END]
    )
    assert (reply.text, reply.complete, reply.error) == ("Hi", False, "Over loaded")
    assert read_message([b'{"error": "gone"}']).error == "gone"
    assert read_message([event({"type": "error", "error": {"type": "api_error"}})]).error


@pytest.mark.requirement("anthropic.stream")
def test_nothing_counts_after_the_end_mark() -> None:
    assert read_message([start(), *saying(0, "Hi"), stop(), failure("api_error"), *saying(0, "no")]).text == "Hi"


@pytest.mark.requirement("anthropic.stream")
def test_a_message_that_is_not_streamed_is_an_answer_too() -> None:
    content = [
        {"type": "thinking", "thinking": "hm", "signature": sign("hm")},
        {"type": "text", "text": "Hi"},
        {"type": "tool_use", "id": "i", "name": "x", "input": {"a": 1}},
    ]
    usage = {"input_tokens": 3, "output_tokens": 4}
    body = {"type": "message", "content": content, "stop_reason": "tool_use", "usage": usage}
    reply = read_message([json.dumps(body).encode()])
    assert (reply.text, reply.reasoning, reply.complete, reply.finish_reason) == ("Hi", "hm", True, "tool_calls")
    assert reply.tool_calls == (ToolCall(id="i", name="x", arguments={"a": 1}),)
    assert reply.blocks == (content[0],)
    assert reply.usage == Usage(prompt_tokens=3, completion_tokens=4)


@pytest.mark.requirement("anthropic.stream")
def test_the_counts_of_all_events_are_totals_and_bad_ones_do_not_count() -> None:
    late = {"input_tokens": 7, "output_tokens": 9, "cache_read_input_tokens": None}
    delta = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": late}
    reply = read_message([start({"input_tokens": 0, "output_tokens": True}), *saying(0, "x"), event(delta)])
    assert reply.usage == Usage(prompt_tokens=7, completion_tokens=9)
    assert read_message([start(None), *saying(0, "x"), END]).usage is None
    assert read_message([start({"input_tokens": -1, "output_tokens": 3}), END]).usage is None


@pytest.mark.requirement("anthropic.stream")
def test_what_is_unknown_or_broken_is_passed_over() -> None:
    reply = read_message(
        [
            event(b"not json", "ping"),
            event(b"[1]", "ping"),
            b"data:\n\n",
            event({"type": "new_thing"}),
            event({"type": "content_block_start", "index": "x", "content_block": 3}),
            *block(0, {"type": "server_tool_use", "name": "web"}),
            *block(1, {"type": "text", "text": ""}, {"type": "citations_delta", "citation": {}}, {"type": 3}),
            *calling(2, "", {}),
            *saying(3, "Hi"),
            stop(),
        ]
    )
    assert (reply.text, reply.tool_calls, reply.blocks, reply.complete) == ("Hi", (), (), True)
    assert len(reply.notes) == 2


@pytest.mark.requirement("anthropic.stream")
def test_a_delta_whose_start_was_lost_begins_its_block() -> None:
    deltas = [{"type": "text_delta", "text": "Hi"}, {"type": "text_delta", "text": " you"}]
    lost = [event({"type": "content_block_delta", "index": 0, "delta": delta}) for delta in deltas]
    unnumbered = event({"type": "content_block_delta", "delta": {"type": "text_delta", "text": "!"}})
    assert read_message([*lost, unnumbered, END]).text == "Hi you!"


@pytest.mark.requirement("anthropic.stream")
def test_half_characters_are_joined_over_deltas_or_replaced() -> None:
    halves = [b'{"type":"text_delta","text":"%s"}' % half for half in (b"a\\ud83d", b"\\ude00b", b"\\ud83d")]
    pieces = [
        event(b'{"type":"content_block_delta","index":0,"delta":%s}' % half, "content_block_delta") for half in halves
    ]
    assert read_message([*pieces, END]).text == "a😀b\ufffd"
