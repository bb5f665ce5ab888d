"""Settings of the worker, and the part of them that every process shares.

A process reads its settings from `PAIGATE_` variables alone. The command line reads `paigate.toml` as well and hands
each process, as variables, only what that process needs: see `process_environment`.
"""

import os
import pwd
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, Self, TypeVar, cast
from urllib.parse import quote, urlsplit

from pydantic import Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from worker.valkey import socket_path

PREFIX = "PAIGATE_"
EX_CONFIG = 78
"""Exit code of a process whose settings are wrong (sysexits.h): starting it again cannot help."""
EX_UNAVAILABLE = 69
"""Exit code of a process that misses something it needs (sysexits.h), such as Redis: it may be there later."""

EXAMPLE_MODEL = "deepseek:deepseek-flash"
"""The model that help, hints and examples name."""

INHERITED = frozenset({
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TERM", "NO_COLOR", "TMPDIR", "PYTHONPATH",
    "SSL_CERT_FILE", "SSL_CERT_DIR", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY",
})  # fmt: skip
"""What a process keeps of the environment it is started from, in upper or lower case, besides `LC_*`."""

CommonT = TypeVar("CommonT", bound="CommonSettings")


class SettingsError(Exception):
    """Settings that cannot be used; `problems` holds one line a problem, each naming its key, none with a value."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("; ".join(self.problems))


def home_directory() -> Path:
    """The user's home, also where `HOME` is unset or empty."""
    return Path(os.environ.get("HOME") or pwd.getpwuid(os.getuid()).pw_dir)


def default_data_dir() -> Path:
    """`$XDG_DATA_HOME/paigate`, else `~/.local/share/paigate`."""
    base = os.environ.get("XDG_DATA_HOME", "")
    return (Path(base) if base.startswith("/") else home_directory() / ".local/share") / "paigate"


class CommonSettings(BaseSettings):
    """What the gateway and the worker both need to know."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        env_ignore_empty=True,
        extra="forbid",
        frozen=True,
        hide_input_in_errors=True,
        str_strip_whitespace=True,  # pasted values bring blanks and line ends with them
        use_attribute_docstrings=True,  # `paigate settings` shows what stands below a field
    )

    data_dir: Path = Field(default_factory=default_data_dir, examples=["~/.local/share/paigate"])
    """Where everything is kept; readable by its owner only."""
    redis_url: SecretStr | None = Field(default=None, examples=["redis://10.0.0.5:6379/0"])
    """A Redis or Valkey server to use (`redis://`, `rediss://`, `unix://`) in place of the embedded Valkey."""
    lang: Literal["zh", "en", "auto"] = "auto"
    """The language Paigate speaks: `zh`, `en`, or `auto`, which follows each person's client."""
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """The least important log line that is written: `debug`, `info`, `warning` or `error`."""
    log_format: Literal["auto", "text", "json"] = "auto"
    """How log lines look: `text`, `json`, or `auto`, which is text on a terminal and JSON elsewhere."""

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Let the environment win over what is passed in: that is the content of the settings file."""
        return env_settings, init_settings

    @field_validator("data_dir")
    @classmethod
    def _absolute(cls, value: Path) -> Path:
        parts = value.parts
        path = home_directory().joinpath(*parts[1:]) if parts[:1] == ("~",) else value.absolute()
        if path.resolve().is_relative_to("/usr"):
            raise ValueError("must not be below /usr, which every command of the agent can read")
        return path

    @field_validator("redis_url")
    @classmethod
    def _redis_scheme(cls, value: SecretStr | None) -> SecretStr | None:
        if value is None:
            return value
        parts = urlsplit(value.get_secret_value())
        if parts.scheme not in {"redis", "rediss", "unix"}:
            raise ValueError("must begin with redis://, rediss:// or unix://")
        if not (parts.path if parts.scheme == "unix" else parts.hostname):
            raise ValueError("names no server: write redis://HOST:PORT/0, or unix:///path/of/the.sock")
        return value

    @property
    def redis_address(self) -> str:
        """The URL of the server in use: `redis_url`, else the embedded Valkey's socket. It may hold a password."""
        if self.redis_url is not None:
            return self.redis_url.get_secret_value()
        return f"unix://{quote(str(socket_path(self.data_dir)))}"

    def secrets(self) -> tuple[str, ...]:
        """Every secret value that is set, and a password within one, for masking."""
        values: list[str] = []
        for name in type(self).model_fields:
            value: object = getattr(self, name)
            if isinstance(value, SecretStr):
                values.append(value.get_secret_value())
        if password := urlsplit(self.redis_address).password:
            values.append(password)
        return tuple(values)


class WorkerSettings(CommonSettings):
    """What the worker process needs to know; no token of any chat is among it."""

    model: str | None = Field(default=None, min_length=1, examples=[EXAMPLE_MODEL])
    """`provider:model`; without it the demo model answers."""
    model_base_url: str | None = Field(default=None, examples=["https://host/v1"])
    """The endpoint, where it is not the provider's own."""
    model_api_key: SecretStr | None = Field(default=None, examples=["sk-..."])
    """The provider's key."""
    model_price: str | None = Field(default=None, examples=["2/0.04/8 CNY"])
    """What a million tokens cost, where the table does not know it or you pay another price: prompt, cached prompt,
    answer, and the currency (CNY or USD)."""
    fallback_model: str | None = Field(default=None, min_length=1, examples=["kimi:kimi-k2.6"])
    """A second `provider:model` that answers while the first is overloaded or cannot be reached."""
    fallback_base_url: str | None = Field(default=None, examples=["https://host/v1"])
    """The second model's endpoint, where it is not its provider's own."""
    fallback_api_key: SecretStr | None = Field(default=None, examples=["sk-..."])
    """The second model's key."""
    fallback_price: str | None = Field(default=None, examples=["4/1/16 CNY"])
    """The second model's price, as `model_price`."""
    budget_turn_tokens: int | None = Field(default=None, ge=1_000, le=10**12, examples=["2000000"])
    """How many tokens, prompts and answers together, one task may use; without it there is no limit."""
    budget_turn_cost: str | None = Field(default=None, examples=["5 CNY"])
    """What one task may cost, in the currency of the model's price; without it there is no limit."""
    budget_turn_steps: int | None = Field(default=None, ge=1, le=10**6, examples=["100"])
    """How many model calls one task may make; without it there is no limit."""
    budget_turn_seconds: float | None = Field(default=None, ge=1, le=10**7, examples=["3600"])
    """How many seconds one task may work, waiting for people not counted; without it there is no limit."""
    workers: int = Field(default=4, ge=1, le=64)
    """How many turns may run at once on this host: the number of RQ worker processes."""
    sandbox_uid: int = Field(default=61137, ge=1, le=2**32 - 2)
    """The user that commands run as when the worker is root: no account has it, and systemd gives it to no service
    (it hands out 61184 to 65519)."""
    sandbox_gid: int = Field(default=61137, ge=1, le=2**32 - 2)
    """The group that commands run as when the worker is root."""
    approval_hours: float = Field(default=72, gt=0, le=24 * 30)
    """After so many hours an unanswered approval counts as denied."""
    grant_days: float = Field(default=30, ge=0, le=365)
    """How many days an answer "this project" holds; 0 does not offer it."""

    @field_validator("model_api_key", "fallback_api_key")
    @classmethod
    def _fits_a_header(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None and not re.fullmatch(r"[!-~]+", value.get_secret_value()):
            raise ValueError("holds a blank or another character that no key has; copy it again")
        return value

    @model_validator(mode="after")
    def _names_the_model(self) -> Self:
        """Refuse a key, endpoint or fallback without a model: the demo would answer, and nobody would know why."""
        if self.fallback_model is not None and self.model is None:
            raise ValueError(f"{_shown('fallback_model')} is set, but {PREFIX}MODEL is not: set it as well")
        for which, begin in (("model", "model"), ("fallback_model", "fallback")):
            for name in (f"{begin}_api_key", f"{begin}_base_url", f"{begin}_price"):
                if getattr(self, which) is None and getattr(self, name) is not None:
                    given = _shown(name)
                    model = which if given == name else f"{PREFIX}{which.upper()}"
                    raise ValueError(f"{given} is set, but {model} is not: set it as well, such as {EXAMPLE_MODEL}")
        return self


def read_settings(settings_class: type[CommonT], values: Mapping[str, Any] | None = None) -> CommonT:
    """Read settings from the environment, and beneath it from `values` (the content of a settings file).

    What is empty counts as unset in both.

    Raises:
        SettingsError: a value is wrong, or `values` holds an unknown key.
    """
    try:
        return settings_class(**{name: value for name, value in (values or {}).items() if value != ""})
    except ValidationError as error:
        problems = [_problem(detail["loc"], detail["msg"]) for detail in error.errors(include_input=False)]
    raise SettingsError(problems)


def _problem(location: tuple[int | str, ...], message: str) -> str:
    words = message.removeprefix("Value error, ")
    return f"{_shown(str(location[0]))}: {words}" if location else words


def _shown(name: str) -> str:
    """A field's name as the operator wrote it: the variable where that is set, else the key of the file."""
    variable = f"{PREFIX}{name.upper()}"
    return variable if os.environ.get(variable) else name


def process_environment(
    settings: CommonSettings, settings_class: type[CommonSettings], environ: Mapping[str, str]
) -> dict[str, str]:
    """The whole environment of a process that reads `settings_class`: its own settings, and a little of `environ`.

    Nothing else passes: what another process needs, or what happens to be exported in a shell, stays out.
    """
    kept = {name: value for name, value in environ.items() if name.upper() in INHERITED or name.startswith("LC_")}
    for name in settings_class.model_fields:
        value: object = getattr(settings, name)
        if value is not None:
            kept[f"{PREFIX}{name.upper()}"] = _as_text(value)
    return kept


def _as_text(value: object) -> str:
    if isinstance(value, SecretStr):
        return value.get_secret_value()
    if isinstance(value, frozenset):
        return ",".join(sorted(map(str, cast("frozenset[object]", value))))
    return str(value)
