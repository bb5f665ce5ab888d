"""The line between what people say and what tools return: results are data, whatever they contain."""

import re

_NOT_A_NAME = re.compile(r"[^A-Za-z0-9_.:-]")
_LOOKS_LIKE_TAG = re.compile(r"<(?=\s*/?\s*tool_result\b)", re.IGNORECASE)


def wrap(tool: str, result: str) -> str:
    """Put a tool's result inside the untrusted-data boundary.

    Anything in it that looks like the boundary's own tags, in any case and with any blanks, has its `<` escaped, so
    that no result can close the boundary or open another.
    """
    name = _NOT_A_NAME.sub("_", tool)
    body = _LOOKS_LIKE_TAG.sub("&lt;", result)
    return f'<tool_result tool="{name}" trust="untrusted-data">\n{body}\n</tool_result>'
