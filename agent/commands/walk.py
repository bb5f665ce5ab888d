"""Walking through the commands of a script in order: the directory, the variables, and what each part may do."""

import re

from agent.commands.call import Call, Code, Feed, Finding, Found, Inner, RunsFile, is_unknown, positionals
from agent.commands.deletes import written
from agent.commands.find import found_paths
from agent.commands.origin import downloaded_files, output_mark, printed_text, program_of, script_mark
from agent.commands.paths import is_harmless, is_socket, may_hold_secrets, resolved, shown
from agent.commands.programs import judge
from agent.commands.shells import hidden_code
from agent.commands.syntax import read
from agent.commands.tables import SHELLS, loads_code
from agent.commands.tree import DECODED, DOWNLOADED, SPLIT, UNKNOWN, Command, Script, Word
from agent.commands.values import MAX_VALUE_CHARACTERS, STANDARD, assign, expand
from agent.paths import INSIDE

MAX_DEPTH = 30
"""How deeply scripts and programs may run one another before nobody can follow."""
MAX_CODE_CHARACTERS = 200_000
"""How much text for other shells is read in all, since each may hold the next."""
# PATH_MAX of Linux.
MAX_PATH_CHARACTERS = 4_096

_SYSTEM_DIRECTORIES = ("/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin", "/usr/local/sbin", "/tools")
_VARIANT = re.compile(r"(python|pip|pypy|perl|ruby|php|lua|node|gcc|clang|nc|mkfs|tclsh)(?:[\d.-].*|\.\w+)\Z")
_UNKNOWN_MARKS = re.compile(f"[{UNKNOWN}{DOWNLOADED}{DECODED}]")
_WRITING = frozenset({">", ">>", ">|", "<>", "&>", "&>>", ">&"})
_TEXTS = frozenset({"<<", "<<-", "<<<"})
_DECLARERS = frozenset({"export", "declare", "typeset", "local", "readonly"})
_MARKS = re.compile("[\x00-\x08]")
_PRINT_DIRECTORY = (("pwd",), ("git", "rev-parse", "--show-toplevel"))
_SERVICES = "/etc/init.d/"


class _Line:
    """The commands of one script, and what is known of those that ran."""

    def __init__(self, script: Script) -> None:
        self.commands = script.commands
        self.ran: list[tuple[tuple[str, ...], Feed]] = []
        self.latest_mark = (-1, "")
        # For each command the nearest one up to it whose output is marked: looking back each time would be quadratic.
        self.marked: list[tuple[int, str]] = []

    def finished(self, command: Command, words: tuple[str, ...], feed: Feed) -> None:
        """Take note of a command that ran."""
        if mark := output_mark(command):
            self.latest_mark = (len(self.ran), mark)
        self.ran.append((words, feed))
        self.marked.append(self.latest_mark)

    def feed(self, upstream: tuple[int, int]) -> Feed:
        """What a command reads whose upstream this is."""
        start, end = upstream
        if start >= end:
            return Feed()
        place, mark = self.marked[end - 1]
        words, feed = self.ran[end - 1]
        single = end - start == 1 and bool(words)
        return Feed(
            given=True,
            text=printed_text(words, feed.text) if single else None,
            mark=mark if place >= start else "",
            paths=found_paths(words[1:]) if words[:1] == ("find",) else None,
        )


class Walk:
    """What is found in scripts, and what is known while they are walked through."""

    def __init__(self) -> None:
        self.findings: dict[Finding, None] = {}
        self.directory: str | None = INSIDE
        self.variables = dict(STANDARD)
        self.downloaded: set[str] = set()
        self.depth = 0
        self.budget = MAX_CODE_CHARACTERS

    def add(self, finding: Finding) -> None:
        """Take note of a finding."""
        self.findings[finding] = None

    def script(self, script: Script) -> None:
        """Walk through a script that runs in this shell."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.add(Finding("write", "could not be read: it is nested too deeply"))
        else:
            line = _Line(script)
            for command in script.commands:
                self._command(command, line)
        self.depth -= 1

    def apart(self, script: Script) -> None:
        """Walk through a script that runs in a shell of its own."""
        directory, variables = self.directory, dict(self.variables)
        self.script(script)
        self.directory, self.variables = directory, variables

    def _command(self, command: Command, line: _Line) -> None:
        words = tuple(each for word in command.words for each in self._expand(word))
        for name, value in command.assignments:
            self._assign(name, self._expand(value), lasting=not command.words)
        if command.body is not None:
            self.apart(command.body)
        feed = self._feed(command, line)
        self._check_bomb(command, line)
        self.run(words, feed)
        if feed.mark or output_mark(command) == DOWNLOADED:
            self._keep_downloads(command, words)
        line.finished(command, words, feed)

    def _expand(self, word: Word) -> tuple[str, ...]:
        for script in word.scripts:
            self.apart(script)
        return self._values(word)

    def _values(self, word: Word) -> tuple[str, ...]:
        # `$PWD` is what it is only now.
        variables = {**self.variables, "PWD": self.directory or UNKNOWN} if "PWD" in word.text else self.variables
        return expand(word, variables, (self._output(script, word) for script in word.scripts))

    def _output(self, script: Script, word: Word) -> str:
        """What a script in a word prints, if that is plain to see, or else what stands for it."""
        mark = script_mark(script)
        if mark or len(script.commands) != 1:
            return mark or UNKNOWN
        words = tuple(each.text for each in script.commands[0].words)
        if words in _PRINT_DIRECTORY:
            return self.directory or UNKNOWN
        text = printed_text(words, None)
        plain = text is not None and not _MARKS.search(text) and len(text) <= MAX_VALUE_CHARACTERS
        return (text if word.quoted else SPLIT.join(text.split())) if plain and text is not None else UNKNOWN

    def _assign(self, name: str, values: tuple[str, ...], *, lasting: bool) -> None:
        if loads_code(name, " ".join(values)):
            self.add(Finding("write", f"changes what programs load or run ({name})"))
        if lasting and name:
            assign(self.variables, name, values)

    def _feed(self, command: Command, line: _Line) -> Feed:
        """Look at the redirections; give what the command reads."""
        feed = line.feed(command.upstream)
        for redirect in command.redirects:
            target = " ".join(self._expand(redirect.target))
            if redirect.operator in _TEXTS:
                feed = Feed(given=True, text=target, mark=_mark_in(target))
            elif redirect.operator == "<":
                mark = DOWNLOADED if resolved(target, self.directory) in self.downloaded else _mark_in(target)
                feed = Feed(given=True, mark=mark)
            self._redirect(redirect.operator, target, program_of(command.words))
        return feed

    def _redirect(self, operator: str, target: str, program: str) -> None:
        if operator in _TEXTS or (operator in {">&", "<&"} and re.fullmatch(r"\d*-?", target)):
            return
        if is_socket(target):
            shell = program in SHELLS
            reason = "gives another machine a shell on this one" if shell else "opens a connection to another machine"
            self.add(Finding("destructive" if shell else "network", reason))
        elif operator in _WRITING and not is_harmless(target, self.directory):
            self._take_all(written([target], self.directory, "writes to a file"))
        elif may_hold_secrets(target):
            self.add(Finding("read", f"reads {shown(target)}, which may hold secrets"))

    def _check_bomb(self, command: Command, line: _Line) -> None:
        """A function that starts itself twice, or in the background."""
        name = command.function
        if not name or not _calls(command, name):
            return
        start, end = command.upstream
        before = line.commands[max(start, end - 3) : end]
        if command.background or any(_calls(other, name) for other in before):
            self.add(Finding("destructive", "starts itself again and again until the machine stands still"))

    def _keep_downloads(self, command: Command, words: tuple[str, ...]) -> None:
        files = [" ".join(self._values(each.target)) for each in command.redirects if each.operator in _WRITING]
        program = program_of(words)
        place = next((index for index, word in enumerate(words) if word.rpartition("/")[2] == program), 0)
        arguments = words[place + 1 :]
        files += positionals(arguments) if program == "tee" else downloaded_files(program, arguments)
        self.downloaded.update(resolved(file, self.directory) for file in files if not is_unknown(file))

    def run(self, words: tuple[str, ...], feed: Feed) -> None:
        """Find what one program with its arguments may do, and what it runs in turn."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.add(Finding("write", "could not be read: programs run one another too deeply"))
        elif words:
            self._run(words, feed)
        self.depth -= 1

    def _run(self, words: tuple[str, ...], feed: Feed) -> None:
        word, arguments = words[0], words[1:]
        name = word.rpartition("/")[2].removesuffix(".exe")
        if is_unknown(name) or not name:
            self._run_unknown(word, arguments, feed)
            return
        if word.startswith(_SERVICES):
            name, arguments = "service", (name, *arguments)
        elif "/" in word and word.rpartition("/")[0] not in _SYSTEM_DIRECTORIES:
            self._take(RunsFile(word), Call(name))
        variant = _VARIANT.match(name)
        call = Call(variant.group(1) if variant else name, arguments, self.directory, feed)
        for found in judge(call):
            self._take(found, call)
        self._remember(call)

    def _run_unknown(self, word: str, arguments: tuple[str, ...], feed: Feed) -> None:
        self._take_all(hidden_code(word))
        self.add(Finding("write", "runs a program that is only known when it runs"))
        # It may be empty, or run what follows.
        if arguments and not arguments[0].startswith("-"):
            self.run(arguments, feed)

    def _take_all(self, found: Found) -> None:
        for each in found:
            self._take(each, Call(""))

    def _take(self, found: Finding | Inner | Code | RunsFile, call: Call) -> None:
        match found:
            case Finding():
                self.add(found)
            case RunsFile(path):
                self._run_file(path)
            case Code(text):
                self._code(text, lasting=call.program == "eval")
            case _:
                self.run(found.words, call.feed)

    def _run_file(self, path: str) -> None:
        if resolved(path, self.directory) in self.downloaded:
            self.add(Finding("destructive", f"downloads {shown(path)} and runs it, unseen"))
        else:
            self.add(Finding("write", f"runs the file {shown(path)}"))

    def _code(self, text: str, *, lasting: bool) -> None:
        if is_unknown(text):
            self.add(Finding("write", "gives a shell a text that is only known when it runs"))
        self.budget -= len(text)
        if self.budget < 0:
            self.add(Finding("write", "could not be read: too much of it is run by shells within shells"))
            return
        reading = read(_UNKNOWN_MARKS.sub("${_}", text))
        if reading.problem:
            self.add(Finding("write", f"could not be read: {reading.problem}"))
        if lasting:
            self.script(reading.script)
        else:
            self.apart(reading.script)

    def _remember(self, call: Call) -> None:
        """What a builtin of the shell changes for the commands after it."""
        words = positionals(call.arguments)
        if call.program in {"cd", "pushd"}:
            target = words[0] if words else self.variables.get("HOME", UNKNOWN)
            there = resolved(target, self.directory)
            known = target != "-" and not is_unknown(there) and len(there) <= MAX_PATH_CHARACTERS
            self.directory = there if known else None
        elif call.program == "popd":
            self.directory = None
        elif call.program in _DECLARERS:
            for word in words:
                name, _, value = word.partition("=")
                assign(self.variables, name, (value if "=" in word else UNKNOWN,))


def _mark_in(text: str) -> str:
    return next((mark for mark in (DOWNLOADED, DECODED) if mark in text), "")


def _calls(command: Command, name: str) -> bool:
    return bool(command.words) and command.words[0].text == name
