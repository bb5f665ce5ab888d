"""What the demo model says, in Chinese and English; short Markdown that fits a phone."""

import re

from agent.models.demo.grammar import Language

_SHOWN_CHARACTERS = 1_500
_TEXTS: dict[str, tuple[str, str]] = {
    "changed": (
        "已把 {path} 里的 {old} 改成 {new}（{count} 处）。",
        "Changed {old} to {new} in {path} ({count}×).",
    ),
    "absent": (
        "{path} 里没有 {old}，所以什么都没改。",
        "{path} does not contain {old}, so nothing was changed.",
    ),
    "written": ("已写好 {path}。", "Wrote {path}."),
    "created": (
        "已新建 {kind} 项目 {path}。想运行它，就说“运行它”。",
        "Created the {kind} project {path}. To run it, say “run it”.",
    ),
    "ran": ("运行了 {command}，退出码 0：\n\n{output}", "Ran {command}, exit code 0:\n\n{output}"),
    "ran_badly": ("运行了 {command}，但没有成功：\n\n{output}", "Ran {command}, but it did not succeed:\n\n{output}"),
    "listed": ("{path} 里有：\n\n{output}", "In {path}:\n\n{output}"),
    "shown": ("{path}：\n\n{output}", "{path}:\n\n{output}"),
    "part": ("（只显示了开头）", "(only the beginning is shown)"),
    "renamed": (
        "（{written} 不能直接当项目名。）",
        "(It cannot be called {written}: a name has lower-case letters, digits, - and _ only.)",
    ),
    "unusable_name": (
        "没有新建项目：项目名不能是 {name}，只能用小写英文字母、数字、- 和 _，以字母开头，最多 64 个字符。"
        "例如：`新建一个 python 项目 demo`",
        "No project was created: it cannot be called {name}. A name has lower-case letters a-z, digits, - and _, "
        "begins with a letter, and has at most 64 characters, as in: `create a python project named demo`",
    ),
    "not_done_change": ("没有改动 {path}。", "{path} was not changed."),
    "not_done_write": ("没有写 {path}。", "{path} was not written."),
    "not_done_create": ("没有新建项目 {path}。", "The project {path} was not created."),
    "not_done_run": ("没有运行 {command}。", "{command} was not run."),
    "not_done_read": ("没能读取 {path}。", "{path} could not be read."),
    "not_done_list": ("没能列出 {path}。", "{path} could not be listed."),
    "refused": ("你拒绝了这一步。", "You refused this step."),
    "refused_because": ("你拒绝了这一步，理由：{reason}", "You refused this step. Your reason: {reason}"),
    "because": ("原因：{reason}", "Why: {reason}"),
    "so_not": ("因此这一步也没有做：{words}", "So this was not done either: {words}"),
    "no_tool": (
        "这一步需要工具 {tool}，但这次没有给我。",
        "This needs the tool {tool}, which I was not given this time.",
    ),
    "nothing_to_run": (
        "还不知道要运行什么。请写出文件名，例如：运行 hello.py",
        "I do not know what to run. Name the file, as in: run hello.py",
    ),
    "unclear": ("这一句我没看懂：{text}", "I did not understand this: {text}"),
    "help": (
        "我只是按规则回答的演示模型，会做这几件事：\n\n"
        "- 改文件：`把 Hello.java 里的 Hello World 改成 Hello PaiCLI`\n"
        "- 写文件：`新建文件 notes.txt 内容为 你好`\n"
        "- 运行：`运行 hello.py`，或 `执行命令 ls -l`\n"
        "- 新建项目：`新建一个 python 项目 demo`（也可以是 java、node）\n"
        "- 查看：`列出文件`，`读取 README.md`\n\n"
        "几步可以连着说，例如：`把 hello.py 里的 World 改成 Paigate，然后运行`。",
        "I am a demo model that follows rules. I can do these things:\n\n"
        "- change a file: `change Hello World to Hello PaiCLI in hello.py`\n"
        "- write a file: `create file notes.txt with hello`\n"
        "- run: `run hello.py`, or `run command ls -l`\n"
        "- start a project: `create a python project named demo` (or java, node)\n"
        "- look: `list files`, `read README.md`\n\n"
        "Steps can follow each other: `change World to Paigate in hello.py, then run it`.",
    ),
}


def say(language: Language, key: str, **values: str) -> str:
    """One of the texts, with its values put in."""
    chinese, english = _TEXTS[key]
    return (chinese if language == "zh" else english).format_map(values)


def quote(text: str) -> str:
    """What somebody or something else said, as inline code, so that none of it is Markdown; at most 300 characters."""
    return code(text, longest=300)


def code(text: str, *, longest: int = 80) -> str:
    """`text` as inline code, on one line and at most `longest` characters."""
    flat = " ".join(text.split()) or " "
    flat = flat if len(flat) <= longest else f"{flat[: longest - 1]}…"
    ticks = _longer_than_any(flat, 1)
    gap = " " if flat.startswith("`") or flat.endswith("`") else ""
    return f"{ticks}{gap}{flat}{gap}{ticks}"


def block(text: str, language: Language) -> str:
    """`text` in a fence; of a long one the beginning, and a word that it is only that."""
    text = text.strip("\n")
    shown = text[:_SHOWN_CHARACTERS]
    fence = _longer_than_any(shown, 3)
    more = "" if len(shown) == len(text) else f"\n{say(language, 'part')}"
    return f"{fence}\n{shown}\n{fence}{more}"


def _longer_than_any(text: str, least: int) -> str:
    runs: list[str] = re.findall(r"`+", text)
    longest = max(map(len, runs), default=0)
    return "`" * max(least, longest + 1 if longest >= least else least)
