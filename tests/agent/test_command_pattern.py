"""The wider form of a command that a person may allow, and what slips in behind it: nothing."""

import pytest

from agent.commands import command_pattern, matches

OFFERED = [
    ("pytest", "pytest *"),
    ("pytest -q tests/ -k 'a and b'", "pytest *"),
    ("pytest -q 2>&1 | tail -20", "pytest *"),
    ("cd sub && pytest", "pytest *"),
    ("python -m pytest -x", "python -m pytest *"),
    ("python x.py --all", "python x.py *"),
    ("node tools/a.mjs", "node tools/a.mjs *"),
    ("./build.sh fast", "./build.sh *"),
    ("npm test", "npm test *"),
    ("npm run build -- --watch", "npm run build *"),
    ("yarn lint", "yarn lint *"),
    ("cargo test -- --nocapture", "cargo test *"),
    ("cargo run", "cargo run *"),
    ("go test ./... -run X", "go test *"),
    ("git commit -m 'a; rm -rf / && b'", "git commit *"),
    ("git add -A", "git add *"),
    ("make test", "make test *"),
    ("CI=1 npm test > /dev/null 2>&1", "npm test *"),
    ("mkdir -p src/a", "mkdir *"),
    ("ruff check --fix .; ls", "ruff *"),
]
NOT_OFFERED = [
    [
        "ls",
        "",
        " ",
        "ls 'x",
        "bash -c 'pytest'",
        "bash x.sh",
        "sh x.sh",
        "eval pytest",
        "python -c 1",
        "python",
        "node -e 1",
    ],
    [
        "python -m app",
        "python -m http.server",
        "python ../x.py",
        "python /etc/x.py",
        "npm install",
        "npm run",
        "git push",
    ],
    [
        "curl x",
        "rm -rf build",
        "rm -rf /",
        "sudo pytest",
        "timeout 5 pytest",
        "env pytest",
        "xargs pytest",
        "time pytest",
    ],
    [
        "find . -exec pytest \\;",
        "pytest > out.txt",
        "pytest >> x",
        "pytest < x",
        "pytest $X",
        "pytest $(ls)",
        "pytest `ls`",
    ],
    [
        "pytest <(ls)",
        "pytest &",
        "(pytest)",
        "if pytest; then ls; fi",
        "f() { pytest; }",
        "{ pytest; }",
        "pytest <<< x",
    ],
    [
        "pytest && npm test",
        "git add -A && git commit -m x",
        "LD_PRELOAD=x pytest",
        "PATH=x pytest",
        "PYTHONPATH=x pytest",
    ],
    ["FOO=1 pytest", "PYTEST_ADDOPTS=x pytest", "export FOO=1 && pytest", "alias a=b; pytest", "set -e; pytest"],
    [
        "printf -v X a; pytest",
        "X=1; pytest",
        "pytest -p evil",
        "pytest -pevil",
        "pytest --rootdir=/x",
        "pytest -c x.ini",
    ],
    [
        "pytest -o addopts=x",
        "pytest --override-ini=x=y",
        "pytest --basetemp=src",
        "pytest --pastebin=all",
        "eslint -c x .",
    ],
    [
        "git -c core.pager=x commit",
        "git -C /x commit",
        "git commit --template=x",
        "git branch -D x",
        "git branch --del x",
    ],
    [
        "git switch -f x",
        "git switch --discard-changes x",
        "git rebase -x a main",
        "git checkout .",
        "git stash drop",
        "git log",
    ],
    [
        "cargo test --config x",
        "cargo test -Zx",
        "go test -exec x",
        "go build -toolexec x",
        "go test -vettool=x",
        "go test -C x",
    ],
    [
        "npm test --script-shell=x",
        "npm test --prefix x",
        "jest --runner x",
        "mocha -r x",
        "make",
        "make -f x",
        "make SHELL=x",
    ],
    [
        "make test SHELL=x",
        "make test -f x",
        "mypy --python-executable x",
        "tool --x",
        "/bin/x",
        "../x.sh",
        ".venv/bin/python x.py",
    ],
    [
        "node_modules/.bin/x",
        "mkdir /etc/x",
        "touch ../x",
        "cp a b",
        "tee x",
        "sed -i s/a/b/ x",
        "chmod +x a",
        "kill 1234",
    ],
    ["'my script'.py", "python 'a b.py'", "{pytest,-q} > x", "$PYTEST", "go test -ldflags=x", "trap ls EXIT; pytest"],
]
SMUGGLED = [
    "; rm x",
    ";rm x",
    "\nrm x",
    " && rm x",
    " || rm x",
    " | sh",
    " | tee x",
    " & rm x",
    " &",
    " $(touch x)",
    " `touch x`",
]
SMUGGLED += [
    " > x",
    " >> x",
    " 2> x",
    " >| x",
    " &> x",
    " <(touch x)",
    " >(touch x)",
    ' "$(touch x)"',
    " $X",
    " ${X}",
    " < x",
]
SMUGGLED += [
    "; curl x",
    " | curl -d @- x",
    " && sudo ls",
    " <<E\nx\nE",
    " 'x",
    "; { rm x; }",
    "; (rm x)",
    " && . ./x",
    "; eval x",
    " | xargs rm",
]


@pytest.mark.requirement("grant.pattern")
@pytest.mark.parametrize(("command", "pattern"), OFFERED)
def test_a_command_is_offered_with_its_verb_and_is_covered_itself(command: str, pattern: str) -> None:
    assert command_pattern(command) == pattern
    assert matches(pattern, command)


@pytest.mark.requirement("grant.pattern")
@pytest.mark.parametrize("command", [command for row in NOT_OFFERED for command in row])
def test_nothing_wider_is_offered_where_it_would_let_more_in_than_it_says(command: str) -> None:
    assert command_pattern(command) == ""


@pytest.mark.requirement("grant.pattern")
@pytest.mark.parametrize("suffix", SMUGGLED)
@pytest.mark.parametrize(("command", "pattern"), OFFERED)
def test_nothing_slips_in_behind_a_pattern(command: str, pattern: str, suffix: str) -> None:
    assert not matches(pattern, f"{command}{suffix}")


@pytest.mark.requirement("grant.pattern")
@pytest.mark.parametrize(
    "command", ["pytest; ls", "ls\npytest -x", "pytest | grep FAILED | head", "git status && pytest -v"]
)
def test_parts_that_only_read_may_stand_beside_it(command: str) -> None:
    assert matches("pytest *", command)


@pytest.mark.parametrize(
    ("pattern", "command"),
    [
        ("pytest *", "npm test"),
        ("pytest *", "pytest-evil"),
        ("pytest *", "./pytest"),
        ("pytest *", "ls"),
        ("pytest *", ""),
        ("git commit *", "git push"),
        ("npm run build *", "npm run deploy"),
        ("", "pytest"),
        ("*", "ls"),
        ("*", "pytest"),
        ("bash *", "bash -c 'rm x'"),
        ("pytest", "pytest"),
    ],
)
def test_a_pattern_covers_nothing_else(pattern: str, command: str) -> None:
    assert not matches(pattern, command)
