import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from gateway.adapter import Button, Outgoing, TapReply
from gateway.text import RichText, Span
from tests.servers.valkey import start_valkey
from tests.servers.web import WebChat, start_web_chat

PATIENCE = 15.0
ALLOW = Button(label="Allow once", value="allow", style="good")
TASK = Button(label="This task", value="task")
DENY = Button(label="Deny", value="deny", style="danger", asks_reason=True)
EDIT = Button(label="Edit", value="edit", edits=True)
STOP = Button(label="Stop", value="stop")
DIFF = """--- a/hello.py
+++ b/hello.py
@@ -1,4 +1,4 @@
 def main():
-    print("Hello World")
--- a line that looks like a header
+    print("Hello PaiCLI, in a line that is much too long for the screen of any phone")
+++ another
 main()
"""

expect.set_options(timeout=PATIENCE * 1000)


@pytest.fixture
def chat(tmp_path: Path) -> Iterator[WebChat]:
    with start_valkey(tmp_path / "valkey") as valkey, start_web_chat(valkey.path) as running:
        yield running


@pytest.fixture
def opened(chat: WebChat, page: Page) -> Page:
    page.goto(chat.adapter.link)
    expect(page.locator("#connection")).to_have_text("Connected")
    return page


def field(page: Page) -> Locator:
    return page.locator("#text")


def messages(page: Page) -> Locator:
    return page.locator("article")


def texts(page: Page) -> Locator:
    return page.locator("article > .text")


def say(page: Page, text: str) -> None:
    field(page).fill(text)
    field(page).press("Enter")


def card(**changes: object) -> Outgoing:
    return Outgoing(
        **{"text": RichText("Change hello.py?"), "role": "card", "buttons": ((ALLOW, TASK), (DENY,)), **changes}
    )


def overflow(page: Page) -> int:
    return page.evaluate("document.documentElement.scrollWidth - window.innerWidth")


def small_targets(page: Page) -> list[str]:
    """Of what can be tapped and is visible, that which is less than 44 px in one direction."""
    return page.evaluate(
        """() => [...document.querySelectorAll("button, textarea, a.download")]
            .map((element) => [element.outerHTML, element.getBoundingClientRect()])
            .filter(([, box]) => box.width > 0 && Math.min(box.width, box.height) < 43.5)
            .map(([html]) => html)"""
    )


@pytest.mark.requirement("web.token")
def test_a_visitor_without_the_link_is_told_to_open_it(chat: WebChat, page: Page) -> None:
    page.goto(chat.address)
    expect(page.locator("body")).to_contain_text("paigate up")


@pytest.mark.requirement("web.token")
def test_the_link_leads_to_an_address_without_the_token_and_the_cookie_stays(opened: Page, chat: WebChat) -> None:
    assert opened.url == f"{chat.address}/"
    opened.reload()
    expect(opened.locator("#connection")).to_have_text("Connected")


@pytest.mark.requirement("web.phone")
def test_everything_fits_a_phone_and_a_thumb(opened: Page, chat: WebChat) -> None:
    assert (overflow(opened), small_targets(opened)) == (0, [])
    say(opened, "a" * 300 + " 把 Hello.java 里的 Hello World 改成 Hello PaiCLI" * 5)
    code = "x = " + "very_long_name + " * 30
    chat.send(Outgoing(text=RichText(code, (Span(0, len(code), "pre", "python"),)), role="answer"))
    chat.send(Outgoing(text=RichText("Working"), role="progress", buttons=((STOP,),)))
    chat.send_file("a-file-name-" + "without-end-" * 20 + ".txt", b"data")
    chat.send(card(diff=DIFF * 10, buttons=((ALLOW, TASK, DENY),)))
    expect(messages(opened)).to_have_count(5)
    assert (overflow(opened), small_targets(opened)) == (0, [])
    opened.get_by_role("button", name="Deny").tap()
    expect(opened.get_by_label("Why not?")).to_be_focused()
    assert (overflow(opened), small_targets(opened)) == (0, [])


@pytest.mark.requirement("web.messages")
def test_what_is_said_and_answered_stands_in_order_also_after_a_reload(opened: Page, chat: WebChat) -> None:
    expect(opened.locator("#welcome")).to_be_visible()
    say(opened, "first\nsecond line")
    assert chat.listener.messages.get(timeout=PATIENCE).text == "first\nsecond line"
    chat.send(Outgoing(text=RichText("answer"), role="answer"))
    say(opened, "third")
    for _ in range(2):
        expect(texts(opened)).to_have_text(["first\nsecond line", "answer", "third"])
        expect(opened.locator("article time")).to_have_count(3)
        expect(opened.locator("#welcome")).to_be_hidden()
        opened.reload()


@pytest.mark.requirement("web.messages")
def test_shift_enter_makes_a_line_and_enter_while_composing_sends_nothing(opened: Page, chat: WebChat) -> None:
    field(opened).fill("one")
    field(opened).press("Shift+Enter")
    keyboard = opened.context.new_cdp_session(opened)
    keyboard.send("Input.imeSetComposition", {"text": "ni", "selectionStart": 2, "selectionEnd": 2})
    keyboard.send("Input.dispatchKeyEvent", {"type": "rawKeyDown", "key": "Enter", "windowsVirtualKeyCode": 13})
    keyboard.send("Input.insertText", {"text": "你"})
    expect(field(opened)).to_have_value("one\n你")
    field(opened).press("Enter")
    expect(texts(opened)).to_have_text(["one\n你"])
    assert chat.listener.messages.get(timeout=PATIENCE).text == "one\n你"


@pytest.mark.requirement("web.messages")
def test_rich_text_becomes_elements_and_markup_stays_text(opened: Page, chat: WebChat) -> None:
    text = "🙂 bold code <img src=x onerror=alert(1)> good bad"
    good, bad = text.index("good"), text.index("bad")
    spans = (
        Span(2, 11, "italic"),
        Span(2, 6, "bold"),
        Span(7, 11, "code"),
        Span(good, good + 4, "link", "https://example.org/"),
        Span(bad, bad + 3, "link", "javascript:alert(1)"),
    )
    chat.send(Outgoing(text=RichText(text, spans), role="answer"))
    message = texts(opened)
    expect(message).to_have_text(text)
    expect(message.locator("em > strong")).to_have_text("bold")
    expect(message.locator("em > code")).to_have_text("code")
    expect(message.locator("a")).to_have_text(["good"])
    expect(message.locator("a")).to_have_attribute("rel", "noopener noreferrer")
    expect(message.locator("img")).to_have_count(0)


@pytest.mark.requirement("web.messages")
def test_a_message_that_is_refused_can_be_edited_again(opened: Page, chat: WebChat) -> None:
    field(opened).fill("x")
    field(opened).evaluate("element => { element.value = 'half \\ud83d a sign' }")
    field(opened).press("Enter")
    expect(opened.locator("article .footer")).to_contain_text("Not accepted")
    opened.reload()
    opened.get_by_role("button", name="Edit again").tap()
    expect(messages(opened)).to_have_count(0)
    say(opened, "mended")
    assert chat.listener.messages.get(timeout=PATIENCE).text == "mended"


@pytest.mark.requirement("web.progress")
def test_progress_changes_in_place_and_its_button_stays_under_the_finger(opened: Page, chat: WebChat) -> None:
    progress = chat.send(Outgoing(text=RichText("step 1"), role="progress", buttons=((STOP,),)))
    stop = opened.get_by_role("button", name="Stop")
    stop.evaluate("button => { button.dataset.pressed = 'yes' }")
    for step in range(2, 6):
        chat.edit(progress, Outgoing(text=RichText(f"step {step}"), role="progress", buttons=((STOP,),)))
    expect(texts(opened)).to_have_text(["step 5"])
    expect(stop).to_have_attribute("data-pressed", "yes")
    stop.tap()
    assert chat.listener.taps.get(timeout=PATIENCE).value == "stop"
    chat.edit(progress, Outgoing(text=RichText("stopped"), role="progress"))
    expect(texts(opened)).to_have_text(["stopped"])
    expect(stop).to_have_count(0)


@pytest.mark.requirement("web.card")
def test_a_card_shows_its_diff_waits_for_the_tap_and_then_its_outcome(opened: Page, chat: WebChat) -> None:
    chat.listener.reply = TapReply(text="Allowed once")
    chat.listener.released.clear()
    preview = RichText("Change hello.py?\n+x", (Span(17, 19, "pre", "diff"),))
    message_id = chat.send(card(text=preview, diff=DIFF))
    expect(opened.locator(".diff")).to_have_count(1)
    expect(opened.locator(".line.added")).to_have_count(2)
    expect(opened.locator(".line.removed")).to_have_count(2)
    expect(opened.locator(".line.head")).to_have_text(["--- a/hello.py", "+++ b/hello.py"])
    colours = {
        kind: opened.locator(f".line.{kind}").first.evaluate("line => getComputedStyle(line).backgroundColor")
        for kind in ("added", "removed", "same")
    }
    assert len(set(colours.values())) == 3
    opened.get_by_role("button", name="Allow once").tap()
    assert chat.listener.taps.get(timeout=PATIENCE).value == "allow"
    for button in opened.locator("article button").all():
        expect(button).to_be_disabled()
    chat.listener.released.set()
    expect(opened.locator("#toast")).to_have_text("Allowed once")
    chat.edit(message_id, Outgoing(text=RichText("Allowed once by owner"), role="card", diff=DIFF))
    expect(texts(opened)).to_have_text(["Allowed once by owner"])
    expect(opened.locator("article button")).to_have_count(0)


@pytest.mark.requirement("web.card")
def test_a_tap_that_does_not_get_through_can_be_repeated(opened: Page, chat: WebChat) -> None:
    chat.send(card())
    allow = opened.get_by_role("button", name="Allow once")
    expect(allow).to_be_visible()
    chat.stop()
    allow.tap()
    expect(opened.locator("#toast")).to_contain_text("tap again")
    chat.start()
    expect(allow).to_be_enabled()
    expect(opened.locator("#connection")).to_have_text("Connected")
    allow.tap()
    assert chat.listener.taps.get(timeout=PATIENCE).value == "allow"


@pytest.mark.requirement("web.card")
def test_a_long_diff_is_folded_and_opens(opened: Page, chat: WebChat) -> None:
    long = "@@ -0,0 +1,200 @@\n" + "".join(f"+line {number}\n" for number in range(200))
    chat.send(card(diff=long))
    fold = opened.get_by_role("button", name="Show all 201 lines")
    expect(fold).to_have_attribute("aria-expanded", "false")
    folded = opened.locator(".diff-lines").bounding_box()
    fold.tap()
    expect(opened.get_by_role("button", name="Show less")).to_have_attribute("aria-expanded", "true")
    opened_up = opened.locator(".diff-lines").bounding_box()
    assert folded is not None
    assert opened_up is not None
    assert opened_up["height"] > 5 * folded["height"]


@pytest.mark.requirement("web.deny-reason")
def test_deny_takes_a_typed_reason(opened: Page, chat: WebChat) -> None:
    message_id = chat.send(card())
    opened.get_by_role("button", name="Deny").tap()
    reason = opened.get_by_label("Why not?")
    expect(reason).to_be_focused()
    reason.press("Escape")
    expect(reason).to_have_count(0)
    opened.get_by_role("button", name="Deny").tap()
    reason.fill("use the other file")
    chat.edit(message_id, card(text=RichText("Change hello.py? (2 waiting)")))
    expect(texts(opened)).to_have_text(["Change hello.py? (2 waiting)"])
    expect(reason).to_have_value("use the other file")
    opened.locator("form.reason").get_by_role("button", name="Deny").tap()
    tap = chat.listener.taps.get(timeout=PATIENCE)
    assert (tap.value, tap.reason) == ("deny", "use the other file")


def asking(opened: Page, chat: WebChat, editable: dict[str, str]) -> str:
    """Show a card with these arguments and open them; returns the message's id."""
    message_id = chat.send(card(buttons=((ALLOW, TASK), (EDIT,), (DENY,)), editable=editable))
    opened.get_by_role("button", name="Edit").tap()
    return message_id


@pytest.mark.requirement("approval.edit")
def test_arguments_are_changed_on_the_card_and_allowed_as_they_are_then(opened: Page, chat: WebChat) -> None:
    chat.listener.reply = TapReply(text="Allowed with changes by you, once")
    message_id = asking(opened, chat, {"command": "set -e\npytest"})
    command = opened.get_by_label("Command")
    allow = opened.get_by_role("button", name="Allow with these changes")
    expect(command).to_be_focused()
    expect(command).to_have_value("set -e\npytest")
    expect(opened.get_by_role("button", name="Allow once")).to_be_hidden()
    expect(allow).to_be_disabled()

    command.fill("set -e\n\tpytest -k 'a  b' “x”\n")
    allow.tap()
    tap = chat.listener.taps.get(timeout=PATIENCE)
    assert (tap.value, tap.reason) == ("edit", "")
    assert tap.edits == {"command": "set -e\n\tpytest -k 'a  b' “x”\n"}
    expect(opened.locator("#toast")).to_have_text("Allowed with changes by you, once")
    expect(command).to_have_count(0)
    chat.edit(message_id, Outgoing(text=RichText("✅ Allowed with changes by you, once"), role="card"))
    expect(texts(opened)).to_have_text(["✅ Allowed with changes by you, once"])
    expect(opened.locator("article button")).to_have_count(0)


@pytest.mark.requirement("approval.edit")
def test_only_arguments_that_were_touched_are_sent_whatever_their_line_ends(opened: Page, chat: WebChat) -> None:
    asking(opened, chat, {"old_text": "a\r\nb", "new_text": "c\r\nd", "__proto__": "x"})
    expect(opened.locator("form.edit label > span")).to_have_text(["old_text", "New text", "__proto__"])
    allow = opened.get_by_role("button", name="Allow with these changes")
    new_text = opened.get_by_label("New text")
    new_text.fill("c\nd!")
    expect(allow).to_be_enabled()
    new_text.fill("c\nd")
    expect(allow).to_be_disabled()
    new_text.fill("")
    opened.get_by_label("__proto__").fill("y")
    allow.tap()
    assert chat.listener.taps.get(timeout=PATIENCE).edits == {"new_text": "", "__proto__": "y"}


@pytest.mark.requirement("approval.edit")
def test_who_cancels_has_changed_nothing_and_who_is_refused_keeps_what_they_wrote(opened: Page, chat: WebChat) -> None:
    message_id = asking(opened, chat, {"command": "ls"})
    command = opened.get_by_label("Command")
    allow = opened.get_by_role("button", name="Allow with these changes")
    command.fill("ls -l")
    opened.get_by_role("button", name="Cancel").tap()
    expect(command).to_have_count(0)
    expect(opened.get_by_role("button", name="Allow once")).to_be_visible()
    assert chat.listener.taps.empty()

    edit = opened.get_by_role("button", name="Edit")
    expect(edit).to_be_focused()
    edit.tap()
    expect(command).to_have_value("ls")
    command.fill("ls -a")
    chat.listener.reply = TapReply(text="Nothing was decided.", alert=True)
    allow.tap()
    expect(opened.locator("#toast")).to_have_text("Nothing was decided.")
    chat.edit(
        message_id, card(text=RichText("again"), buttons=((ALLOW, TASK), (EDIT,), (DENY,)), editable={"command": "ls"})
    )
    expect(texts(opened)).to_have_text(["again"])
    expect(command).to_have_value("ls -a")
    command.fill("ls " + "x" * 90_000)
    command.evaluate("area => { area.value += '\ud83d' }")
    allow.tap()
    expect(opened.locator("#toast")).to_have_text("Not accepted")
    expect(command).to_be_enabled()
    chat.stop()
    allow.tap()
    expect(opened.locator("#toast")).to_contain_text("tap again")
    chat.start()
    assert len(command.input_value()) == 90_004


@pytest.mark.requirement("approval.edit", "web.phone")
def test_changing_arguments_fits_a_phone_a_thumb_and_a_screen_reader(opened: Page, chat: WebChat) -> None:
    asking(opened, chat, {"command": "\n".join("x " * 300 for _ in range(60)), "a_name_without_end" * 20: "y" * 4_000})
    areas = opened.locator("form.edit textarea")
    expect(areas).to_have_count(2)
    assert (overflow(opened), small_targets(opened)) == (0, [])
    for area in areas.all():
        shape = area.evaluate(
            "area => ({ wide: area.scrollWidth > area.clientWidth, size: parseFloat(getComputedStyle(area).fontSize),"
            " high: area.clientHeight / innerHeight, label: area.labels.length, better: area.autocapitalize })"
        )
        assert not shape["wide"]
        assert shape["size"] >= 16
        assert shape["high"] <= 0.5
        assert (shape["label"], shape["better"]) == (1, "none")
    areas.first.press("Escape")
    expect(areas).to_have_count(0)


SHAPE = """area => ({
  rows: area.rows, caret: [area.selectionStart, area.selectionEnd], top: area.scrollTop,
  hidden: area.scrollHeight - area.clientHeight, focused: area === document.activeElement,
})"""


@pytest.mark.requirement("approval.edit", "web.card")
def test_a_long_command_of_one_line_is_seen_whole_and_from_its_beginning(opened: Page, chat: WebChat) -> None:
    asking(opened, chat, {"command": "python -m pytest " + " ".join(f"tests/test_{n}.py" for n in range(10))})
    area = opened.get_by_label("Command")
    shape = area.evaluate(SHAPE)
    assert 2 < shape.pop("rows") <= 12
    assert shape == {"caret": [0, 0], "top": 0, "hidden": 0, "focused": True}


@pytest.mark.requirement("approval.edit", "web.card")
def test_a_field_grows_with_what_is_typed_up_to_twelve_rows(opened: Page, chat: WebChat) -> None:
    asking(opened, chat, {"command": "ls", "content": "x\n" * 200})
    command, content = opened.get_by_label("Command"), opened.get_by_label("Content")
    assert command.evaluate("area => area.rows") == 2
    shape = content.evaluate(SHAPE)
    assert (shape["rows"], shape["caret"], shape["top"]) == (12, [0, 0], 0)
    command.fill("\n".join(["ls"] * 5))
    assert command.evaluate("area => area.rows") == 5
    command.fill("ls " * 2_000)
    assert command.evaluate("area => area.rows") == 12


@pytest.mark.requirement("approval.edit", "web.languages")
def test_arguments_are_named_in_the_language_of_the_page(opened: Page, chat: WebChat) -> None:
    opened.get_by_role("button", name="切换到中文").tap()
    asking(opened, chat, {"command": "ls"})
    opened.get_by_label("命令").fill("ls -l")
    opened.get_by_role("button", name="按修改后的内容允许").tap()
    tap = chat.listener.taps.get(timeout=PATIENCE)
    assert (tap.edits, tap.language) == ({"command": "ls -l"}, "zh")


@pytest.mark.requirement("web.download")
def test_a_file_is_downloaded_by_a_tap(opened: Page, chat: WebChat) -> None:
    chat.send_file("报告.txt", b"content\n")
    with opened.expect_download() as download:
        opened.get_by_role("link", name="Download 报告.txt").tap()
    assert download.value.suggested_filename == "报告.txt"
    assert download.value.path().read_bytes() == b"content\n"


@pytest.mark.requirement("web.reconnect")
def test_after_a_restart_nothing_is_lost_and_nothing_doubled(
    opened: Page, phone: BrowserContext, chat: WebChat
) -> None:
    progress = chat.send(Outgoing(text=RichText("step 1"), role="progress"))
    expect(texts(opened)).to_have_text(["step 1"])
    chat.stop()
    expect(opened.locator("#connection")).to_have_text("Reconnecting…")
    say(opened, "said while it was down")
    expect(opened.locator("article[data-state=waiting]")).to_have_count(1)
    field(opened).fill("not said yet")
    opened.close()
    chat.start()
    chat.edit(progress, Outgoing(text=RichText("step 2"), role="progress"))
    again = phone.new_page()
    again.goto(chat.address)
    expect(texts(again)).to_have_text(["step 2", "said while it was down"])
    assert chat.listener.messages.get(timeout=PATIENCE).text == "said while it was down"
    expect(again.locator("article[data-state=waiting], article[data-state=sending]")).to_have_count(0)
    expect(field(again)).to_have_value("not said yet")
    assert chat.listener.messages.empty()


@pytest.mark.requirement("web.reconnect")
def test_the_open_page_reconnects_by_itself(opened: Page, chat: WebChat) -> None:
    chat.send(Outgoing(text=RichText("before"), role="answer"))
    expect(texts(opened)).to_have_text(["before"])
    for number in range(2):
        chat.stop()
        expect(opened.locator("#connection")).to_have_text("Reconnecting…")
        say(opened, f"meanwhile {number}")
        chat.start()
        expect(opened.locator("#connection")).to_have_text("Connected")
        assert chat.listener.messages.get(timeout=PATIENCE).text == f"meanwhile {number}"
    chat.send(Outgoing(text=RichText("after"), role="answer"))
    expect(texts(opened)).to_have_text(["before", "meanwhile 0", "meanwhile 1", "after"])
    assert chat.listener.messages.empty()


@pytest.mark.requirement("web.reconnect", "web.token")
def test_a_page_whose_cookie_ended_says_so(opened: Page, chat: WebChat) -> None:
    opened.context.clear_cookies()
    chat.stop()
    chat.start()
    expect(opened.locator("#connection")).to_have_text("Link no longer valid")
    expect(opened.locator("#toast")).to_contain_text("paigate up")


@pytest.mark.requirement("web.languages")
def test_the_page_speaks_the_chosen_language_and_remembers_it(opened: Page, chat: WebChat) -> None:
    chat.send(card())
    opened.get_by_role("button", name="切换到中文").tap()
    expect(opened.locator("html")).to_have_attribute("lang", "zh-CN")
    opened.reload()
    expect(opened.locator("#connection")).to_have_text("已连接")
    expect(field(opened)).to_have_attribute("placeholder", "发消息给 Paigate")
    opened.get_by_role("button", name="Deny").tap()
    expect(opened.get_by_label("为什么拒绝？（可不填）")).to_be_focused()
    opened.get_by_role("button", name="取消").tap()
    say(opened, "你好")
    assert chat.listener.messages.get(timeout=PATIENCE).language == "zh"
    opened.get_by_role("button", name="Switch to English").tap()
    expect(opened.locator("#connection")).to_have_text("Connected")
    say(opened, "hello")
    assert chat.listener.messages.get(timeout=PATIENCE).language == "en"


@pytest.mark.requirement("web.languages")
def test_a_chinese_browser_is_spoken_to_in_chinese(phone: BrowserContext, chat: WebChat) -> None:
    assert phone.browser is not None
    chinese = phone.browser.new_context(locale="zh-CN")
    page = chinese.new_page()
    page.goto(chat.adapter.link)
    expect(page.locator("#connection")).to_have_text("已连接")
    assert re.search("[a-z]{8}", page.locator("#welcome p").inner_text()) is None
    chinese.close()


@pytest.mark.requirement("web.messages")
def test_the_page_stays_where_it_is_read_and_follows_at_the_end(opened: Page, chat: WebChat) -> None:
    for number in range(40):
        chat.send(Outgoing(text=RichText(f"line {number}"), role="answer"))
    expect(texts(opened).last).to_be_in_viewport()
    first = texts(opened).first
    first.scroll_into_view_if_needed()
    expect(first).to_be_in_viewport()
    chat.send(Outgoing(text=RichText("news"), role="answer"))
    jump = opened.get_by_role("button", name="New messages")
    expect(jump).to_be_visible()
    expect(first).to_be_in_viewport()
    jump.tap()
    expect(texts(opened).last).to_be_in_viewport()
    expect(jump).to_be_hidden()


@pytest.mark.requirement("web.phone")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_ground_in_light_and_dark(opened: Page, chat: WebChat, scheme: str) -> None:
    opened.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    say(opened, "change Hello World to Hello PaiCLI in hello.py, then run it")
    chat.send(Outgoing(text=RichText("Working · step 2\n✓ read_file hello.py"), role="progress", buttons=((STOP,),)))
    chat.send(card(diff=DIFF))
    expect(messages(opened)).to_have_count(3)
    contrasts = opened.evaluate(CONTRASTS)
    assert {name: ratio for name, ratio in contrasts.items() if ratio < 4.5} == {}


CONTRASTS = """() => {
  const parse = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const light = (colour) => {
    const [r, g, b] = parse(colour).map((v) => (v / 255 <= 0.03928 ? v / 3294.6 : ((v / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (element) => {
    const colour = getComputedStyle(element).backgroundColor;
    return (parse(colour)[3] ?? 1) > 0 || !element.parentElement ? colour : ground(element.parentElement);
  };
  const parts = ["article .text", ".footer", ".line.added", ".line.removed", ".line.hunk", ".action.good",
    ".action.plain", ".action.danger", "#connection", "#language", "[data-role=user] .text", "[data-role=progress] .text"];
  return Object.fromEntries(parts.map((part) => {
    const element = document.querySelector(part);
    const [one, other] = [light(getComputedStyle(element).color), light(ground(element))].sort((a, b) => b - a);
    return [part, (one + 0.05) / (other + 0.05)];
  }));
}"""
