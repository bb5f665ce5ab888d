"""Finding files by name, and lines by what is in them."""

from agent.tools.search.by_content import GrepCode
from agent.tools.search.by_name import GlobFiles

__all__ = ["GlobFiles", "GrepCode"]
