"""Starting a new program from a small skeleton that runs."""

from collections.abc import Iterable
from contextlib import suppress
from typing import ClassVar, Literal

from pydantic import Field

from agent.diff import diff
from agent.errors import ProjectError, ToolFailure
from agent.project import Project
from agent.text_file import seen_file
from agent.tool import FileChange, Preview, Risk, Tool, ToolArguments, ToolContext, ToolResult

Kind = Literal["java", "python", "node"]

_JAVA = """\
public class Main {
    public static void main(String[] args) {
        System.out.println(greeting("world"));
    }

    static String greeting(String name) {
        return "Hello, " + name + "!";
    }
}
"""
_PYTHON = """\
def greeting(name: str) -> str:
    return f"Hello, {name}!"


if __name__ == "__main__":
    print(greeting("world"))
"""
_NODE = """\
function greeting(name) {
  return `Hello, ${name}!`;
}

console.log(greeting("world"));
"""
_PACKAGE = """\
{
  "name": "NAME",
  "version": "0.1.0",
  "private": true,
  "scripts": {
    "start": "node index.js"
  }
}
"""

_FILES: dict[Kind, dict[str, str]] = {
    "java": {"src/Main.java": _JAVA, ".gitignore": "*.class\nout/\n"},
    "python": {"main.py": _PYTHON, ".gitignore": "__pycache__/\n.venv/\n"},
    "node": {"index.js": _NODE, "package.json": _PACKAGE, ".gitignore": "node_modules/\n"},
}
_RUN: dict[Kind, str] = {"java": "java src/Main.java", "python": "python3 main.py", "node": "node index.js"}


class CreateProjectArguments(ToolArguments):
    """What the new program is called, and its language."""

    name: str = Field(
        pattern=r"^[a-z][a-z0-9_-]{0,63}$",
        description="Name of the new directory: a lower-case letter, then lower-case letters, digits, - or _.",
    )
    type: Kind = Field(description="The language of the skeleton.")


class CreateProject(Tool[CreateProjectArguments]):
    """Makes a directory with a program of a few lines, how to run it, and a .gitignore."""

    name: ClassVar[str] = "create_project"
    description: ClassVar[str] = (
        "Create a new directory in the project's root with a small java, python or node program that runs."
    )
    risk: ClassVar[Risk] = Risk.WRITE
    arguments = CreateProjectArguments

    async def preview(self, arguments: CreateProjectArguments, context: ToolContext) -> Preview:
        """See `Tool.preview`."""
        files = _files(arguments, context)
        detail = "\n".join(f"{path}\n{diff('', content).text}" for path, content in files.items())
        return Preview(
            title=f"{arguments.name} ({arguments.type})",
            detail=detail,
            kind="diff",
            pre_image=context.project.place(arguments.name).pre_image(None),
            changes=_changes(files),
        )

    async def run(self, arguments: CreateProjectArguments, context: ToolContext) -> ToolResult:
        """See `Tool.run`."""
        files = _files(arguments, context)
        try:
            for path, content in files.items():
                context.project.write(path, content.encode())
        except ProjectError:
            _take_back(files, context.project)
            raise
        text = f"Created {', '.join(files)}. Run it with: cd {arguments.name} && {_RUN[arguments.type]}"
        seen = tuple(seen_file(path, content.encode()) for path, content in files.items())
        return ToolResult(text=text, changes=_changes(files), seen=seen)


def _files(arguments: CreateProjectArguments, context: ToolContext) -> dict[str, str]:
    if context.project.exists(arguments.name):
        raise ToolFailure(f"{arguments.name!r} is already there. Choose another name.")
    readme = f"# {arguments.name}\n\nRun it:\n\n    {_RUN[arguments.type]}\n"
    files = {"README.md": readme, **_FILES[arguments.type]}
    return {f"{arguments.name}/{path}": content.replace("NAME", arguments.name) for path, content in files.items()}


def _take_back(files: Iterable[str], project: Project) -> None:
    """Remove what was made, so that the name is free again; there was nothing of that name before."""
    directories = {path.rpartition("/")[0] for path in files}
    for path in (*files, *sorted(directories, reverse=True)):
        with suppress(ProjectError):
            project.remove(path)


def _changes(files: dict[str, str]) -> tuple[FileChange, ...]:
    return tuple(FileChange(path=path, added=content.count("\n"), removed=0) for path, content in files.items())
