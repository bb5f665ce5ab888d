"""`paigate up`: everything on one host, as parts of one supervisor."""

import os
import shlex
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from gateway.listening import is_local, listen_problem
from gateway.processes import AlreadyRunning, DataLock
from gateway.settings import GatewaySettings, Settings
from gateway.supervisor import Part, Supervisor, ready_file
from gateway.web_token import web_token
from worker import host


class CannotStart(Exception):
    """Something is in the way; the message is one line with the fix, and without secrets."""


async def up(settings: Settings, say: Callable[[str], None], *, show_link: bool) -> int:
    """Start Valkey (unless another Redis is set), the worker and the gateway; keep them running until told to end.

    Returns the exit code. `show_link` says the web chat's link, which holds its key; else how to get it is said.

    Raises:
        CannotStart: before anything was started.
    """
    server = host.EmbeddedValkey(settings.data_dir)
    try:
        host.private_directory(settings.data_dir)
        run = host.private_directory(settings.data_dir / "run")
        lock = await DataLock.take(run / "up.lock")
    except AlreadyRunning as error:
        raise CannotStart(str(error)) from error
    except OSError as error:
        raise CannotStart(_unusable(settings, error)) from error
    try:
        await _clear_the_way(settings, server)
        supervisor = Supervisor(_parts(settings, server, lock), say=say)
        return await supervisor.run(lambda: say(summary(settings, show_link=show_link)))
    except host.ValkeyUnavailable as error:
        raise CannotStart(str(error)) from error
    finally:
        with suppress(OSError):
            _address_file(settings).unlink()
        server.tidy()
        lock.release()


async def _clear_the_way(settings: Settings, server: host.EmbeddedValkey) -> None:
    try:
        server.prepare()
        _address_file(settings).write_text(settings.web_address, encoding="ascii")
    except OSError as error:
        raise CannotStart(_unusable(settings, error)) from error
    if problem := listen_problem(settings.http_host, settings.http_port):
        raise CannotStart(str(problem))
    if settings.redis_url is not None:
        try:
            await host.ping(settings.redis_address)
        except host.RedisUnreachable as error:
            fix = "start it, mend PAIGATE_REDIS_URL, or unset it to use the embedded Valkey"
            raise CannotStart(f"{error}; {fix}") from error


def _unusable(settings: Settings, error: OSError) -> str:
    if error.strerror is None:
        return f"the data directory cannot be used: {error}"
    name = error.filename or settings.data_dir
    return f"the data directory cannot be used: {error.strerror}: {name}; set PAIGATE_DATA_DIR to a place of your own"


def _parts(settings: Settings, server: host.EmbeddedValkey, lock: DataLock) -> list[Part]:
    own = [_python_part(settings, "worker", host.WorkerSettings, lock)]
    own.append(_python_part(settings, "gateway", GatewaySettings, lock))
    return own if settings.redis_url is not None else [_valkey_part(settings, server, lock), *own]


def _valkey_part(settings: Settings, server: host.EmbeddedValkey, lock: DataLock) -> Part:
    async def answers(_pid: int) -> bool:
        try:
            await host.ping(settings.redis_address)
        except host.RedisUnreachable:
            return False
        return True

    environment = {"PATH": os.environ.get("PATH", os.defpath)}
    return Part(
        name="valkey",
        argv=server.argv(),
        environment=environment,
        ready=answers,
        pass_fds=(lock.descriptor,),
        log=server.log,
    )


def _python_part(settings: Settings, name: str, settings_class: type[host.CommonSettings], lock: DataLock) -> Part:
    return Part(
        name=name,
        argv=module_command(name),
        environment=host.process_environment(settings, settings_class, os.environ),
        ready=ready_file(host.ready_path(settings.data_dir, name)),
        pass_fds=(lock.descriptor,),
    )


def module_command(name: str) -> list[str]:
    """The command that runs a package of ours; `-P` keeps packages of the working directory out of its way."""
    return [sys.executable, "-P", "-m", name]


def link(settings: GatewaySettings) -> str:
    """The web chat's address with the key that opens it.

    Raises:
        OSError: the data directory cannot be used.
    """
    address = _address_file(settings)
    running = address.read_text(encoding="ascii").strip() if address.exists() else settings.web_address
    return f"{running}/?token={web_token(settings.data_dir)}"


def _address_file(settings: GatewaySettings) -> Path:
    """Where a running `up` leaves its address, which may come from settings that this process was not given."""
    return settings.data_dir / "run" / "web-address"


def summary(settings: Settings, *, show_link: bool) -> str:
    """What is said once all is ready: where the chat is, what answers in it, and what is risky about it."""
    if settings.telegram_token is None:
        telegram = "off; to turn it on set PAIGATE_TELEGRAM_TOKEN and PAIGATE_TELEGRAM_ALLOW"
    elif not settings.telegram_allow:
        telegram = "on, but serves nobody: set PAIGATE_TELEGRAM_ALLOW to your numeric user id"
    else:
        telegram = f"on, for {len(settings.telegram_allow)} allowed id(s)"
    return "\n".join([
        "Paigate is ready.",
        f"  chat      {link(settings) if show_link else _how_to_get_the_link(settings)}",
        *_exposure(settings),
        *_models(settings),
        f"  telegram  {telegram}",
        f"  data      {settings.data_dir}",
        "  Ctrl-C stops everything; what was said is kept.",
    ])  # fmt: skip


def _models(settings: Settings) -> list[str]:
    """What answers, what stands in for it, and which limits a task has; of the models only their names."""
    demo = "DEMO, a rule-driven stand-in; for a real one set PAIGATE_MODEL and PAIGATE_MODEL_API_KEY"
    lines = [f"  model     {settings.model or demo}"]
    if settings.fallback_model is not None:
        lines.append(f"  fallback  {settings.fallback_model}")
    limits = [name for name in ("tokens", "cost", "steps", "seconds") if getattr(settings, f"budget_turn_{name}")]
    return [*lines, f"  limits    each task: {', '.join(limits)}"] if limits else lines


def _how_to_get_the_link(settings: Settings) -> str:
    where = shlex.quote(str(settings.data_dir))
    program = shlex.quote(str(Path(sys.executable).with_name("paigate")))
    return f"{settings.web_address}; for the link that opens it: PAIGATE_DATA_DIR={where} {program} link"


def _exposure(settings: Settings) -> list[str]:
    if is_local(settings.http_host):
        return []
    danger = f"others can reach {settings.http_host}, over plain HTTP that shows them the key in the link"
    return [f"  warning   {danger}; put a TLS proxy before it, or unset PAIGATE_HTTP_HOST"]
