"""Everything Paigate itself says, in zh and en: `gateway/texts/*.toml`, by key."""

import tomllib
from functools import lru_cache
from importlib.resources import files
from typing import Any, Literal

from worker.messages import Language

Setting = Literal["zh", "en", "auto"]


@lru_cache(maxsize=2)
def texts(language: Language) -> dict[str, str]:
    """All texts of a language, by `section.name`."""
    raw: dict[str, dict[str, Any]] = tomllib.loads(
        files("gateway").joinpath("texts", f"{language}.toml").read_text(encoding="utf-8")
    )
    return {f"{section}.{name}": str(text).strip() for section, names in raw.items() for name, text in names.items()}


def say(key: str, language: Language, **values: object) -> str:
    """The text of a key with its values put in.

    Raises:
        KeyError: there is no such text, or a value is missing.
    """
    return texts(language)[key].format(**values)


def choose_language(text: str, hint: Language | None, setting: Setting) -> Language:
    """The language to answer in: the configured one, else Chinese for Chinese text, else that of the person's client.

    Latin letters tell nothing: commands, file names and code are full of them.
    """
    if setting != "auto":
        return setting
    return "zh" if any("\u4e00" <= character <= "\u9fff" for character in text) else hint or "en"
