"""Every answer that a card offers, and the modes, over Telegram and with every process real."""

import pytest

from tests.flow.chat import ANN, card, said, shown
from tests.servers.model import ModelServer, calls, text
from tests.servers.product import Product
from tests.servers.telegram import Shown, TelegramServer

WRITE = ("write_file", {"path": "new.txt", "content": "new"})
RUN = ("execute_command", {"command": "echo one > one.txt"})


def tap(telegram: TelegramServer, asked: Shown, label: str) -> None:
    """Tap the button whose label begins so."""
    button = next(button for button in asked.buttons if button["text"].startswith(label))
    telegram.tap(ANN, asked.message_id, button["text"])


@pytest.mark.requirement("approval.edit")
def test_a_command_is_changed_by_a_message_of_several_lines_and_the_model_is_told(
    product: Product, model: ModelServer, telegram: TelegramServer
) -> None:
    model.add(calls(RUN), text("I see what you ran."))
    telegram.send_text(ANN, "run it")
    asked = card(telegram)
    tap(telegram, asked, "Edit")
    prompt = said(telegram, "Send the whole command as it shall run")
    assert prompt.markup == {"force_reply": True}
    changed = telegram.send_text(ANN, "echo two > two.txt\necho three\n# done")
    said(telegram, "I see what you ran.")
    telegram.deliver_again(ANN, changed, times=2)
    telegram.wait_for(lambda server: server.pending == 0)

    project = product.project("telegram", str(ANN))
    assert (project / "two.txt").read_text() == "two\n"
    assert not (project / "one.txt").exists()
    result = model.requests[1].json["messages"][-1]
    assert result["role"] == "tool"
    assert "three" in result["content"]
    assert "echo two > two.txt" in result["content"]
    ran = "echo two > two.txt⟨U+000A⟩echo three⟨U+000A⟩# done"
    assert f"✅ Allowed with changes by Ann, once: {ran}" in shown(telegram, asked.message_id).text
    assert not shown(telegram, asked.message_id).buttons
    assert len(model.requests) == 2


@pytest.mark.requirement("approval.edit")
def test_a_change_that_policy_refuses_does_not_run_and_the_model_is_told(
    product: Product, model: ModelServer, telegram: TelegramServer
) -> None:
    model.add(calls(RUN), text("That is not allowed."))
    telegram.send_text(ANN, "run it")
    asked = card(telegram)
    tap(telegram, asked, "Edit")
    said(telegram, "Send the whole command")
    telegram.send_text(ANN, "echo two > two.txt; rm -rf /")
    said(telegram, "That is not allowed.")
    assert "Allowed with changes by Ann, once: echo two > two.txt; rm -rf /" in shown(telegram, asked.message_id).text
    assert not (product.project("telegram", str(ANN)) / "two.txt").exists()
    assert "three" not in model.requests[1].json["messages"][-1]["content"]


@pytest.mark.requirement("approval.edit")
def test_a_change_that_lost_its_signs_on_the_way_is_not_run(
    product: Product, model: ModelServer, telegram: TelegramServer
) -> None:
    model.add(calls(RUN), text("done"))
    telegram.send_text(ANN, "run it")
    asked = card(telegram)
    tap(telegram, asked, "Edit")
    said(telegram, "Send the whole command")
    telegram.say(ANN, text="echo date > two.txt", entities=[{"type": "code", "offset": 5, "length": 4}])
    said(telegram, "Send it again as one code block")
    assert shown(telegram, asked.message_id).buttons
    again = "echo `echo two` > two.txt"
    telegram.say(ANN, text=again, entities=[{"type": "pre", "offset": 0, "length": len(again)}])
    said(telegram, "done")
    assert (product.project("telegram", str(ANN)) / "two.txt").read_text() == "two\n"


@pytest.mark.requirement("grant.project", "approval.scopes")
def test_what_is_allowed_in_the_project_until_a_date_runs_unasked_in_the_next_conversation(
    product: Product, model: ModelServer, telegram: TelegramServer
) -> None:
    model.add(calls(RUN), text("first"), calls(RUN), text("second"), calls(WRITE))
    telegram.send_text(ANN, "run it")
    asked = card(telegram)
    assert "“This project until 20" in asked.text
    tap(telegram, asked, "This project until")
    said(telegram, "first")
    assert "Approved in hello until 20" in shown(telegram, asked.message_id).text
    telegram.send_text(ANN, "/new run it again")
    said(telegram, "second")
    assert len([message for message in telegram.messages(ANN) if "May I" in message.text]) == 1
    telegram.send_text(ANN, "write new.txt")
    assert "May I create a file?" in card(telegram, after=asked.message_id).text


@pytest.mark.requirement("mode.command", "mode.plan")
def test_in_plan_mode_nothing_is_written_and_in_edits_mode_nobody_is_asked(
    product: Product, model: ModelServer, telegram: TelegramServer
) -> None:
    model.add(calls(WRITE), text("I would write it."), calls(WRITE), text("Now I did."))
    telegram.send_text(ANN, "/mode plan")
    said(telegram, "Mode set: plan.")
    telegram.send_text(ANN, "write new into new.txt")
    said(telegram, "I would write it.")
    project = product.project("telegram", str(ANN))
    assert not (project / "new.txt").exists()
    assert not [message for message in telegram.messages(ANN) if message.buttons]
    telegram.send_text(ANN, "/status")
    said(telegram, "Mode: plan.")

    telegram.send_text(ANN, "/mode 编辑")
    said(telegram, "Mode set: edits.")
    telegram.send_text(ANN, "then write it")
    said(telegram, "Now I did.")
    assert (project / "new.txt").read_text() == "new"
    assert not [message for message in telegram.messages(ANN) if message.buttons]
