import json
from collections.abc import Iterator
from contextlib import contextmanager
from html.parser import HTMLParser
from ipaddress import IPv4Address
from pathlib import Path
from urllib.parse import quote
from uuid import uuid4

import anyio
import httpx
import pytest
from redis.asyncio import Redis
from redis.exceptions import ConnectionError as RedisConnectionError
from starlette.applications import Starlette

from gateway.adapter import Button, OutcomeUnknown, Outgoing, Rejected, TapReply, Unreachable
from gateway.adapters.web import WebAdapter
from gateway.adapters.web.log import KEPT_CHANGES, KEPT_MESSAGES, SNAPSHOT_MESSAGES, WebLog, WebMessage
from gateway.http import BODY_BYTES, build_app, build_server, listen
from gateway.text import RichText, Span
from tests.servers.valkey import Valkey, start_valkey
from tests.servers.web import OWNER, TOKEN, WebChat, start_web_chat

PATIENCE = 20.0
EVERYWHERE = str(IPv4Address(0))


@pytest.fixture
def valkey(tmp_path: Path) -> Iterator[Valkey]:
    with start_valkey(tmp_path / "valkey") as running:
        yield running


@pytest.fixture
def chat(valkey: Valkey) -> Iterator[WebChat]:
    with start_web_chat(valkey.path) as running:
        yield running


@pytest.fixture
def stranger(chat: WebChat) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=chat.address, headers={"Origin": chat.address}, timeout=PATIENCE) as client:
        yield client


@pytest.fixture
def owner(stranger: httpx.Client) -> httpx.Client:
    assert stranger.get("/", params={"token": TOKEN}).status_code == 200
    return stranger


class Event:
    def __init__(self, block: list[str]) -> None:
        fields = dict(line.split(": ", 1) for line in block)
        self.kind = fields.get("event", "message")
        self.data = json.loads(fields["data"])
        self.position = fields.get("id", "")


@contextmanager
def following(client: httpx.Client, after: str = "") -> Iterator[Iterator[Event]]:
    headers = {"Last-Event-ID": after} if after else {}
    with client.stream("GET", "/api/events", headers=headers) as response:
        assert response.status_code == 200
        yield _events(response)


def _events(response: httpx.Response) -> Iterator[Event]:
    block: list[str] = []
    for line in response.iter_lines():
        if line:
            block.append(line)
        elif block:
            yield Event(block)
            block = []


def until_ready(events: Iterator[Event]) -> tuple[list[Event], str]:
    taken: list[Event] = []
    for event in events:
        if event.kind == "ready":
            return taken, event.position
        taken.append(event)
    raise AssertionError("the stream ended")


def shown(client: httpx.Client, after: str = "") -> list[str]:
    with following(client, after) as events:
        return [event.data["text"] for event in until_ready(events)[0] if event.kind == "message"]


def say(client: httpx.Client, text: str, message_id: str = "") -> httpx.Response:
    return client.post("/api/messages", json={"id": message_id or str(uuid4()), "text": text})


def plain(text: str) -> Outgoing:
    return Outgoing(text=RichText(text))


@pytest.mark.requirement("web.token")
@pytest.mark.parametrize("path", ["/", "/static/chat.js", "/api/events", "/api/files/x", "/elsewhere"])
def test_without_the_cookie_nothing_is_served(stranger: httpx.Client, path: str) -> None:
    answer = stranger.get(path)
    assert answer.status_code == 403
    assert "paigate up" in answer.text
    assert "打开" in answer.text


@pytest.mark.requirement("web.token")
def test_without_the_cookie_nothing_is_taken(stranger: httpx.Client, chat: WebChat) -> None:
    assert say(stranger, "hello").status_code == 403
    assert chat.listener.messages.empty()


@pytest.mark.requirement("web.token")
def test_the_token_of_the_link_becomes_a_strict_cookie_that_is_not_the_token(stranger: httpx.Client) -> None:
    answer = stranger.get("/", params={"token": TOKEN})
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert "Path=/" in cookie
    assert TOKEN not in cookie
    assert TOKEN not in answer.text
    assert '<meta http-equiv="refresh" content="0;url=/">' in answer.text
    assert "Paigate" in stranger.get("/").text


@pytest.mark.requirement("web.token")
@pytest.mark.parametrize("token", ["", "wrong", TOKEN[:-1], "密码"])
def test_a_wrong_token_gives_no_cookie_even_to_the_owner(owner: httpx.Client, token: str) -> None:
    answer = owner.get("/", params={"token": token})
    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers


@pytest.mark.requirement("web.token")
def test_the_link_names_an_address_a_browser_can_open(valkey: Valkey) -> None:
    def link(host: str) -> str:
        redis = Redis(unix_socket_path=str(valkey.path))
        return WebAdapter(redis=redis, token="a/b", host=host, port=8750).link

    assert link("127.0.0.1") == "http://127.0.0.1:8750/?token=a%2Fb"
    assert link(EVERYWHERE).startswith("http://127.0.0.1:8750/")
    assert link("::1").startswith("http://[::1]:8750/")
    assert link("box.example").startswith("http://box.example:8750/")


@pytest.mark.requirement("web.origin")
@pytest.mark.parametrize("origin", ["http://evil.example", "null", "", "http://127.0.0.1:1", "http://["])
def test_a_post_of_another_origin_is_refused(owner: httpx.Client, chat: WebChat, origin: str) -> None:
    owner.headers["Origin"] = origin
    assert say(owner, "hello").status_code == 403
    assert chat.listener.messages.empty()


@pytest.mark.requirement("web.origin")
def test_a_post_without_an_origin_is_refused(owner: httpx.Client) -> None:
    del owner.headers["Origin"]
    assert say(owner, "hello").status_code == 403


@pytest.mark.requirement("web.origin")
@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "", "[", "192.0.2.7"])
def test_a_request_for_another_host_name_is_refused(owner: httpx.Client, host: str) -> None:
    answer = owner.get("/", headers={"Host": host})
    assert answer.status_code in {400, 421}
    assert "<title>" not in answer.text


@pytest.mark.requirement("web.origin")
def test_no_answer_allows_another_origin_to_read_it(owner: httpx.Client) -> None:
    answer = owner.get("/", headers={"Origin": "http://evil.example"})
    assert not [name for name in answer.headers if name.startswith("access-control-")]


def _with_host(app: Starlette, host: str) -> int:
    async def ask() -> int:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1") as client:
            return (await client.get("/healthz", headers={"Host": host})).status_code

    return anyio.run(ask)


async def _well() -> dict[str, bool]:
    return {"redis": True}


@pytest.mark.requirement("web.loopback", "web.origin")
def test_it_listens_and_answers_on_loopback_unless_a_host_is_set() -> None:
    with listen(port=0) as listening:
        assert listening.getsockname()[0] == "127.0.0.1"
    default = build_app([], health=_well)
    assert [_with_host(default, host) for host in ("localhost:8750", "[::1]:8750", "192.0.2.7")] == [200, 200, 421]
    named = build_app([], health=_well, host="192.0.2.7", names=["Box.example"])
    assert [_with_host(named, host) for host in ("192.0.2.7", "box.example", "192.0.2.8")] == [200, 200, 421]
    everywhere = build_app([], health=_well, host=EVERYWHERE)
    assert [_with_host(everywhere, host) for host in ("192.0.2.7", "rebound.example")] == [200, 421]


@pytest.mark.requirement("web.csp")
@pytest.mark.parametrize("path", ["/", "/static/chat.js", "/healthz", "/nothing"])
def test_every_answer_carries_a_policy_without_inline_script(owner: httpx.Client, path: str) -> None:
    headers = owner.get(path).headers
    policy = dict(part.split(" ", 1) for part in headers["content-security-policy"].split("; "))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
    assert policy["frame-ancestors"] == policy["base-uri"] == "'none'"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"


class _Inline(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        self.found += [name for name in names if name == "style" or name.startswith("on")]
        if tag == "style" or (tag == "script" and "src" not in names):
            self.found.append(tag)
        self.found += [value for name, value in attrs if name in {"src", "href"} and not (value or "").startswith("/")]


@pytest.mark.requirement("web.csp")
def test_the_page_has_nothing_inline_and_nothing_from_elsewhere(owner: httpx.Client) -> None:
    inline = _Inline()
    inline.feed(owner.get("/").text)
    assert inline.found == []


@pytest.mark.requirement("web.messages")
def test_a_message_is_told_with_its_id_and_language_and_shown(owner: httpx.Client, chat: WebChat) -> None:
    message_id = str(uuid4())
    answer = owner.post("/api/messages", json={"id": message_id, "text": "你好", "language": "zh"})
    assert (answer.status_code, answer.json()) == (200, {"ok": True})
    said = chat.listener.messages.get_nowait()
    assert (said.message_id, said.text, said.language) == (message_id, "你好", "zh")
    assert said.address == OWNER
    assert shown(owner) == ["你好"]


@pytest.mark.requirement("web.messages", "inbox.dedupe")
def test_a_message_posted_again_has_the_same_answer_and_is_shown_once(owner: httpx.Client, chat: WebChat) -> None:
    message_id = str(uuid4())
    assert [say(owner, "once", message_id).json() for _ in range(3)] == [{"ok": True}] * 3
    assert {chat.listener.messages.get_nowait().message_id for _ in range(3)} == {message_id}
    assert shown(owner) == ["once"]


@pytest.mark.requirement("web.messages")
def test_what_both_say_is_shown_in_order_and_edits_stay_in_place(owner: httpx.Client, chat: WebChat) -> None:
    say(owner, "one")
    edited = chat.send(plain("two"))
    say(owner, "three")
    chat.edit(edited, plain("two, edited"))
    chat.edit("gone", plain("nobody sees this"))
    with following(owner) as events:
        messages = [event.data for event in until_ready(events)[0] if event.kind == "message"]
    assert [message["text"] for message in messages] == ["one", "two, edited", "three"]
    assert [message["edited"] for message in messages] == [False, True, False]
    assert [message["number"] for message in messages] == [1, 2, 3]


@pytest.mark.requirement("inbox.stored-first")
def test_a_message_that_could_not_be_stored_is_not_acknowledged(owner: httpx.Client, chat: WebChat) -> None:
    message_id = str(uuid4())
    chat.listener.failure = RedisConnectionError("gone")
    refused = say(owner, "keep me", message_id)
    assert refused.status_code == 503
    assert "again" in refused.json()["error"]
    chat.listener.failure = None
    assert say(owner, "keep me", message_id).status_code == 200
    assert chat.listener.messages.get_nowait().message_id == message_id
    assert shown(owner) == ["keep me"]


@pytest.mark.requirement("bad.messages")
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"not json",
        b'{"id": "no-uuid", "text": "hello"}',
        b'{"id": "6f1ed002-ab5a-4e3c-9c1e-0a3a2d9b4f11", "text": ""}',
        b'{"id": "6f1ed002-ab5a-4e3c-9c1e-0a3a2d9b4f11", "text": " \\n\\t"}',
        b'{"id": "6f1ed002-ab5a-4e3c-9c1e-0a3a2d9b4f11", "text": "\\ud800"}',
        b'{"id": "6f1ed002-ab5a-4e3c-9c1e-0a3a2d9b4f11", "text": "\xff"}',
        b'{"id": "6f1ed002-ab5a-4e3c-9c1e-0a3a2d9b4f11", "text": "x", "extra": 1}',
    ],
)
def test_a_malformed_message_is_refused_with_a_reason(owner: httpx.Client, chat: WebChat, body: bytes) -> None:
    answer = owner.post("/api/messages", content=body)
    assert answer.status_code == 422
    assert answer.json()["error"]
    assert chat.listener.messages.empty()


@pytest.mark.requirement("bad.messages")
@pytest.mark.parametrize("text", ["🙂", "a\0b", "\u202e", "x" * 1_000_000], ids=["emoji", "nul", "bidi", "megabyte"])
def test_an_odd_message_reaches_the_listener_whole(owner: httpx.Client, chat: WebChat, text: str) -> None:
    assert say(owner, text).status_code == 200
    assert chat.listener.messages.get_nowait().text == text
    assert shown(owner)[0][:3] == text[:3]


@pytest.mark.requirement("bad.messages")
def test_a_body_over_the_limit_is_refused_with_and_without_its_length(owner: httpx.Client, chat: WebChat) -> None:
    large = b" " * (BODY_BYTES + 1)
    assert owner.post("/api/messages", content=large).status_code == 413
    pieces = (large[at : at + 65_536] for at in range(0, len(large), 65_536))
    assert owner.post("/api/messages", content=pieces).status_code == 413
    assert chat.listener.messages.empty()


@pytest.mark.requirement("web.deny-reason")
def test_a_tap_carries_its_reason_and_brings_back_the_reply(owner: httpx.Client, chat: WebChat) -> None:
    chat.listener.reply = TapReply(text="Denied", alert=True)
    answer = owner.post("/api/taps", json={"value": "a:1", "reason": "不要动这个文件", "language": "zh"})
    assert answer.json() == {"text": "Denied", "alert": True}
    tap = chat.listener.taps.get_nowait()
    assert (tap.value, tap.reason, tap.language, tap.address) == ("a:1", "不要动这个文件", "zh", OWNER)


@pytest.mark.requirement("approval.edit")
@pytest.mark.parametrize(
    "edits",
    [
        {},
        {"command": "set -e\n\tls 'a b'  \n"},
        {"new_text": ""},
        {f"name-{number}": "x" for number in range(8)},
        {"content": "x" * 99_993},
        {"content": "字" * 99_993},
    ],
    ids=["none", "lines", "emptied", "eight", "long", "long in bytes"],
)
def test_a_tap_carries_changed_arguments_sign_by_sign(
    owner: httpx.Client, chat: WebChat, edits: dict[str, str]
) -> None:
    assert owner.post("/api/taps", json={"value": "a:e", "edits": edits}).status_code == 200
    assert chat.listener.taps.get_nowait().edits == edits


@pytest.mark.requirement("approval.edit")
@pytest.mark.parametrize(
    "edits",
    [
        {f"name-{number}": "x" for number in range(9)},
        {"content": "x" * 99_994},
        {"x" * 100_001: ""},
        {"a": "x" * 50_000, "b": "x" * 50_000},
        {"command": None},
        {"command": ["ls"]},
        "ls",
        None,
    ],
    ids=["nine", "long", "long name", "long in all", "nothing", "list", "text", "null"],
)
def test_changes_that_are_none_or_too_many_are_refused_and_decide_nothing(
    owner: httpx.Client, chat: WebChat, edits: object
) -> None:
    answer = owner.post("/api/taps", json={"value": "a:e", "edits": edits})
    assert (answer.status_code, answer.json()) == (422, {"error": "The message is empty or malformed."})
    assert chat.listener.taps.empty()


@pytest.mark.requirement("approval.edit")
def test_a_card_brings_its_editable_arguments_until_it_is_decided(owner: httpx.Client, chat: WebChat) -> None:
    edit = Button(label="Edit", value="e", edits=True)
    card = Outgoing(role="card", text=RichText("Run?"), buttons=((edit,),), editable={"command": "ls\n"})
    message_id = chat.send(card)
    with following(owner) as events:
        snapshot, _ = until_ready(events)
        assert snapshot[1].data["editable"] == {"command": "ls\n"}
        assert snapshot[1].data["buttons"][0][0]["edits"]
        chat.edit(message_id, Outgoing(role="card", text=RichText("Allowed with changes")))
        (event,), _ = until_ready(events)
        assert (event.data["editable"], event.data["buttons"]) == ({}, [])


@pytest.mark.requirement("web.deny-reason")
def test_a_tap_that_could_not_be_stored_says_so(owner: httpx.Client, chat: WebChat) -> None:
    chat.listener.failure = RedisConnectionError("gone")
    answer = owner.post("/api/taps", json={"value": "a:1", "language": "zh"})
    assert answer.status_code == 503
    assert answer.json()["error"] == "暂时无法保存，请稍后再试。"
    assert owner.post("/api/taps", json={"value": ""}).status_code == 422


@pytest.mark.requirement("web.progress")
def test_a_message_is_followed_live_with_all_it_carries(owner: httpx.Client, chat: WebChat) -> None:
    chat.send(plain("before"))
    deny = Button(label="Deny", value="d", style="danger", asks_reason=True)
    with following(owner) as events:
        assert until_ready(events)[0][0].kind == "snapshot"
        card = Outgoing(
            role="card", text=RichText("Run?", (Span(0, 3, "bold"),)), buttons=((deny,),), diff="@@ -1 +1 @@\n-a\n+b\n"
        )
        message_id = chat.send(card)
        (event,), _ = until_ready(events)
        assert event.data["id"] == message_id
        assert event.data["spans"] == [{"start": 0, "end": 3, "style": "bold", "value": ""}]
        assert event.data["buttons"] == [
            [{"label": "Deny", "value": "d", "style": "danger", "asks_reason": True, "edits": False}]
        ]
        assert event.data["diff"].endswith("+b\n")
        chat.edit(message_id, plain("Denied"))
        (event,), _ = until_ready(events)
        assert (event.data["id"], event.data["text"], event.data["buttons"]) == (message_id, "Denied", [])


@pytest.mark.requirement("web.progress")
def test_an_edit_to_the_same_content_is_no_change(owner: httpx.Client, chat: WebChat) -> None:
    message_id = chat.send(plain("same"))
    with following(owner) as events:
        until_ready(events)
        chat.edit(message_id, plain("same"))
        chat.edit(message_id, plain("other"))
        assert [event.data["text"] for event in until_ready(events)[0]] == ["other"]


@pytest.mark.requirement("web.reconnect")
def test_a_stream_taken_up_again_brings_only_what_changed_since(owner: httpx.Client, chat: WebChat) -> None:
    chat.send(plain("before"))
    with following(owner) as events:
        _, position = until_ready(events)
    progress = chat.send(plain("step 1"))
    chat.send(plain("after"))
    for step in range(2, 30):
        chat.edit(progress, plain(f"step {step}"))
    assert shown(owner, position) == ["step 29", "after"]


@pytest.mark.requirement("web.reconnect")
@pytest.mark.parametrize("position", ["1-1", "9999999999999999999-0", "99999999999999999999-0", "nonsense", "-"])
def test_a_position_that_is_not_known_brings_everything(owner: httpx.Client, chat: WebChat, position: str) -> None:
    chat.send(plain("one"))
    with following(owner, position) as events:
        taken, _ = until_ready(events)
    assert [event.kind for event in taken] == ["snapshot", "message"]


@pytest.mark.requirement("web.reconnect")
def test_a_restarted_gateway_goes_on_where_the_stream_was(owner: httpx.Client, chat: WebChat) -> None:
    say(owner, "before")
    with following(owner) as events:
        _, position = until_ready(events)
        chat.stop()
        assert list(events) == []
    chat.start()
    chat.send(plain("after"))
    assert shown(owner, position) == ["after"]
    assert shown(owner) == ["before", "after"]


@pytest.mark.requirement("web.reconnect")
def test_while_valkey_is_killed_everything_answers_503_and_nothing_is_lost(
    owner: httpx.Client, chat: WebChat, valkey: Valkey
) -> None:
    say(owner, "before")
    message_id = chat.send(plain("sent"))
    with following(owner) as events:
        until_ready(events)
        valkey.kill()
        assert list(events) == []
    assert owner.get("/api/events").status_code == 503
    assert say(owner, "while down").status_code == 503
    assert owner.get("/api/files/x").status_code == 503
    with pytest.raises(OutcomeUnknown):
        chat.send(plain("lost?"))
    with pytest.raises(Unreachable):
        chat.edit(message_id, plain("lost?"))
    valkey.start()
    assert shown(owner) == ["before", "sent"]


@pytest.mark.requirement("web.reconnect")
def test_an_adapter_that_is_run_again_takes_and_tells_again(owner: httpx.Client, chat: WebChat) -> None:
    with following(owner) as events:
        until_ready(events)
        chat.break_receiving()
        assert list(events) == []
    assert say(owner, "nobody listens").status_code == 503
    chat.receive_again()
    with following(owner) as events:
        until_ready(events)
        assert say(owner, "heard").status_code == 200
        assert [event.data["text"] for event in until_ready(events)[0] if event.kind == "message"] == ["heard"]


@pytest.mark.requirement("web.download")
@pytest.mark.parametrize("name", ["hello.py", "报告 2.txt", 'a"b;c.txt', "../../etc/passwd"])
def test_a_file_is_downloaded_as_it_was_sent(owner: httpx.Client, chat: WebChat, name: str) -> None:
    message_id = chat.send_file(name, b"\x00\xff<script>")
    with following(owner) as events:
        message = until_ready(events)[0][-1].data
    assert (message["id"], message["role"], message["file"]) == (message_id, "file", {"name": name, "size": 10})
    answer = owner.get(f"/api/files/{message_id}")
    assert answer.content == b"\x00\xff<script>"
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["content-disposition"] == f"attachment; filename*=UTF-8''{quote(name, safe='')}"
    assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.requirement("web.download")
def test_what_is_no_file_or_too_large_is_refused(owner: httpx.Client, chat: WebChat) -> None:
    text = chat.send(plain("no file"))
    assert [owner.get(f"/api/files/{name}").status_code for name in (text, "unknown")] == [404, 404]
    with pytest.raises(Rejected):
        chat.send_file("big", bytes(chat.adapter.capabilities.file_bytes + 1))


@pytest.mark.requirement("web.messages")
def test_the_log_keeps_the_newest_and_stays_bounded(chat: WebChat, valkey: Valkey, owner: httpx.Client) -> None:
    async def fill() -> tuple[int, int, int]:
        async with Redis(unix_socket_path=str(valkey.path)) as redis:
            log = WebLog(redis, prefix="paigate")
            for number in range(KEPT_MESSAGES + 50):
                await log.add("owner", WebMessage(id=f"m{number}", role="notice", at="2026-01-01T00:00:00Z"))
            for number in range(KEPT_CHANGES):
                message = WebMessage(id="m1000", role="progress", at="2026-01-01T00:00:00Z", text=str(number))
                await log.replace("owner", message)
            keys = {key.decode().rpartition(":")[2]: key async for key in redis.scan_iter("*")}
            return (
                await redis.hlen(keys["messages"]),
                await redis.zcard(keys["order"]),
                await redis.xlen(keys["changes"]),
            )

    messages, order, changes = anyio.run(fill)
    assert messages == order == KEPT_MESSAGES
    assert changes < KEPT_CHANGES + 200
    with following(owner) as events:
        listed = until_ready(events)[0][0].data["ids"]
    assert len(listed) == SNAPSHOT_MESSAGES
    assert listed[-1] == f"m{KEPT_MESSAGES + 49}"


def test_health_tells_each_part_and_metrics_are_for_this_machine_only(owner: httpx.Client) -> None:
    async def ill() -> dict[str, bool]:
        return {"redis": False}

    async def ask() -> httpx.Response:
        transport = httpx.ASGITransport(build_app([], health=ill, names=["box.example"]))
        async with httpx.AsyncClient(transport=transport, base_url="http://box.example") as client:
            assert (await client.get("/metrics")).status_code == 404
            return await client.get("/healthz")

    answer = anyio.run(ask)
    assert (answer.status_code, answer.json()) == (503, {"ok": False, "redis": False})
    assert owner.get("/healthz").json() == {"ok": True, "redis": True}
    assert "python_info" in owner.get("/metrics").text


def test_the_server_keeps_no_access_log() -> None:
    assert build_server(build_app([], health=_well)).config.access_log is False
