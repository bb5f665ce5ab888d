"""Cards, progress and answers as a person reads them."""

from datetime import UTC, datetime

import pytest

from gateway.adapter import MARK_UNITS, Capabilities
from gateway.cards import read_value, render_card, whole_detail
from gateway.progress import render_progress
from gateway.text import utf16_units
from gateway.wording import marked_duplicate, simplified, word
from worker.messages import Address, Answer, ApprovalCard, CallLine, FileChange, Notice, OutboxEntry, Progress

LIMITS = Capabilities(max_text=4096, measure=utf16_units, edit_seconds=1, file_bytes=1)
WEB = Capabilities(max_text=20_000, measure=len, edit_seconds=1, file_bytes=1, shows_diffs=True)
NOW = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)
APPROVAL_ID = "0123456789abcdefAAAAAAAAAAAAAAAA"


def edit_card(**fields: object) -> ApprovalCard:
    return ApprovalCard(
        **{
            "approval_id": APPROVAL_ID,
            "tool": "edit_file",
            "risk": "write",
            "title": "a.py",
            "detail": "@@ -1 +1 @@\n-a\n+b\n",
            "detail_kind": "diff",
            "changes": (FileChange(path="a.py", added=1, removed=1),),
            "expires_at": NOW,
            **fields,
        }
    )


def entry(content: object) -> OutboxEntry:
    return OutboxEntry(
        entry_id="e",
        conversation_id="c",
        address=Address(platform="telegram", chat_id="1"),
        language="en",
        content=content,
    )


@pytest.mark.requirement("telegram.buttons")
def test_an_open_card_has_four_buttons_with_short_opaque_values() -> None:
    message = render_card(edit_card(), "en", LIMITS)
    buttons = [button for row in message.buttons for button in row]
    assert [button.label for button in buttons] == ["Once", "For this task", "No", "No, because…"]
    assert all(len(button.value.encode()) <= 64 for button in buttons)
    assert not any(word in button.value for button in buttons for word in ("edit", "a.py", "allow"))
    assert [read_value(button.value) for button in buttons] == [
        (APPROVAL_ID, "once", False),
        (APPROVAL_ID, "task", False),
        (APPROVAL_ID, "deny", False),
        (APPROVAL_ID, "deny", True),
    ]


@pytest.mark.parametrize("value", ["", ":", ":o", "abc", "abc:x", "abc:", "abc:oo"])
def test_a_value_that_no_button_has_reads_as_nothing(value: str) -> None:
    assert read_value(value) is None


def test_a_card_shows_files_counts_and_the_diff() -> None:
    with_diff = render_card(edit_card(), "zh", LIMITS)
    assert "a.py  +1 −1" in with_diff.text.text
    assert "+b" in with_diff.text.text
    assert with_diff.diff == ""
    without = render_card(edit_card(), "zh", WEB)
    assert "+b" not in without.text.text
    assert "+b" in without.diff


def test_a_long_diff_is_cut_and_says_how_much_is_left() -> None:
    detail = "\n".join(f"+line {number}" for number in range(500))
    message = render_card(edit_card(detail=detail), "en", LIMITS)
    assert "+line 59\n" in message.text.text
    assert "+line 60\n" not in message.text.text
    assert "… all 500 lines are in the file above" in message.text.text
    (part,) = word(entry(edit_card(detail="+" + "字" * 9000)), LIMITS)
    assert utf16_units(part.text.text) <= 4096
    assert part.buttons


def test_a_whole_command_of_several_lines_is_shown() -> None:
    card = edit_card(tool="execute_command", risk="execute", title="ls", detail="ls\nrm -r x", detail_kind="command")
    assert "ls\nrm -r x" in render_card(card, "en", LIMITS).text.text


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"state": "approved", "scope": "once", "decided_by": "Ann"}, "✅ Approved once by Ann"),
        ({"state": "approved", "scope": "task", "decided_by": "Ann"}, "no more questions to edit a file"),
        ({"state": "denied", "scope": "deny", "decided_by": ""}, "❌ Denied by you"),
        ({"state": "denied", "scope": "deny", "decided_by": "Ann", "reason": "no {x}"}, "Denied by Ann: no {x}"),
        ({"state": "expired", "scope": "deny"}, "counts as no"),
    ],
)
def test_a_decided_card_tells_who_and_how_and_has_no_buttons(fields: dict[str, object], text: str) -> None:
    message = render_card(edit_card(**fields), "en", LIMITS)
    assert text in message.text.text
    assert message.buttons == ()


def test_a_question_asked_again_says_why() -> None:
    assert render_card(edit_card(stale=True), "en", LIMITS).text.text.startswith("The file changed since")


def progress(**fields: object) -> Progress:
    return Progress(**{"task_id": "t", "state": "working", "step": 2, "started_at": NOW, "seconds": 3.4, **fields})


def test_progress_shows_what_is_done_and_then_becomes_one_line() -> None:
    calls = (
        CallLine(tool="read_file", title="a.py", state="done"),
        CallLine(tool="execute_command", title="make\ntest " + "x" * 200, state="running"),
    )
    live = render_progress(progress(calls=calls, text_tail="hm"), "en").text.text
    assert live.splitlines()[:2] == ["… Working · step 2 · 3 s", "✓ read a file a.py"]
    assert live.splitlines()[2].startswith("▸ run a command make")
    assert "test" not in live
    for state, line in (("finished", "✓ Done"), ("stopped", "■ Stopped"), ("failed", "✗ Not finished")):
        assert render_progress(progress(calls=calls, state=state), "en").text.text.startswith(line)
        assert "\n" not in render_progress(progress(calls=calls, state=state), "en").text.text


@pytest.mark.requirement("demo.says-so")
def test_an_answer_ends_with_what_it_took_and_says_when_it_is_a_demo() -> None:
    answer = Answer(
        task_id="t",
        markdown="**Done** in `a.py`",
        steps=3,
        seconds=4.2,
        changes=(FileChange(path="a.py", added=2, removed=1),),
        demo=True,
    )
    (part,) = word(entry(answer), LIMITS)
    assert part.text.text.startswith("Done in a.py\n\na.py +2 −1 · steps: 3 · 4 s\n🧪 Demo model")


def test_an_empty_answer_is_said_to_be_empty() -> None:
    (part,) = word(entry(Answer(task_id="t", markdown=" \n", steps=1, seconds=1)), LIMITS)
    assert "empty answer" in part.text.text


def test_a_mark_and_a_plainer_form_keep_text_and_buttons() -> None:
    message = render_card(edit_card(), "en", LIMITS)
    marked = marked_duplicate(message, "en")
    assert marked.text.text == f"(may be a duplicate)\n{message.text.text}"
    assert marked.buttons == message.buttons
    bare = simplified(message)
    assert (bare.text.text, bare.text.spans, bare.buttons) == (message.text.text, (), message.buttons)


def test_only_the_question_for_a_reason_opens_the_reply_field() -> None:
    assert word(entry(Notice(key="card.ask_reason")), LIMITS)[0].reply
    assert not word(entry(Notice(key="help.text")), LIMITS)[0].reply


HOSTILE = [
    ("command", "echo checking # " + "⟨U+3164⟩" * 2600 + "\necho EVIL"),
    ("command", "echo " + "\U0001f600" * 2100 + "; echo EVIL"),
    ("diff", "@@ -0,0 +1,2 @@\n+s='" + "\U0001d4b3" * 2050 + "'\n+EVIL"),
    ("diff", "+" + "\U0001f600" * 150_000 + "\n+EVIL"),
    ("command", "#\n" * 500 + "EVIL"),
    ("text", "EVIL " * 20_000 + "EVIL"),
]


@pytest.mark.requirement("approval.whole")
@pytest.mark.parametrize("capabilities", [LIMITS, WEB], ids=["telegram", "web"])
@pytest.mark.parametrize(("kind", "detail"), HOSTILE)
def test_a_card_shows_the_whole_or_a_file_does_and_its_closing_lines_are_always_there(
    capabilities: Capabilities, kind: str, detail: str
) -> None:
    card = edit_card(detail=detail, detail_kind=kind, title="a" * 3000, whole=False)
    (message,) = word(entry(card), capabilities)
    shown = message.text.text + message.diff
    file = whole_detail(card, "en", capabilities)

    assert capabilities.measure(message.text.text) <= capabilities.max_text - MARK_UNITS
    assert detail in shown or (file is not None and file[1].decode() == detail)
    assert (file is None) == (detail in shown)
    for closing in ("For this task", "Without an answer", "Say no unless"):
        assert closing in message.text.text


@pytest.mark.requirement("approval.whole")
def test_a_marked_card_fits_too() -> None:
    (message,) = word(entry(edit_card(detail="+" + "字" * 9000)), LIMITS)
    assert utf16_units(marked_duplicate(message, "zh").text.text) <= 4096
