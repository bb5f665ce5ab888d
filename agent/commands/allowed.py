"""The options that a pattern may cover: they change what a program looks at or tells, not what it loads or overwrites.

Whatever is not listed is asked about. An option with `=` at its end takes a value; one with a value after `=` may have
only that. What stands in front is a program, or a program with its verb.
"""

import re

from agent.commands.options import Given, given

_TABLE = """
pytest: -q -v -vv -x -s -l -h --quiet --verbose --exitfirst --showlocals --lf --last-failed --ff --failed-first --nf
    --sw --stepwise --sw-skip --no-header --no-summary --collect-only --co --strict-markers --strict-config --cov
    --no-cov --disable-warnings --runxfail --markers --fixtures --setup-show --cov-report=term --cov-report=term-missing
    --cov-branch -k= -m= -r= -n= --maxfail= --tb= --durations= --timeout= --ignore= --deselect= --cov= --color= --dist=
    --numprocesses= --capture= --cov-fail-under= --verbosity=
unittest: -v -q -f -b -c --verbose --quiet --failfast --buffer --locals -k= -s= -p= -t=
doctest: -v -f -o=
tsc: --noEmit --noEmitOnError --watch -w --strict --pretty --skipLibCheck --listFiles --diagnostics --explainFiles -v
    --extendedDiagnostics --esModuleInterop --allowJs --checkJs --target= --module= --jsx= --lib=
eslint: --fix --fix-dry-run --quiet --color --no-color --debug --ext= --max-warnings= --no-error-on-unmatched-pattern
    --report-unused-disable-directives
prettier: --write -w --check -c --list-different -l --ignore-unknown -u --no-color --single-quote --log-level=
    --print-width= --tab-width=
ruff: --fix --no-fix --fix-only --unsafe-fixes --show-fixes --diff --check --preview --statistics --exit-zero -e -q
    --quiet -v --verbose -n --no-cache -w --watch --select= --ignore= --extend-select= --line-length= --exclude=
    --target-version= --output-format=
black: -q --quiet -v --verbose --check --diff --color --no-color -S --skip-string-normalization -C --preview --fast
    --safe -x -l= --line-length= -t= --target-version=
isort: -q --quiet -v --verbose -c --check --check-only --diff --atomic -l= --line-length= --profile=
mypy: --strict --ignore-missing-imports --no-error-summary --pretty --show-error-codes --namespace-packages -v
    --verbose --explicit-package-bases --no-incremental --check-untyped-defs --disallow-untyped-defs
    --warn-unused-ignores --show-column-numbers -p= --package= -m= --module= --python-version= --follow-imports=
pyright: --verbose --stats --warnings --outputjson -w --watch --level= --pythonversion= --pythonplatform=
flake8: -q -v --count --statistics --show-source --max-line-length= --max-complexity= --select= --ignore=
    --extend-ignore= --exclude=
pylint: -E --errors-only -j= --jobs= --disable= --enable= -d= -e= --score= -s= -r= --fail-under=
jest: --watch --watchAll --coverage --no-coverage --verbose --ci -i --runInBand --bail -b --silent --detectOpenHandles
    --forceExit --passWithNoTests --onlyChanged -o --no-cache --colors --json --listTests -t= --testNamePattern=
    --maxWorkers= -w= --testPathPattern= --testPathPatterns=
vitest: --run --watch --coverage --passWithNoTests --silent --no-color -t= --testNamePattern= --bail=
mocha: -b --bail --exit -w --watch --recursive --parallel -c --color -C --forbid-only --check-leaks -i --invert -g=
    --grep= -f= --fgrep= -t= --timeout= -j= --retries=
phpunit: --stop-on-failure --stop-on-error -v --verbose --testdox --debug --colors --no-coverage --list-tests
    --no-progress --colors= --filter= --group= --exclude-group= --testsuite= --order-by=
rspec: -b --backtrace --fail-fast -c --color --no-color --only-failures -n --next-failure -w --warnings --dry-run
    --format=documentation --format=progress -e= --example= -t= --tag= --order= --seed=
ctest: --output-on-failure -V -VV --verbose -N --show-only --rerun-failed --stop-on-failure -Q --quiet -R= -E= -L= -j=
    --parallel= --timeout= --schedule-random --progress
gofmt: -l -d -s -w -e
rustfmt: --check -v --verbose -q --quiet -l --edition=
shfmt: -l -w -d -s -i= -ci -bn -sr -kp
golangci-lint: -v --verbose --fix --fast --new --timeout= --tests=
mkdir: -p --parents -v --verbose -m= --mode=
touch: -a -m -c --no-create -t= -d= --date=
git add: -A --all -u --update -N --intent-to-add -v --verbose -n --dry-run
git commit: -a --all -s --signoff -q --quiet --amend --no-edit --allow-empty -n --no-verify --dry-run -m= --message=
    --date= --author=
git mv: -v -n -k --verbose --dry-run
git switch: -c= --create= -q --quiet -t --track --no-track --detach
git tag: -a -l --list --annotate -m= --message= --sort= --contains=
git branch: -a --all -r --remotes -v -vv --list -l --show-current --merged --no-merged --contains= --sort=
    --set-upstream-to= -u= -q
cargo: --release -r --all --workspace --all-targets --all-features --no-default-features --lib --bins --tests --examples
    --benches --doc --no-run --no-fail-fast --locked --offline --frozen -v -vv --verbose -q --quiet --keep-going --check
    --no-deps --document-private-items --features= -F= -p= --package= --bin= --test= --example= --bench= -j= --jobs=
    --message-format= --exclude=
cargo --: --nocapture --no-capture --test-threads= --ignored --include-ignored --exact --show-output --list --skip= -q
    --quiet --check -D= -W= -A= --color=
go: -v -race -cover -short -benchmem -failfast -json -n -x -a -trimpath -run= -count= -timeout= -bench= -parallel= -p=
    -tags= -vet=off -shuffle= -cpu= -list= -skip=
npm: -s --silent --if-present --workspaces -w= --workspace=
pnpm: -s --silent --if-present --watch --coverage --verbose --fix --check
bun: --watch --bail --coverage --only --todo -t= --timeout= --rerun-each= --silent
dotnet: --no-restore --no-build --nologo -c= --configuration= -v= --verbosity= -f= --framework= --filter=
make: -k -s -n -B --silent --keep-going --dry-run --always-make -j= --jobs=
ninja: -v -n -j= -k=
just: -v --verbose -q --quiet -n --dry-run
task: -v --verbose -s --silent -p --parallel
"""
_SAME = {
    "py.test": "pytest",
    "basedpyright": "pyright",
    "gmake": "make",
    "yarn": "pnpm",
}
# Their options have one dash and a whole name.
_SINGLE_DASH = frozenset({"go", "ctest", "shfmt", "tsc"})
BUILT_BY_TARGET = frozenset({"make", "gmake", "ninja", "just", "task"})
# `init` writes settings, the others run servers, fetch plugins or throw a cache away.
_OTHER_TASKS = {
    "vitest": frozenset({"init"}),
    "mocha": frozenset({"init"}),
    "golangci-lint": frozenset({"custom", "cache", "migrate"}),
    "ruff": frozenset({"clean", "server"}),
    "eslint": frozenset({"init"}),
}
_RUN_SCRIPTS = frozenset({"npm", "pnpm", "bun"})
# Options that a script may give to a program that loads code, writes files or goes elsewhere for them.
_TELLING = re.compile(
    r"-[a-zA-Z]*[ocrRfpC]|--.*(?:out|junit|report|log|save|write|dest|snapshot|cache|trace|config|plugin|exec|hook|require"
    r"|load|import|runner|setup|shell|root|eval|script|editor|transform|resol|environment|install|prefix|cwd|dir|file"
    r"|global|register|force|delete|template)",
    re.IGNORECASE,
)


def _table() -> dict[str, frozenset[str]]:
    rows: dict[str, frozenset[str]] = {}
    for row in _TABLE.replace("\n    ", " ").strip().split("\n"):
        key, _, options = row.partition(": ")
        rows[key] = frozenset(options.split())
    return rows


_ALLOWED = _table()


def are_allowed(prefix: tuple[str, ...], arguments: tuple[str, ...]) -> bool:
    """Whether a pattern that keeps `prefix`, which names no file, may cover these arguments after it."""
    program = prefix[2] if prefix[1:2] == ("-m",) else prefix[0]
    program = _SAME.get(program, program)
    # Python's parsers, tsc and dotnet take more arguments from such a file.
    if program != "git" and any(argument.startswith("@") for argument in arguments):
        return False
    end = arguments.index("--") if "--" in arguments else len(arguments)
    read = _read(program, f"{program} {prefix[1]}" if program == "git" else program, arguments[:end])
    if read is None or not _behind_fits(program, prefix[1:2], arguments[end + 1 :]):
        return False
    return _words_fit(program, read.words) and _opens_no_editor(prefix[:2], read)


def _read(program: str, row: str, arguments: tuple[str, ...]) -> Given | None:
    """The options and words, or nothing if an option is not allowed."""
    allowed = _ALLOWED[row]
    # Where both stand in the table the value can be left out, and is in the same word.
    values = frozenset(option[:-1] for option in allowed if option.endswith("=") and option[:-1] not in allowed)
    whole = frozenset(option.partition("=")[0] for option in allowed) if program in _SINGLE_DASH else allowed
    read = given(arguments, values, whole=whole)
    return read if all(_is_allowed(option, value, allowed) for option, value in read.options) else None


def _is_allowed(option: str, value: str, allowed: frozenset[str]) -> bool:
    # It would be an option of its own, should this one take no value after all.
    if value.startswith("-"):
        return False
    return f"{option}=" in allowed or (f"{option}={value}" if value else option) in allowed


def _behind_fits(program: str, verb: tuple[str, ...], arguments: tuple[str, ...]) -> bool:
    """Whether what stands after `--` may go to what the program runs."""
    if program == "cargo":
        return verb == ("run",) or _read("cargo", "cargo --", arguments) is not None
    if program in _RUN_SCRIPTS:
        options = [argument.partition("=")[0] for argument in arguments if argument.startswith("-")]
        return not any(_TELLING.match(option) for option in options)
    return program not in {"dotnet", "go"} or not arguments


def _words_fit(program: str, words: tuple[str, ...]) -> bool:
    """Whether there is no other task among the words; a target is already in the pattern."""
    if program in BUILT_BY_TARGET:
        return not words
    return not _OTHER_TASKS.get(program, frozenset()).intersection(words[:1])


def _opens_no_editor(call: tuple[str, ...], read: Given) -> bool:
    if call == ("git", "commit"):
        return read.has("-m", "--message", "--no-edit")
    return call != ("git", "tag") or not read.has("-a", "--annotate") or read.has("-m", "--message")
