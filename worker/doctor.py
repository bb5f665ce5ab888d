"""`python -m worker.doctor`: check what the worker needs, and print the checks as JSON."""

import asyncio
import json
import os
import shutil
from difflib import get_close_matches
from pathlib import Path

import httpx
from pydantic import BaseModel, TypeAdapter, ValidationError

from agent.providers import KEY_SETTING, MODEL_SETTING, URL_SETTING, ResolvedModel, UnusableModel
from worker.build import build_sandbox, resolve_model
from worker.checks import Check, CheckState
from worker.data_dir import private_directory
from worker.redis_server import check_redis, shown_address
from worker.settings import EXAMPLE_MODEL, WorkerSettings, read_settings
from worker.valkey import ValkeyUnavailable, server_binary

_WANTED_BYTES = 1 << 30
_MODEL_SECONDS = 15.0
_MODEL_FIXES = {
    MODEL_SETTING: f"mend {MODEL_SETTING}; one that exists is {EXAMPLE_MODEL}",
    KEY_SETTING: f"set {KEY_SETTING} to the key that the provider gave you",
    URL_SETTING: f"set {URL_SETTING} to the endpoint's address, such as https://host/v1",
}


class _Listed(BaseModel):
    id: str


class _ModelList(BaseModel):
    data: list[_Listed] | None


_MODELS = TypeAdapter[_ModelList | list[_Listed]](_ModelList | list[_Listed])
"""The answer of `GET /models`, by OpenAI's API reference; some servers give null for no models, or the bare list."""


async def examine(settings: WorkerSettings) -> list[Check]:
    """Look at the data directory, the disk, Redis, the sandbox and the model."""
    directory = _check_data_dir(settings.data_dir)
    if directory.state == "fail":
        return [directory]
    redis, sandbox, model = await asyncio.gather(
        _check_redis(settings), _check_sandbox(settings), _check_model(settings)
    )
    return [directory, _check_disk(settings.data_dir), *redis, sandbox, model]


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


async def _check_model(settings: WorkerSettings) -> Check:
    if settings.model is None:
        fix = f"set {MODEL_SETTING} (such as {EXAMPLE_MODEL}) and {KEY_SETTING}"
        return _about_model("warn", "the demo model, which answers by rules only", fix)
    try:
        return await _ask_endpoint(resolve_model(settings))
    except UnusableModel as error:
        return _about_model("fail", str(error), _MODEL_FIXES[error.setting])


def _about_model(state: CheckState, detail: str, fix: str = "") -> Check:
    return Check(name="model", state=state, detail=detail, fix=fix)


async def _ask_endpoint(model: ResolvedModel) -> Check:
    """List the endpoint's models, which costs nothing and needs a valid key."""
    headers = {"Authorization": f"Bearer {model.api_key}"} if model.api_key else {}
    where = shown_address(model.base_url)
    try:
        async with asyncio.timeout(_MODEL_SECONDS), httpx.AsyncClient(timeout=_MODEL_SECONDS) as client:
            answer = await client.get(f"{model.base_url}/models", headers=headers)
    except (httpx.HTTPError, httpx.InvalidURL, ValueError, TimeoutError) as error:
        fix = f"see that this host reaches it, or mend {URL_SETTING}"
        return _about_model("fail", f"{where} cannot be reached ({type(error).__name__})", fix)
    if answer.status_code != 200:
        state, words, fix = _explain_status(answer.status_code)
        status = f"HTTP {answer.status_code} {answer.reason_phrase}".strip()
        return _about_model(state, f"{where} {words} ({status})", fix)
    return _judge_list(model, where, answer.content)


def _explain_status(status: int) -> tuple[CheckState, str, str]:
    """What a status other than 200 means, in plain words, and what to do about it."""
    match status:
        case 401 | 403:
            return "fail", "refuses the key", _MODEL_FIXES[KEY_SETTING]
        case 402:
            return "warn", "says that nothing is left to pay with", "see your balance at the provider"
        case 429:
            fix = "try again in a minute; if it stays so, see your plan and balance at the provider"
            return "warn", "is asked too often, or its quota is used up", fix
        case _ if status >= 500:
            return "warn", "has a fault of its own at present", "try again later, or see the provider's status page"
        case _ if 300 <= status < 400:
            return "warn", "sends us to another address, and is not followed there", f"mend {URL_SETTING}"
        case _:
            return "warn", "answers, but lists no models", f"see {URL_SETTING} if tasks fail; most end in /v1"


def _judge_list(model: ResolvedModel, where: str, body: bytes) -> Check:
    try:
        found = _MODELS.validate_json(body)
    except ValidationError:
        kind = "an empty page" if not body.strip() else "something else"
        fix = f"mend {URL_SETTING}; most end in /v1"
        return _about_model("warn", f"{where} answers with {kind} where a list of models should be", fix)
    names = {entry.id for entry in (found if isinstance(found, list) else found.data or ())}
    wanted = model.facts.name
    # Ollama's ids carry a tag, which may be left out where it is the usual one.
    if names and not names & {wanted, f"{wanted}:latest"}:
        near = get_close_matches(wanted, names, n=3, cutoff=0) or sorted(names)[:3]
        fix = f"mend {MODEL_SETTING}; nearest are {', '.join(near)}"
        return _about_model("warn", f"{where} does not list the model {wanted}", fix)
    return _about_model("ok", f"{model.name} answers at {where}")


def main() -> None:
    """Print the checks of the process whose environment this is."""
    checks = asyncio.run(examine(read_settings(WorkerSettings)))
    print(json.dumps([check.model_dump() for check in checks]))


if __name__ == "__main__":
    main()
