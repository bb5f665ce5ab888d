"""DOOR: what the command line needs on this host: settings, the embedded Valkey, checks, logs. It touches no state."""

from importlib import import_module

from worker.checks import Check, CheckState
from worker.data_dir import mark_ready, private_directory, ready_path
from worker.redis_server import RedisUnreachable, check_redis, ping
from worker.settings import (
    EX_CONFIG,
    EX_UNAVAILABLE,
    EXAMPLE_MODEL,
    PREFIX,
    CommonSettings,
    SettingsError,
    WorkerSettings,
    default_data_dir,
    home_directory,
    process_environment,
    read_settings,
)
from worker.valkey import EmbeddedValkey, ValkeyUnavailable

__all__ = [
    "EXAMPLE_MODEL",
    "EX_CONFIG",
    "EX_UNAVAILABLE",
    "PREFIX",
    "Check",
    "CheckState",
    "CommonSettings",
    "EmbeddedValkey",
    "RedisUnreachable",
    "SettingsError",
    "ValkeyUnavailable",
    "WorkerSettings",
    "check_redis",
    "configure_logging",
    "default_data_dir",
    "home_directory",
    "mark_ready",
    "ping",
    "private_directory",
    "process_environment",
    "read_settings",
    "ready_path",
]


def configure_logging(settings: CommonSettings) -> None:
    """Send the log of this process to standard error, with all secrets masked: see `worker.logs`.

    It is loaded on use, as the command line writes no log, and `paigate up` lives long.
    """
    import_module("worker.logs").configure_logging(settings)
