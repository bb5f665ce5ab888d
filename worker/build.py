"""Composition root of the worker: the only place that picks a model, tools and a sandbox."""

import os
from functools import lru_cache

from agent.models import load_model
from agent.project import Owner
from agent.providers import resolve
from agent.sandboxes import load as load_sandbox
from agent.tools import load_tools
from worker.approvals import Approvals
from worker.lease import Leases
from worker.outbox import Outbox
from worker.queue import TurnQueue
from worker.reconcile import Reconciler
from worker.settings import WorkerSettings, read_settings
from worker.store import Store, connect_queue, utc_now
from worker.workshop import Workshop
from worker.workspaces import Workspaces


@lru_cache(maxsize=1)
def workshop() -> Workshop:
    """Return this process's workshop, from its environment; made before the fork, it opens nothing until it is used."""
    return build_workshop(read_settings(WorkerSettings))


def build_workshop(settings: WorkerSettings) -> Workshop:
    """Assemble what turns need."""
    store = Store(settings.redis_address)
    outbox = Outbox(store)
    queue = TurnQueue(connect_queue(settings.redis_address))
    owner = Owner(settings.sandbox_uid, settings.sandbox_gid) if os.geteuid() == 0 else None
    key = settings.model_api_key.get_secret_value() if settings.model_api_key else None
    resolved = resolve(settings.model or "demo:demo", base_url=settings.model_base_url, api_key=key)
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
        sandbox=load_sandbox("bubblewrap")(uid=owner.uid if owner else None, gid=owner.gid if owner else None),
        approval_hours=settings.approval_hours,
        clock=utc_now,
    )


def build_reconciler(settings: WorkerSettings) -> Reconciler:
    """Assemble what repairs."""
    store = Store(settings.redis_address)
    queue = TurnQueue(connect_queue(settings.redis_address))
    return Reconciler(store=store, queue=queue, leases=Leases(store), approvals=Approvals(store, queue, Outbox(store)))
