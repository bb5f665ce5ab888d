"""How a command line is split into its simple commands."""

import pytest

from agent.commands.syntax import read
from agent.commands.tree import END, PROCESS, QUOTED_VARIABLE, SCRIPT, UNKNOWN, VARIABLE


def words(command: str) -> list[list[str]]:
    reading = read(command)
    assert reading.problem == ""
    return [[word.text for word in each.words] for each in reading.script.commands]


@pytest.mark.requirement("policy.compound")
@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("a b;c&&d||e|f&g", [["a", "b"], ["c"], ["d"], ["e"], ["f"], ["g"]]),
        ("a |\n b &&\n\n c", [["a"], ["b"], ["c"]]),
        ("a # b\n# c\nd#e", [["a"], ["d#e"]]),
        ("a\\\n b\\\nc", [["a", "bc"]]),
        ("'a b'\"c d\"e\\ f \"\" ''", [["a bc de f", "", ""]]),
        ('"\\$a\\"\\\\\\n\\\n"', [['$a"\\\\n']]),
        ("$'a\\n\\x41\\101\\u0042\\'\\q' $\"b\"", [["a\nAAB'q", "b"]]),
        ("{a,b}{c,d} {} a{b}", [["ac", "ad", "bc", "bd", "{}", "a{b}"]]),
        ("{a,{b,c}}", [["a", "b", "a", "c"]]),
        ("a=1 b=2 c d=3", [["c", "d=3"]]),
        ("echo a=(b c) x", [["echo", "a=b\x04c", "x"]]),
        ("if a; then b; elif c; then d; else e; fi", [["a"], ["b"], ["c"], ["d"], ["e"]]),
        ("while a; do b; done; until c; do d; done", [["a"], ["b"], ["c"], ["d"]]),
        ("! a; time b; coproc c", [["a"], ["time", "b"], ["c"]]),
        ("[[ a && ( b || c ) < d ]] && e", [["[[", "a", "b", "c", "d", "]]"], ["e"]]),
        ("a <(b) c", [["a", PROCESS, "c"]]),
        ("$(a) `b` $((1+2)) $[1] $1 $ ${x:-y}", [[SCRIPT, SCRIPT, UNKNOWN, "$[1]", UNKNOWN, "$", UNKNOWN]]),
        (
            '~ ~/a "~" $a "$b" ${c}',
            [
                [
                    f"{VARIABLE}HOME{END}",
                    f"{VARIABLE}HOME{END}/a",
                    "~",
                    f"{VARIABLE}a{END}",
                    f"{QUOTED_VARIABLE}b{END}",
                    f"{VARIABLE}c{END}",
                ]
            ],
        ),
        ("f() { a; }; function g { b; }; function h() { c; }", [["a"], ["b"], ["c"]]),
        ("$'\\ud800'", [[UNKNOWN]]),
        ("a;;", [["a"]]),
    ],
)
def test_a_line_falls_into_its_simple_commands(command: str, expected: list[list[str]]) -> None:
    assert words(command) == expected


@pytest.mark.requirement("policy.compound")
def test_what_stands_in_a_word_is_read_as_a_script_of_its_own() -> None:
    (command,) = read('echo "x $(a; b `c \\`d\\``)" ${y:-$(e)} $(( $(f) + 1 ))').script.commands
    scripts = [script for word in command.words for script in word.scripts]
    assert [[word.text for word in each.words] for each in scripts[0].commands] == [["a"], ["b", SCRIPT]]
    assert [script.commands[0].words[0].text for script in scripts] == ["a", "e", "f"]


def test_redirections_are_kept_apart_from_words() -> None:
    (command,) = read("a 2>&1 >x >>y <z &>w {fd}>v >|u <>t >&- 10>s").script.commands
    assert [word.text for word in command.words] == ["a"]
    assert [(each.operator, each.target.text) for each in command.redirects] == [
        (">&", "1"),
        (">", "x"),
        (">>", "y"),
        ("<", "z"),
        ("&>", "w"),
        (">", "v"),
        (">|", "u"),
        ("<>", "t"),
        (">&", "-"),
        (">", "s"),
    ]


def test_here_documents_are_text_and_belong_to_their_commands() -> None:
    first, second, third = read("a <<E <<-'F' | b\n$(x) \"y\nE\n\t$(z)\n\tF\nc <<< d").script.commands
    assert [each.target.text for each in first.redirects] == [f'{SCRIPT} "y', "$(z)"]
    assert len(first.redirects[0].target.scripts) == 1
    assert second.upstream == (0, 1)
    assert third.redirects[0].target.text == "d"


def test_a_here_document_without_its_end_goes_to_the_end() -> None:
    (command,) = read("a <<E\nb\nc").script.commands
    assert command.redirects[0].target.text == "b\nc"


def test_a_pipeline_knows_what_each_part_reads() -> None:
    commands = read("a; b | c | d; { e; f; } | g").script.commands
    assert [command.upstream for command in commands] == [(0, 0), (0, 0), (1, 2), (1, 3), (0, 0), (0, 0), (4, 6)]


def test_what_is_inside_a_compound_command_reads_what_that_reads() -> None:
    commands = read("a | while b; do c; done").script.commands
    assert [command.upstream for command in commands] == [(0, 0), (0, 1), (0, 1)]


def test_brackets_are_a_command_with_a_script_in_it() -> None:
    first, second = read("(a; b) > x | c").script.commands
    assert first.body is not None
    assert len(first.body.commands) == 2
    assert second.upstream == (0, 1)


def test_loops_and_cases_keep_their_words_as_values() -> None:
    loop, _, endless, _ = read("for x in a b; do c; done; for y; do d; done").script.commands
    assert [(name, word.text) for name, word in loop.assignments] == [("x", "a\x04b")]
    assert [(name, word.text) for name, word in endless.assignments] == [("y", UNKNOWN)]
    case = read("case $(a) in\n # b\n c | d) e;;\n (f) g;& *) h\nesac").script.commands
    assert [command.words[0].text for command in case if command.words] == ["e", "g", "h"]
    assert len(case[0].assignments[0][1].scripts) == 1


def test_functions_and_what_runs_behind_are_marked() -> None:
    one, two, three = read("f() { f | f & }; f").script.commands
    assert (one.function, one.background, two.function, three.function) == ("f", True, "f", "")


def test_too_many_alternatives_stay_unknown() -> None:
    assert words("{a,b}" * 7) == [[UNKNOWN]]


def test_arithmetic_is_no_command() -> None:
    assert words("((x > 1)) && for ((i=0; i<3; i++)); do a; done") == [[], [], ["a"]]
    assert words("$((a) | b)") == [[SCRIPT]]


@pytest.mark.parametrize("command", ["ls\x00", "l\x01s"])
def test_control_characters_are_a_problem(command: str) -> None:
    assert read(command).problem == "it has control characters"
