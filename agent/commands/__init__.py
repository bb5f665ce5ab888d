"""Reading shell commands: how risky one is, and which wider form of it may be allowed for longer.

`syntax` divides a command line into its simple commands, `walk` judges them one by one by the tables and readers of
programs beside it, `risk` words the worst of it, `pattern` widens one. It is an aid for the person who decides, and it
refuses the plainly destructive; the wall is the sandbox.
"""

from agent.commands.pattern import command_pattern, matches
from agent.commands.risk import CommandRisk, assess_command

__all__ = ["CommandRisk", "assess_command", "command_pattern", "matches"]
