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
    "ran_changed": (
        "你把命令改成了 {command}；运行了它，退出码 0：\n\n{output}",
        "You changed it to {command}; it ran, exit code 0:\n\n{output}",
    ),
    "ran_badly_changed": (
        "你把命令改成了 {command}；运行了它，但没有成功：\n\n{output}",
        "You changed it to {command}; it ran, but did not succeed:\n\n{output}",
    ),
    "changed_by_you": ("你改动了这一步。", "You changed this step."),
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
    "nobody_in_time": (
        "没有人及时允许这一步。还想做的话，请再发一次。",
        "Nobody allowed this step in time. To have it done, send it again.",
    ),
    "plan_mode": (
        "现在是计划模式，只能查看，不允许这一步。发送 `/mode ask`，我就可以先问你再做。",
        "Plan mode forbids this step: nothing but looking runs now. Send `/mode ask`, and it can ask you.",
    ),
    "no_network": ("你要求不联网，而这一步需要联网。", "You asked not to go online, and this step would."),
    "only_a_title": (
        "你只发了一个标题。请先说清楚要做什么，再改动。",
        "You sent only a title. Say what you want done before anything is changed.",
    ),
    "policy": (
        "安全策略拒绝这条命令，谁也不能允许它：{reason}",
        "Policy refuses this command, and nobody can allow it: {reason}",
    ),
    "because": ("原因：{reason}", "Why: {reason}"),
    "failed_run": ("{command} 没有成功。", "{command} did not succeed."),
    "did_change": ("改了 {path}", "changed {path}"),
    "did_write": ("写了 {path}", "wrote {path}"),
    "did_create": ("新建了项目 {path}", "created the project {path}"),
    "did_run": ("运行了 {command}", "ran {command}"),
    "did_read": ("读了 {path}", "read {path}"),
    "did_list": ("列出了 {path}", "listed {path}"),
    "verified_run": ("{command}（退出码 0）", "{command} (exit code 0)"),
    "closing_done": ("- 已完成：{items}", "- Done: {items}"),
    "closing_done_none": ("无", "nothing"),
    "closing_verified": ("- 已验证：{items}", "- Verified: {items}"),
    "closing_verified_none": ("无，没有成功运行过命令", "nothing, as no command ran with success"),
    "closing_not_done": ("- 未完成：{items}", "- Not done: {items}"),
    "closing_not_done_none": ("这些结果里没有", "nothing that these results show"),
    "closing_send_again": ("- 下一步：再发一次 {words}", "- Next step: send {words} again"),
    "closing_decide": (
        "- 下一步：看看上面的原因，再告诉我怎么做",
        "- Next step: look at the reason above, and tell me how to go on",
    ),
    "closing_nothing_left": ("- 下一步：告诉我还要做什么", "- Next step: tell me what else to do"),
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
