"""What deletes and changes files: how far it reaches."""

from collections.abc import Iterable

from agent.commands.advice import DEVICE, HOME_IS_PROJECT, OUTSIDE, WHOLE_PROJECT
from agent.commands.call import Call, Finding, Found, has_option, positionals, refused, values_of
from agent.commands.paths import HOME, is_device, is_harmless, place_of, resolved, shown

DELETERS = frozenset({"rm", "rmdir", "unlink", "shred", "srm", "trash", "trash-put", "wipe"})
_RECURSIVE = frozenset({"chmod", "chown", "chgrp", "setfacl", "chattr"})
_VALUES = {
    "shred": frozenset({"-n", "-s", "--iterations", "--size", "--random-source"}),
    "truncate": frozenset({"-s", "--size", "-r", "--reference"}),
    "touch": frozenset({"-d", "-t", "-r"}),
    "mkdir": frozenset({"-m", "--mode"}),
    "install": frozenset({"-m", "-o", "-g"}),
}
_COPIERS = frozenset({"cp", "install", "ln", "link", "rsync"})
"""What they name last, or after `-t`, is written; the rest is read."""


def judge_deleter(call: Call) -> Found:
    """Find what `rm` and its like take away."""
    yield from deletion(positionals(call.arguments, _VALUES.get(call.program, frozenset())), call.directory)


def deletion(paths: Iterable[str], directory: str | None) -> Found:
    """Find what it means that these paths go."""
    yield Finding("write", "deletes files")
    for path in filter(None, paths):
        yield from _gone(path, directory, f"deletes {shown(path)}")


def _gone(path: str, directory: str | None, deed: str) -> Found:
    """Find what it means that a path is no longer there; `deed` says how that comes about."""
    place = place_of(path, directory)
    if is_device(path, directory) or place == "outside":
        yield refused(f"{deed}, outside the project", OUTSIDE)
    elif place == "home":
        whole = resolved(path, directory) == HOME
        where = "the home directory, which is the whole project here" if whole else "in the home directory"
        yield refused(f"{deed}, {where}", HOME_IS_PROJECT)
    elif place == "all":
        yield refused(f"{deed}: that is the whole project or its history", WHOLE_PROJECT)
    elif place == "unknown":
        yield Finding("write", "deletes what is only known when it runs")


def judge_mover(call: Call) -> Found:
    """Find what `mv` takes away and where it puts it."""
    sources, target = _sources_and_target(call.arguments)
    for source in sources:
        if place_of(source, call.directory) == "outside":
            yield refused(f"takes {shown(source)} away from outside the project", OUTSIDE)
        else:
            yield from moved_away(source, target, call.directory)
    yield from written([target], call.directory, "moves files")


def moved_away(source: str, target: str, directory: str | None) -> Found:
    """Find whether a thing of the project is put where it is lost."""
    lost = is_harmless(target, directory) or place_of(target, directory) == "temporary"
    if lost and place_of(source, directory) != "temporary":
        yield Finding("write", f"moves {shown(source)} to {shown(target)}, which is gone after the command")
        yield from _gone(source, directory, f"moves {shown(source)} to {shown(target)}, where it is lost")


def _sources_and_target(arguments: tuple[str, ...]) -> tuple[list[str], str]:
    *sources, target = positionals(arguments, frozenset({"-t", "--target-directory", "-S"})) or [""]
    targets = values_of(arguments, "-t", "--target-directory")
    return ([*sources, target], targets[-1]) if targets else (sources, target)


def copies(program: str, arguments: tuple[str, ...]) -> list[str]:
    """Where a program puts what it reads or is given."""
    if program == "tee":
        return positionals(arguments)
    if program not in {"cp", "mv", "ln", "install"}:
        return []
    sources, target = _sources_and_target(arguments)
    return [target, *(f"{target}/{source.rpartition('/')[2]}" for source in sources)]


def judge_writer(call: Call) -> Found:
    """Find which files a program changes that its arguments name."""
    words = positionals(call.arguments, _VALUES.get(call.program, frozenset()))
    if call.program in _RECURSIVE:
        yield from _permissions(call, words[1:])
        return
    if call.program in _COPIERS:
        words = values_of(call.arguments, "-t", "--target-directory") or words[-1:]
    yield from written(words, call.directory, f"{call.program} changes files")


def written(paths: Iterable[str], directory: str | None, reason: str) -> Found:
    """Find what it means that these paths are written; what is written nowhere is nothing."""
    yield Finding("write", reason)
    for path in paths:
        if is_device(path, directory):
            yield refused(f"writes to the device {shown(path)}", DEVICE)
        elif place_of(path, directory) == "outside" and not is_harmless(path, directory):
            yield Finding("write", f"writes outside the project: {shown(path)}")


def _permissions(call: Call, paths: list[str]) -> Found:
    yield Finding("write", f"{call.program} changes who may use files")
    recursive = has_option(call.arguments, "R", "--recursive")
    for path in paths:
        if recursive and resolved(path, call.directory) == HOME:
            yield refused("changes who may use all files of the home directory", HOME_IS_PROJECT)
        elif place_of(path, call.directory) == "outside":
            reason = f"changes who may use {shown(path)}, outside the project"
            yield refused(reason, OUTSIDE) if recursive else Finding("write", reason)


def judge_dd(call: Call) -> Found:
    """Find what `dd` writes to."""
    target = [argument[3:] for argument in call.arguments if argument.startswith("of=")]
    if all(is_harmless(path, call.directory) for path in target):
        yield Finding("read")
    else:
        yield from written(target, call.directory, "dd writes to a file")


def judge_archive(call: Call) -> Found:
    """Find whether an archiver only lists or prints."""
    runs = ("--to-command", "--checkpoint-action", "--use-compress-program", "--rsh-command", "--info-script")
    if has_option(call.arguments, "IF", *runs):
        yield Finding("write", f"{call.program} runs another program")
    elif _only_lists(call):
        yield Finding("read")
    else:
        if _removes(call):
            words = positionals(call.arguments, frozenset({"-f", "--file"}))
            yield from deletion(words[1:] if call.program == "zip" else words, call.directory)
        words = values_of(call.arguments, "-C", "--directory", "-d")
        yield from written(words, call.directory, f"{call.program} packs or unpacks files")


def _removes(call: Call) -> bool:
    """Whether what is packed is taken away."""
    if call.program == "zip":
        return has_option(call.arguments, "m", "--move")
    return "--remove-files" in call.arguments or "-sdel" in call.arguments


def _only_lists(call: Call) -> bool:
    if call.program in {"tar", "ar", "7z", "7za"}:
        mode = "".join(call.arguments[:1])
        # `f` takes what follows as a name.
        letters = "" if mode.startswith("--") else mode.partition("f")[0]
        return mode == "--list" or any(letter in letters for letter in _LISTS[call.program])
    return has_option(call.arguments, _LISTS.get(call.program, ""), "--list", "--test", "--stdout")


_LISTS = {
    "tar": "t",
    "ar": "tp",
    "7z": "l",
    "7za": "l",
    "unzip": "lptZ",
    **dict.fromkeys(("gzip", "gunzip", "bzip2", "bunzip2", "xz", "unxz", "zstd", "unzstd", "pigz", "lz4"), "ltc"),
}
ARCHIVERS = frozenset(_LISTS) | {"zip"}
