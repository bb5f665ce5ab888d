"""Reading, writing and listing the files of a project."""

from agent.tools.files.listing import ListDirectory
from agent.tools.files.reading import ReadFile
from agent.tools.files.writing import WriteFile

__all__ = ["ListDirectory", "ReadFile", "WriteFile"]
