"""Which files a download puts down."""

from collections.abc import Iterable

from agent.commands.call import is_unknown, positionals
from agent.commands.options import given


def _short(letters: str, *long: str) -> frozenset[str]:
    return frozenset((*(f"-{letter}" for letter in letters), *long))


_CURL = _short(
    "AbcCdDeEFhHKmoPQrtTuUwxXyYz",
    *("--output", "--output-dir", "--header", "--data", "--user", "--request", "--url", "--max-time", "--retry"),
    *("--user-agent", "--referer", "--form", "--cookie", "--cookie-jar", "--connect-timeout", "--proxy", "--cacert"),
)
_WGET = _short(
    "aABDeiIloOPQRtTUwX",
    *("--output-document", "--directory-prefix", "--output-file", "--tries", "--timeout", "--header", "--user-agent"),
)
_ARIA = _short("dijlosx", "--out", "--dir", "--split", "--max-connection-per-server")
_COPY = _short("cDFiJloPSX")


def downloaded_files(program: str, arguments: tuple[str, ...]) -> list[str]:
    """The files that a download puts down, as far as they are named."""
    if program == "curl":
        return _by_curl(arguments)
    if program in {"wget", "wget2"}:
        read = given(arguments, _WGET)
        named = read.values("-O", "--output-document")
        return named or _within(read.values("-P", "--directory-prefix"), _last_parts(read.words))
    if program == "aria2c":
        read = given(arguments, _ARIA)
        return _within(read.values("-d", "--dir"), read.values("-o", "--out") or _last_parts(read.words))
    if program in {"scp", "sftp"}:
        *sources, target = given(arguments, _COPY).words or ("",)
        return [target, *_within([target], _last_parts(source.replace(":", "/", 1) for source in sources))]
    return positionals(arguments)[-1:] if program in {"http", "https"} else []


def _by_curl(arguments: tuple[str, ...]) -> list[str]:
    read = given(arguments, _CURL)
    files = read.values("-o", "--output")
    if read.has("-O", "--remote-name", "--remote-name-all"):
        files += _last_parts((*read.words, *read.values("--url")))
    return _within(read.values("--output-dir"), files)


def _within(directories: list[str], files: list[str]) -> list[str]:
    """The files in the directory that was named last, if any was."""
    return [f"{directories[-1]}/{file}" for file in files] if directories else files


def _last_parts(addresses: Iterable[str]) -> list[str]:
    """The file names at the ends of addresses."""
    plain = (word.partition("?")[0].rstrip("/") for word in addresses if not is_unknown(word))
    return [address.rpartition("/")[2] for address in plain if "/" in address or "." in address]
