"""What tests of `agent.tools.edit.replace` share."""

import pytest

from agent.tools.edit import EditError, replace


def failure(content: str, old: str, new: str = "new", *, replace_all: bool = False, path: str = "f") -> str:
    """Why an edit is refused."""
    with pytest.raises(EditError) as caught:
        replace(content, old, new, replace_all=replace_all, path=path)
    return str(caught.value)
