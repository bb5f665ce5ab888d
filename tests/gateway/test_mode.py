"""`/mode`: what it tells, what it sets, and what it does not."""

from dataclasses import replace

import pytest

from gateway.catalogue import say
from tests.gateway.test_reception import reception, said
from tests.servers.doors import CHAT, Shop
from worker.messages import Language, Mode, Notice

pytestmark = pytest.mark.anyio
MODES: tuple[Mode, ...] = ("plan", "ask", "edits", "auto")


async def mode(shop: Shop) -> Mode | None:
    status = await shop.doors.control.status(CHAT)
    return status.mode if status else None


async def told(shop: Shop, text: str, language: Language = "en", message_id: str = "9") -> str:
    """The last thing that is said after a command, in words."""
    await reception(shop, "42").said(replace(said(text, message_id), language=language))
    status = await shop.doors.control.status(CHAT)
    assert status
    words = ""
    while pending := await shop.doors.outbox.first(status.conversation_id):
        assert isinstance(pending.entry.content, Notice)
        words = say(pending.entry.content.key, pending.entry.language, **pending.entry.content.values)
        await shop.doors.outbox.delivered(pending)
    return words


@pytest.mark.requirement("mode.command")
@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("/mode plan", "plan"),
        ("/mode ask", "ask"),
        ("/mode edits", "edits"),
        ("/mode AUTO", "auto"),
        ("/mode 计划", "plan"),
        ("/mode 询问", "ask"),
        ("／mode\u3000编辑。", "edits"),
        ("/Mode\n自动", "auto"),
        ("/mode@paigate_bot  plan!", "plan"),
    ],
)
async def test_a_mode_is_set_by_its_word_in_either_language(shop: Shop, text: str, wanted: Mode) -> None:
    before: Mode = "auto" if wanted == "ask" else "ask"
    await told(shop, f"/mode {before}", message_id="8")
    assert "Mode set" in await told(shop, text) or "模式已设为" in await told(shop, text, message_id="10")
    assert await mode(shop) == wanted


@pytest.mark.requirement("mode.command")
async def test_without_a_word_it_tells_the_mode_and_what_each_means(shop: Shop) -> None:
    first = await told(shop, "/mode")
    assert first.startswith("The mode of this conversation is: ask\n")
    assert all(f"/mode {word} – " in first for word in MODES)
    await told(shop, "/mode plan", message_id="10")
    again = await told(shop, "/mode", "zh", message_id="11")
    assert again.startswith("这个对话的模式：计划\n")
    assert all(f"/mode {word} – " in again for word in ("计划", "询问", "编辑", "自动"))
    for truth in ("no command starts", "every command and change asks first", "a command that may go online asks"):
        assert truth in first
    for truth in ("命令不运行", "每个命令和改动都先问你", "可能联网的命令先问你"):
        assert truth in again
    assert await mode(shop) == "plan"


@pytest.mark.requirement("mode.command")
@pytest.mark.parametrize("word", ["yolo", "plan auto", "x" * 5_000, "{0}", "计划 自动", "<b>", "/plan"])
async def test_any_other_word_sets_nothing_and_tells_the_four(shop: Shop, word: str) -> None:
    await told(shop, "/mode plan", message_id="8")
    answer = await told(shop, f"/mode {word}", "en")
    assert "nothing was changed" in answer or "没有改变任何设置" in answer
    assert answer.count("/mode ") == 4
    assert len(answer) < 600
    assert await mode(shop) == "plan"


@pytest.mark.requirement("mode.command", "mode.plan")
@pytest.mark.parametrize("running", [False, True], ids=["idle", "running"])
@pytest.mark.parametrize(
    ("wanted", "en", "zh"),
    [
        ("plan", "no command starts, and every other call is refused", "命令不会开始"),
        ("ask", "every command and change asks first", "每个命令和每处改动都先问你"),
        ("edits", "changes of files in the project run without asking", "修改项目文件不再询问"),
        ("auto", "a command that may go online asks", "可能联网的命令先问你"),
    ],
)
async def test_setting_a_mode_tells_what_is_enforced_and_from_when(
    shop: Shop, wanted: Mode, en: str, zh: str, running: bool
) -> None:
    if running:
        assert await shop.leases.begin(await shop.accept())
    english = await told(shop, f"/mode {wanted}")
    chinese = await told(shop, f"/mode {wanted}", "zh", message_id="10")
    assert en in english
    assert zh in chinese
    assert ("What runs now goes on as it began: /stop ends it." in english) == running
    assert ("正在运行的这一轮仍按原来的方式进行" in chinese) == running
    looks = "looking with my own tools (reading, listing, searching files) runs"
    assert (
        (looks in english) == ("用我自己的工具查看（读取、列出、搜索文件）" in chinese) == (wanted in {"plan", "ask"})
    )
    assert ("will not run in this mode even if you allow it; /mode ask first." in english) == (wanted == "plan")
    assert ("还在等待的卡片即使允许，在这个模式下也不会运行" in chinese) == (wanted == "plan")


@pytest.mark.requirement("mode.command", "control.status")
async def test_the_status_always_names_the_mode(shop: Shop) -> None:
    nothing_yet = await told(shop, "/status", message_id="8")
    assert nothing_yet == f"{say('status.none', 'en')}\nMode: ask."
    await told(shop, "/mode auto")
    assert await told(shop, "/status", message_id="10") == "Project hello: nothing is running.\nMode: auto."
    assert await told(shop, "/status", "zh", message_id="11") == "项目 hello：没有任务在运行。\n模式：自动。"
    await told(shop, "/mode ask", message_id="12")
    assert await told(shop, "/status", message_id="13") == "Project hello: nothing is running.\nMode: ask."


@pytest.mark.requirement("mode.command", "control.status")
async def test_a_status_with_messages_that_wait_names_the_mode_too(shop: Shop) -> None:
    await shop.accept("work")
    words = await told(shop, "/status")
    assert "Messages waiting: 1." in words
    assert words.endswith("\nMode: ask.")


@pytest.mark.requirement("mode.command", "control.new")
@pytest.mark.parametrize("working", [False, True], ids=["idle", "working"])
async def test_a_new_conversation_is_in_ask_mode_and_says_so(shop: Shop, working: bool) -> None:
    await told(shop, "/mode auto", message_id="8")
    if working:
        await shop.accept("work")
    assert (await told(shop, "/new")).endswith(" Mode: ask.")
    assert (await told(shop, "/new", "zh", message_id="10")).endswith("模式：询问。")
    assert await mode(shop) == "ask"


@pytest.mark.requirement("mode.command", "control.help")
async def test_help_lists_it(shop: Shop) -> None:
    assert "/mode – how much I may do without asking" in await told(shop, "/help")
    assert "/mode – 设置哪些事可以不问就做" in await told(shop, "/help", "zh", message_id="10")
