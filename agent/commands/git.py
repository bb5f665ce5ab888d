"""What a call of git may do."""

from collections.abc import Callable

from agent.commands.advice import OUTSIDE, REMOTE_HISTORY, UNTRACKED
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
from agent.commands.options import given
from agent.commands.paths import place_of
from agent.commands.verbs import verbs

_GIT = verbs(
    read="status log show diff blame annotate rev-parse rev-list ls-files ls-tree cat-file describe shortlog grep fsck "
    "count-objects diff-tree diff-index diff-files for-each-ref cherry merge-base name-rev show-ref show-branch var "
    "version help whatchanged check-ignore check-attr check-mailmap check-ref-format range-diff verify-commit "
    "verify-tag stripspace merge-tree patch-id verify-pack archive stash+list stash+show worktree+list notes "
    "bisect+log bisect+view bisect+terms submodule submodule+status submodule+summary bundle+verify "
    "bundle+list-heads reflog sparse-checkout+list remote branch tag config symbolic-ref hash-object",
    write="notes+add notes+append notes+copy notes+edit notes+merge notes+remove notes+prune submodule+init "
    "submodule+deinit submodule+sync submodule+absorbgitdirs submodule+set-url submodule+set-branch reflog+expire "
    "submodule+foreach reflog+delete remote+add remote+rename remote+remove remote+rm remote+set-url "
    "remote+set-branches",
    network="push fetch pull clone ls-remote lfs send-email svn p4 fetch-pack send-pack daemon imap-send instaweb "
    "annex request-pull submodule+update submodule+add remote+update remote+show remote+prune remote+set-head",
)
_VALUES = frozenset({"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--super-prefix", "--config-env"})
_HARMLESS_SETTINGS = ("user.", "color.", "advice.", "log.", "i18n.", "column.", "status.", "commit.", "init.", "safe.")
_HARMLESS_KEYS = frozenset({"core.quotepath", "core.autocrlf", "core.eol", "core.filemode", "core.ignorecase"})
_CONTAINS = ("--contains", "--no-contains", "--merged", "--no-merged", "--points-at")
_MESSAGE = frozenset({"-m", "-F", "--message", "-u", "--file", "-s", "--sort", "--format", "--contains", "--points-at"})


def judge_git(call: Call) -> Found:
    """Find what a call of git may do: its verb, what its options add, and what they run."""
    start = _verb_index(call.arguments)
    yield from _global_options(call.arguments[:start])
    verb, *rest = call.arguments[start:] or ("help",)
    inside = call.of(verb, rest)
    level = _GIT.level((verb, *positionals(rest)[:1]))
    if verb == "push":
        yield from _push(inside)
    elif verb == "clean":
        yield from _clean(inside)
    elif level == "network" or (verb == "archive" and has_option(rest, "", "--remote")):
        yield Finding("network", f"git {verb} may reach other machines")
    elif reason := _loss(inside):
        yield Finding("write", reason)
    elif level == "write" or _writes(inside):
        yield Finding("write", f"git {'…' if is_unknown(verb) else verb} changes the repository")
    else:
        yield Finding("read")
    yield from _runs(inside)


def _verb_index(arguments: tuple[str, ...]) -> int:
    index = 0
    while index < len(arguments) and arguments[index].startswith("-"):
        index += 2 if arguments[index] in _VALUES else 1
    return index


def _global_options(options: tuple[str, ...]) -> Found:
    for setting in values_of(options, "-c"):
        key, _, value = setting.partition("=")
        if key.lower() in _HARMLESS_KEYS or key.lower().startswith(_HARMLESS_SETTINGS):
            continue
        yield Finding("write", f"sets {key} for git, which may run a program")
        yield Code(value.removeprefix("!"))
    if any(option.startswith(("--exec-path=", "--config-env")) for option in options):
        yield Finding("write", "takes programs or settings of git from elsewhere")


def _push(call: Call) -> Found:
    refs = positionals(call.arguments, frozenset({"-o", "--push-option", "--repo", "--receive-pack", "--exec"}))[1:]
    long = ("--force", "--force-with-lease", "--mirror", "--delete", "--prune")
    if has_option(call.arguments, "fd", *long) or any(ref.startswith(("+", ":")) for ref in refs):
        yield refused("overwrites or deletes what others have in the remote repository", REMOTE_HISTORY)
    else:
        yield Finding("network", "git push sends commits to another machine")


def _clean(call: Call) -> Found:
    read = given(call.arguments, frozenset({"-e", "--exclude"}))
    places = {place_of(path, call.directory) for path in read.words}
    if has_option(call.arguments, "n", "--dry-run"):
        yield Finding("read")
    elif "outside" in places or place_of(".", call.directory) == "outside":
        yield refused("deletes files outside the project", OUTSIDE)
    elif read.has("-X"):
        yield Finding("write", "git clean: all files that git ignores are deleted, built ones and settings alike")
    elif not read.has("-x"):
        yield Finding("write", "git clean: files that git does not keep are deleted")
    elif read.has("-e", "--exclude"):
        yield Finding("write", "git clean: files that git does not keep or ignores are deleted, but for those excepted")
    elif places <= {"all", "home"}:
        yield refused("deletes every file that git does not keep, settings and secrets among them", UNTRACKED)
    else:
        yield Finding("write", "git clean: files there that git does not keep or ignores are deleted")


def _loss(call: Call) -> str:
    """Why work may be lost, or nothing."""
    arguments, words = call.arguments, positionals(call.arguments)
    lost = {
        "reset": has_option(arguments, "", "--hard", "--merge", "--keep"),
        "checkout": "--" in arguments or "." in words or has_option(arguments, "f", "--force"),
        "restore": not has_option(arguments, "S", "--staged") or has_option(arguments, "W", "--worktree"),
        "switch": has_option(arguments, "f", "--force", "--discard-changes"),
        "stash": words[:1] in (["drop"], ["clear"]),
        "branch": has_option(arguments, "D") or has_option(arguments, "d", "--delete"),
        "worktree": words[:1] == ["remove"],
        "reflog": words[:1] in (["expire"], ["delete"]),
        "gc": has_option(arguments, "", "--prune"),
        "update-ref": has_option(arguments, "d"),
        "filter-branch": True,
        "filter-repo": True,
        "rm": has_option(arguments, "f", "--force"),
    }
    return f"git {call.program}: work may be lost" if lost.get(call.program) else ""


def _writes(call: Call) -> bool:
    """Whether a verb that mostly reads writes this time."""
    judge = _WRITES.get(call.program, _never)
    return judge(call.arguments) or has_option(call.arguments, "", "--output", "--open-files-in-pager")


def _never(arguments: tuple[str, ...]) -> bool:
    del arguments
    return False


def _branch_writes(arguments: tuple[str, ...]) -> bool:
    if has_option(arguments, "mMcCfut", "--move", "--copy", "--force", "--set-upstream-to", "--unset-upstream"):
        return True
    if has_option(arguments, "", "--edit-description", "--track", "--create-reflog"):
        return True
    lists = has_option(arguments, "lar", "--list", "--all", "--remotes", "--contains", "--merged", "--no-merged")
    return bool(positionals(arguments, _MESSAGE)) and not (
        lists or has_option(arguments, "", "--no-contains", "--points-at")
    )


def _tag_writes(arguments: tuple[str, ...]) -> bool:
    if has_option(arguments, "dasufmF", "--delete", "--annotate", "--sign", "--force", "--message", "--file"):
        return True
    lists = has_option(arguments, "ln", "--list", "--verify", *_CONTAINS)
    return bool(positionals(arguments, _MESSAGE)) and not lists


def _config_writes(arguments: tuple[str, ...]) -> bool:
    words = positionals(arguments, frozenset({"-f", "--file", "--blob", "--type", "--default"}))
    if words[:1] in (["get"], ["list"]):
        return False
    if has_option(arguments, "l", "--list", "--get", "--get-all", "--get-regexp", "--get-urlmatch", "--get-color"):
        return has_option(arguments, "e", "--unset", "--add", "--replace-all", "--edit")
    return len(words) != 1 or words[0] in {"edit", "unset", "set"} or has_option(arguments, "e", "--unset", "--edit")


_WRITES: dict[str, Callable[[tuple[str, ...]], bool]] = {
    "branch": _branch_writes,
    "tag": _tag_writes,
    "config": _config_writes,
    "symbolic-ref": lambda arguments: len(positionals(arguments)) != 1 or has_option(arguments, "d", "--delete"),
    "hash-object": lambda arguments: has_option(arguments, "w"),
    "grep": lambda arguments: has_option(arguments, "O"),
    "archive": lambda arguments: has_option(arguments, "o", "--exec"),
    "fsck": lambda arguments: has_option(arguments, "", "--lost-found"),
}


_TRANSPORT = ("--upload-pack", "--receive-pack", "--exec", "-u")
_RUNNING_OPTIONS = {
    **dict.fromkeys(("fetch", "pull", "clone", "ls-remote", "push"), _TRANSPORT[:3]),
    "clone": _TRANSPORT,
    "rebase": ("-x", "--exec"),
    "difftool": ("-x", "--extcmd"),
    "filter-branch": ("--tree-filter", "--index-filter", "--msg-filter", "--env-filter", "--commit-filter"),
}


def _runs(call: Call) -> Found:
    """What a verb runs for someone."""
    words = positionals(call.arguments)
    if call.program == "submodule" and words[:1] == ["foreach"]:
        yield Code(" ".join(words[1:]))
    elif call.program == "bisect" and words[:1] == ["run"]:
        yield Inner(call.arguments[call.arguments.index("run") + 1 :])
    elif options := _RUNNING_OPTIONS.get(call.program):
        yield from map(Code, values_of(call.arguments, *options))
        yield from (Code(word.removeprefix("ext::")) for word in words if word.startswith("ext::"))
