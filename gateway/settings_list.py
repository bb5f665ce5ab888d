"""Every setting, for an operator to read: as a table, and as a settings file to fill in.

Both come from the settings classes, and neither shows a value that is set.
"""

import json
import os
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from pydantic.fields import FieldInfo

from gateway.settings import FILE_NAME, GatewaySettings, Settings, config_path, read_file, variable
from worker import host

_GROUPS = {
    "All processes": host.CommonSettings,
    "The worker: model, sandbox, approvals": host.WorkerSettings,
    "The gateway: web chat and Telegram": GatewaySettings,
}
_COLUMNS = 120
_HEAD = f"""\
# Settings of Paigate, as `paigate settings --toml` prints them. Copy this to {FILE_NAME}, chmod 600 it, and take the #
# away before what you set. A variable of the environment, such as PAIGATE_HTTP_PORT for http_port, wins over the file.
"""


def table(config: Path | None) -> str:
    """Each setting's name, default and where it is set, with its meaning on the line below.

    Raises:
        SettingsError: the settings file cannot be read.
    """
    path = config_path(config)
    values = read_file(path) if path is not None else {}
    width = max(map(len, Settings.model_fields))
    lines: list[str] = []
    for title, fields in _grouped():
        lines += ["", title]
        for name, field in fields.items():
            where = _set_by(name, path, values)
            lines.append(f"  {name:<{width}}  {_default(field):<10}  {where}".rstrip())
            lines.append(_meaning(field, indent=" " * (width + 4)))
    head = f"  {'NAME':<{width}}  {'DEFAULT':<10}  SET BY"
    return "\n".join([head, *lines])


def toml() -> str:
    """A settings file in which everything is a comment; what stands there is the default, or an example of the form."""
    parts = [_HEAD]
    for title, fields in _grouped():
        parts.append(f"\n# --- {title}\n")
        parts += [f"\n{_meaning(field, indent='# ')}\n# {name} = {_example(field)}\n" for name, field in fields.items()]
    return "".join(parts)


def _grouped() -> Iterator[tuple[str, Mapping[str, FieldInfo]]]:
    shared = host.CommonSettings.model_fields
    for title, group in _GROUPS.items():
        own = group is host.CommonSettings
        yield title, {name: field for name, field in group.model_fields.items() if own or name not in shared}


def _set_by(name: str, path: Path | None, values: Mapping[str, Any]) -> str:
    if os.environ.get(variable(name)):
        return variable(name)
    return str(path) if values.get(name, "") != "" else ""


def _meaning(field: FieldInfo, *, indent: str) -> str:
    return textwrap.fill(field.description or "", _COLUMNS, initial_indent=indent, subsequent_indent=indent)


def _default(field: FieldInfo) -> str:
    value: object = field.get_default(call_default_factory=True, validated_data={})
    if isinstance(value, Path) and value.is_relative_to(host.home_directory()):
        return f"~/{value.relative_to(host.home_directory())}"
    return "-" if value is None or value == frozenset() else str(value)


def _example(field: FieldInfo) -> str:
    """The value as TOML has it: strings of TOML are those of JSON."""
    return json.dumps(cast("list[object]", field.examples)[0] if field.examples else field.default)
