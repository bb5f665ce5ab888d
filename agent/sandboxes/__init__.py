"""The sandboxes there are, by name; each module is imported only when it is asked for."""

from collections.abc import Callable
from importlib import import_module
from typing import cast

from agent.sandbox import Sandbox

SANDBOXES: dict[str, str] = {
    "bubblewrap": "agent.sandboxes.bubblewrap:BubblewrapSandbox",
}


def load(name: str) -> Callable[..., Sandbox]:
    """The class of the sandbox called `name`.

    Raises:
        ValueError: there is no such sandbox; the message lists those there are.
    """
    if name not in SANDBOXES:
        raise ValueError(f"There is no sandbox {name!r}. The sandboxes are: {', '.join(sorted(SANDBOXES))}.")
    module, _, attribute = SANDBOXES[name].partition(":")
    return cast("Callable[..., Sandbox]", getattr(import_module(module), attribute))
