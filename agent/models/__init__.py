"""The model families: one file each, one line here, loaded when first used."""

from collections.abc import Callable
from pkgutil import resolve_name

from agent.model import Model
from agent.providers import ResolvedModel

FAMILIES = {
    "anthropic": "agent.models.anthropic:from_resolved",
    "openai_compatible": "agent.models.openai_compatible:from_resolved",
}
"""Name -> where the function is that makes a `Model` of that family from a `ResolvedModel`."""


def load_family(name: str) -> Callable[[ResolvedModel], Model]:
    """Import the family called `name`.

    Raises:
        ValueError: there is none; the message lists the names.
    """
    if name not in FAMILIES:
        raise ValueError(f"unknown model family {name!r}; the names are {', '.join(FAMILIES)}")
    return resolve_name(FAMILIES[name])


def load_model(resolved: ResolvedModel) -> Model:
    """Make the model that `agent.providers.resolve` found; nothing is opened until it is asked."""
    return load_family(resolved.provider.family)(resolved)
