"""The limits of a task, from the settings."""

import re
from collections.abc import Iterable
from decimal import Decimal

from agent.limits import COST_SETTING, TaskLimits, UnusableLimit, require_price
from agent.providers import Currency, ResolvedModel
from worker.settings import SettingsError, WorkerSettings

_AMOUNT = re.compile(r"(?P<amount>\d{1,9}(\.\d{1,6})?)\s*(?P<currency>CNY|USD)", re.ASCII | re.IGNORECASE)


def task_limits(settings: WorkerSettings, models: Iterable[ResolvedModel]) -> TaskLimits:
    """What one task may use; `models` are all that may answer.

    Raises:
        SettingsError: a limit in money cannot be kept, as a price is unknown or in another currency.
    """
    cost, currency = _money(settings.budget_turn_cost)
    limits = TaskLimits(
        tokens=settings.budget_turn_tokens,
        cost=cost,
        currency=currency,
        steps=settings.budget_turn_steps,
        seconds=settings.budget_turn_seconds,
    )
    try:
        for model in models:
            require_price(limits, model.name, model.facts.price)
    except UnusableLimit as error:
        raise SettingsError([f"{error.setting}: {error}"]) from error
    return limits


def _money(value: str | None) -> tuple[Decimal | None, Currency | None]:
    if value is None:
        return None, None
    found = _AMOUNT.fullmatch(value)
    if found is None:
        raise SettingsError([f"{COST_SETTING}: is no amount of CNY or USD; it looks like 5 CNY, or 0.70 USD"])
    if not Decimal(found["amount"]):
        raise SettingsError([f"{COST_SETTING}: nothing can be done for nothing; leave it out for no limit"])
    return Decimal(found["amount"]), "CNY" if found["currency"].upper() == "CNY" else "USD"
