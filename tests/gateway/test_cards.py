"""Cards, progress and answers as a person reads them."""

from datetime import UTC, datetime

import pytest

from gateway.adapter import MARK_UNITS, Capabilities
from gateway.cards import outcome, render_card, when, whole_detail
from gateway.catalogue import say
from gateway.choices import MOST_PATTERN, TYPED_UNITS, offered, read_value, typed_argument
from gateway.progress import render_progress
from gateway.text import utf16_units
from gateway.wording import marked_duplicate, simplified, word
from worker.messages import Address, Answer, ApprovalCard, CallLine, FileChange, Notice, OutboxEntry, Progress

LIMITS = Capabilities(max_text=4096, measure=utf16_units, edit_seconds=1, file_bytes=1)
WEB = Capabilities(max_text=20_000, measure=len, edit_seconds=1, file_bytes=1, shows_diffs=True, edits_in_place=True)
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
        (APPROVAL_ID, "once"),
        (APPROVAL_ID, "task"),
        (APPROVAL_ID, "deny"),
        (APPROVAL_ID, "reason"),
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
    for state, line in (
        ("finished", "✓ Done"),
        ("partly", "⚠️ Partly done"),
        ("stopped", "■ Stopped"),
        ("failed", "✗ Not finished"),
    ):
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


UNTIL = datetime(2026, 2, 3, 12, 0, tzinfo=UTC)


def command_card(**fields: object) -> ApprovalCard:
    shown = {"tool": "execute_command", "risk": "execute", "title": "ls", "detail": "ls", "detail_kind": "command"}
    return edit_card(**{**shown, "changes": (), "project": "hello", **fields})


def labels(card: ApprovalCard, capabilities: Capabilities = LIMITS) -> list[str]:
    return [button.label for row in render_card(card, "en", capabilities).buttons for button in row]


@pytest.mark.requirement("approval.scopes")
@pytest.mark.parametrize(
    ("card", "in_place", "choices"),
    [
        (edit_card(), True, "once task deny reason"),
        (edit_card(grant_until=UNTIL), False, "once task project deny reason"),
        (command_card(editable={"command": "ls"}), False, "once task edit deny reason"),
        (command_card(editable={"command": "ls"}), True, "once task edit deny reason"),
        (edit_card(editable={"old_text": "a", "new_text": "b"}), True, "once task edit deny reason"),
        (edit_card(editable={"old_text": "a", "new_text": "b"}), False, "once task deny reason"),
        (command_card(editable={"command": "x" * TYPED_UNITS}), False, "once task edit deny reason"),
        (command_card(editable={"command": "x" * (TYPED_UNITS + 1)}), False, "once task deny reason"),
        (command_card(editable={"command": "\U0001f600" * 1_001}), False, "once task deny reason"),
        (edit_card(editable={"content": "x" * 99_993}), True, "once task edit deny reason"),
        (edit_card(editable={"content": "x" * 99_994}), True, "once task deny reason"),
        (edit_card(editable={str(number): "x" for number in range(9)}), True, "once task deny reason"),
        (command_card(pattern="x" * MOST_PATTERN, grant_until=UNTIL), True, "once task project deny reason"),
        (command_card(pattern="x" * (MOST_PATTERN + 1), grant_until=UNTIL), True, "once deny reason"),
    ],
)
def test_a_card_offers_what_it_can_show_and_its_platform_can_take(
    card: ApprovalCard, in_place: bool, choices: str
) -> None:
    assert " ".join(offered(card, in_place=in_place)) == choices


@pytest.mark.requirement("approval.scopes", "approval.edit")
def test_all_choices_have_buttons_that_a_platform_takes_and_that_read_back() -> None:
    card = command_card(approval_id="x" * 33, editable={"command": "ls"}, grant_until=UNTIL, pattern="ls *")
    for language in ("zh", "en"):
        buttons = [button for row in render_card(card, language, LIMITS).buttons for button in row]
        read = [read_value(button.value) for button in buttons]
        assert read == [("x" * 33, choice) for choice in ("once", "task", "project", "edit", "deny", "reason")]
        assert all(len(button.value.encode()) <= 64 for button in buttons)
        assert "2026-02-03" in buttons[2].label
        assert [button.edits for button in buttons].count(True) == 1
        assert buttons[3].edits
        assert buttons[5].asks_reason


@pytest.mark.requirement("approval.edit")
def test_a_platform_that_edits_in_place_gets_the_arguments_and_others_do_not() -> None:
    card = edit_card(editable={"old_text": "a", "new_text": "b"})
    assert render_card(card, "en", WEB).editable == {"old_text": "a", "new_text": "b"}
    assert "Edit" in labels(card, WEB)
    assert render_card(card, "en", LIMITS).editable == {}
    assert "Edit" not in labels(card, LIMITS)
    assert typed_argument(card) is None
    assert typed_argument(edit_card(editable={"new_text": "b"})) is None
    assert typed_argument(command_card(editable={"command": "ls"})) == "command"
    assert typed_argument(command_card()) is None
    assert render_card(edit_card(editable={"content": "x" * 100_000}), "en", WEB).editable == {}
    decided = edit_card(editable={"new_text": "b"}, state="approved", scope="once")
    assert render_card(decided, "en", WEB).editable == {}


@pytest.mark.requirement("grant.pattern", "grant.project")
@pytest.mark.parametrize(
    ("card", "language", "lines"),
    [
        (command_card(pattern="pytest *"), "en", ["“For this task” also allows pytest * without asking"]),
        (command_card(pattern="pytest *"), "zh", ["汇报之前 pytest * 都不再询问"]),
        (command_card(), "en", ["“For this task” also allows this very command again"]),
        (command_card(), "zh", ["这条完全相同的命令不再询问"]),
        (edit_card(), "en", ["“For this task” also lets me edit a file without asking"]),
        (edit_card(), "zh", ["汇报之前修改文件都不再询问"]),
        (
            command_card(pattern="pytest *", grant_until=UNTIL),
            "en",
            [
                "pytest *",
                f"“This project until 2026-02-03” allows the same in every task in hello, until {when(UNTIL)}",
            ],
        ),
        (edit_card(grant_until=UNTIL, project="demo"), "zh", ["“本项目到 2026-02-03 都允许”", "demo", when(UNTIL)]),
        (command_card(pattern="x" * 301, grant_until=UNTIL), "en", ["This can only be allowed once"]),
        (command_card(pattern="x" * 301, grant_until=UNTIL), "zh", ["这里只能允许一次"]),
    ],
)
def test_what_an_answer_for_longer_allows_is_shown_exactly(card: ApprovalCard, language: str, lines: list[str]) -> None:
    text = render_card(card, language, LIMITS).text
    assert all(line in text.text for line in lines)
    codes = [text.text[span.start : span.end] for span in text.spans if span.style == "code"]
    assert (card.pattern in codes) == (0 < len(card.pattern) <= MOST_PATTERN)


@pytest.mark.requirement("policy.levels")
@pytest.mark.parametrize(
    ("level", "zh", "en"),
    [
        ("read", "👁 只查看", "👁 Only looks"),
        ("write", "✏️ 会修改文件或运行程序", "✏️ Changes files or runs a program"),
        (
            "network",
            "🌐 可能联网（命令在这里没有网络，多半会失败）",
            "🌐 May go online (commands have no network here, so it will probably fail)",
        ),
        ("destructive", "⚠️ 可能造成无法恢复的破坏", "⚠️ May destroy something for good"),
    ],
)
def test_a_commands_level_and_its_reasons_stand_above_what_may_be_allowed(level: str, zh: str, en: str) -> None:
    reasons = ("curl loads from the network", "it\nwrites\u2028 a file")
    for language, word_of, colon in (("zh", zh, "："), ("en", en, ": ")):
        text = render_card(command_card(level=level, reasons=reasons), language, LIMITS).text.text
        assert f"{word_of}{colon}curl loads from the network; it writes a file\n" in text
        assert text.index(word_of) < text.index(say("card.scope_command", language))
        assert f"{word_of}\n" in render_card(command_card(level=level), language, LIMITS).text.text


@pytest.mark.requirement("policy.levels", "approval.whole")
def test_endless_reasons_paths_and_patterns_leave_room_for_the_question() -> None:
    changes = tuple(FileChange(path="p" * 5_000, added=1, removed=1) for _ in range(50))
    card = command_card(
        level="write",
        reasons=("r" * 5_000,) * 50,
        pattern="p" * 300,
        grant_until=UNTIL,
        detail="x" * 9_000,
        whole=False,
    )
    for crowded in (card, edit_card(changes=changes, title="t" * 5_000, detail="x\n" * 9_000, whole=False)):
        text = render_card(crowded, "en", LIMITS).text.text
        assert utf16_units(text) <= LIMITS.max_text - MARK_UNITS
        assert "Without an answer" in text
    assert "; …" in render_card(card, "en", LIMITS).text.text


@pytest.mark.requirement("approval.scopes", "approval.edit", "grant.project")
@pytest.mark.parametrize(
    ("card", "zh", "en"),
    [
        (command_card(scope="once"), "安已允许一次", "Approved once by 安"),
        (
            command_card(scope="once", edited=True, edited_text="ls -l⟨U+000A⟩pwd"),
            "安修改后已允许一次：ls -l⟨U+000A⟩pwd",
            "Allowed with changes by 安, once: ls -l⟨U+000A⟩pwd",
        ),
        (
            edit_card(scope="once", edited=True, edited_text=" "),
            "安修改后已允许一次：（空白）",
            "Allowed with changes by 安, once: (blank)",
        ),
        (
            command_card(scope="task", pattern="ls *"),
            "安已允许本任务：汇报之前“ls *”不再询问",
            "Approved for this task by 安: no more questions about ls * until I report back",
        ),
        (
            command_card(scope="task"),
            "安已允许本任务：汇报之前这条完全相同的命令不再询问",
            "Approved for this task by 安: no more questions about this very command until I report back",
        ),
        (
            edit_card(scope="task"),
            "安已允许本任务：汇报之前修改文件不再询问",
            "Approved for this task by 安: no more questions to edit a file until I report back",
        ),
        (
            command_card(scope="project", pattern="ls *", grant_until=UNTIL),
            f"安已允许项目 hello，到 {when(UNTIL)} 为止：“ls *”不再询问",
            f"Approved in hello until {when(UNTIL)} by 安: no more questions about ls *",
        ),
        (
            edit_card(scope="project", project="demo", grant_until=UNTIL),
            f"安已允许项目 demo，到 {when(UNTIL)} 为止：修改文件不再询问",
            f"Approved in demo until {when(UNTIL)} by 安: no more questions to edit a file",
        ),
    ],
)
def test_an_outcome_says_what_exactly_was_allowed_and_for_how_long(card: ApprovalCard, zh: str, en: str) -> None:
    decided = card.model_copy(update={"state": "approved", "decided_by": "安"})
    assert outcome(decided, "zh") == zh
    assert outcome(decided, "en") == en
    assert f"✅ {en}" in render_card(decided, "en", LIMITS).text.text
    assert render_card(decided, "en", WEB).buttons == ()


@pytest.mark.requirement("limits.each", "loop.partly")
def test_an_answer_tells_its_cost_when_it_is_known_and_says_once_that_it_is_only_a_part() -> None:
    answer = Answer(task_id="t", markdown="⚠️ Partly done\n\n- a", steps=3, seconds=4.2, partly=True, cost="0.12 CNY")
    (part,) = word(entry(answer), LIMITS)
    assert part.text.text == "⚠️ Partly done\n\n• a\n\nsteps: 3 · 4 s · 0.12 CNY"
    (unknown,) = word(entry(answer.model_copy(update={"cost": ""})), LIMITS)
    assert unknown.text.text.endswith("steps: 3 · 4 s")


@pytest.mark.requirement("approval.edit")
def test_the_question_for_a_command_opens_the_reply_field() -> None:
    assert word(entry(Notice(key="card.ask_command")), LIMITS)[0].reply
