"""Properties of reading commands, for any text."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.commands import command_pattern, matches
from agent.commands.risk import LEVELS, MAX_REASONS
from agent.policy import assess_command

SYNTAX = st.sampled_from(
    [
        "'",
        '"',
        "\\",
        "`",
        "$(",
        "$((",
        "))",
        "${",
        "}",
        "{",
        "(",
        ")",
        "<(",
        ">",
        ">>",
        "<",
        "<<E\n",
        "\nE\n",
        "<<<",
        "|",
        "&",
        ";",
        "&&",
        "||",
        "\n",
        "#",
        "~",
        "*",
        "$x",
        "x=",
        "x=(",
        "{a,b}",
        "[[",
        "]]",
        ";;",
        "!",
        "f()",
        " ",
        "  ",
        "\t",
    ]
)
WORDS = st.sampled_from(
    [
        "rm",
        "-rf",
        "/",
        "..",
        "ls",
        "git",
        "push",
        "-f",
        "commit",
        "-m",
        "pytest",
        "npm",
        "test",
        "curl",
        "sh",
        "bash",
        "-c",
        "eval",
        "env",
        "xargs",
        "find",
        ".",
        "-exec",
        "{}",
        ";",
        "+",
        "-delete",
        "sed",
        "s/a/b/w",
        "awk",
        "{print > 1}",
        "cd",
        "if",
        "then",
        "fi",
        "for",
        "in",
        "do",
        "done",
        "case",
        "esac",
        "while",
        "function",
        "time",
        "sudo",
        "tar",
        "tf",
        "dd",
        "of=/dev/sda",
        "kill",
        "-1",
        "docker",
        "down",
        "python",
        "x.py",
        "echo",
        "export",
        "trap",
        "timeout",
        "5",
        "watch",
    ]
)
COMMANDS = st.lists(st.one_of(SYNTAX, WORDS, WORDS.map(lambda word: f"{word} "), st.text(max_size=4)), max_size=30).map(
    "".join
)
SAFE_ARGUMENTS = st.lists(st.text(alphabet="abcxyz0189./_-=' ", max_size=8), max_size=4).map(" ".join)
PROGRAMS = st.sampled_from(
    ["pytest", "git commit", "npm test", "cargo build", "python x.py", "./run.sh", "make all", "ruff"]
)
SMUGGLED = st.sampled_from(
    [
        "; rm x",
        "\nrm x",
        " && rm x",
        " || rm x",
        " | sh",
        " & rm x",
        " $(rm x)",
        " `rm x`",
        " > x",
        " <(rm x)",
        " | tee x",
    ]
)


@pytest.mark.requirement("policy.levels")
@settings(max_examples=400, deadline=None)
@given(command=COMMANDS)
def test_any_text_but_nothing_gets_a_level(command: str) -> None:
    if not command.strip():
        return
    risk = assess_command(command)
    assert risk.level in LEVELS
    assert len(risk.reasons) <= MAX_REASONS
    assert risk.level == "read" or risk.reasons


@pytest.mark.requirement("policy.compound")
@settings(max_examples=200, deadline=None)
@given(before=st.sampled_from(["ls; ", "a && ", "( ls ); ", "echo 'x' | ", "x=1; "]), command=COMMANDS)
def test_more_before_a_command_never_makes_it_safer(before: str, command: str) -> None:
    if not command.strip() or command.lstrip().startswith(("&", ";", "|", ")")):
        return
    alone, together = assess_command(f"ls; {command}"), assess_command(f"{before}ls; {command}")
    assert LEVELS.index(together.level) >= LEVELS.index(alone.level)


@pytest.mark.requirement("grant.pattern")
@settings(max_examples=400, deadline=None)
@given(command=st.one_of(COMMANDS, st.tuples(PROGRAMS, SAFE_ARGUMENTS).map(" ".join)))
def test_a_pattern_that_is_offered_covers_its_command(command: str) -> None:
    pattern = command_pattern(command)
    assert pattern == "" or matches(pattern, command)


@pytest.mark.requirement("grant.pattern")
@settings(max_examples=300, deadline=None)
@given(program=PROGRAMS, arguments=SAFE_ARGUMENTS, smuggled=SMUGGLED)
def test_nothing_smuggled_behind_a_call_is_covered(program: str, arguments: str, smuggled: str) -> None:
    pattern = command_pattern(f"{program} {arguments}")
    assert pattern == "" or not matches(pattern, f"{program} {arguments}{smuggled}")
