"""`python -m worker.doctor`: check what the worker needs, and print the checks as JSON."""

import asyncio
import json
import os
import shutil
from pathlib import Path

from worker.build import build_sandbox
from worker.checks import Check
from worker.data_dir import private_directory
from worker.model_check import check_models
from worker.redis_server import check_redis
from worker.settings import WorkerSettings, read_settings
from worker.valkey import ValkeyUnavailable, server_binary

_WANTED_BYTES = 1 << 30


async def examine(settings: WorkerSettings) -> list[Check]:
    """Look at the data directory, the disk, Redis, the sandbox and the models."""
    directory = _check_data_dir(settings.data_dir)
    if directory.state == "fail":
        return [directory]
    redis, sandbox, models = await asyncio.gather(
        _check_redis(settings), _check_sandbox(settings), check_models(settings)
    )
    return [directory, _check_disk(settings.data_dir), *redis, sandbox, *models]


def _check_data_dir(path: Path) -> Check:
    """The directory is made here if it is not there: what matters is whether that works."""
    try:
        private_directory(path)
    except OSError as error:
        fix = "mend its owner and mode, or set PAIGATE_DATA_DIR to a place of your own"
        return Check(name="data", state="fail", detail=f"{path} cannot be used: {error.strerror or error}", fix=fix)
    if not os.access(path, os.W_OK | os.X_OK):
        return Check(name="data", state="fail", detail=f"{path} cannot be written", fix=f"chmod u+rwx {path}")
    return Check(name="data", state="ok", detail=f"{path} is ours alone")


def _check_disk(path: Path) -> Check:
    free = shutil.disk_usage(path).free
    detail = f"{free / (1 << 30):.1f} GiB free below {path}"
    if free < _WANTED_BYTES:
        return Check(name="disk", state="warn", detail=detail, fix="free some space: projects and the log need it")
    return Check(name="disk", state="ok", detail=detail)


async def _check_redis(settings: WorkerSettings) -> list[Check]:
    """The embedded Valkey runs only while `paigate up` does, so that its absence is no fault."""
    checks = await check_redis(settings.redis_address)
    if settings.redis_url is not None or checks[0].state != "fail":
        return checks
    try:
        binary = server_binary()
    except ValkeyUnavailable as error:
        return [Check(name="redis", state="fail", detail=str(error), fix="set PAIGATE_REDIS_URL")]
    return [Check(name="redis", state="ok", detail=f"embedded, started by paigate up ({binary.name})")]


async def _check_sandbox(settings: WorkerSettings) -> Check:
    result = await build_sandbox(settings).check()
    detail = f"{result.backend}: {result.detail}"
    return Check(name="sandbox", state="ok" if result.ok else "fail", detail=detail, fix=result.fix)


def main() -> None:
    """Print the checks of the process whose environment this is."""
    checks = asyncio.run(examine(read_settings(WorkerSettings)))
    print(json.dumps([check.model_dump() for check in checks]))


if __name__ == "__main__":
    main()
