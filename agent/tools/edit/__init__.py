"""Replacing a passage of a file that is named by its text.

`replace` is all of it for text; `EditFile` is the tool around it. `passage` says in which order the ways to find a
passage are tried, and each of them is a module: `reading` (exact and normalised), `block`, `line_numbers`.
"""

from agent.tools.edit.errors import EditError
from agent.tools.edit.replacement import Edited, replace
from agent.tools.edit.tool import EditFile, EditFileArguments

__all__ = ["EditError", "EditFile", "EditFileArguments", "Edited", "replace"]
