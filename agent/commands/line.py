"""What the commands of one script read and print, while `agent.commands.walk` goes through them in order."""

from dataclasses import replace

from agent.commands.call import Feed
from agent.commands.tree import Command, Script


class Line:
    """The commands of one script, and what is known of those that ran. `given` is what the script as a whole reads."""

    def __init__(self, script: Script, given: Feed) -> None:
        self.commands = script.commands
        self._given = given
        self._outputs: list[Feed] = []
        # For each command the nearest one up to it whose output is marked: looking back each time would be quadratic.
        self._marked: list[tuple[int, str]] = []
        around = ((each.around, -index) for index, each in enumerate(script.commands) if each.around is not None)
        # The next one last; of those that begin together the outermost comes first.
        self._around = sorted(around, reverse=True)
        self._open: list[tuple[int, int, Feed]] = []

    def begins(self) -> Command | None:
        """A compound command with redirections that begins with the next command, or nothing; `enter` comes after."""
        here = len(self._outputs)
        while self._open and self._open[-1][0] <= here:
            self._open.pop()
        if self._around and self._around[-1][0] == here:
            return self.commands[-self._around[-1][1]]
        return None

    def enter(self, feed: Feed) -> None:
        """Take note of what that compound command reads."""
        start, end = self._around.pop()
        self._open.append((-end, start, feed))

    def given(self, upstream: tuple[int, int]) -> Feed:
        """What a command reads whose upstream this is."""
        if self._open and upstream[1] <= self._open[-1][1]:
            return self._open[-1][2]
        return self.printed(upstream) if upstream[0] < upstream[1] else self._given

    def printed(self, span: tuple[int, int]) -> Feed:
        """What some commands print."""
        start, end = span
        if start >= end:
            return Feed(given=True, text="")
        last, output = self.commands[end - 1], self._outputs[end - 1]
        # Only then nothing was printed before it that does not go through it.
        whole = end - start == 1 or start in (last.around, last.upstream[0] if last.upstream[1] == end - 1 else None)
        place, mark = self._marked[end - 1]
        return replace(output, text=output.text if whole else None, mark=mark if place >= start else "")

    def printed_since(self, start: int) -> Feed:
        """What all commands printed that ran, from one on."""
        return self.printed((start, len(self._outputs)))

    def finished(self, output: Feed) -> None:
        """Take note of what a command prints."""
        earlier = self._marked[-1] if self._marked else (-1, "")
        self._marked.append((len(self._outputs), output.mark) if output.mark else earlier)
        self._outputs.append(output)
