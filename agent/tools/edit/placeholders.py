"""Lines that stand for code which was left out, as `// ... rest of the code ...`: in a file they would replace it."""

import re

from agent.tools.edit.line_numbers import without_number

_MOST_CHARACTERS = 120
_DOTS = r"(?:\.{3,}|…+|⋯+|。{3,})"
_ALL_DOTS = re.compile(_DOTS)
_OPENING = re.compile(
    rf"(?P<before>{_DOTS}?)\s*(?P<sign>/{{2,}}!?|\{{?/\*+|#+!?|<!--+|--+|;+|%+|\*|-|\(\*|\"{{3}}|'{{3}}|REM\b)",
    re.IGNORECASE,
)
_CLOSINGS = ("*/}", "*/", "-->", "*)", '"""', "'''")
# Dots that belong to a name are code: before it as in `...rest as T`, after it as in `rest...` and `0...rest`.
_NAME = r"[\w$]+(?:\.[\w$]+)*"
_SPREADING = rf"(?:[(\[{{]|{_NAME}\s*(?:$|[^\w\s.…⋯。]|(?:as|satisfies)\s+(?!is\b|before\b|above\b)))"
_JOINED = re.compile(rf"(?<![.…⋯。]){_DOTS}(?={_SPREADING})|((?:^|[,(\[{{<]\s*){_NAME}){_DOTS}")
_SPREADS = re.compile(rf"{_DOTS}{_NAME}(?:\s*,\s*{_DOTS}{_NAME})+,?")
# As is a name right before a bracket: a call, or a type with parameters.
_CALL = re.compile(rf"{_NAME}[(\[<]")
_PHRASE = re.compile(r"[\w\s'’`/&()\[\]（）—–-]+(?:[,，、;；][\w\s'’`/&()\[\]（）—–-]+)*[.。]?")

_TRIGGER = re.compile(
    r"\b(?:rest of|the rest|rest|existing|unchanged|unmodified|remaining|remainder|remains?|omitted|elided|snip(?:ped)?"
    r"|truncated|same as|as before|as is|as-is|no changes?|not changed|for brevity|stays? the same"
    r"|(?:other|previous|original|old|earlier|more) (?:code|methods?|functions?|imports?|lines?|content))\b"
)
# Words that a sentence about anything may end with, as `Keep the rest...` does.
_BARE = re.compile(r"(?:the )?rest|existing|remaining|remainder")
_ARTICLES = {"a", "all", "and", "our", "the", "your"}
_KNOWN = frozenset(
    """
    a above all and are as at before below body brevity but can class classes code component components config content
    contents continues continue data declarations definition definitions document else end entries entry etc everything
    except exactly field fields file files for from function functions go goes handler handlers here html identical
    implementation implementations import imports in intact is it items its json keep keeping kept left lines line list
    logic markup method methods module more my no not of old omitted on option options original other others our page
    part parts previous properties props remain remains route routes rules same script section sections settings
    setup source statements stay stays still styles stuff test tests text that the then there these this those to type
    types unaffected unchanged until untouched up variables was were with you your
    """.split()  # noqa: SIM905
)

_CHINESE = re.compile("[\u4e00-\u9fff]")
_CHINESE_WORDS = (
    "其余|剩余|余下|剩下|省略|略去|不变|保持|同上|照旧|原样|未改动|未修改|没有改动|没有修改|无需修改|不需要修改"
)
_CHINESE_PARTS = "代码|内容|部分|逻辑|方法|函数|实现|文件|字段|导入|配置|测试|样式|行"
_CHINESE_TRIGGER = re.compile(rf"{_CHINESE_WORDS}|(?:其他|其它|现有|原有|已有|之前)的?(?:{_CHINESE_PARTS})")
_CHINESE_KNOWN = re.compile(
    "此处|这里|中间|以下|以上|后续|后面|前面|上面|下面|其他|其它|其中|现有|原有|已有|之前|原来|所有|全部|一致|一样|相同"
    rf"|与|和|都|均|也|的|了|已|被|等|及|仍|{_CHINESE_WORDS}|{_CHINESE_PARTS}|[\s,，、;；.。()（）]"
)
_MOST_CHINESE = 24


def placeholder(old: str, new: str) -> str | None:
    """The first line of new text that only says that something is left out, unless the old text has it too."""
    kept = {without_number(line).strip() for line in old.split("\n")}
    for line in new.split("\n"):
        bare = without_number(line).strip()
        if bare not in kept and _is_elision(bare):
            return bare
    return None


def _is_elision(line: str) -> bool:
    if len(line) > _MOST_CHARACTERS or not _ALL_DOTS.search(line):
        return False
    comment = _OPENING.match(line)
    text = _of_comment(comment) if comment else _of_code(line)
    dots = len(_ALL_DOTS.findall(text))
    phrase = _unwrapped(_ALL_DOTS.sub(" ", text).strip())
    if not dots or not _PHRASE.fullmatch(phrase):
        return False
    leads = re.match(_DOTS if comment else rf"{_DOTS}\s", text) is not None
    return _says_so(phrase, leads=leads, dots=dots)


def _of_comment(opening: re.Match[str]) -> str:
    """What of a comment may be an elision: nothing where it is code that was commented out."""
    text = opening.string[opening.end() :].strip()
    for closing in _CLOSINGS:
        text = text.removesuffix(closing)
    text = text.rstrip("*")
    # Before a comment of Python, `...` is a statement.
    stub = opening["before"] == "..." and opening["sign"].startswith("#")
    text = _unwrapped((text if stub else f"{opening['before']} {text}").strip())
    return "" if _SPREADS.fullmatch(text) else text


def _of_code(line: str) -> str:
    """What of a line outside of comments may be an elision: nothing of a call, and no dots that belong to a name."""
    text = _unwrapped(line)
    return "" if _CALL.match(text) else _JOINED.sub(r"\1", text)


def _unwrapped(text: str) -> str:
    """The text without one pair of brackets around all of it."""
    pairs = {("(", ")"), ("[", "]"), ("{", "}"), ("<", ">"), ("（", "）"), ("【", "】")}
    return text[1:-1].strip() if (text[:1], text[-1:]) in pairs else text


def _says_so(phrase: str, *, leads: bool, dots: int) -> bool:
    """Whether the words are about what was left out, and about nothing else; dots on both sides make that likely."""
    if _CHINESE.search(phrase):
        known = leads or dots > 1 or not _CHINESE_KNOWN.sub("", phrase)
        return len(phrase) <= _MOST_CHINESE and known and _CHINESE_TRIGGER.search(phrase) is not None
    words = " ".join(re.findall(r"[\w'’-]+", phrase.lower()))
    trigger = _TRIGGER.search(words)
    if not trigger:
        return False
    ahead, behind = words[: trigger.start()], words[trigger.end() :]
    before, after = _unknown(ahead), _unknown(behind)
    if dots > 1:
        return before <= 2 and after <= 4
    if not leads and not behind and _BARE.fullmatch(trigger.group()) and not set(ahead.split()) <= _ARTICLES:
        return False
    return before == 0 and after <= (1 if leads or trigger.group().startswith("rest of") else 0)


def _unknown(words: str) -> int:
    return sum(_TRIGGER.fullmatch(word) is None and word not in _KNOWN for word in words.split())
