"""The tools there are, by name; each module is imported only when the tools are loaded."""

from pkgutil import resolve_name
from typing import Any

from agent.tool import Tool

TOOLS: dict[str, str] = {
    "command_output": "agent.tools.shell:CommandOutput",
    "create_project": "agent.tools.projects:CreateProject",
    "edit_file": "agent.tools.edit:EditFile",
    "execute_command": "agent.tools.shell:ExecuteCommand",
    "glob_files": "agent.tools.search:GlobFiles",
    "grep_code": "agent.tools.search:GrepCode",
    "list_dir": "agent.tools.files:ListDirectory",
    "read_file": "agent.tools.files:ReadFile",
    "stop_command": "agent.tools.shell:StopCommand",
    "write_file": "agent.tools.files:WriteFile",
}


def load(name: str) -> Tool[Any]:
    """The tool called `name`.

    Raises:
        ValueError: there is no such tool; the message lists those there are.
    """
    if name not in TOOLS:
        raise ValueError(f"There is no tool {name!r}. The tools are: {', '.join(sorted(TOOLS))}.")
    return resolve_name(TOOLS[name])()


def load_tools() -> tuple[Tool[Any], ...]:
    """Every tool, sorted by name, so that a model is always told the same."""
    return tuple(load(name) for name in sorted(TOOLS))
