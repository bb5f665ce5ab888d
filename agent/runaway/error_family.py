"""What kind of failure a tool's error text tells of, so that failures that differ in their words count as alike."""

import re

from agent.runaway.fingerprint import collapsed, masked

_MOST_READ = 4_096
_MOST_KEPT = 1_024


def _code(number: int) -> str:
    """A status code that stands alone: no line number as in `a.py:429:7`, no part of a version or a size."""
    return rf"(?<![\w.:/-]){number}(?![\w.])"


_CANNOT = "(?:could not|couldn't|cannot|can't|unable to|failed to)"
# The order decides, since a text may have words of several.
_WORDS: dict[str, tuple[str, ...]] = {
    "timeout": ("timed?[ -]?out", "deadline exceeded", "超时", _code(408), _code(504)),
    "rate_limit": (
        *("rate[ -]?limit", "too many requests", "quota exceeded", "throttl", _code(429)),
        *("限流", "限速", "请求过多", "过于频繁", "频率(?:限制|过高|超)"),
    ),
    "network": (
        "connection ?(?:was |is |has been )?(?:refused|reset|aborted|closed|error|failed)",
        rf"{_CANNOT} (?:resolve|connect|reach)",
        *("name resolution", "name or service not known", "getaddrinfo", "no route to host", "broken pipe"),
        r"(?:network|host) is unreachable|network (?:error|failure)",
        r"\b(?:econnrefused|econnreset|enotfound|ehostunreach|enetunreach|epipe|ssl(?:error)?|tls|dns)\b",
        *("网络", "连接(?:失败|被拒|拒绝|被?重置|中断|错误)", "无法(?:连接|解析)"),
    ),
    "auth": (
        *("unauthori[sz]ed", "authenticat", "not logged in", _code(401)),
        "(?:invalid|bad|wrong|missing|expired) (?:api[ _-]?key|token|credential|password)",
        *("未授权", "未登录", "认证", "鉴权", "密钥", "密码错误"),
    ),
    "permission": (
        *("forbidden", "permission", "access (?:is |was )?denied", "not (?:permitted|allowed)", _code(403)),
        *(r"\b(?:eacces|eperm|erofs)\b", "read-only file system", "out of (?:bounds|the project)", "outside the"),
        *("权限", "禁止", "拒绝访问", "不允许", "越界", "超出范围"),
    ),
    "not_found": (
        *("not ?found", "no such", r"\benoent\b", "no module named", "there is no", _code(404)),
        *("(?:does not|doesn't|do not|don't) exist", rf"{_CANNOT} (?:be found|find)"),
        *("找不到", "未找到", "没有找到", "不存在"),
    ),
    "invalid_argument": (
        *("invalid", "bad request", "validation", "not a json", "missing required", "field required", _code(400)),
        *("arguments? (?:do not|does not|don't|is not|are not)", "unrecogni[sz]ed (?:option|argument)"),
        *("参数", "无效", "不合法", "非法", "格式错误"),
    ),
    "process_exit": (r"\bexit(?:ed)?\b[^\n\d]{0,24}\d", "non-?zero exit", "退出码", "退出状态", "返回码"),
}
FAMILIES = frozenset(_WORDS)
"""The families that have a name."""

_FAMILIES = {family: re.compile("|".join(words)) for family, words in _WORDS.items()}


def error_family(text: str) -> str:
    """The family of a failed call's text, by words in English and Chinese.

    It is `timeout`, `rate_limit`, `network`, `auth`, `permission`, `not_found`, `invalid_argument` or `process_exit`;
    else the text itself on one line, in lower case, without what is volatile, and cut at 1,024 characters. Only the
    first 4,096 characters are read.
    """
    head = text[:_MOST_READ]
    lowered = head.lower()
    found = next((family for family, words in _FAMILIES.items() if words.search(lowered)), None)
    return found or collapsed(masked(head)).lower()[:_MOST_KEPT]
