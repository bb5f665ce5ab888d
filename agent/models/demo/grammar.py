"""The sentences the demo model knows, in Chinese and English, as patterns (verbose: blanks in them mean nothing).

The first pattern that fits a clause decides, so that narrow ones stand before wide ones.
"""

import re
from typing import Literal

Language = Literal["zh", "en"]
Kind = Literal["change", "write_into", "create", "list", "run", "read"]

PAIRS = {'"': '"', "'": "'", "`": "`", "“": "”", "‘": "’", "「": "」", "『": "』", "＂": "＂"}
QUOTED = "|".join(f"{re.escape(a)}[^{re.escape(b)}]*{re.escape(b)}" for a, b in PAIRS.items())

_ANY = rf"(?:{QUOTED}|.+?)"
_FILE = rf"(?P<file>{QUOTED}|[^\s，,。:：；;]+?)"
_NAME = rf"(?P<name>{QUOTED}|[^\s，,。:：；;]+?)"
_OLD, _NEW = rf"(?P<old>{_ANY})", rf"(?P<new>{_ANY})"
_THANKS = r"(?:please|thanks|thank\s+you|谢谢)"
_END = rf"\s*(?:[,，]?\s*(?:{_THANKS}|for\s+me|(?:好|可以|行)?吗|吧))?\s*[.。!！?？]*\s*$"
_RUN_END = (
    rf"(?(command)|(?:\s*[,，]\s*{_THANKS}|(?<=[!-~])\s*(?:好|可以|行)?吗\s*\??)?)"
    r"(?:\s*[。！？]+|(?<=[\w)\"'`])[.!]+)?$"
)
_LANGUAGE = r"(?P<kind>python|py|java(?!script)|node(?:\.?js)?|javascript|js)"
_EN_RUN, _ZH_RUN = r"(?:run|execute|start|launch)", r"(?:运行|执行|跑|启动)"
_RUN_NEXT = rf"(?:please\s+)?{_EN_RUN}\b|(?:请|帮我)*{_ZH_RUN}"
_ZH_NEW_END = r"(?:(?<=[!-~])\s*(?:好|可以|行)?吗\s*[?？]?)?\s*。?$"
_THE_FILE = r"(?:the\s+)?(?:file\s+)?"
_EN_ALL = r"(?P<all>(?:all|every|each)\s+(?:(?:occurrence|instance)s?\s+of\s+)?)?"
_EN_PLACE = (
    rf"(?:(?:the|this|my|our|your|current)\s+)*(?:{_FILE})??"
    r"(?:\s*(?<=\s)(?:project|directory|folder|repo(?:sitory)?|workspace))?"
)
_EN_BELOW = rf"(?:there\s+)?(?:in|of|from|under|inside)\s+{_EN_PLACE}"
_EN_NEW = r"(?:create|make|start|set\s+up|generate)\s+(?:me\s+)?(?:an?\s+)?(?:new\s+)?"
_EN_WRITE = r"(?:write|create|make|add)\s+(?:me\s+)?(?:an?\s+|the\s+)?(?:new\s+)?(?:text\s+|empty\s+)*"
_EN_SHOW = r"(?:read|show|cat|open|view|print|display|look\s+at|see)\s+(?:me\s+)?"
_ZH_NEW = r"(?:新建|创建|建立|建|生成|做|写)(?:一个|个)?(?:新的?)?\s*"
_ZH_CALLED = r"(?:名为|叫做|叫|名字叫|名叫|名称为|命名为)"
_ZH_CHANGE = r"(?:改成|改为|改作|替换成|替换为|替换|换成|换为|修改成|修改为|变成|变为)"
_ZH_IN = r"(?:里面|里边|里头|里|中|内|文件里|文件中)"
_ZH_ALL = r"(?:全部|全都|都)?"
_ZH_EACH = r"(?P<all>(?:所有|全部|每一?[个处])的?\s*)?"
_ZH_TAKE = r"(?:把|将)"
_ZH_SHOW = r"(?:读取|读一下|读|看看|看一下|查看|打开|显示|看)\s*(?:一下)?\s*"
_ZH_LIST = r"(?:列出|列一下|列|看看|看一下|查看|显示)\s*(?:一下)?\s*"
_ZH_BELOW = r"\s*(?:目录|文件夹)?(?:里|中|下|内)?[面边]?的?\s*"
_ZH_WHAT = r"都?有些?(?:哪些|什么|啥)"

_FLAGS = re.IGNORECASE | re.VERBOSE


def _rule(language: Language, kind: Kind, *parts: str) -> tuple[Language, Kind, re.Pattern[str]]:
    return language, kind, re.compile("".join(parts), _FLAGS)


RULES = (
    _rule("en", "change", rf"(?:replace|swap)\s+{_EN_ALL}{_OLD}\s+(?:with|by|for)\s+{_NEW}",
          rf"\s+in\s+{_THE_FILE}{_FILE}{_END}"),
    _rule("en", "change", rf"(?:change|turn|rename|update|edit)\s+{_EN_ALL}{_OLD}\s+(?:to|into)\s+{_NEW}",
          rf"\s+in\s+{_THE_FILE}{_FILE}{_END}"),
    _rule("en", "change", rf"in\s+{_THE_FILE}{_FILE}\s*[,，]?\s+(?:change|turn|rename|update|replace)",
          rf"\s+{_EN_ALL}{_OLD}\s+(?:to|into|with|by)\s+{_NEW}\s*[.。]?$"),
    _rule("en", "change", rf"(?:change|turn|rename|update|replace|swap)\s+{_EN_ALL}{_OLD}\s+in\s+{_THE_FILE}{_FILE}",
          rf"\s+(?:to|into|with|by|for)\s+{_NEW}\s*[.。]?$"),
    _rule("zh", "change", rf"{_ZH_TAKE}\s*(?:文件\s*)?(?!所有|全部){_FILE}\s*{_ZH_IN}?\s*(?=的|所有|全部|每)(?:的\s*)?",
          rf"{_ZH_EACH}{_OLD}\s*{_ZH_ALL}\s*{_ZH_CHANGE}\s*{_NEW}{_ZH_NEW_END}"),
    _rule("zh", "change", rf"(?:在\s*)?(?:文件\s*)?{_FILE}\s*{_ZH_IN}\s*[，,]?\s*{_ZH_TAKE}\s*{_ZH_EACH}{_OLD}",
          rf"\s*{_ZH_ALL}\s*{_ZH_CHANGE}\s*{_NEW}{_ZH_NEW_END}"),
    _rule("en", "write_into", rf"(?:write|put|save)\s+{_NEW}\s+(?:to|into|in)\s+{_THE_FILE}{_FILE}{_END}"),
    _rule("zh", "write_into", rf"{_ZH_TAKE}\s*{_NEW}\s*(?:写入|写到|写进|保存到|存到)\s*(?:文件\s*)?{_FILE}\s*",
          rf"{_ZH_IN}?{_END}"),
    _rule("en", "create", rf"{_EN_NEW}(?:{_LANGUAGE}\s+)?(?:project|app|program)(?:\s+(?:named|called))?\s*:?\s*",
          rf"{_NAME}??{_END}"),
    _rule("zh", "create", rf"{_ZH_NEW}(?:{_LANGUAGE}\s*)?(?:语言)?的?\s*(?:项目|工程)\s*[，,]?\s*{_ZH_CALLED}?",
          rf"\s*[:：]?\s*{_NAME}??{_END}"),
    _rule("zh", "create", rf"{_ZH_NEW}{_ZH_CALLED}\s*{_NAME}\s*的\s*{_LANGUAGE}?\s*(?:语言)?的?(?:项目|工程){_END}"),
    _rule("en", "list", r"(?:list|show|ls|dir|see|view|look\s+at)\s+(?:me\s+)?(?:all\s+)?(?:(?:the|my|this|our)\s+)?",
          r"(?:(?:project\s+)?files|everything|directory|folder|contents|project)",
          rf"(?:\s+{_EN_BELOW})?{_END}"),
    _rule("en", "list", r"(?:(?:list|show|see|tell)\s+(?:me\s+)?)?what(?:['’]?s|\s+is|\s+are)?\s+(?:the\s+files\s+)?",
          rf"(?:here|there|{_EN_BELOW}){_END}"),
    _rule("en", "list", rf"what\s+(?:does|do)\s+{_EN_PLACE}\s+contain{_END}"),
    _rule("en", "list", r"(?:what|which)\s+files\s+(?:are|do\s+(?:i|you|we)\s+have)",
          rf"(?:\s+(?:there|here))?(?:\s+{_EN_BELOW})?{_END}"),
    _rule("en", "list", rf"(?:ls|dir)(?:\s+{_FILE})?{_END}"),
    _rule("zh", "list", rf"{_ZH_LIST}(?:{_FILE})??{_ZH_BELOW}(?:所有|全部)?的?\s*(?:有(?:哪些|什么))?",
          rf"(?:文件列表|文件夹?|目录|项目|工程)(?:结构|内容)?{_END}"),
    _rule("zh", "list", rf"(?:{_ZH_LIST})?(?:{_FILE})??{_ZH_BELOW}{_ZH_WHAT}(?:文件|东西|内容){_END}"),
    _rule("zh", "list", rf"(?:{_ZH_LIST})?(?:{_FILE})??{_ZH_BELOW}(?<=[目录夹程里中下内面边])\s*{_ZH_WHAT}{_END}"),
    _rule("en", "run", rf"{_EN_RUN}\s+(?:the\s+)?(?:(?P<command>command)\b|(?:file|script|program|project)\b)?",
          rf"\s*[:：]?\s*(?P<target>{_ANY})(?:\s+(?:again|now))?{_RUN_END}"),
    _rule("zh", "run", rf"{_ZH_RUN}(?:一下|下|一次|一遍)?\s*(?:(?P<command>命令|指令)|文件|脚本|项目)?\s*[:：]?",
          rf"\s*(?P<target>{_ANY}|)\s*{_RUN_END}"),
    _rule("en", "read", rf"{_EN_SHOW}(?:the\s+)?(?:contents?\s+of\s+)?{_THE_FILE}{_FILE}{_END}"),
    _rule("zh", "read", rf"{_ZH_SHOW}(?:文件)?\s*{_FILE}\s*(?:这个)?(?:文件)?(?:的内容|里写了什么|里有什么)?{_END}"),
)  # fmt: skip
"""A whole clause: its language, what is wanted, and the pattern whose groups say of what."""

WRITE_RULES = (
    _rule("en", "write_into", rf"{_EN_WRITE}(?:file\s+)?(?:named\s+|called\s+)?{_FILE}\s*,?\s*",
          r"(?:with|containing|that\s+says|saying)\s+(?:the\s+)?(?:contents?\b|text\b)?\s*[:：]?"),
    _rule("en", "write_into", rf"{_EN_WRITE}file\s+(?:named\s+|called\s+)?{_FILE}\s*(?:[:：]|$)"),
    _rule("zh", "write_into", rf"{_ZH_NEW}(?:文本)?文件\s*{_ZH_CALLED}?\s*{_FILE}\s*",
          r"(?:[，,]?\s*(?:里面)?(?:内容|写上|写着|写入|写|包含)(?:为|是|如下)?\s*[:：]?|[:：]|$)"),
    _rule("zh", "write_into", rf"{_ZH_NEW}{_FILE}\s*(?:文件)?\s*[，,]?\s*(?:里面)?内容(?:为|是|如下)?\s*[:：]?"),
)  # fmt: skip
"""The beginning of a text whose rest, or next quoted part, is the content of a file."""

POLITE = re.compile(
    r"""^(?:
    (?:please|pls|kindly|(?:can|could|would|will)\s+you|(?:i\s+want|i['’]d\s+like|i\s+would\s+like)\s+(?:you\s+)?to
        |let['’]?s|hi|hello|hey|ok|okay|thanks|now|also|just)(?![\w/-]|\.\w)[\s,.!，。！]*
    |(?:请[你您]?|麻烦[你您]?|劳驾|拜托|[你您]?(?:能不能|可不可以|能否|可以|能)|[帮替给]我|帮忙|[你您]好|现在|先
        |我想要?|我要|再)(?:一下)?[\s,，!！]*
    )+""",
    _FLAGS,
)
"""What may stand before a wish and means nothing."""

JOINT = re.compile(
    r"""(?P<marks>[\s,，;；.。!！]*)
    (?P<word>(?:(?:and\s+)?then|and|afterwards)(?![\w/-]|\.\w)|然后|接着|随后|之后|并且|最后|并|再)?[\s,，]*""",
    _FLAGS,
)
"""What may stand before a clause; a word, or a comma on the same line, ties it to the clause before."""

BREAK = re.compile(
    rf"""\s*\n+\s*
    |\s*[,，;；.。]?\s*(?:\band\s+then\b|\bthen\b|然后再?|接着|随后|之后再?)\s*
    |\s*[,，;；]?\s*(?:\band\s+|并且|并|再)(?={_RUN_NEXT})
    |\s*[,，;；。]\s*(?={_RUN_NEXT})""",
    _FLAGS,
)
"""Where one clause ends and the next begins."""

RUN_AFTER = re.compile(
    rf"""[\s,，;；。]*(?:\s(?:and\s+then|and|then)\s+|并且|并|再|然后|接着)(?:{_RUN_NEXT}).*$""", _FLAGS
)
"""A wish to run, at the end of a line that is otherwise the content of a file."""

FENCED = re.compile(r"\s*(`{3,}|~{3,})[^\n]*\n(.*?)\n?[ \t]*\1[ \t]*(?=\n|$)", re.DOTALL)

IT = re.compile(
    r"it|that|this|(?:the|that|this)\s+(?:file|program|script|project|code)"
    r"|它|这个文件|该文件|这个程序|程序|看看|一下|一遍|一次|",
    _FLAGS,
)
"""A target that is whatever was worked on last."""

ASKED_NICELY = re.compile(r"(?:\s+please)?\s*\?*$", _FLAGS)
"""What may stand after a target of one word and means nothing; a command's own `?` is one."""

NO_TARGET = re.compile(r"(?:the\s+|all\s+|all\s+the\s+)?tests?|(?:所有|全部)?测试", _FLAGS)
"""A target that only a real model could find."""

HERE = re.compile(
    r"(?:the\s+|this\s+|current\s+|my\s+)*(?:project|directory|folder)|here|there"
    r"|(?:当前|现有|[这那]个?|本|该|我的?|我们的?|项目|工程|根|目录|文件夹|里)*",
    _FLAGS,
)
"""A directory that is the project's root."""

CHINESE = re.compile(r"[\u3400-\u9fff]")
