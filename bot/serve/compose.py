"""The composition root: from settings to handlers, chores and routes; GitHub and Slack side by side."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial

import structlog
from fastapi import APIRouter, FastAPI

from bot.api.routes import Api, RateLimit, api_app
from bot.db.deliveries import StoredDelivery
from bot.github import handler
from bot.github.app import App
from bot.github.handler import process
from bot.github.history_jobs import SOURCE as HISTORY
from bot.github.history_jobs import HistoryJobs, history_job, queue_due_replays
from bot.github.ports import Delivery, GitHubApp, Ports
from bot.github.records import GitHubError, Outage, RepoRef, TryAgain
from bot.github.routes import ScriptLinks, new_delivery, script_router
from bot.github.store.postgres import PostgresStore
from bot.github.triage_issue import known_config
from bot.github.votes import correction_votes
from bot.history.label_store import LabelTables
from bot.history.labels import OwnLabels, VotesOf
from bot.history.records import PastIssue
from bot.history.replay.job import ReplayProcess
from bot.history.search import Histories
from bot.history.store import PostgresHistory
from bot.history.wave_store import WaveTables
from bot.history.waves import follow
from bot.jobs.queue import accept_now
from bot.jobs.runner import Ended, Handler, TryLater
from bot.page.create_app import create_app_router
from bot.page.forms import forms_router
from bot.page.github_sign_in import GitHubUsers, Sessions, Visitors, github_sign_in_router
from bot.page.replays import tracker_router
from bot.page.routes import page_router
from bot.page.sign_in import SignIn
from bot.ports import Clock, Core, CoreFailed, Recorder
from bot.runtime.core import NamedCore, SystemClock
from bot.runtime.metrics import LlmMetrics
from bot.runtime.resources import Service, Work
from bot.runtime.second_reader_pool import TwoReaders, with_second_reader
from bot.runtime.triage_pool import ENGINE, CanTriage, TriagePool
from bot.settings import Settings
from bot.slack.api import SlackApi
from bot.slack.handler import slack_handler
from bot.slack.install import install_router
from bot.slack.ports import SlackPorts, Tokens
from bot.slack.router import SlackWeb, slack_router
from bot.slack.store import Ledger, SlackStore
from bot.slack.tokens import InstalledTokens, OneToken, Vault, oauth_client
from bot.slack.waves import tell_waves
from knowledge.report import Report
from knowledge.taxonomy import load_taxonomy
from knowledge.triage import AxisName, Triage

log = structlog.get_logger(__name__)

SWEEP_WINDOW = timedelta(days=1)
REACTION_WINDOW = timedelta(days=7)
LATE_RUNS = 2
"""How often an issue is triaged again because the LLM's answer was not done in time."""
LATE_WAIT = 10.0
"""Seconds before that."""


def make_app(settings: Settings) -> App | None:
    """The App by the settings; None without credentials. Raises `SettingsError` for an unreadable key."""
    key = settings.read_private_key()
    if settings.github_app_id is None or key is None:
        return None
    return App(settings.github_app_id, key, settings.github_api_url)


def work_of(
    service: Service,
    app: GitHubApp | None,
    source: CanTriage,
    local: CanTriage | None = None,
    recorder: Recorder | None = None,
) -> Work:
    """The work over that GitHub (None: no credentials) and core; `local` asks no second reader, where `source` does.

    `recorder` makes the records of repositories' histories; without one they are not looked at.
    """
    core, store = NamedCore(source, load_taxonomy(), local), PostgresStore(service.threads)
    web, keep_texts = service.settings.github_web_url, service.settings.keep_texts
    own = OwnLabels(LabelTables(service.threads), labels_corrected(store))
    kept = PostgresHistory(service.threads)
    histories = Histories(kept, recorder, web=web, said=own.said, keep_texts=keep_texts) if recorder else None
    if not keep_texts:
        kept.forget_texts()
    ports = Ports(
        app=app,
        store=store,
        clock=SystemClock(),
        core=core,
        script_link=ScriptLinks.of(service.settings).link,
        histories=histories,
        own_labels=own,
        reports=WaveTables(service.threads),
        backfill=_backfills(service, app, recorder),
        comparer=source if isinstance(source, TwoReaders) and source.compares else None,
    )

    async def sweep_chore() -> None:
        if service.settings.keep_days is not None:
            await asyncio.to_thread(store.forget, service.settings.keep_days)
        if not keep_texts:
            # Again: another worker, started before the setting was changed, may have kept some.
            await asyncio.to_thread(kept.forget_texts)
        await _sweep(service, ports)

    async def reactions_chore() -> None:
        try:
            disliked = await asyncio.to_thread(
                lambda: list(handler.disliked_comments(ports, REACTION_WINDOW))
            )
        except GitHubError as error:
            log.warning("reactions put off", status=error.status)
            return
        await _accept(service, disliked)
        log.info("reactions read", disliked=len(disliked))

    async def learn_chore() -> None:
        await asyncio.to_thread(own.learn_what_is_due)
        if histories is not None:
            queue = partial(accept_now, service.threads)
            await asyncio.to_thread(queue_due_replays, histories.store, queue, ports.clock.now())

    async def waves_chore() -> None:
        await asyncio.to_thread(follow_waves, service, ports.clock)

    work = Work(
        handlers={"github": github_handler(ports)},
        chores={
            "sweep": sweep_chore,
            "reactions": reactions_chore,
            "learn": learn_chore,
            "waves": waves_chore,
        },
    )
    return with_histories(service, work, ports, recorder) if recorder else work


def _backfills(
    service: Service, app: GitHubApp | None, recorder: Recorder | None
) -> Callable[[int, RepoRef], None] | None:
    """Queues the back-fill of a repository; None where the settings or missing credentials rule it out."""
    if not isinstance(app, App) or recorder is None or not service.settings.backfill_on_install:
        return None
    clock = SystemClock()

    def queue(installation_id: int, repo: RepoRef) -> None:
        accept_now(service.threads, history_job("backfill", installation_id, repo, clock.now()))

    return queue


def with_histories(service: Service, work: Work, ports: Ports, recorder: Recorder) -> Work:
    """The work with the jobs on repositories' histories."""

    def note_read(installation_id: int, repo: RepoRef, issues: Sequence[PastIssue]) -> None:
        now = ports.clock.now()
        WaveTables(service.threads).note_read(installation_id, repo.id, repo.full_name, issues, now)

    replay = ReplayProcess(service.url)
    jobs = HistoryJobs(
        app=ports.app if isinstance(ports.app, App) else None,
        store=PostgresHistory(service.threads),
        recorder=recorder,
        most=service.settings.backfill_on_install,
        replay=replay,
        queue=lambda new: accept_now(service.threads, new),
        now=ports.clock.now,
        note=note_read,
        at_once=service.settings.triage_processes,
        keep_texts=service.settings.keep_texts,
    )
    return replace(work, handlers={**work.handlers, HISTORY: jobs}, close=replay.close)


def labels_corrected(store: PostgresStore) -> VotesOf:
    """What corrections say of a repository's labels, by its configuration as last read."""

    def votes_of(repo_id: int, given: Mapping[AxisName, Sequence[str]]) -> dict[str, bool]:
        return correction_votes(given, known_config(store, repo_id))

    return votes_of


def follow_waves(service: Service, clock: Clock) -> None:
    """Open, grow and end waves, and forget what is too old to be counted."""
    tables, now = WaveTables(service.threads), clock.now()
    tables.forget_old(now)
    follow(tables, service.settings.wave_reports, now)


def github_handler(ports: Ports) -> Handler:
    """`bot.github.handler.process` in the terms of the job queue."""

    def handle(delivery: StoredDelivery) -> Ended:
        call = Delivery(delivery.id, delivery.event, delivery.action, delivery.payload, delivery.received_at)
        try:
            outcome = process(call, ports)
        except TryAgain as error:
            raise TryLater("GitHub", error.after, growing=isinstance(error, Outage)) from error
        if outcome.late and delivery.waits < LATE_RUNS:
            # The comment is up without the answer; what the LLM said so far is cached, so the next run gets further.
            raise TryLater("the drafted answer", LATE_WAIT)
        return Ended(outcome.kind, outcome.reason, outcome.detail)

    return handle


async def _sweep(service: Service, ports: Ports) -> None:
    if ports.app is None:
        return
    try:
        lost = await asyncio.to_thread(lambda: list(handler.lost_deliveries(ports, SWEEP_WINDOW)))
        await _accept(service, lost)
        missed = await asyncio.to_thread(lambda: list(handler.untriaged_issues(ports, SWEEP_WINDOW)))
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


class NoCore:
    """The web side's core: names for the modals are all that it needs of one."""

    def triage(self, report: Report) -> Triage:
        """Never called there; raises `CoreFailed`."""
        raise CoreFailed("the web side does not triage")


def slack_ports(service: Service, core: Core, clock: Clock | None = None) -> SlackPorts:
    """The ports by the settings. Raises `SettingsError` for a token key that is none."""
    settings, clock = service.settings, clock or SystemClock()
    store, vault, api = SlackStore(service.threads), Vault.of(settings), SlackApi(settings.slack_api_url)
    tokens: Tokens = InstalledTokens(store, vault, api, clock, oauth_client(settings))
    if settings.slack_bot_token is not None:
        tokens = OneToken(settings.slack_bot_token.get_secret_value())
    return SlackPorts(
        api=api,
        store=store,
        ledger=Ledger(service.threads),
        vault=vault,
        tokens=tokens,
        core=core,
        clock=clock,
    )


def slack_routers(service: Service, ports: SlackPorts) -> list[APIRouter]:
    """The routes; none without a signing secret, those of installing only with a client."""
    settings = service.settings
    if settings.slack_signing_secret is None:
        return []
    secret = settings.slack_signing_secret.get_secret_value().encode()
    web = SlackWeb(ports, service.accept, service.metrics, secret, settings.slack_rate_limit)
    routers = [slack_router(web)]
    client = oauth_client(settings)
    return [*routers, install_router(client, ports)] if client else routers


def all_work(service: Service) -> Work:
    """Handlers and chores by the settings; the engine runs in processes of its own."""
    local = TriagePool(ENGINE, service.settings.triage_processes)
    source = with_second_reader(local, service.settings, LlmMetrics(service.metrics.work))

    work = work_of(service, make_app(service.settings), source, local, local)
    end_replays = work.close

    def close() -> None:
        end_replays()
        local.close()
        if isinstance(source, TwoReaders):
            source.close()

    return with_slack(service, replace(work, state=local.state, close=close), source)


def with_slack(service: Service, work: Work, source: CanTriage) -> Work:
    """The work with Slack's handler beside the others, where Slack is on."""
    if service.settings.slack_signing_secret is None:
        return work
    ports = slack_ports(service, NamedCore(source, load_taxonomy()))
    followed = work.chores.get("waves")

    async def waves_chore() -> None:
        if followed is not None:
            await followed()
        await asyncio.to_thread(tell_waves, ports, WaveTables(service.threads), service.settings)

    return replace(
        work,
        handlers={**work.handlers, "slack": slack_handler(ports)},
        chores={**work.chores, "waves": waves_chore},
    )


def api_surface(service: Service) -> tuple[FastAPI, Callable[[], None]] | None:
    """The API with triage processes of its own, and what ends them; None without a token."""
    settings = service.settings
    if not settings.api_tokens:
        return None
    pool = TriagePool(ENGINE, settings.triage_processes)
    limit = RateLimit(settings.api_rate_limit)
    api = Api(
        settings.api_tokens, pool, load_taxonomy(), service.metrics, limit, workers=settings.triage_processes
    )
    return api_app(api), pool.close


def surfaces(service: Service) -> list[APIRouter]:
    """The routers that the settings ask for."""
    sign_in, taxonomy = SignIn.of(service.settings), load_taxonomy()
    visitors = Visitors(sign_in, Sessions(service.threads))
    routers = [
        page_router(service, visitors, taxonomy, make_app(service.settings)),
        forms_router(service, visitors, taxonomy),
        tracker_router(service, visitors, taxonomy),
        script_router(service, ScriptLinks.of(service.settings)),
        create_app_router(service.settings, sign_in),
    ]
    users = GitHubUsers.of(service.settings)
    if users is not None:
        routers.append(github_sign_in_router(service, users))
    if service.settings.slack_signing_secret is not None:
        core = NamedCore(NoCore(), load_taxonomy())
        routers += slack_routers(service, slack_ports(service, core))
    return routers
