"""The chat platforms, one file each; `gateway.app` picks those that are configured."""

from collections.abc import Callable
from importlib import import_module
from typing import cast

from gateway.adapter import Adapter

ADAPTERS: dict[str, str] = {
    "web": "gateway.adapters.web.WebAdapter",
    "telegram": "gateway.adapters.telegram.TelegramAdapter",
}
"""Platform name -> the class that speaks it; nothing is imported before it is asked for."""


def load(name: str) -> Callable[..., Adapter]:
    """Import a platform's adapter class.

    Raises:
        LookupError: there is no such platform; the message lists those that are.
    """
    if name not in ADAPTERS:
        raise LookupError(f"no chat platform {name!r}; there are {', '.join(sorted(ADAPTERS))}")
    module, _, attribute = ADAPTERS[name].rpartition(".")
    return cast("Callable[..., Adapter]", getattr(import_module(module), attribute))
