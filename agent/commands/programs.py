"""Which judge knows which program."""

import re
from collections.abc import Callable

from agent.commands.advice import ELSEWHERE, OPEN_SHELL
from agent.commands.call import (
    Call,
    Code,
    Finding,
    Found,
    Inner,
    has_option,
    is_unknown,
    positionals,
    refused,
    values_of,
)
from agent.commands.deletes import (
    ARCHIVERS,
    DELETERS,
    deletion,
    judge_archive,
    judge_dd,
    judge_deleter,
    judge_mover,
    judge_writer,
    written,
)
from agent.commands.downloads import downloaded_files
from agent.commands.filters import judge_awk, judge_reader, judge_sed
from agent.commands.find import judge_find
from agent.commands.git import judge_git
from agent.commands.services import (
    CLIENTS,
    FORMS,
    judge_client,
    judge_form,
    judge_init,
    judge_kill,
    judge_refused,
    judge_service,
)
from agent.commands.shells import judge_eval, judge_interpreter, judge_shell, judge_source, judge_trap
from agent.commands.tables import BUILDERS, INTERPRETERS, KNOWN, NETWORK, READERS, REFUSED, SHELLS, WRITERS
from agent.commands.verbs import VERBS
from agent.commands.wrappers import WRAPPERS, judge_wrapper, runner_command

Judge = Callable[[Call], Found]

_TELLING = frozenset({"--version", "--help", "-V", "-h", "-version", "--usage"})
_SHORT_VERSION = frozenset({"node", "npm", "yarn", "pnpm", "php", "ruby", "perl", "lua"})
_RUNS_COMMAND = {
    "poetry": "run",
    "pipenv": "run",
    "uv": "run",
    "pdm": "run",
    "hatch": "run",
    "bundle": "exec",
}
_ADDRESS = re.compile(r"(?:[a-z][a-z0-9+]*)://(?!localhost\b|127\.|0\.0\.0\.0|\[::1\])\S", re.IGNORECASE)
_REMOTE = re.compile(r"(?:[\w.-]+@)?[\w.-]{2,}:(?!\\)|rsync://")
_CLOUD_LOSS = re.compile(r"(?:^|:)(?:delete|terminate|destroy|rm|rb|drop|purge)(?:-|\Z)")
_CLOUDS = frozenset(
    {"aws", "gcloud", "gsutil", "az", "doctl", "heroku", "fly", "flyctl", "vercel", "netlify", "wrangler", "firebase"}
    | {"rclone", "s3cmd"}
)


def judge(call: Call) -> Found:
    """Find what a program may do, by its name and its arguments."""
    if call.program in KNOWN and _only_tells(call):
        yield Finding("read")
        return
    yield from _judge_of(call.program)(call)


def _only_tells(call: Call) -> bool:
    arguments = call.arguments
    if len(arguments) == 1:
        return arguments[0] in _TELLING or (arguments[0] == "-v" and call.program in _SHORT_VERSION)
    return call.program in VERBS and len(arguments) == 2 and arguments[1] == "--help"


def _judge_of(program: str) -> Judge:
    if program in _JUDGES:
        return _JUDGES[program]
    for known, judge_known in _FAMILIES:
        if program in known:
            return judge_known
    return _judge_unknown


def _judge_unknown(call: Call) -> Found:
    name = "…" if is_unknown(call.program) else call.program
    if any(_ADDRESS.match(argument) for argument in call.arguments):
        yield Finding("network", f"{name} is given an address in the network")
    effect = "which may run the project's code" if name in BUILDERS else "whose effect is not known"
    yield Finding("write", f"runs {name}, {effect}")


def _judge_network(call: Call) -> Found:
    yield Finding("network", f"{call.program} may reach other machines")
    yield from written(downloaded_files(call.program, call.arguments), call.directory, "")
    yield from _shells_given(call)


def _shells_given(call: Call) -> Found:
    """What a network tool runs here or there."""
    arguments = call.arguments
    netcat = call.program in {"nc", "ncat", "netcat"} and has_option(arguments, "ec", "--exec", "--sh-exec")
    if netcat or (call.program == "socat" and any(map(_SOCAT_SHELL.match, arguments))):
        yield refused("gives another machine a shell on this one", OPEN_SHELL)
    elif call.program == "ssh":
        yield Code(" ".join(positionals(arguments, _SSH_VALUES)[1:]))
    for option in values_of(arguments, "-o") if call.program in {"ssh", "scp", "sftp"} else ():
        if option.lower().startswith(("proxycommand", "localcommand")):
            yield Code(re.split("[= ]", option, maxsplit=1)[-1])


_SOCAT_SHELL = re.compile("exec:|system:|shell:", re.IGNORECASE)
_SSH_VALUES = frozenset(f"-{letter}" for letter in "bcDEeFIiJLlmOopQRSWw")


def _judge_verbs(call: Call) -> Found:
    """Programs with verbs: what the verb does, and the command that some of them run."""
    table = VERBS[call.program]
    words = positionals(call.arguments, table.values)
    level = table.level(tuple(words))
    name = " ".join((call.program, *("…" if is_unknown(word) else word for word in words[:1])))
    if call.program in _CLOUDS and any(_CLOUD_LOSS.search(word) for word in words):
        yield refused(f"{name} deletes things in the network", ELSEWHERE)
    elif level == "destructive":
        yield refused(f"{name} stops or deletes what runs or lies outside the project", ELSEWHERE)
    else:
        yield Finding(level, {"network": f"{name} may reach other machines", "write": f"runs {name}"}.get(level, ""))
    inner = runner_command(call.arguments, _RUNS_COMMAND.get(call.program, ""))
    if inner:
        yield Inner(inner)


def _judge_rsync(call: Call) -> Found:
    words = positionals(call.arguments, frozenset({"-e", "--rsh", "--exclude", "--include", "-f", "--filter"}))
    if any(_REMOTE.match(word) for word in words):
        yield Finding("network", "rsync reaches another machine")
        yield from map(Code, values_of(call.arguments, "-e", "--rsh"))
    # Each of `--del`, `--delete-during` and their like; `--delay-updates` deletes nothing.
    if any(argument.startswith("--del") and argument != "--delay-updates" for argument in call.arguments):
        yield from deletion(words[-1:], call.directory)
    if has_option(call.arguments, "", "--remove-source-files"):
        yield from deletion(words[:-1], call.directory)
    yield from written(words[-1:], call.directory, "rsync changes files")


_JUDGES: dict[str, Judge] = {
    "git": judge_git,
    "find": judge_find,
    "sed": judge_sed,
    "gsed": judge_sed,
    **dict.fromkeys(("awk", "gawk", "mawk", "nawk"), judge_awk),
    "mv": judge_mover,
    "dd": judge_dd,
    "rsync": _judge_rsync,
    **dict.fromkeys(("source", "."), judge_source),
    "eval": judge_eval,
    "trap": judge_trap,
    **dict.fromkeys(("kill", "pkill", "killall", "skill"), judge_kill),
    **dict.fromkeys(("service", "rc-service", "invoke-rc.d"), judge_service),
    **dict.fromkeys(("init", "nginx", "httpd", "apache2"), judge_init),
}
_FAMILIES: tuple[tuple[frozenset[str], Judge], ...] = (
    (frozenset(REFUSED), judge_refused),
    (frozenset(FORMS), judge_form),
    (CLIENTS, judge_client),
    (DELETERS, judge_deleter),
    (ARCHIVERS, judge_archive),
    (frozenset(WRAPPERS), judge_wrapper),
    (frozenset(VERBS), _judge_verbs),
    (SHELLS, judge_shell),
    (INTERPRETERS, judge_interpreter),
    (READERS, judge_reader),
    (WRITERS, judge_writer),
    (NETWORK, _judge_network),
)
