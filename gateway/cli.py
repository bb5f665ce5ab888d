"""The `paigate` command."""

import asyncio
import os
import sys
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from gateway.examination import examine, report
from gateway.settings import GatewaySettings, Settings, load_settings
from gateway.settings_list import table, toml
from gateway.up import CannotStart, link, module_command, up
from worker import host

CANNOT_START = 1
"""Exit code when something is in the way, and of `paigate doctor` when a check fails."""

# A paragraph that begins with \b keeps its lines.
_ABOUT = """Message a bot a coding task; a sandboxed agent does it on your server and asks before anything risky.

\b
Begin with:   paigate up        then open the address it prints
Check it:     paigate doctor
Connect it:   PAIGATE_TELEGRAM_TOKEN=... PAIGATE_TELEGRAM_ALLOW=<your id> paigate up

\b
Settings come from paigate.toml and from PAIGATE_ variables, which win:
  http_port = 8750         in the file is
  PAIGATE_HTTP_PORT=8750   in the environment
All of them:  paigate settings

Each command has a help of its own, such as: paigate up --help
"""
_UP = f"""Run everything on this host: Valkey, the worker and the gateway.

A part that dies is started again; Ctrl-C ends all of them, and what was said is kept. With no settings at all the web
chat answers through a demo model. Valkey is left out when PAIGATE_REDIS_URL names a server of your own.

\b
Example:  paigate up
          PAIGATE_MODEL={host.EXAMPLE_MODEL} PAIGATE_MODEL_API_KEY=... paigate up
Next:     open the printed address (paigate link prints it again); if something is wrong, paigate doctor
"""
_GATEWAY = """Run only the gateway: the process that talks to people.

For hosts where a service manager runs each process. It needs Redis or Valkey, and one worker somewhere.

\b
Example:  PAIGATE_REDIS_URL=redis://10.0.0.5:6379/0 paigate gateway
Next:     paigate worker, on the host that holds the projects
"""
_WORKER = """Run only the worker: the process that runs the agent.

For hosts where a service manager runs each process. It needs Redis or Valkey, and the projects' disk.

\b
Example:  PAIGATE_REDIS_URL=redis://10.0.0.5:6379/0 paigate worker
Next:     paigate doctor, on the same host, to see that the sandbox holds
"""
_DOCTOR = """Check that all it needs is there, and name the fixes.

It looks at settings, disk, Redis, the sandbox, the model and the chats. Each line is ok, warn or fail, and says what to
do about it. The exit code is 1 when a check fails.

\b
Example:  paigate doctor
          paigate doctor --json
Next:     mend what fails, then paigate up
"""
_SETTINGS = """List all settings, their defaults and meanings.

It says where each is set, and never shows a value that is set.

\b
Example:  paigate settings
          paigate settings --toml > paigate.toml && chmod 600 paigate.toml
Next:     set some in paigate.toml or the environment, then paigate doctor
"""
_LINK = """Print the link that opens the web chat.

The link holds the key to the chat: who has it can do what you can.

\b
Example:  paigate link
          PAIGATE_DATA_DIR=/var/lib/paigate/data paigate link
Next:     open it in a browser on this machine, or through a tunnel to it
"""
_VERSION = """Print the version.

\b
Example:  paigate version
Next:     say it when you report a fault, with the output of paigate doctor
"""

ConfigOption = Annotated[
    Path | None, typer.Option("--config", "-c", metavar="FILE", help="The settings file, in place of paigate.toml.")
]

app = typer.Typer(
    name="paigate",
    help=_ABOUT,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.command("up", help=_UP)
def up_command(
    config: ConfigOption = None,
    show_link: Annotated[
        bool, typer.Option("--show-link", help="Print the web chat's link, with its key, also where no terminal is.")
    ] = False,
) -> None:
    """Run everything on this host."""
    settings = _settings(config)
    try:
        code = asyncio.run(up(settings, _say, show_link=show_link or sys.stdout.isatty()))
    except CannotStart as error:
        _fail([str(error)], CANNOT_START)
    raise typer.Exit(code)


@app.command("gateway", help=_GATEWAY)
def gateway_command(config: ConfigOption = None) -> None:
    """Run only the gateway."""
    _become("gateway", GatewaySettings, config)


@app.command("worker", help=_WORKER)
def worker_command(config: ConfigOption = None) -> None:
    """Run only the worker."""
    _become("worker", host.WorkerSettings, config)


@app.command("doctor", help=_DOCTOR)
def doctor_command(
    config: ConfigOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the checks as JSON, for a program to read.")] = False,
) -> None:
    """Check what Paigate needs."""
    checks = asyncio.run(examine(config))
    report(checks, as_json=as_json)
    raise typer.Exit(CANNOT_START if any(check.state == "fail" for check in checks) else 0)


@app.command("settings", help=_SETTINGS)
def settings_command(
    config: ConfigOption = None,
    as_toml: Annotated[bool, typer.Option("--toml", help="Print a settings file to fill in.")] = False,
) -> None:
    """List all settings."""
    try:
        _say(toml().rstrip() if as_toml else table(config))
    except host.SettingsError as error:
        _fail(error.problems, host.EX_CONFIG)


@app.command("link", help=_LINK)
def link_command(config: ConfigOption = None) -> None:
    """Print the link that opens the web chat."""
    settings = _settings(config)
    try:
        if not settings.data_dir.exists():
            elsewhere = "run paigate up, or set PAIGATE_DATA_DIR to the directory that it printed"
            _fail([f"nothing has run with the data directory {settings.data_dir} yet: {elsewhere}"], CANNOT_START)
        host.private_directory(settings.data_dir)
        _say(link(settings))
    except OSError as error:
        _fail([f"the data directory cannot be used: {error}; run this as the user that runs Paigate"], CANNOT_START)


@app.command("version", help=_VERSION)
def version_command() -> None:
    """Print the version."""
    _say(f"paigate {metadata.version('paigate')}")


def main() -> None:
    """Run the command that was typed."""
    app()


def _settings(config: Path | None) -> Settings:
    try:
        return load_settings(config)
    except host.SettingsError as error:
        _fail(error.problems, host.EX_CONFIG)


def _become(name: str, settings_class: type[host.CommonSettings], config: Path | None) -> NoReturn:
    """Turn into `python -m name`, with the environment that it may have and no more."""
    settings = _settings(config)
    try:
        host.private_directory(settings.data_dir)
        asyncio.run(host.ping(settings.redis_address))
    except host.RedisUnreachable as error:
        _fail([f"{error}; start it, mend PAIGATE_REDIS_URL, or use paigate up, which brings its own"], CANNOT_START)
    except OSError as error:
        _fail([f"the data directory cannot be used: {error}"], CANNOT_START)
    command = module_command(name)
    environment = host.process_environment(settings, settings_class, os.environ)
    os.execve(command[0], command, environment)  # noqa: S606 -- a signal to us must be one to it


def _say(line: str) -> None:
    print(line, flush=True)


def _fail(lines: Iterable[str], code: int) -> NoReturn:
    for line in lines:
        typer.echo(f"paigate: {line}", err=True)
    raise typer.Exit(code)
