"""The sandboxes there are, by name; each module is imported only when it is asked for."""

from collections.abc import Callable
from pkgutil import resolve_name

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
    return resolve_name(SANDBOXES[name])
