"""How every process writes its log: one event a line on standard error, and no secret in it."""

import logging
import sys
from collections.abc import Iterable
from typing import TextIO

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from worker.settings import CommonSettings

MASK = "***"
_SHORTEST_SECRET = 6
"""Shorter values are not masked: they would blot out half of a log, and guard nothing."""

_CHATTY = frozenset({"httpx", "httpcore", "telegram", "rq", "asyncio", "uvicorn"})
"""Libraries whose informational lines are noise, or hold addresses with tokens in them."""


def configure_logging(settings: CommonSettings, *, stream: TextIO | None = None) -> None:
    """Send the log of this process, ours and the libraries', to `stream` (standard error), with all secrets masked."""
    output = stream or sys.stderr
    as_text = output.isatty() if settings.log_format == "auto" else settings.log_format == "text"
    steps = _steps()
    handler = logging.StreamHandler(output)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=steps,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                *_rendering(as_text=as_text, colors=as_text and output.isatty()),
                _masking(settings.secrets()),
            ],
        )
    )
    handler.addFilter(_matters)
    logging.basicConfig(level=settings.log_level.upper(), handlers=[handler], force=True)
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *steps,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )


def _matters(record: logging.LogRecord) -> bool:
    """Judged at the handler, since some of these libraries set the level of their loggers themselves."""
    return record.levelno >= logging.WARNING or record.name.partition(".")[0] not in _CHATTY


def _steps() -> list[Processor]:
    return [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.add_log_level,
        structlog.stdlib.PositionalArgumentsFormatter(),
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.StackInfoRenderer(),
    ]


def _rendering(*, as_text: bool, colors: bool) -> list[Processor]:
    """The last steps. A plain traceback, since a rich one would print local variables, and secrets with them."""
    if as_text:
        plain = structlog.dev.plain_traceback
        return [structlog.dev.ConsoleRenderer(colors=colors, exception_formatter=plain)]
    return [structlog.processors.format_exc_info, structlog.processors.JSONRenderer(ensure_ascii=False)]


def _masking(secrets: Iterable[str]) -> Processor:
    """A step after the rendering, so that no field, traceback or library's own line goes around it."""
    known = sorted({secret for secret in secrets if len(secret) >= _SHORTEST_SECRET}, key=len, reverse=True)

    def mask(_logger: WrappedLogger, _method: str, rendered: EventDict | str) -> str:
        line = str(rendered)
        for secret in known:
            line = line.replace(secret, MASK)
        return line

    return mask
