"""Every way in which endpoints are known to stream an answer, read by the door the live client uses."""

import json
from typing import Any

import pytest

from agent.model import Reply, Usage
from agent.models.openai_compatible import read_reply

pytestmark = pytest.mark.requirement("model.stream")

DONE = b"data: [DONE]\n\n"
A, B = '{"path": "a.py"}', '{"path": "b.py"}'
READ_A, READ_B = ("read_file", {"path": "a.py"}), ("read_file", {"path": "b.py"})


def event(data: Any) -> bytes:
    return b"data: " + json.dumps(data).encode() + b"\n\n"


def chunk(finish: str | None = None, **delta: Any) -> bytes:
    return event({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})


def part(arguments: Any = None, *, name: str | None = None, **fields: Any) -> dict[str, Any]:
    function = {} if name is None else {"name": name}
    return {**fields, "function": {**function, **({} if arguments is None else {"arguments": arguments})}}


def streamed(*parts: dict[str, Any], finish: str = "tool_calls") -> Reply:
    """A reply whose tool-call fragments came one in a chunk."""
    return read_reply([*(chunk(tool_calls=[item]) for item in parts), chunk(finish), DONE])


def wanted(reply: Reply) -> list[tuple[str, dict[str, Any]]]:
    assert all(call.id for call in reply.tool_calls)
    assert len({call.id for call in reply.tool_calls}) == len(reply.tool_calls)
    return [(call.name, call.arguments) for call in reply.tool_calls]


# The cases in which widely used client libraries were measured to fail, each by its name.
QUIRKS: dict[str, list[bytes]] = {
    "standard": [chunk(tool_calls=[part("", name="read_file", index=0, id="c1", type="function")])],
    "type missing": [chunk(tool_calls=[part("", name="read_file", index=0, id="c1")])],
    "comments": [b": keep-alive\n\n", chunk(tool_calls=[part("", name="read_file", index=0, id="c1")])],
    "index missing": [chunk(tool_calls=[part("", name="read_file", id="c1")])],
    "index null": [chunk(tool_calls=[part("", name="read_file", index=None, id="c1")])],
    "indices start at 1": [chunk(tool_calls=[part("", name="read_file", index=1, id="c1")])],
    "id missing": [chunk(tool_calls=[part("", name="read_file", index=0)])],
    "id empty": [chunk(tool_calls=[part("", name="read_file", index=0, id="")])],
    "chunk without choices": [event({"id": "x"}), chunk(tool_calls=[part("", name="read_file", index=0, id="c1")])],
    "delta null": [
        event({"choices": [{"index": 0, "delta": None}]}),
        chunk(tool_calls=[part("", name="read_file", index=0, id="c1")]),
    ],
    "reasoning_content": [
        chunk(reasoning_content="hm"),
        chunk(tool_calls=[part("", name="read_file", index=0, id="c1")]),
    ],
    "reasoning": [chunk(reasoning="hm"), chunk(tool_calls=[part("", name="read_file", index=0, id="c1")])],
}
ENDS: dict[str, list[bytes]] = {
    "finish tool_calls and [DONE]": [chunk("tool_calls"), DONE],
    "no [DONE]": [chunk("tool_calls")],
    "finish stop with tools": [chunk("stop"), DONE],
    "usage chunk": [chunk("tool_calls"), event({"choices": [], "usage": {"prompt_tokens": 9}}), DONE],
    "[DONE] alone": [DONE],
}


@pytest.mark.requirement("model.quirks")
@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)
@pytest.mark.parametrize("begin", QUIRKS.values(), ids=QUIRKS)
def test_a_call_is_read_right_whatever_the_endpoints_quirk(begin: list[bytes], end: list[bytes]) -> None:
    labels = json.loads(begin[-1][6:])["choices"][0]["delta"]["tool_calls"][0]
    more = {key: labels[key] for key in ("index", "id") if key in labels}
    body = [*begin, chunk(tool_calls=[part(A[:5], **more)]), chunk(tool_calls=[part(A[5:], **more)]), *end]
    for pieces in (body, [b"".join(body)], [bytes([byte]) for byte in b"".join(body)]):
        reply = read_reply(pieces)
        assert wanted(reply) == [READ_A]
        assert reply.complete
        assert read_reply(body[: -len(end)]).complete is False


ONE_CALL = {
    "standard": [
        part("", name="read_file", index=0, id="c1", type="function"),
        part(A[:5], index=0),
        part(A[5:], index=0),
    ],
    "type missing": [part(A, name="read_file", index=0, id="c1")],
    "index missing": [part("", name="read_file", id="c1"), part(A[:5]), part(A[5:])],
    "index null": [part(A[:5], name="read_file", index=None, id="c1"), part(A[5:], index=None)],
    "index from 1": [part(A[:5], name="read_file", index=1, id="c1"), part(A[5:], index=1)],
    "index as text": [part(A[:5], name="read_file", index="0", id="c1"), part(A[5:], index="0")],
    "index counts fragments": [part(A[:5], name="read_file", index=0, id="c1"), part(A[5:], index=1)],
    "index only at first": [part(A[:5], name="read_file", index=0, id="c1"), part(A[5:])],
    "id repeated": [part(A[:5], name="read_file", index=0, id="c1"), part(A[5:], index=0, id="c1")],
    "id missing": [part(A[:5], name="read_file", index=0), part(A[5:], index=0)],
    "id empty": [part(A[:5], name="read_file", index=0, id=""), part(A[5:], index=0, id="")],
    "id changes without a name": [part(A[:5], name="read_file", index=0, id="c1"), part(A[5:], index=0, id="c2")],
    "id and name repeated": [part(p, name="read_file", index=0, id="c1") for p in (A[:5], A[5:9], A[9:])],
    "name repeated": [part(p, name="read_file", index=0) for p in (A[:5], A[5:9], A[9:])],
    "name repeated, no index": [part(p, name="read_file") for p in (A[:5], A[5:9], A[9:])],
    "name repeated at the end": [part(A, name="read_file", id="c1"), part("", name="read_file", id="c1")],
    "name grows": [part("", name="read", index=0, id="c1"), part("", name="read_file", index=0), part(A, index=0)],
    "name in pieces": [part("", name="read", index=0, id="c1"), part("", name="_file", index=0), part(A, index=0)],
    "arguments as object": [part({"path": "a.py"}, name="read_file", index=0, id="c1")],
    "arguments encoded twice": [part(json.dumps(A), name="read_file", index=0, id="c1")],
    "arguments after the name": [part(name="read_file", index=0, id="c1"), part(A, index=0)],
    "arguments null": [part(name="read_file", index=0, id="c1"), part(A, index=0), {"index": 0, "function": None}],
    "arguments begin with an empty object": [
        part("{}", name="read_file", index=0, id="c1"),
        part(A[:5], index=0),
        part(A[5:], index=0),
    ],
    "index as a fraction": [part(A[:5], name="read_file", index=0.0, id="c1"), part(A[5:], index=0.0)],
    "id comes late": [part(A[:5], name="read_file", index=0), part(A[5:], index=0, id="c1")],
    "name comes late": [part("", index=0, id="c1"), part(A[:5], name="read_file", index=0), part(A[5:], index=0)],
    "function fields at the top": [{"index": 0, "id": "c1", "name": "read_file", "arguments": A}],
}


@pytest.mark.requirement("model.quirks")
@pytest.mark.parametrize("parts", ONE_CALL.values(), ids=ONE_CALL)
def test_one_call_is_read_right_however_its_fragments_are_labelled(parts: list[dict[str, Any]]) -> None:
    reply = streamed(*parts)
    assert wanted(reply) == [READ_A]
    assert reply.complete


TWO_CALLS = {
    "standard": [part(A, name="read_file", index=0, id="c1"), part(B, name="read_file", index=1, id="c2")],
    "interleaved": [
        part("", name="read_file", index=0, id="c1"),
        part("", name="read_file", index=1, id="c2"),
        part(A[:5], index=0),
        part(B[:5], index=1),
        part(A[5:], index=0),
        part(B[5:], index=1),
    ],
    "by id, without an index": [
        part("", name="read_file", id="c1"),
        part("", name="read_file", id="c2"),
        part(A[:5], id="c1"),
        part(B[:5], id="c2"),
        part(A[5:], id="c1"),
        part(B[5:], id="c2"),
    ],
    "by id, at one index": [
        part("", name="read_file", index=0, id="c1"),
        part("", name="read_file", index=0, id="c2"),
        part(A, index=0, id="c1"),
        part(B, index=0, id="c2"),
    ],
    "same index, other id": [part(A, name="read_file", index=0, id="c1"), part(B, name="read_file", index=0, id="c2")],
    "same index, no ids": [part(A, name="read_file", index=0), part(B, name="read_file", index=0)],
    "same index, empty ids, in pieces": [
        part(A, name="read_file", index=0, id=""),
        part("", name="read_file", index=0, id=""),
        part(B, index=0, id=""),
    ],
    "no index, ids": [part(A, name="read_file", id="c1"), part(B, name="read_file", id="c2")],
    "no index, no ids": [part(A, name="read_file"), part(B, name="read_file")],
    "same id twice": [part(A, name="read_file", index=0, id="c1"), part(B, name="read_file", index=1, id="c1")],
    "same id, no index": [part(A, name="read_file", id="c1"), part(B, name="read_file", id="c1")],
}


@pytest.mark.requirement("model.quirks")
@pytest.mark.parametrize("parts", TWO_CALLS.values(), ids=TWO_CALLS)
def test_two_calls_are_kept_apart_however_their_fragments_are_labelled(parts: list[dict[str, Any]]) -> None:
    assert wanted(streamed(*parts)) == [READ_A, READ_B]
    assert wanted(read_reply([chunk(tool_calls=parts), chunk("tool_calls"), DONE])) == [READ_A, READ_B]


@pytest.mark.parametrize("arguments", [None, "", " ", "{}", "null"])
def test_a_call_without_arguments_has_an_empty_object(arguments: str | None) -> None:
    assert wanted(streamed(part(arguments, name="list_dir", index=0, id="c1"))) == [("list_dir", {})]


def test_another_name_without_index_and_id_begins_another_call() -> None:
    reply = streamed(part("", name="list_dir", id="c1"), part("", name="git_status"), part("{}"))
    assert wanted(reply) == [("list_dir", {}), ("git_status", {})]


def test_calls_of_one_chunk_without_index_and_id_are_all_kept() -> None:
    reply = read_reply([chunk(tool_calls=[part("", name="list_dir"), part("", name="list_dir")]), chunk("stop")])
    assert wanted(reply) == [("list_dir", {})] * 2


def test_a_given_id_is_kept_and_a_made_one_differs_from_it() -> None:
    reply = streamed(part("{}", name="a", index=0), part("{}", name="b", index=1, id="call_1"))
    assert [call.id for call in reply.tool_calls] == ["call_2", "call_1"]


def test_the_legacy_function_call_is_a_call() -> None:
    reply = read_reply(
        [
            chunk(function_call={"name": "read_file", "arguments": A[:5]}),
            chunk(function_call={"arguments": A[5:]}),
            chunk("function_call"),
        ]
    )
    assert wanted(reply) == [READ_A]


WHOLE_CALLS = [
    {"id": "c1", "type": "function", "function": {"name": "read_file", "arguments": A}},
    {"id": "c2", "type": "function", "function": {"name": "read_file", "arguments": B}},
]
MESSAGES = {
    "document": [json.dumps({"choices": [{"message": {"content": None, "tool_calls": WHOLE_CALLS}}]}).encode()],
    "without ids": [
        json.dumps(
            {"choices": [{"message": {"tool_calls": [{"function": call["function"]} for call in WHOLE_CALLS]}}]}
        ).encode()
    ],
    "last event": [event({"choices": [{"message": {"tool_calls": WHOLE_CALLS}, "finish_reason": "tool_calls"}]})],
    "sent twice": [
        event({"choices": [{"message": {"tool_calls": WHOLE_CALLS[:1]}}]}),
        event({"choices": [{"message": {"tool_calls": WHOLE_CALLS}, "finish_reason": "tool_calls"}]}),
    ],
    "repeats the deltas": [
        chunk(tool_calls=[part(A, name="read_file", index=0, id="c1"), part(B, name="read_file", index=1, id="c2")]),
        event({"choices": [{"message": {"tool_calls": WHOLE_CALLS}, "finish_reason": "tool_calls"}]}),
    ],
    "beside what is no call": [
        event({"choices": [7, {"message": {"tool_calls": [None, *WHOLE_CALLS]}, "finish_reason": "stop"}]})
    ],
}


@pytest.mark.parametrize("body", MESSAGES.values(), ids=MESSAGES)
def test_calls_of_a_whole_message_are_read_once(body: list[bytes]) -> None:
    reply = read_reply(body)
    assert wanted(reply) == [READ_A, READ_B]
    assert reply.complete


def test_the_legacy_call_of_a_whole_message_is_a_call() -> None:
    whole = {"choices": [{"message": {"function_call": {"name": "read_file", "arguments": A}}}]}
    assert wanted(read_reply([json.dumps(whole).encode()])) == [READ_A]


def test_a_single_call_may_stand_without_its_list() -> None:
    assert wanted(read_reply([chunk(tool_calls=part(A, name="read_file")), chunk("stop")])) == [READ_A]


def test_finish_stop_with_calls_is_a_complete_answer_with_calls() -> None:
    reply = streamed(part(A, name="read_file", index=0, id="c1"), finish="stop")
    assert (reply.finish_reason, reply.complete, wanted(reply)) == ("stop", True, [READ_A])


@pytest.mark.parametrize(
    "arguments",
    ['{"path": "a', "[1]", "nonsense", '{"x": NaN}', '{"a":1}{"b":2}', "{}{", '{"a":' * 300 + "1" + "}" * 300],
)
def test_arguments_that_are_no_object_are_handed_on_as_malformed(arguments: str) -> None:
    (call,) = streamed(part(arguments, name="read_file", index=0, id="c1")).tool_calls
    assert (call.arguments, call.malformed) == ({}, arguments)


def test_raw_line_breaks_inside_argument_strings_are_allowed() -> None:
    reply = streamed(part('{"content": "a\nb\tc"}', name="write_file", index=0, id="c1"))
    assert wanted(reply) == [("write_file", {"content": "a\nb\tc"})]


def test_a_call_without_a_name_is_dropped_and_noted() -> None:
    reply = streamed(part(A, index=0, id="c1"))
    assert reply.tool_calls == ()
    assert reply.notes == ("a tool call without a name was dropped",)


TEXTS = {
    "standard": [chunk(role="assistant", content=""), chunk(content="Hi "), chunk(content="you"), chunk("stop"), DONE],
    "no [DONE]": [chunk(content="Hi you"), chunk("stop")],
    "[DONE] without a finish reason": [chunk(content="Hi you"), DONE],
    "[DONE] with blanks": [chunk(content="Hi you"), b"data:  [DONE] \n\n"],
    "nothing counts after [DONE]": [chunk(content="Hi you"), DONE, chunk(content="!")],
    "comments": [b": keep-alive\n\n", chunk(content="Hi "), b":\n\n", chunk(content="you"), chunk("stop")],
    "other fields": [b"event: message\nid: 7\nretry: 5\n" + chunk(content="Hi you"), chunk("stop")],
    "CRLF": [b"".join([chunk(content="Hi you"), chunk("stop"), DONE]).replace(b"\n", b"\r\n")],
    "CRLF, a byte at a time": [
        bytes([byte]) for byte in (chunk(content="Hi you") + chunk("stop")).replace(b"\n", b"\r\n")
    ],
    "empty pieces": [b"", chunk(content="Hi you"), b"", chunk("stop"), b""],
    "CR": [b"".join([chunk(content="Hi you"), chunk("stop"), DONE]).replace(b"\n", b"\r")],
    "BOM": [b"\xef\xbb\xbf", chunk(content="Hi you"), chunk("stop")],
    "no blank after the colon": [chunk(content="Hi you").replace(b"data: ", b"data:"), chunk("stop")],
    "unterminated last event": [chunk(content="Hi you"), chunk("stop").rstrip()],
    "several chunks in one event": [chunk(content="Hi ").rstrip() + b"\n" + chunk(content="you"), chunk("stop")],
    "[DONE] in one event with the last chunk": [chunk(content="Hi you").rstrip() + b"\n" + DONE],
    "one chunk over several lines": [
        b'data: {"choices": [{"index": 0,\ndata: "delta": {"content": "Hi you"}}]}\n\n',
        chunk("stop"),
    ],
    "chunk without choices": [event({"id": "x"}), chunk(content="Hi you"), event({"choices": []}), chunk("stop")],
    "delta null": [event({"choices": [{"index": 0, "delta": None}]}), chunk(content="Hi you"), chunk("stop")],
    "content as parts": [
        chunk(content=[{"type": "text", "text": "Hi "}, {"type": "text", "text": "you"}]),
        chunk("stop"),
    ],
    "refusal": [chunk(refusal="Hi you"), chunk("stop")],
    "other choices": [
        event({"choices": [{"index": 1, "delta": {"content": "No"}}, {"index": 0, "delta": {"content": "Hi you"}}]}),
        event({"choices": [{"index": 1, "delta": {"content": "No"}, "finish_reason": "stop"}]}),
        chunk("stop"),
    ],
    "only choice 1": [event({"choices": [{"index": 1, "delta": {"content": "Hi you"}, "finish_reason": "stop"}]})],
    "another choice comes first": [
        event({"choices": [{"index": 1, "delta": {"content": "No"}}]}),
        chunk(content="Hi "),
        event({"choices": [{"index": 1, "delta": {"content": "No"}, "finish_reason": "stop"}]}),
        chunk("stop", content="you"),
    ],
    "only choices 1 and 2": [
        event({"choices": [{"index": 1, "delta": {"content": "Hi "}}, {"index": 2, "delta": {"content": "No"}}]}),
        event({"choices": [{"index": 2, "delta": {"content": "No"}}]}),
        event({"choices": [{"index": 1, "delta": {"content": "you"}, "finish_reason": "stop"}]}),
    ],
    "bare values beside it": [b"data: 7\n\ndata: null\n\n", chunk(content="Hi you"), chunk("stop")],
    "a bare value in the same event": [b"data: 7\n" + chunk(content="Hi you"), chunk("stop")],
    "blank lines before it": [b"\n", b"\r\n \n", chunk(content="Hi you"), chunk("stop")],
    "blank lines before a document": [b"\n\n", b'{"choices": [{"message": {"content": "Hi you"}}]}'],
    "no choice index": [event({"choices": [{"delta": {"content": "Hi you"}, "finish_reason": "stop"}]})],
    "repeated final message": [
        chunk(content="Hi you"),
        event({"choices": [{"index": 0, "message": {"content": "Hi you"}, "finish_reason": "stop"}]}),
    ],
    "message alone": [event({"choices": [{"index": 0, "message": {"content": "Hi you"}, "finish_reason": "stop"}]})],
    "growing message": [
        event({"choices": [{"message": {"content": "Hi "}}]}),
        event({"choices": [{"message": {"content": "Hi you"}, "finish_reason": "stop"}]}),
    ],
    "plain JSON body": [json.dumps({"choices": [{"message": {"content": "Hi you"}}]}, indent=2).encode()],
    "several JSON lines": [
        b'{"choices": [{"delta": {"content": "Hi "}}]}\n{"choices": [{"delta": {"content": "you"}, "finish_reason": "stop"}]}'
    ],
    "chunks in a list": [event([{"choices": [{"delta": {"content": "Hi you"}, "finish_reason": "stop"}]}])],
}


@pytest.mark.parametrize("body", TEXTS.values(), ids=TEXTS)
def test_text_is_read_right_however_it_is_sent(body: list[bytes]) -> None:
    reply = read_reply(body)
    assert (reply.text, reply.complete, reply.error, reply.notes) == ("Hi you", True, None, ())


def test_a_malformed_event_is_skipped_and_noted() -> None:
    reply = read_reply([chunk(content="Hi "), b"data: {oops\n\n", chunk(content="you"), chunk("stop")])
    assert (reply.text, reply.complete) == ("Hi you", True)
    assert reply.notes == ("an event that is not JSON was skipped",)


def test_invalid_utf8_becomes_the_replacement_character() -> None:
    reply = read_reply([b'data: {"choices":[{"delta":{"content":"a\xff\xe4b"},"finish_reason":"stop"}]}\n\n'])
    assert reply.text == "a\ufffd\ufffdb"


def test_a_surrogate_pair_split_over_two_deltas_is_joined_and_a_lone_half_replaced() -> None:
    reply = read_reply([chunk(content="\ud83d"), chunk(content="\ude00 \udead"), chunk("stop", content="\ud83d")])
    assert reply.text == "😀 \ufffd\ufffd"


def test_surrogates_in_arguments_are_joined_or_replaced() -> None:
    reply = streamed(part('{"a": "\\ud83d\\ude00", "b": "\\ud83d"}', name="t", index=0, id="c1"))
    assert wanted(reply) == [("t", {"a": "😀", "b": "\ufffd"})]


FINISHES = [
    ("stop", "stop"),
    ("tool_calls", "tool_calls"),
    ("length", "length"),
    ("max_tokens", "length"),
    ("MAX_TOKENS", "length"),
    ("content_filter", "content_filter"),
    ("sensitive", "content_filter"),
    ("SAFETY", "content_filter"),
    ("whatever", "whatever"),
]


@pytest.mark.requirement("model.complete")
@pytest.mark.parametrize(("sent", "meant"), FINISHES)
def test_a_finish_reason_ends_the_answer_and_has_one_name(sent: str, meant: str) -> None:
    reply = read_reply([chunk(content="Hi"), chunk(sent)])
    assert (reply.text, reply.finish_reason, reply.complete) == ("Hi", meant, True)


@pytest.mark.requirement("model.complete")
@pytest.mark.parametrize("reason", ["error", "network_error", "insufficient_system_resource"])
def test_a_finish_reason_that_means_a_failure_is_one(reason: str) -> None:
    reply = read_reply([chunk(content="Hi"), chunk(reason), DONE])
    assert (reply.text, reply.complete) == ("Hi", False)
    assert reply.error


REASONING = {
    "reasoning_content": [chunk(reasoning_content="hm, "), chunk(reasoning_content="so"), chunk(content="Yes")],
    "reasoning": [chunk(reasoning="hm, "), chunk(reasoning="so"), chunk(content="Yes")],
    "reasoning_details": [chunk(reasoning_details=[{"text": "hm, "}, {"content": "so"}]), chunk(content="Yes")],
    "both names": [chunk(reasoning="hm, so", reasoning_details=[{"text": "hm, so"}]), chunk(content="Yes")],
    "think tags": [chunk(content="<think>hm, so</think>\n\nYes")],
    "think tags in pieces": [chunk(content=c) for c in "\n<think>hm, so</think>\n\nYes"],
    "thinking parts": [
        chunk(content=[{"type": "thinking", "thinking": [{"type": "text", "text": "hm, so"}]}]),
        chunk(content=[{"type": "text", "text": "Yes"}]),
    ],
    "tags beside reasoning_content": [
        chunk(content="<think>hm, so", reasoning_content="hm, "),
        chunk(content="</think>Yes", reasoning_content="so"),
    ],
    "message": [event({"choices": [{"message": {"reasoning_content": "hm, so", "content": "Yes"}}]})],
}


@pytest.mark.parametrize("body", REASONING.values(), ids=REASONING)
def test_reasoning_is_kept_apart_from_text(body: list[bytes]) -> None:
    reply = read_reply([*body, chunk("stop")])
    assert (reply.reasoning, reply.text, reply.complete) == ("hm, so", "Yes", True)


def detail(text: str | None = None, **fields: Any) -> dict[str, Any]:
    return {"type": "reasoning.text", **({} if text is None else {"text": text}), **fields}


SIGNED = detail("hm, so", index=0, format="f", signature="s/g=")
SEALED = {"type": "reasoning.encrypted", "data": "AAA=", "index": 0, "id": "t1"}
RECORDS: dict[str, tuple[list[dict[str, Any]], list[dict[str, Any]]]] = {
    "one in pieces": (
        [detail("hm, ", index=0, format="f", signature=None), detail("so", index=0), detail(index=0, signature="s/g=")],
        [SIGNED],
    ),
    "no index": ([detail("hm, "), detail("so")], [detail("hm, so")]),
    "by index": (
        [detail("a", index=0), detail("b", index=1), detail("c", index=0)],
        [detail("ac", index=0), detail("b", index=1)],
    ),
    "by type": ([detail("a", index=0), SEALED], [detail("a", index=0), SEALED]),
    "by id": ([SEALED, {**SEALED, "id": "t2"}], [SEALED, {**SEALED, "id": "t2"}]),
    "sealed, in pieces": ([{**SEALED, "data": "AA"}, {"index": 0, "data": "A="}], [SEALED]),
    "sealed, no index": (
        [{"type": "reasoning.encrypted", "data": "A"}] * 2,
        [{"type": "reasoning.encrypted", "data": "A"}] * 2,
    ),
    "no index, after another": (
        [detail("a"), {"type": "reasoning.summary", "summary": "s"}, detail("b")],
        [detail("a"), {"type": "reasoning.summary", "summary": "s"}, detail("b")],
    ),
    "halves of a character": ([detail("\ud83d", index=0), detail("\ude00", index=0)], [detail("😀", index=0)]),
    "unknown": ([{"odd": {"a": [1]}}], [{"odd": {"a": [1]}}]),
}


@pytest.mark.requirement("model.echo")
@pytest.mark.parametrize(("sent", "meant"), RECORDS.values(), ids=RECORDS)
def test_fragments_of_a_record_of_reasoning_are_one_record_again(
    sent: list[dict[str, Any]], meant: list[dict[str, Any]]
) -> None:
    apart = read_reply([*(chunk(reasoning_details=[item]) for item in sent), chunk("stop")])
    assert list(apart.blocks) == list(read_reply([chunk("stop", reasoning_details=sent)]).blocks) == meant


@pytest.mark.requirement("model.echo")
def test_a_whole_message_brings_its_records_where_no_deltas_did() -> None:
    whole = event({"choices": [{"message": {"content": "Yes", "reasoning_details": [SIGNED, SIGNED, "odd"]}}]})
    assert read_reply([whole, chunk("stop")]).blocks == (SIGNED, SIGNED)
    assert read_reply([chunk(reasoning_details=["odd", SEALED]), whole, chunk("stop")]).blocks == (SEALED,)


@pytest.mark.parametrize("text", ["<thin", "<b>think</b>", "say <think>x</think>", "  plain", "<"])
def test_text_that_only_resembles_think_tags_stays_text(text: str) -> None:
    assert read_reply([*(chunk(content=c) for c in text), chunk("stop")]).text == text


def test_reasoning_that_is_never_closed_is_no_text() -> None:
    reply = read_reply([chunk(content="<think>hm, so"), chunk("length")])
    assert (reply.text, reply.reasoning) == ("", "hm, so")


FULL = {"prompt_tokens": 9, "completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": 3}}
COUNTED = Usage(prompt_tokens=9, completion_tokens=4, cached_tokens=3)
USAGES = {
    "last chunk": [event({"choices": [], "usage": FULL})],
    "in the choice": [event({"choices": [{"index": 0, "delta": {}, "usage": FULL}]})],
    "x_groq": [event({"choices": [], "x_groq": {"usage": FULL}})],
    "last wins": [event({"usage": {"prompt_tokens": 1, "completion_tokens": 1}}), event({"usage": FULL})],
    "then nothing": [
        event({"usage": FULL}),
        event({"usage": None}),
        event({"usage": {"prompt_tokens": 0, "completion_tokens": 0}}),
    ],
    "hit tokens": [event({"usage": {"prompt_tokens": 9, "completion_tokens": 4, "prompt_cache_hit_tokens": 3}})],
    "other names": [
        event({"usage": {"input_tokens": 9, "output_tokens": 4, "input_tokens_details": {"cached_tokens": 3}}})
    ],
}


@pytest.mark.parametrize("extra", USAGES.values(), ids=USAGES)
def test_usage_is_read_wherever_it_stands(extra: list[bytes]) -> None:
    assert read_reply([chunk("stop", content="x"), *extra, DONE]).usage == COUNTED


@pytest.mark.parametrize(
    "usage",
    [
        None,
        {},
        {"prompt_tokens": 1},
        {"prompt_tokens": -1, "completion_tokens": 2},
        {"prompt_tokens": True, "completion_tokens": 2},
        "9",
    ],
)
def test_usage_that_is_not_whole_counts_as_none(usage: Any) -> None:
    assert read_reply([chunk("stop", content="x"), event({"choices": [], "usage": usage}), DONE]).usage is None


ERRORS = {
    "object": {"error": {"message": "too busy", "type": "overloaded_error"}},
    "text": {"error": "too busy"},
    "list": [{"error": {"code": 503, "message": "too busy"}}],
    "texts": {"errors": ["too busy"]},
    "errors": {"errors": [{"message": "too busy"}]},
    "code and message": {"code": "1305", "message": "too busy"},
    "error_code and error_msg": {"error_code": 336003, "error_msg": "too busy"},
    "nested": {"error": {"error": {"message": "too busy"}}},
    "code and msg": {"code": 500, "msg": "too\nbusy"},
    "message": {"message": "too busy"},
    "object error": {"object": "error", "message": "too busy", "code": 40001},
    "detail": {"detail": "too busy"},
    "typed": {"type": "error", "error": {"type": "overloaded_error", "message": "too busy"}},
    "base_resp": {"base_resp": {"status_code": 1002, "status_msg": "too busy"}},
    "in the choice": {"choices": [{"index": 0, "delta": {}, "error": {"code": 502, "message": "too busy"}}]},
}


@pytest.mark.requirement("model.quirks")
@pytest.mark.parametrize("error", ERRORS.values(), ids=ERRORS)
def test_an_error_in_any_shape_is_told_and_keeps_the_text(error: Any) -> None:
    reply = read_reply([chunk(content="Hi"), event(error)])
    assert (reply.text, reply.error, reply.complete) == ("Hi", "too busy", False)
    alone = read_reply([json.dumps(error).encode()])
    assert (alone.text, alone.error, alone.complete) == ("", "too busy", False)
    bare = read_reply([chunk(content="Hi"), json.dumps(error).encode() + b"\n"])
    assert bare.error == "too busy" or isinstance(error, list)


def test_an_error_after_the_finish_reason_still_is_an_error() -> None:
    reply = read_reply([chunk("error", content="Hi"), DONE])
    assert (reply.text, reply.complete, reply.finish_reason) == ("Hi", False, "error")
    assert reply.error


@pytest.mark.parametrize(
    "extra", [{"error": None}, {"code": 0, "message": "success"}, {"base_resp": {"status_code": 0}}]
)
def test_a_report_of_success_is_no_error(extra: dict[str, Any]) -> None:
    whole = {"choices": [{"index": 0, "delta": {"content": "Hi"}, "finish_reason": "stop"}], **extra}
    assert read_reply([event(whole)]).complete
    assert read_reply([event(extra), event(whole)]).complete


NOT_WHOLE = {
    "cut after text": [chunk(content="Hi")],
    "cut in an event": [chunk(content="Hi"), b'data: {"choices": [{"delta": {"conte'],
    "cut in a call": [chunk(tool_calls=[part(A[:6], name="read_file", index=0, id="c1")])],
    "nothing": [],
    "blanks": [b"\n", b" \n"],
    "half a BOM": [b"\xef\xbb"],
    "only comments": [b": wait\n\n: wait\n\n"],
    "cut after the first line of JSON": [b'{"choices": [{"delta": {"content": "Hi"}}]}'],
    "half a document": [b'{"choices": [{"message": {"content": "Hi'],
    "a document without choices": [b'{"status": "ok"}'],
    "an empty list": [b"[]"],
    "plain words": [b"upstream connect error"],
    "a web page": [b"<!doctype html><title>Sign in</title>"],
    "deep nesting": [b"[" * 100_000],
    "deep nesting, closed": [b"[" * 900 + b"]" * 900],
    "deep errors": [b'data: {"error": ' * 1 + b'{"error": ' * 900 + b"1" + b"}" * 901],
    "a bare value": [b"data: 7\n\ndata: null\n\n"],
}


@pytest.mark.requirement("model.complete", "model.quirks")
@pytest.mark.parametrize("body", NOT_WHOLE.values(), ids=NOT_WHOLE)
def test_what_is_no_whole_answer_is_not_complete(body: list[bytes]) -> None:
    assert not read_reply(body).complete


def test_finish_length_is_told_so_that_no_call_runs() -> None:
    reply = streamed(part(A, name="read_file", index=0, id="c1"), finish="length")
    assert (reply.finish_reason, reply.complete) == ("length", True)


def test_a_million_small_fragments_take_linear_time() -> None:
    piece = chunk(tool_calls=[part("xxxx", index=0)])
    body = chunk(tool_calls=[part('{"a": "', name="t", index=0, id="c1")]) + piece * 50_000
    reply = read_reply([body, chunk(tool_calls=[part('"}', index=0)]), chunk("stop")])
    assert len(reply.tool_calls[0].arguments["a"]) == 200_000


@pytest.mark.requirement("model.quirks")
def test_what_is_no_object_among_calls_and_what_is_null_in_a_later_fragment_is_passed_over() -> None:
    call = {"id": "a", "function": {"name": "list_dir", "arguments": "{}"}}
    for holder in ("message", "delta"):
        body = json.dumps({"choices": [{holder: {"tool_calls": [None, "x", call]}}]}).encode()
        assert [found.id for found in read_reply([body]).tool_calls] == ["a"]
    parts = ({"index": 0, "text": "h", "signature": "s"}, {"index": 0, "text": "m", "signature": None})
    chunks = [json.dumps({"choices": [{"delta": {"reasoning_details": [part]}}]}).encode() for part in parts]
    reply = read_reply([b"data: " + chunk + b"\n\n" for chunk in chunks])
    assert reply.blocks == ({"index": 0, "text": "hm", "signature": "s"},)


@pytest.mark.requirement("model.quirks")
def test_an_event_of_blanks_says_nothing() -> None:
    body = b'data:   \n\ndata: {"choices": [{"delta": {"content": "x"}, "finish_reason": "stop"}]}\n\ndata: [DONE]\n\n'
    reply = read_reply([body])
    assert (reply.text, reply.complete, reply.notes) == ("x", True, ())
