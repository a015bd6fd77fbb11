"""The composition of the GitHub App: deliveries in, chores around them, ports onto database and network."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import structlog

from bot.clock import SystemClock
from bot.core import NamedCore
from bot.db.deliveries import StoredDelivery
from bot.db.store import PostgresStore
from bot.github import sweep
from bot.github.app import App
from bot.github.errors import GitHubError, Outage, TryAgain
from bot.github.handler import process
from bot.github.ports import Delivery, GitHubApp, Ports
from bot.github.script_links import ScriptLinks
from bot.github_intake import new_delivery
from bot.jobs.retry import TryLater
from bot.jobs.runner import Ended, Handler
from bot.service import Service, Work
from bot.settings import Settings
from bot.triage_process import CanTriage
from knowledge.taxonomy import load_taxonomy

log = structlog.get_logger(__name__)

ENGINE = "bot.core:engine_of_environment"
SWEEP_WINDOW = timedelta(days=1)
REACTION_WINDOW = timedelta(days=7)


def make_app(settings: Settings) -> App | None:
    """The App by the settings; None without credentials. Raises `SettingsError` for an unreadable key."""
    key = settings.read_private_key()
    if settings.github_app_id is None or key is None:
        return None
    return App(settings.github_app_id, key, settings.github_api_url)


def work_of(
    service: Service, app: GitHubApp | None, source: CanTriage, local: CanTriage | None = None
) -> Work:
    """The work over that GitHub (None: no credentials) and core; `local` asks no second reader, where `source` does."""
    core = NamedCore(source, load_taxonomy(), local)
    ports = Ports(
        app=app,
        store=PostgresStore(service.threads),
        clock=SystemClock(),
        core=core,
        script_link=ScriptLinks.of(service.settings).link,
    )

    async def sweep_chore() -> None:
        await _sweep(service, ports)

    async def reactions_chore() -> None:
        try:
            disliked = await asyncio.to_thread(lambda: list(sweep.disliked_comments(ports, REACTION_WINDOW)))
        except GitHubError as error:
            log.warning("reactions put off", status=error.status)
            return
        await _accept(service, disliked)
        log.info("reactions read", disliked=len(disliked))

    return Work(
        handlers={"github": github_handler(ports)},
        chores={"sweep": sweep_chore, "reactions": reactions_chore},
    )


def github_handler(ports: Ports) -> Handler:
    """`bot.github.handler.process` in the terms of the job queue."""

    def handle(delivery: StoredDelivery) -> Ended:
        call = Delivery(delivery.id, delivery.event, delivery.action, delivery.payload, delivery.received_at)
        try:
            outcome = process(call, ports)
        except TryAgain as error:
            raise TryLater("GitHub", error.after, growing=isinstance(error, Outage)) from error
        return Ended(outcome.kind, outcome.reason, outcome.detail)

    return handle


async def _sweep(service: Service, ports: Ports) -> None:
    if ports.app is None:
        return
    try:
        lost = await asyncio.to_thread(lambda: list(sweep.lost_deliveries(ports, SWEEP_WINDOW)))
        await _accept(service, lost)
        missed = await asyncio.to_thread(lambda: list(sweep.untriaged_issues(ports, SWEEP_WINDOW)))
    except GitHubError as error:
        log.warning("sweep put off", status=error.status)
        return
    await _accept(service, missed)
    log.info("swept", lost=len(lost), missed=len(missed))


async def _accept(service: Service, deliveries: list[Delivery]) -> None:
    for delivery in deliveries:
        new = new_delivery(delivery.id, delivery.event, delivery.payload, keep_text=False)
        if new is not None:
            await service.accept(new)
