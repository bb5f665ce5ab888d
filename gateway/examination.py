"""`paigate doctor`: have the gateway and the worker each look at what they need, and report it together."""

import asyncio
import json
import os
from collections.abc import Sequence
from pathlib import Path

import typer
from pydantic import TypeAdapter, ValidationError

from gateway.settings import GatewaySettings, Settings, config_path, load_settings
from gateway.up import module_command
from worker import host

_CHECKS = TypeAdapter(list[host.Check])
_COLORS = {"ok": "green", "warn": "yellow", "fail": "red"}
_SECONDS = 60.0


async def examine(config: Path | None) -> list[host.Check]:
    """All the checks, in the order in which they are worth mending."""
    try:
        settings = load_settings(config)
        path = config_path(config)
    except host.SettingsError as error:
        return [host.Check(name="settings", state="fail", detail=line, fix="mend it there") for line in error.problems]
    parts = await asyncio.gather(
        _ask("worker.doctor", settings, host.WorkerSettings), _ask("gateway.doctor", settings, GatewaySettings)
    )
    return [_settings_check(path), *(check for part in parts for check in part)]


def report(checks: Sequence[host.Check], *, as_json: bool) -> None:
    """Print the checks: a line each with its fix below it, or as JSON."""
    if as_json:
        ok = all(check.state != "fail" for check in checks)
        print(json.dumps({"ok": ok, "checks": [check.model_dump() for check in checks]}, indent=2, ensure_ascii=False))
        return
    colored = False if os.environ.get("NO_COLOR") else None  # None: on a terminal only
    width = max(len(check.name) for check in checks)
    for check in checks:
        state = typer.style(f"{check.state:<4}", fg=_COLORS[check.state])
        typer.echo(f"{state}  {check.name:<{width}}  {_printable(check.detail)}", color=colored)
        if check.fix:
            typer.echo(f"      {'':<{width}}  fix: {_printable(check.fix)}")


def _printable(text: str) -> str:
    """What others sent may hold line ends and terminal commands; a check is one line, and only shows them."""
    return "".join(character if character.isprintable() else ascii(character)[1:-1] for character in text)


def _settings_check(path: Path | None) -> host.Check:
    if path is None:
        return host.Check(name="settings", state="ok", detail="from the environment and defaults; no paigate.toml")
    if path.stat().st_mode & 0o077:
        danger = f"{path} can be read by others, and may hold secrets"
        return host.Check(name="settings", state="warn", detail=danger, fix=f"chmod 600 {path}")
    return host.Check(name="settings", state="ok", detail=f"from {path} and the environment")


async def _ask(module: str, settings: Settings, settings_class: type[host.CommonSettings]) -> list[host.Check]:
    """Run one part's checks as the part itself would run: its environment, and nothing of the other's."""
    process = await asyncio.create_subprocess_exec(
        *module_command(module),
        env=host.process_environment(settings, settings_class, os.environ),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(_SECONDS):
            output, errors = await process.communicate()
    except TimeoutError:
        process.kill()
        await process.wait()
        return [_broken(module, f"it took longer than {_SECONDS:.0f} s")]
    try:
        return _CHECKS.validate_json(output)
    except ValidationError:
        return [_broken(module, (errors.decode(errors="replace").strip().splitlines() or ["it said nothing"])[-1])]


def _broken(module: str, reason: str) -> host.Check:
    return host.Check(name=module, state="fail", detail=f"could not check: {reason}", fix="please report this")
