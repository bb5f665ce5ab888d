"""People's own directory trees on this host: made on first use, closed to everybody else."""

import os
import stat
from pathlib import Path

from agent.errors import FileUnsuitable
from agent.project import Owner, Project
from worker.inbox import FIRST_PROJECT

_HELLO = {
    "Hello.java": """\
public class Hello {
    public static void main(String[] args) {
        System.out.println("Hello World");
    }
}
""",
    "hello.py": """\
def main() -> None:
    print("Hello World")


if __name__ == "__main__":
    main()
""",
    "README.md": """\
# hello

A small project to try Paigate on. `python3 hello.py` and `java Hello.java` both greet the world.
""",
}


class Workspaces:
    """The workspaces below one directory. `owner` is who their files belong to when this process is root."""

    def __init__(self, root: Path, *, owner: Owner | None) -> None:
        self._root = root
        self._owner = owner

    def open(self, person_id: str, project: str) -> Project:
        """Open a person's project, making the workspace with its first project when it is new.

        Raises:
            ProjectError: it cannot be opened.
        """
        workspace = self._root / person_id
        directory = workspace / project
        is_new = not directory.exists()
        try:
            self._make(workspace)
            self._make(directory)
        except OSError as error:
            raise FileUnsuitable(f"the workspace cannot be used: {error.strerror}") from error
        if is_new and project == FIRST_PROJECT:
            self._fill(directory)
        return Project.open(directory, owner=self._owner)

    def _make(self, directory: Path) -> None:
        """Make a directory that is closed to others, and put one right whose mode a command changed."""
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        if stat.S_IMODE(directory.stat().st_mode) != 0o700:
            directory.chmod(0o700)
        if self._owner and directory.stat().st_uid != self._owner.uid:
            os.chown(directory, self._owner.uid, self._owner.gid)

    def _fill(self, directory: Path) -> None:
        with Project.open(directory, owner=self._owner) as project:
            for name, text in _HELLO.items():
                if not project.exists(name):
                    project.write(name, text.encode())
