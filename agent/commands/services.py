"""Programs that tell the machine, its services and its databases what to do."""

import re

from agent.commands.call import Call, Finding, Found, has_option, is_unknown, positionals
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
_LOSS = re.compile(
    r"\bdrop\s+(?:database|schema|table|role|user|owned|keyspace|tablespace)\b|\btruncate\b|dropDatabase|\.drop\(\s*\)"
    r"|\bflush(?:all|db)\b|(?:^|\s)shutdown(?:\s|\Z)|shutdownServer",
    re.IGNORECASE,
)


def judge_refused(call: Call) -> Found:
    """Find that the machine would be changed; a few of these programs only show something."""
    showing = _SHOWING.get(call.program)
    if showing is not None and showing.fullmatch(" ".join(call.arguments)):
        yield Finding("read")
    else:
        yield Finding("destructive", f"{call.program} {REFUSED[call.program]}")


def judge_form(call: Call) -> Found:
    """Find whether a program of the machine only shows something."""
    if re.fullmatch(FORMS[call.program], " ".join(call.arguments)):
        yield Finding("read")
    elif call.program == "crontab" and has_option(call.arguments, "r"):
        yield Finding("destructive", "deletes all timed jobs")
    else:
        yield Finding("write", f"{call.program} changes the machine")


def judge_client(call: Call) -> Found:
    """Find what a database is told."""
    said = " ".join((*call.arguments, call.feed.text or ""))
    local = call.program == "sqlite3"
    if _LOSS.search(said):
        yield Finding("write" if local else "destructive", "drops or empties a database")
    yield Finding("write" if local else "network", f"{call.program} talks to a database")


def judge_kill(call: Call) -> Found:
    """Find which processes end: one's own may, services may not."""
    arguments = call.arguments
    words = positionals(arguments[1:] if arguments[:1] and arguments[0].startswith("-") else arguments)
    if arguments[:1] in (("-l",), ("-L",), ("-0",)) or arguments[:2] == ("-s", "0"):
        yield Finding("read")
    elif call.program == "kill" and ("-1" in arguments[1:] or "1" in words):
        yield Finding("destructive", "ends every process, or the first one")
    elif call.program != "kill" and any(_names_service(word) for word in words):
        yield Finding("destructive", f"stops a service ({' '.join(words)})")
    else:
        yield Finding("write", f"{call.program} ends processes")


def _names_service(word: str) -> bool:
    return not is_unknown(word) and re.split(r"[\s:]", word.rpartition("/")[2], maxsplit=1)[0] in SERVICES


def judge_service(call: Call) -> Found:
    """Find what `service NAME ACTION` does."""
    words = positionals(call.arguments)
    if any(word in _STOPS for word in words[1:]):
        yield Finding("destructive", f"stops the service {words[0]}")
    elif not words or words[1:2] == ["status"]:
        yield Finding("read")
    else:
        yield Finding("write", f"{call.program} starts or changes a service")


def judge_init(call: Call) -> Found:
    """Find what servers and `init` are told by their own programs."""
    words = set(call.arguments)
    if call.program == "init" and words & {"0", "1", "6", "s", "S"}:
        yield Finding("destructive", "shuts the machine down")
    elif words & {"stop", "quit", "restart", "graceful-stop"}:
        yield Finding("destructive", f"stops the service {call.program}")
    elif words & {"-t", "-T", "-V", "-v"}:
        yield Finding("read")
    else:
        yield Finding("write", f"starts or changes the service {call.program}")
