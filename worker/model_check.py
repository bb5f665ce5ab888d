"""Whether the models that are set can be asked, and what one task of them may use."""

import asyncio
from difflib import get_close_matches

import httpx
from pydantic import BaseModel, TypeAdapter, ValidationError

from agent.providers import KEY_SETTING, MODEL_SETTING, PRICE_SETTING, URL_SETTING, ResolvedModel, UnusableModel
from worker.budgets import task_limits
from worker.build import fallback_setting, resolve_fallback, resolve_model
from worker.checks import Check, CheckState
from worker.redis_server import shown_address
from worker.settings import EXAMPLE_MODEL, SettingsError, WorkerSettings

_SECONDS = 15.0
_FIXES = {
    MODEL_SETTING: "mend {setting}; one that exists is " + EXAMPLE_MODEL,
    KEY_SETTING: "set {setting} to the key that the provider gave you",
    URL_SETTING: "set {setting} to the endpoint's address, such as https://host/v1",
    PRICE_SETTING: "set {setting} to what a million tokens cost, such as 2/0.04/8 CNY",
}


class _Listed(BaseModel):
    id: str


class _ModelList(BaseModel):
    data: list[_Listed] | None


_MODELS = TypeAdapter[_ModelList | list[_Listed]](_ModelList | list[_Listed])
"""The answer of `GET /models`, by OpenAI's API reference; some servers give null for no models, or the bare list."""


async def check_models(settings: WorkerSettings) -> list[Check]:
    """Look at the model, at the second one where it is set, and at the limits of a task."""
    if settings.model is None:
        fix = f"set {MODEL_SETTING} (such as {EXAMPLE_MODEL}) and {KEY_SETTING}"
        return [_ModelCheck("model").told("warn", "the demo model, which answers by rules only", fix)]
    try:
        models = [await _ModelCheck("model").ask(resolve_model(settings))]
        if fallback := resolve_fallback(settings):
            models.append(await _ModelCheck("fallback").ask(fallback))
    except UnusableModel as error:
        name = "fallback" if "FALLBACK" in error.setting else "model"
        return [_ModelCheck(name).unusable(error)]
    return [*models, _check_limits(settings)]


def _check_limits(settings: WorkerSettings) -> Check:
    try:
        fallback = resolve_fallback(settings)
        limits = task_limits(settings, [resolve_model(settings), *([fallback] if fallback else [])])
    except SettingsError as error:
        return Check(name="limits", state="fail", detail=error.problems[0], fix="mend the limit or the price")
    units = {"tokens": limits.tokens, limits.currency: limits.cost, "steps": limits.steps, "s": limits.seconds}
    told = ", ".join(f"{limit:,} {unit}" for unit, limit in units.items() if limit is not None)
    if not told:
        fix = "set PAIGATE_BUDGET_TURN_TOKENS, _COST, _STEPS or _SECONDS"
        return Check(name="limits", state="warn", detail="one task may use any number of tokens", fix=fix)
    return Check(name="limits", state="ok", detail=f"one task may use {told}")


class _ModelCheck:
    """The check of one model; `name` is also that of its settings."""

    def __init__(self, name: str) -> None:
        self._name = name

    def told(self, state: CheckState, detail: str, fix: str = "") -> Check:
        """The check with what came of it."""
        return Check(name=self._name, state=state, detail=detail, fix=fix)

    def unusable(self, error: UnusableModel) -> Check:
        """The check of a model that cannot even be asked."""
        kind = next(kind for kind in _FIXES if error.setting in {kind, fallback_setting(kind)})
        return self.told("fail", str(error), self._fix(kind))

    async def ask(self, model: ResolvedModel) -> Check:
        """List the endpoint's models, which costs nothing and needs a valid key."""
        where = shown_address(model.base_url)
        try:
            async with asyncio.timeout(_SECONDS), httpx.AsyncClient(timeout=_SECONDS) as client:
                answer = await client.get(f"{model.base_url}/models", headers=model.headers)
        except (httpx.HTTPError, httpx.InvalidURL, ValueError, TimeoutError) as error:
            fix = f"see that this host reaches it, or mend {self._setting(URL_SETTING)}"
            return self.told("fail", f"{where} cannot be reached ({type(error).__name__})", fix)
        if answer.status_code != 200:
            state, words, fix = self._explain(answer.status_code)
            status = f"HTTP {answer.status_code} {answer.reason_phrase}".strip()
            return self.told(state, f"{where} {words} ({status})", fix)
        return self._judge(model, where, answer.content)

    def _setting(self, kind: str) -> str:
        return fallback_setting(kind) if self._name == "fallback" else kind

    def _fix(self, kind: str) -> str:
        return _FIXES[kind].format(setting=self._setting(kind))

    def _explain(self, status: int) -> tuple[CheckState, str, str]:
        """What a status other than 200 means, in plain words, and what to do about it."""
        address = self._setting(URL_SETTING)
        match status:
            case 401 | 403:
                return "fail", "refuses the key", self._fix(KEY_SETTING)
            case 402:
                return "warn", "says that nothing is left to pay with", "see your balance at the provider"
            case 429:
                fix = "try again in a minute; if it stays so, see your plan and balance at the provider"
                return "warn", "is asked too often, or its quota is used up", fix
            case _ if status >= 500:
                return (
                    "warn",
                    "has a fault of its own at present",
                    "try again later, or see the provider's status page",
                )
            case _ if 300 <= status < 400:
                return "warn", "sends us to another address, and is not followed there", f"mend {address}"
            case _:
                return "warn", "answers, but lists no models", f"see {address} if tasks fail; most end in /v1"

    def _judge(self, model: ResolvedModel, where: str, body: bytes) -> Check:
        try:
            found = _MODELS.validate_json(body)
        except ValidationError:
            kind = "an empty page" if not body.strip() else "something else"
            fix = f"mend {self._setting(URL_SETTING)}; most end in /v1"
            return self.told("warn", f"{where} answers with {kind} where a list of models should be", fix)
        names = {entry.id for entry in (found if isinstance(found, list) else found.data or ())}
        wanted = model.facts.name
        # Ollama's ids carry a tag, which may be left out where it is the usual one.
        if names and not names & {wanted, f"{wanted}:latest"}:
            near = get_close_matches(wanted, names, n=3, cutoff=0) or sorted(names)[:3]
            fix = f"mend {self._setting(MODEL_SETTING)}; nearest are {', '.join(near)}"
            return self.told("warn", f"{where} does not list the model {wanted}", fix)
        return self.told("ok", f"{model.name} answers at {where}")
