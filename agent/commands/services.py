"""Programs that tell the machine, its services and its databases what to do."""

import re

from agent.commands.advice import DATABASE, PROCESSES, SERVICE, TIMED_JOBS
from agent.commands.call import Call, Finding, Found, has_option, is_unknown, positionals, refused
from agent.commands.tables import REFUSED, SERVICES

CLIENTS = frozenset(
    {"psql", "mysql", "mariadb", "mongo", "mongosh", "redis-cli", "valkey-cli", "cqlsh", "clickhouse-client", "sqlcmd"}
    | {"sqlite3"}
)
FORMS = {
    "dpkg": r"-[lLsSpV]\b.*|--(?:list|status|get-selections|print|compare|search|verify).*",
    "rpm": r"-q.*|--query.*",
    "mount": r"(?:-l)?",
    "sysctl": r"(?:-[anN] ?)*[\w. /]*",
    "crontab": r"-l",
    "journalctl": r"(?!.*--(?:vacuum|rotate|flush|setup|update)).*",
    "dmesg": r"(?!.*(?:-[cCDEn]|--clear|--console)).*",
    "ldconfig": r"-p",
    "ifconfig": r"(?:-a)?|\w*",
    "timedatectl": r"(?:status|show|list)?[\w-]*",
    "hostnamectl": r"(?:status)?",
    "loginctl": r"(?:list|show|session-status|user-status)?[\w -]*",
    "swapon": r"(?:-s|--show)?",
    "fc-list": r".*",
    "ssh-add": r"-[lL]",
}
"""What of some programs only shows something, as a pattern of their arguments; the rest changes the machine."""

_SHOWING = {
    **dict.fromkeys(("fdisk", "sfdisk", "gdisk", "sgdisk", "cfdisk", "parted"), re.compile(r"(?:-l|--list)\b.*")),
    **dict.fromkeys(("iptables", "ip6tables"), re.compile(r"(?:-t \w+ )?(?:-[nv]+ )*(?:-[nv]*[LS][nv]*)\b.*")),
    **dict.fromkeys(("ufw", "nft", "firewall-cmd"), re.compile(r"(?:status|list|--list|--state).*")),
}
_STOPS = frozenset({"stop", "restart", "force-stop", "force-restart", "full-restart", "condrestart", "try-restart"})
# Where a statement may begin: after an option of one letter or `--NAME=`, in a line, and after another one.
_START = r"(?:^(?:-[A-Za-z]|--[\w-]+=)?|;|\*/|/\*!\d*)[ \t]*"
_SQL_LOSS = re.compile(
    rf"{_START}(?:drop\s+(?:database|schema|owned|keyspace|tablespace)\b|shutdown[ \t]*(?:;|$))",
    re.IGNORECASE | re.MULTILINE,
)
_SQL_PART = re.compile(
    rf"{_START}(?:drop\s+(?:table|role|user|view|index)\b|truncate\s+[^\s(])", re.IGNORECASE | re.MULTILINE
)
_MONGO_LOSS = re.compile(r"\bdropDatabase\b|\bshutdownServer\b")
_MONGO_PART = re.compile(r"\.drop\(\s*\)|\.deleteMany\(\s*\{\s*\}\s*\)")
_REDIS_LOSS = re.compile(r"^[ \t]*(?:flush(?:all|db)|shutdown)\b", re.IGNORECASE | re.MULTILINE)
_REDIS_VALUES = frozenset({"-h", "-p", "-s", "-a", "-u", "-r", "-i", "-n", "-d", "-t", "--user", "--pass"})


def judge_refused(call: Call) -> Found:
    """Find that the machine would be changed; a few of these programs only show something."""
    showing = _SHOWING.get(call.program)
    if showing is not None and showing.fullmatch(" ".join(call.arguments)):
        yield Finding("read")
    else:
        reason, advice = REFUSED[call.program]
        yield refused(f"{call.program} {reason}", advice)


def judge_form(call: Call) -> Found:
    """Find whether a program of the machine only shows something."""
    if re.fullmatch(FORMS[call.program], " ".join(call.arguments)):
        yield Finding("read")
    elif call.program == "crontab" and has_option(call.arguments, "r"):
        yield refused("deletes all timed jobs", TIMED_JOBS)
    else:
        yield Finding("write", f"{call.program} changes the machine")


def judge_client(call: Call) -> Found:
    """Find what a database is told."""
    local = call.program == "sqlite3"
    whole, part = _losses(call)
    if whole and not local:
        yield refused("drops, empties or stops a database", DATABASE)
    elif part:
        yield Finding("write", "drops or empties a part of a database, such as a table")
    yield Finding("write" if local else "network", f"{call.program} talks to a database")


def _losses(call: Call) -> tuple[bool, bool]:
    """Whether a whole database is lost or stopped, and whether a part of one is."""
    text = call.feed.text or ""
    if call.program in {"redis-cli", "valkey-cli"}:
        said = (" ".join(positionals(call.arguments, _REDIS_VALUES)), text)
        return any(map(_REDIS_LOSS.search, said)), False
    said = (*call.arguments, text)
    whole, part = (_MONGO_LOSS, _MONGO_PART) if call.program.startswith("mongo") else (_SQL_LOSS, _SQL_PART)
    return any(map(whole.search, said)), any(map(part.search, said))


def judge_kill(call: Call) -> Found:
    """Find which processes end: one's own may, services may not."""
    arguments = call.arguments
    words = positionals(arguments[1:] if arguments[:1] and arguments[0].startswith("-") else arguments)
    if arguments[:1] in (("-l",), ("-L",), ("-0",)) or arguments[:2] == ("-s", "0"):
        yield Finding("read")
    elif call.program == "kill" and ("-1" in arguments[1:] or "1" in words):
        yield refused("ends every process, or the first one", PROCESSES)
    elif call.program != "kill" and any(_names_service(word) for word in words):
        yield refused(f"stops a service ({' '.join(words)})", SERVICE)
    else:
        yield Finding("write", f"{call.program} ends processes")


def _names_service(word: str) -> bool:
    return not is_unknown(word) and re.split(r"[\s:]", word.rpartition("/")[2], maxsplit=1)[0] in SERVICES


def judge_service(call: Call) -> Found:
    """Find what `service NAME ACTION` does."""
    words = positionals(call.arguments)
    if any(word in _STOPS for word in words[1:]):
        yield refused(f"stops the service {words[0]}", SERVICE)
    elif not words or words[1:2] == ["status"]:
        yield Finding("read")
    else:
        yield Finding("write", f"{call.program} starts or changes a service")


def judge_init(call: Call) -> Found:
    """Find what servers and `init` are told by their own programs."""
    words = set(call.arguments)
    if call.program == "init" and words & {"0", "1", "6", "s", "S"}:
        yield refused("shuts the machine down", SERVICE)
    elif words & {"stop", "quit", "restart", "graceful-stop"}:
        yield refused(f"stops the service {call.program}", SERVICE)
    elif words & {"-t", "-T", "-V", "-v"}:
        yield Finding("read")
    else:
        yield Finding("write", f"starts or changes the service {call.program}")
