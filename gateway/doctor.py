"""`python -m gateway.doctor`: check what the gateway needs, and print the checks as JSON."""

import asyncio
import json
from pathlib import Path
from typing import TYPE_CHECKING, cast
from urllib.parse import urlsplit

from gateway.adapter import AdapterRefused, DeliveryError
from gateway.adapters import load
from gateway.listening import listen_problem
from gateway.settings import GatewaySettings
from worker import host

if TYPE_CHECKING:
    from gateway.adapters.telegram import TelegramAdapter

_TELEGRAM_SECONDS = 15.0


async def examine(settings: GatewaySettings) -> list[host.Check]:
    """Look at the web chat's port and at Telegram."""
    return [_check_port(settings), *await _check_telegram(settings)]


def _check_port(settings: GatewaySettings) -> host.Check:
    problem = listen_problem(settings.http_host, settings.http_port)
    if problem is None:
        return host.Check(name="web chat", state="ok", detail=f"{settings.web_address} is free for it")
    if _is_alive(host.ready_path(settings.data_dir, "gateway")):
        return host.Check(name="web chat", state="ok", detail=f"runs at {settings.web_address}")
    return host.Check(name="web chat", state="fail", detail=problem.detail, fix=problem.fix)


def _is_alive(pid_file: Path) -> bool:
    try:
        return Path("/proc", str(int(pid_file.read_text(encoding="ascii")))).exists()
    except (OSError, ValueError):
        return False


async def _check_telegram(settings: GatewaySettings) -> list[host.Check]:
    if settings.telegram_token is None:
        return [host.Check(name="telegram", state="ok", detail="off: no PAIGATE_TELEGRAM_TOKEN")]
    token = await _check_token(settings, settings.telegram_token.get_secret_value())
    if settings.telegram_allow:
        return [token]
    fix = "set PAIGATE_TELEGRAM_ALLOW to your numeric user id"
    return [token, host.Check(name="telegram ids", state="warn", detail="no id is allowed: nobody is served", fix=fix)]


async def _check_token(settings: GatewaySettings, token: str) -> host.Check:
    """Ask Telegram who the bot is, as the gateway itself does at its start."""
    base_url = settings.telegram_base_url
    adapter = load("telegram")(token=token, base_url=base_url, allow=settings.telegram_allow)
    try:
        async with asyncio.timeout(_TELEGRAM_SECONDS):
            detail = f"the token belongs to {await adapter.check()}"
            return host.Check(name="telegram", state="ok", detail=detail)
    except AdapterRefused as refusal:
        detail, fix = refusal.detail, refusal.fix
        if base_url:
            fix += "; or mend PAIGATE_TELEGRAM_BASE_URL"
    except (DeliveryError, TimeoutError) as error:
        detail = f"{_server(base_url)} cannot be asked ({error or f'no answer in {_TELEGRAM_SECONDS:.0f} s'})"
        fix = "mend PAIGATE_TELEGRAM_BASE_URL" if base_url else "see that this host reaches it, or set HTTPS_PROXY"
    finally:
        await cast("TelegramAdapter", adapter).close()
    return host.Check(name="telegram", state="fail", detail=detail, fix=fix)


def _server(base_url: str | None) -> str:
    return (urlsplit(base_url).hostname or base_url) if base_url else "Telegram"


def main() -> None:
    """Print the checks of the process whose environment this is."""
    checks = asyncio.run(examine(host.read_settings(GatewaySettings)))
    print(json.dumps([check.model_dump() for check in checks]))


if __name__ == "__main__":
    main()
