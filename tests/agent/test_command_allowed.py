"""Which options and places a pattern covers, and which turn a command into a question again."""

import pytest

from agent.commands import command_pattern, matches
from agent.commands.allowed import are_allowed
from agent.commands.pattern import _PROGRAMS, _VERBS  # pyright: ignore[reportPrivateUsage]

ASKED = [
    *(("python3 main.py *", "cd sub && python3 main.py"), ("make test *", "cd sub && make test")),
    *(
        ("npm run build *", "cd sub && npm run build"),
        ("./check *", "cd sub && ./check"),
        ("npm test *", "pushd sub; npm test"),
    ),
    *(("./check *", "popd; ./check"), ("just x *", "cd sub; ls; just x"), ("yarn lint *", "cd sub && yarn lint")),
    *(
        ("ruff *", "ruff check -o src/main.py"),
        ("ruff *", "ruff check --output-file=src/x"),
        ("eslint *", "eslint -o x ."),
    ),
    *(
        ("pytest *", "pytest --junitxml=src/main.py"),
        ("pytest *", "pytest --junit-xml src/main.py"),
        ("go test *", "go test -o x"),
    ),
    *(
        ("go test *", "go test -coverprofile=x"),
        ("go build *", "go build -o src/x"),
        ("pytest *", "pytest --cov-report=xml:src/x"),
    ),
    *(("tsc *", "tsc --outFile src/x"), ("tsc *", "tsc -outFile src/x"), ("jest *", "jest --outputFile=x")),
    *(("mypy *", "mypy --junit-xml x"), ("gofmt *", "gofmt -cpuprofile=x"), ("pylint *", "pylint --output=x")),
    *(
        ("npm test *", "npm test -- --outputFile=src/x"),
        ("npm test *", "npm test -- -o x"),
        ("cargo test *", "cargo test -- --logfile x"),
    ),
    *(("phpunit *", "phpunit --bootstrap x"), ("mocha *", "mocha --ui x"), ("ctest *", "ctest --build-and-test a b")),
    *(
        ("pytest *", "pytest @args"),
        ("tsc *", "tsc @args"),
        ("pytest *", "pytest -- @args"),
        ("pytest *", "pytest --cov -o addopts=x"),
    ),
    *(("git commit *", "git commit -e -m x"), ("git commit *", "git commit"), ("git commit *", "git commit --amend")),
    *(
        ("git add *", "git add -e"),
        ("git add *", "git add -f x"),
        ("git commit *", "git commit --edi -m x"),
        ("git tag *", "git tag -a v1"),
    ),
    *(("git branch *", "git branch -m a b"), ("make test *", "make test deploy"), ("make test *", "make -C sub test")),
    *(("vitest *", "vitest init browser"), ("eslint *", "eslint --init"), ("golangci-lint *", "golangci-lint custom")),
    *(("dotnet test *", "dotnet test -- x"), ("dotnet test *", "dotnet test @x"), ("go test *", "go test -args -x")),
    *(
        ("cargo build *", "cargo build --target-dir x"),
        ("black *", "black --config x ."),
        ("rspec *", "rspec --init"),
        ("pytest *", "pytest -k --pdb"),
    ),
]
COVERED = [
    *(("pytest *", "cd sub && pytest -xvs -k 'a and b' --tb=short"), ("cargo test *", "cd x && cargo test --release")),
    *(
        ("pytest *", "pytest -n4 -q --maxfail=2 tests"),
        ("pytest *", "pytest --cov --cov-report=term-missing"),
        ("pytest *", "pytest --cov=src -q"),
    ),
    *(
        ("git commit *", "git commit -am 'x'"),
        ("git commit *", "git commit --amend --no-edit"),
        ("git commit *", "git commit -m '@x y'"),
    ),
    *(
        ("git add *", "git add -- a"),
        ("git tag *", "git tag v1"),
        ("git tag *", "git tag -a v1 -m x"),
        ("git switch *", "git switch -c x"),
    ),
    *(
        ("make test *", "make test -j4"),
        ("make test *", "make test -j 4 -k"),
        ("go test *", "go test -run X -count=1 ./..."),
    ),
    *(
        ("go test *", "go test -v -vet=off ./..."),
        ("ctest *", "ctest -j4 -VV -R x"),
        ("ruff *", "ruff check --fix --select E ."),
    ),
    *(
        ("npm test *", "npm test -- --watch -t x"),
        ("eslint *", "eslint --fix --ext .ts src"),
        ("cargo clippy *", "cargo clippy -- -D warnings"),
    ),
    *(
        ("cargo run *", "cargo run -- -o x"),
        ("mkdir *", "mkdir -p a b"),
        ("tsc *", "tsc --noEmit"),
        ("py.test *", "py.test -x"),
    ),
    *(
        ("python x.py *", "python x.py --out src/x"),
        ("./check *", "./check @x; cd sub"),
        ("python -m unittest *", "python -m unittest -v"),
    ),
    *(
        ("ninja all *", "ninja all -v"),
        ("black *", "black --check ."),
        ("yarn test *", "yarn test --watch"),
        ("touch *", "touch -c - a"),
    ),
]


@pytest.mark.requirement("grant.pattern")
@pytest.mark.parametrize(("pattern", "command"), ASKED)
def test_what_writes_loads_edits_or_lies_elsewhere_is_asked_about(pattern: str, command: str) -> None:
    assert not matches(pattern, command)
    assert command_pattern(command) == ""


@pytest.mark.requirement("grant.pattern")
@pytest.mark.parametrize(("pattern", "command"), COVERED)
def test_what_people_add_every_day_is_covered(pattern: str, command: str) -> None:
    assert matches(pattern, command)
    assert command_pattern(command) == pattern


@pytest.mark.requirement("grant.pattern")
@pytest.mark.parametrize(
    "prefix", [*((program,) for program in _PROGRAMS), *((each, verb) for each in _VERBS for verb in _VERBS[each])]
)
def test_no_program_takes_an_option_that_nobody_listed(prefix: tuple[str, ...]) -> None:
    assert not are_allowed(prefix, ("--option-that-nobody-knows",))
    assert not are_allowed(prefix, ("-%",))
