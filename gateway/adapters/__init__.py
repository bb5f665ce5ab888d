"""The chat platforms, one module each; `gateway.app` picks those that are configured."""

from collections.abc import Callable
from pkgutil import resolve_name

from gateway.adapter import Adapter

ADAPTERS: dict[str, str] = {
    "web": "gateway.adapters.web:WebAdapter",
    "telegram": "gateway.adapters.telegram:TelegramAdapter",
}
"""Platform name -> the class that speaks it; nothing is imported before it is asked for."""


def load(name: str) -> Callable[..., Adapter]:
    """Import a platform's adapter class.

    Raises:
        ValueError: there is no such platform; the message lists those that are.
    """
    if name not in ADAPTERS:
        raise ValueError(f"no chat platform {name!r}; there are {', '.join(sorted(ADAPTERS))}")
    return resolve_name(ADAPTERS[name])
