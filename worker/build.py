"""Composition root of the worker: the only place that picks a model, tools and a sandbox."""

import os
from functools import lru_cache

from agent.models import load_model
from agent.models.demo import DemoServer
from agent.project import Owner
from agent.providers import ResolvedModel, UnusableModel, resolve
from agent.sandbox import Sandbox
from agent.sandboxes import load as load_sandbox
from agent.tools import load_tools
from worker.approvals import Approvals
from worker.lease import Leases
from worker.outbox import Outbox
from worker.queue import TurnQueue
from worker.reconcile import Reconciler
from worker.settings import SettingsError, WorkerSettings, read_settings
from worker.store import Store, connect_queue, utc_now
from worker.workshop import Workshop
from worker.workspaces import Workspaces


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
        resolved = resolve_model(settings)
    except UnusableModel as error:
        raise SettingsError([f"{error.setting}: {error}"]) from error
    return Workshop(
        store=store,
        outbox=outbox,
        approvals=Approvals(store, queue, outbox),
        leases=Leases(store),
        workspaces=Workspaces(settings.data_dir / "workspaces", owner=owner),
        ledgers=settings.data_dir / "ledgers",
        model=load_model(resolved),
        demo=resolved.provider.id == "demo",
        tools=load_tools(),
        sandbox=build_sandbox(settings),
        approval_hours=settings.approval_hours,
        clock=utc_now,
    )


def resolve_model(settings: WorkerSettings) -> ResolvedModel:
    """Find the model that is set, and where to ask it.

    Raises:
        UnusableModel: it cannot be asked; the error names the setting to mend.
    """
    key = settings.model_api_key.get_secret_value() if settings.model_api_key else None
    return resolve(settings.model or "demo:demo", base_url=settings.model_base_url, api_key=key)


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
