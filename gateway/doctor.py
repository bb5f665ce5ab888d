"""`python -m gateway.doctor`: check what the gateway needs, and print the checks as JSON."""

import asyncio
import json
from pathlib import Path

from telegram import Bot
from telegram.error import InvalidToken, TelegramError

from gateway.listening import listen_problem
from gateway.settings import GatewaySettings
from worker.control import host

_TELEGRAM = "https://api.telegram.org/bot"
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
    token = await _check_token(settings.telegram_token.get_secret_value(), settings.telegram_base_url or _TELEGRAM)
    if settings.telegram_allow:
        return [token]
    fix = "set PAIGATE_TELEGRAM_ALLOW to your numeric user id"
    return [token, host.Check(name="telegram ids", state="warn", detail="no id is allowed: nobody is served", fix=fix)]


async def _check_token(token: str, base_url: str) -> host.Check:
    """Ask Telegram who the bot is. The library's own messages repeat the token, so none of them is shown."""
    try:
        async with asyncio.timeout(_TELEGRAM_SECONDS), Bot(token, base_url=base_url) as bot:
            return host.Check(name="telegram", state="ok", detail=f"the token belongs to @{bot.username}")
    except InvalidToken:
        detail, fix = "the token is refused", "copy it from @BotFather into PAIGATE_TELEGRAM_TOKEN"
    except (TelegramError, TimeoutError) as error:
        detail = f"{base_url.partition('/bot')[0]} cannot be asked ({type(error).__name__})"
        fix = "see that this host reaches it, by a proxy (HTTPS_PROXY) if it must"
    return host.Check(name="telegram", state="fail", detail=detail, fix=fix)


def main() -> None:
    """Print the checks of the process whose environment this is."""
    checks = asyncio.run(examine(host.read_settings(GatewaySettings)))
    print(json.dumps([check.model_dump() for check in checks]))


if __name__ == "__main__":
    main()
