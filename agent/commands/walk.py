"""Walking through the commands of a script in order: the directory, the variables, and what each part may do."""

import re
from itertools import chain, repeat

from agent.commands.advice import ENDLESS, HIDDEN, OPEN_SHELL
from agent.commands.call import Call, Code, Feed, Finding, Found, Inner, RunsFile, is_unknown, positionals, refused
from agent.commands.deletes import copies, written
from agent.commands.downloads import downloaded_files
from agent.commands.find import found_paths
from agent.commands.line import Line
from agent.commands.origin import mark_in, output_mark, program_of
from agent.commands.paths import is_harmless, is_socket, may_hold_secrets, resolved, shown
from agent.commands.printing import printed_text
from agent.commands.programs import judge
from agent.commands.shells import hidden_code
from agent.commands.syntax import read
from agent.commands.tables import SHELLS, loads_code
from agent.commands.tree import DECODED, DOWNLOADED, PROCESS, SCRIPT, SILENT, SPLIT, UNKNOWN, Command, Script, Word
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
_READING = _TEXTS | {"<"}
_READERS = frozenset({"read", "mapfile", "readarray"})
_SOURCES = frozenset({"source", "."})
_FIRST_PROCESS = 63
_DECLARERS = frozenset({"export", "declare", "typeset", "local", "readonly"})
_PLACES = re.compile(f"[{SCRIPT}{PROCESS}{SILENT}]")
_MARKS = re.compile("[\x00-\x08]")
_PRINT_DIRECTORY = (("pwd",), ("git", "rev-parse", "--show-toplevel"))
_SERVICES = "/etc/init.d/"
_TERMINAL = Feed()


class Walk:
    """What is found in scripts, and what is known while they are walked through."""

    def __init__(self) -> None:
        self.findings: dict[Finding, None] = {}
        self.directory: str | None = INSIDE
        self.variables = dict(STANDARD)
        self.hidden: dict[str, str] = {}
        """Files whose content nobody saw, with the mark that says why."""
        self.processes: dict[str, Feed] = {}
        """What is printed into the files that `<(…)` stands for."""
        self.depth = 0
        self.budget = MAX_CODE_CHARACTERS

    def add(self, finding: Finding) -> None:
        """Take note of a finding."""
        self.findings[finding] = None

    def script(self, script: Script, given: Feed = _TERMINAL) -> Feed:
        """Walk through a script that runs in this shell and reads `given`; give what it prints."""
        self.depth += 1
        line = Line(script, given)
        if self.depth > MAX_DEPTH:
            self.add(Finding("write", "could not be read: it is nested too deeply"))
        for command in script.commands if self.depth <= MAX_DEPTH else ():
            while (outer := line.begins()) is not None:
                line.enter(self._inputs(outer, line.given(outer.upstream)))
            self._command(command, line)
        self.depth -= 1
        return line.printed_since(0)

    def apart(self, script: Script, given: Feed) -> Feed:
        """Walk through a script that runs in a shell of its own."""
        directory, variables = self.directory, dict(self.variables)
        printed = self.script(script, given)
        self.directory, self.variables = directory, variables
        return printed

    def _command(self, command: Command, line: Line) -> None:
        feed = line.given(command.upstream)
        words = tuple(each for word in command.words for each in self._expand(word, feed))
        for name, value in command.assignments:
            self._assign(name, self._expand(value, feed), lasting=not command.words)
        if command.around is not None:
            output = line.printed_since(command.around)
        else:
            feed = self._inputs(command, feed)
            inner = self.apart(command.body, feed) if command.body is not None else Feed(given=True)
            self._check_bomb(command, line)
            self.run(words, feed)
            output = self._output(words, feed, inner)
        self._keep_hidden(words, output, self._outputs(command, output))
        line.finished(output)

    def _expand(self, word: Word, feed: Feed) -> tuple[str, ...]:
        # Of a word with braces the scripts stand in another alternative.
        kinds = chain(_PLACES.findall(word.text), repeat(SILENT))
        outputs = [self._put_in(self.apart(each, feed), next(kinds), word) for each in word.scripts]
        # `$PWD` is what it is only now.
        variables = {**self.variables, "PWD": self.directory or UNKNOWN} if "PWD" in word.text else self.variables
        return expand(word, variables, iter(outputs))

    def _put_in(self, printed: Feed, kind: str, word: Word) -> str:
        """What a script in a word prints, if that is plain to see, or else what stands for it."""
        if kind == PROCESS:
            path = f"/dev/fd/{_FIRST_PROCESS + len(self.processes)}"
            self.processes[path] = printed
            self._hide([path], printed.mark)
            return path
        text = "" if kind == SILENT else printed.text
        if printed.mark or text is None or _MARKS.search(text) or len(text) > MAX_VALUE_CHARACTERS:
            return printed.mark or UNKNOWN
        return text.rstrip("\n") if word.quoted else SPLIT.join(text.split())

    def _output(self, words: tuple[str, ...], feed: Feed, inner: Feed) -> Feed:
        """What a command prints; `inner` is what commands in parentheses do."""
        mark = output_mark(words) or inner.mark or feed.mark
        if not mark and self.hidden:
            known = (self.hidden.get(resolved(word, self.directory), "") for word in words[1:])
            mark = next(filter(None, known), "")
        text = printed_text(words, feed.text) if words else inner.text
        return Feed(
            given=True,
            text=self.directory if words in _PRINT_DIRECTORY else text,
            mark=mark,
            paths=found_paths(words[1:]) if words[:1] == ("find",) else inner.paths,
        )

    def _assign(self, name: str, values: tuple[str, ...], *, lasting: bool) -> None:
        if loads_code(name, " ".join(values)):
            self.add(Finding("write", f"changes what programs load or run ({name})"))
        if lasting and name:
            assign(self.variables, name, values)

    def _inputs(self, command: Command, feed: Feed) -> Feed:
        """Look at where a command reads from; give what it reads."""
        for redirect in command.redirects:
            if redirect.operator not in _READING:
                continue
            target = " ".join(self._expand(redirect.target, feed))
            if redirect.operator in _TEXTS:
                feed = Feed(given=True, text=target, mark=mark_in(target))
            else:
                hidden = self.hidden.get(resolved(target, self.directory), "")
                feed = self.processes.get(target, Feed(given=True, mark=hidden or mark_in(target)))
            self._redirect(redirect.operator, target, program_of(command.words))
        return feed

    def _outputs(self, command: Command, printed: Feed) -> list[str]:
        """Look at where a command writes to; give the files."""
        files: list[str] = []
        for redirect in command.redirects:
            if redirect.operator not in _READING:
                target = " ".join(self._expand(redirect.target, printed))
                self._redirect(redirect.operator, target, program_of(command.words))
                files.append(target)
        return files

    def _redirect(self, operator: str, target: str, program: str) -> None:
        if operator in _TEXTS or (operator in {">&", "<&"} and re.fullmatch(r"\d*-?", target)):
            return
        if is_socket(target):
            if program in SHELLS:
                self.add(refused("gives another machine a shell on this one", OPEN_SHELL))
            self.add(Finding("network", "opens a connection to another machine"))
        elif operator in _WRITING and not is_harmless(target, self.directory):
            self._take_all(written([target], self.directory, "writes to a file"))
        elif may_hold_secrets(target):
            self.add(Finding("read", f"reads {shown(target)}, which may hold secrets"))

    def _check_bomb(self, command: Command, line: Line) -> None:
        """A function that starts itself twice, or in the background."""
        name = command.function
        if not name or not _calls(command, name):
            return
        start, end = command.upstream
        before = line.commands[max(start, end - 3) : end]
        if command.background or any(_calls(other, name) for other in before):
            self.add(refused("starts itself again and again until the machine stands still", ENDLESS))

    def _keep_hidden(self, words: tuple[str, ...], printed: Feed, targets: list[str]) -> None:
        """Remember the files whose content comes from the network or was encoded."""
        program = program_of(words)
        place = next((index for index, word in enumerate(words) if word.rpartition("/")[2] == program), 0)
        arguments = words[place + 1 :]
        self._hide(downloaded_files(program, arguments), DOWNLOADED)
        self._hide(targets, printed.mark)
        self._hide(copies(program, arguments), printed.mark)

    def _hide(self, files: list[str], mark: str) -> None:
        if mark:
            self.hidden.update((resolved(file, self.directory), mark) for file in files if not is_unknown(file))

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
                self._run_file(path, call)
            case Code(text):
                # A shell that reads its commands leaves nothing for them to feed.
                feed = Feed(given=True) if text == call.feed.text else call.feed
                self._code(text, feed, lasting=call.program == "eval")
            case _:
                self.run(found.words, call.feed)

    def _run_file(self, path: str, call: Call) -> None:
        if mark := self.hidden.get(resolved(path, self.directory)):
            verb = "downloads" if mark == DOWNLOADED else "decodes"
            what = "it" if path in self.processes else shown(path)
            self.add(refused(f"{verb} {what} and runs it, unseen", HIDDEN[mark]))
        elif path in self.processes:
            self.add(Finding("write", "runs what another program prints"))
            text = self.processes[path].text
            if text is not None and call.program in SHELLS | _SOURCES:
                self._code(text, call.feed, lasting=call.program in _SOURCES)
        else:
            self.add(Finding("write", f"runs the file {shown(path)}"))

    def _code(self, text: str, feed: Feed, *, lasting: bool) -> None:
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
            self.script(reading.script, feed)
        else:
            self.apart(reading.script, feed)

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
        elif call.program in _READERS:
            for name in words:
                assign(self.variables, name, (call.feed.mark or UNKNOWN,))


def _calls(command: Command, name: str) -> bool:
    return bool(command.words) and command.words[0].text == name
