"""Commands in the project's sandbox: run one and wait, or start it in the background, look at it, stop it."""

from agent.tools.shell.background import CommandOutput, StopCommand
from agent.tools.shell.command import ExecuteCommand

__all__ = ["CommandOutput", "ExecuteCommand", "StopCommand"]
