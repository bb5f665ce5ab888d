"""Composition root of the worker: the only place that picks a model, tools and a sandbox."""

import os
from collections.abc import Sequence
from functools import lru_cache

from agent.exchange import Terms
from agent.fallback import FallbackModel
from agent.model import Model
from agent.models import load_model
from agent.models.demo import DemoServer
from agent.project import Owner
from agent.providers import MODEL_SETTING, ResolvedModel, UnusableModel, resolve
from agent.sandbox import Sandbox
from agent.sandboxes import load as load_sandbox
from agent.tools import load_tools
from worker.approvals import Approvals
from worker.asking import Patience
from worker.budgets import task_limits
from worker.grants import Grants
from worker.lease import Leases
from worker.outbox import Outbox
from worker.queue import TurnQueue
from worker.reconcile import Reconciler
from worker.settings import SettingsError, WorkerSettings, read_settings
from worker.store import Store, connect_queue, utc_now
from worker.workshop import Workshop
from worker.workspaces import Workspaces

FALLBACK_SETTING = "PAIGATE_FALLBACK_MODEL"


@lru_cache(maxsize=1)
def workshop() -> Workshop:
    """Return this process's workshop, from its environment; made before the fork, it opens nothing until it is used."""
    made = build_workshop(read_settings(WorkerSettings))
    for tool in made.tools:
        tool.schema()  # kept, so that no turn pays for it
    return made


def build_workshop(settings: WorkerSettings) -> Workshop:
    """Assemble what turns need.

    Raises:
        SettingsError: the model that is set cannot be used.
    """
    store = Store(settings.redis_address)
    outbox = Outbox(store)
    queue = TurnQueue(connect_queue(settings.redis_address))
    owner = command_owner(settings)
    try:
        resolved, fallback = resolve_model(settings), resolve_fallback(settings)
    except UnusableModel as error:
        raise SettingsError([f"{error.setting}: {error}"]) from error
    models = [resolved, fallback] if fallback else [resolved]
    return Workshop(
        store=store,
        outbox=outbox,
        approvals=Approvals(store, queue, outbox),
        grants=Grants(store),
        leases=Leases(store),
        workspaces=Workspaces(settings.data_dir / "workspaces", owner=owner),
        ledgers=settings.data_dir / "ledgers",
        background=settings.data_dir / "background",
        model=_load(models),
        demo=resolved.provider.id == "demo",
        tools=load_tools(),
        sandbox=build_sandbox(settings),
        terms=Terms(
            limits=task_limits(settings, models),
            prices={model.name: model.facts.price for model in models if model.facts.price},
        ),
        patience=Patience(approval_hours=settings.approval_hours, grant_days=settings.grant_days),
        clock=utc_now,
    )


def resolve_model(settings: WorkerSettings) -> ResolvedModel:
    """Find the model that is set, and where to ask it.

    Raises:
        UnusableModel: it cannot be asked; the error names the setting to mend.
    """
    key = settings.model_api_key.get_secret_value() if settings.model_api_key else None
    return resolve(
        settings.model or "demo:demo", base_url=settings.model_base_url, api_key=key, price=settings.model_price
    )


def resolve_fallback(settings: WorkerSettings) -> ResolvedModel | None:
    """Find the second model, if one is set.

    Raises:
        UnusableModel: it cannot be asked; the error names the setting to mend.
    """
    if settings.fallback_model is None:
        return None
    key = settings.fallback_api_key.get_secret_value() if settings.fallback_api_key else None
    try:
        return resolve(
            settings.fallback_model, base_url=settings.fallback_base_url, api_key=key, price=settings.fallback_price
        )
    except UnusableModel as error:
        setting = fallback_setting(error.setting)
        raise UnusableModel(setting, str(error).replace(error.setting, setting)) from error


def fallback_setting(setting: str) -> str:
    """The setting of the second model that answers to one of the first."""
    return FALLBACK_SETTING if setting == MODEL_SETTING else setting.replace("MODEL_", "FALLBACK_")


def _load(models: Sequence[ResolvedModel]) -> Model:
    first, *others = [load_model(model) for model in models]
    return FallbackModel(first, others[0]) if others else first


def build_demo() -> DemoServer:
    """Make the demo model's server, which answers where no model is configured."""
    return DemoServer()


def build_sandbox(settings: WorkerSettings) -> Sandbox:
    """Make the sandbox that commands run in."""
    owner = command_owner(settings)
    return load_sandbox("bubblewrap")(uid=owner.uid if owner else None, gid=owner.gid if owner else None)


def command_owner(settings: WorkerSettings) -> Owner | None:
    """Tell whose the commands and files are, where this process is root; else they are this process's own."""
    return Owner(settings.sandbox_uid, settings.sandbox_gid) if os.geteuid() == 0 else None


def build_reconciler(settings: WorkerSettings) -> Reconciler:
    """Assemble what repairs."""
    store = Store(settings.redis_address)
    queue = TurnQueue(connect_queue(settings.redis_address))
    outbox = Outbox(store)
    approvals = Approvals(store, queue, outbox)
    return Reconciler(store=store, queue=queue, leases=Leases(store), approvals=approvals, outbox=outbox)
