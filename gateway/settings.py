"""Settings of the gateway, and how the command line reads everybody's: `paigate.toml`, then `PAIGATE_` variables.

The variables win. The file is the first of: `--config`, `PAIGATE_CONFIG`, `./paigate.toml`, `<data_dir>/paigate.toml`.
"""

import difflib
import ipaddress
import os
import tomllib
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, cast

from pydantic import Field, SecretStr, field_validator
from pydantic_settings import NoDecode

from worker import host

FILE_NAME = "paigate.toml"
CONFIG_VARIABLE = f"{host.PREFIX}CONFIG"


class GatewaySettings(host.CommonSettings):
    """What the gateway process needs to know; no key of any model is among it."""

    http_host: str = Field(default="127.0.0.1", min_length=1)
    """Where the web chat listens; anything but a loopback address is for use behind a TLS proxy of your own."""
    http_port: int = Field(default=8750, ge=1, le=65535)
    """The port of the web chat."""
    http_names: Annotated[frozenset[str], NoDecode] = Field(default=frozenset(), examples=["chat.example.com"])
    """Further host names the web chat is reached by, such as behind your own TLS proxy, separated by commas."""
    telegram_token: SecretStr | None = Field(default=None, examples=["12345:letters"])
    """The bot's token, from @BotFather; without it Telegram is off."""
    telegram_base_url: str | None = Field(default=None, examples=["http://127.0.0.1:8081/bot"])
    """Another Bot API server; the token is appended to it."""
    telegram_allow: Annotated[frozenset[str], NoDecode] = Field(default=frozenset(), examples=["12345,67890"])
    """The numeric Telegram user ids that are served, separated by commas; empty means nobody."""

    @field_validator("http_names", mode="before")
    @classmethod
    def _names(cls, value: object) -> frozenset[str]:
        names = _listed(value)
        if any(mark in name for name in names for mark in "/: "):
            raise ValueError("must be host names separated by commas, without scheme and port")
        return names

    @field_validator("telegram_allow", mode="before")
    @classmethod
    def _ids(cls, value: object) -> frozenset[str]:
        ids = _listed(value)
        if not all(user_id.isascii() and user_id.isdigit() for user_id in ids):
            raise ValueError("must be numeric user ids separated by commas, such as 12345,67890 (ask @userinfobot)")
        return ids

    @property
    def web_address(self) -> str:
        """Where a browser on this machine finds the web chat."""
        address = self.http_host
        with suppress(ValueError):
            given = ipaddress.ip_address(address)
            if given.is_unspecified:
                address = "127.0.0.1" if given.version == 4 else "::1"
        return f"http://{f'[{address}]' if ':' in address else address}:{self.http_port}"


def _listed(value: object) -> frozenset[str]:
    items = cast("Iterable[object]", value) if isinstance(value, list | frozenset) else str(value).split(",")
    return frozenset(str(item).strip() for item in items) - {""}


class Settings(GatewaySettings, host.WorkerSettings):
    """Everything, as an operator sets it; only the command line holds it."""


def load_settings(config: Path | None = None) -> Settings:
    """Read `paigate.toml` and the environment.

    Raises:
        SettingsError: the file cannot be read, a key or variable is unknown, or a value is wrong. The problems name
            keys and never values.
    """
    known = {CONFIG_VARIABLE, *map(variable, Settings.model_fields)}
    ours = sorted(name for name in os.environ if name.upper().startswith(host.PREFIX))
    problems = [_unknown(name, known) for name in ours if name not in known]
    path = config_path(config)
    values = read_file(path) if path is not None else {}
    problems += [
        f"{path}: {_unknown(key, Settings.model_fields)}" for key in values if key not in Settings.model_fields
    ]
    if problems:
        raise host.SettingsError(problems)
    return host.read_settings(Settings, values)


def config_path(config: Path | None = None) -> Path | None:
    """The settings file that applies; None when there is none.

    Raises:
        SettingsError: a file that was asked for by name does not exist.
    """
    named = config or (Path(given) if (given := os.environ.get(CONFIG_VARIABLE)) else None)
    if named is not None:
        if not _is_file(named):
            raise host.SettingsError([f"{'--config' if config else CONFIG_VARIABLE}: there is no file {named}"])
        return named
    data_dir = os.environ.get(variable("data_dir"))
    places = (Path(FILE_NAME), (Path(data_dir).expanduser() if data_dir else host.default_data_dir()) / FILE_NAME)
    return next((place for place in places if _is_file(place)), None)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except PermissionError:  # a directory above it is not for this user
        return False


def variable(name: str) -> str:
    """The environment variable of a setting."""
    return f"{host.PREFIX}{name.upper()}"


def read_file(path: Path) -> dict[str, Any]:
    """Read a settings file; its values are not looked at.

    Raises:
        SettingsError: it cannot be read, or is no TOML.
    """
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise host.SettingsError([f"{path}: cannot be read as UTF-8 text ({type(error).__name__})"]) from error
    except tomllib.TOMLDecodeError as error:
        raise host.SettingsError([f"{path}: is not valid TOML: {error}"]) from error


def _unknown(name: str, known: Iterable[str]) -> str:
    """Name the setting that was likely meant. The prefix says nothing: it would make all variables alike."""
    meant = {_bare(key): key for key in known}
    nearest = difflib.get_close_matches(_bare(name), meant, n=1)
    return f"unknown setting {name}" + (f"; did you mean {meant[nearest[0]]}?" if nearest else "")


def _bare(name: str) -> str:
    return name.lower().removeprefix(host.PREFIX.lower())
