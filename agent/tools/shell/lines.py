"""Finding lines with a regular expression that a model wrote, in bounded time."""

import asyncio
import json
import sys
from contextlib import suppress

from agent.errors import ToolFailure

MAX_PATTERN_CHARACTERS = 500
_SECONDS = 3.0
# An expression may take for ever on the wrong line, and nothing can interrupt it in the process that runs it.
_SCRIPT = """
import json, re, resource, sys
resource.setrlimit(resource.RLIMIT_CPU, (3, 3))
resource.setrlimit(resource.RLIMIT_AS, (1 << 29, 1 << 29))
pattern, text = json.load(sys.stdin.buffer)
found = re.compile(pattern)
sys.stdout.buffer.write("\\n".join(line for line in text.split("\\n") if found.search(line)).encode())
"""


async def matching_lines(pattern: str, text: str, *, most_characters: int) -> str:
    """The lines of `text` in which the valid expression `pattern` is found; of too many of them, the last.

    Raises:
        ToolFailure: that takes too long.
    """
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", "-S", "-c", _SCRIPT),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env={},
        cwd="/",
    )
    try:
        async with asyncio.timeout(_SECONDS):
            found, _ = await process.communicate(json.dumps([pattern, text]).encode())
    except TimeoutError:
        found = None
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
    if found is None or process.returncode != 0:
        raise ToolFailure("The filter takes too long. Use a simpler expression, or look without one.")
    lines = found.decode()
    if len(lines) <= most_characters:
        return lines
    return f"… {len(lines) - most_characters:,} characters of earlier lines left out …\n{lines[-most_characters:]}"
