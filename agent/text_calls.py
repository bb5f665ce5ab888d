"""Tool calls that a model wrote into its text, in the markup of its training, where no vendor took them out.

Above: `agent.session` says that such a call was not run; the model families read what can be read. Pure.
The openings are those of DeepSeek V3.2 and V4 (DSML), DeepSeek V3, Qwen and GLM, MiniMax, Kimi, Claude and Mistral.
"""

import re

DSML_BARS = ("｜", "｜｜", "|", "||", "‖")
"""What stands around the word DSML in its tags; the doubled and plain ones are slips that models make."""

DSML_CONTAINERS = ("tool_calls", "function_calls", "calls")
"""The tags that hold calls: V4 writes the first, V3.2 the second."""

DSML_OPENINGS = tuple(f"<{bar}DSML{bar}{container}>" for bar in DSML_BARS for container in DSML_CONTAINERS)
"""Every opening tag of a block of calls."""

_CODE = re.compile(r"^ {0,3}(`{3,}|~{3,}).*?(?:^ {0,3}\1|\Z)|`[^`\n]+`", re.DOTALL | re.MULTILINE)
_OPENING = re.compile(
    r"<(｜{1,2}|\|{1,2}|‖)DSML\1(?:tool_calls|function_calls|calls|invoke)\b"
    r"|<｜tool▁calls?▁begin｜>"
    r"|<\|tool_calls?(?:_section)?_begin\|>"
    r"|^[ \t]*(?:<tool_call>|<minimax:tool_call>|<function_calls>|<(?:antml:)?invoke name=|\[TOOL_CALLS\])",
    re.MULTILINE,
)


def holds_unread_call(text: str) -> bool:
    """Whether `text` holds the beginning of a tool call, whole or not, outside of code that only shows one."""
    if "<" not in text and "[" not in text:
        return False
    return _OPENING.search(_CODE.sub("", text)) is not None
