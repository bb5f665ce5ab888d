"""The worker process: RQ workers that run turns, the reconciler, and the demo model when no model is configured."""

import asyncio
import os
import sys
from contextlib import ExitStack

from worker.build import build_demo, build_reconciler, workshop
from worker.data_dir import mark_ready, private_directory
from worker.logs import configure_logging
from worker.pool import TurnPool
from worker.redis_server import RedisUnreachable, ping
from worker.settings import EX_CONFIG, EX_UNAVAILABLE, SettingsError, WorkerSettings, read_settings
from worker.store import connect_queue


def main() -> int:
    """Run until told to stop; 78 when the settings cannot work, 69 when what they name is not there now."""
    try:
        settings = read_settings(WorkerSettings)
        asyncio.run(ping(settings.redis_address))
        with ExitStack() as stack:
            return serve(settings, stack)
    except SettingsError as error:
        print(f"paigate worker: {error}", file=sys.stderr)
        return EX_CONFIG
    except (RedisUnreachable, OSError) as error:
        print(f"paigate worker: {error}", file=sys.stderr)
        return EX_UNAVAILABLE


def serve(settings: WorkerSettings, stack: ExitStack) -> int:
    """Load everything once, then fork the workers; returns when they have stopped, with the exit code."""
    configure_logging(settings)
    private_directory(settings.data_dir)
    demo = stack.enter_context(build_demo()) if settings.model is None else None
    if demo:
        os.environ["PAIGATE_MODEL"] = "demo:demo"
        os.environ["PAIGATE_MODEL_BASE_URL"] = demo.base_url
    workshop()
    pool = TurnPool(
        connect_queue(settings.redis_address),
        workers=settings.workers,
        reconciler=lambda: build_reconciler(settings),
        ready=lambda: mark_ready(settings.data_dir, "worker"),
        healthy=lambda: demo is None or demo.alive,
    )
    pool.start(logging_level="WARNING")
    return EX_UNAVAILABLE if demo and not demo.alive else 0


if __name__ == "__main__":
    sys.exit(main())
