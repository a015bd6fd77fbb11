"""What an operator does over the configured database: deliveries, corrections, a repository's history."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TypeVar

from bot.cli.common import waiting
from bot.db.connect import SyncPool, migrated_database, sync_pool
from bot.db.deliveries import Deliveries
from bot.db.forget import forget
from bot.db.llm_ledger import forget_spending
from bot.github.records import GitHubError, Gone
from bot.github.store.postgres import GivenLabels, GivenTables
from bot.history.backfill import Ahead, Export, InPieces, Seen, Source, Tick, add_releases, fill
from bot.history.label_store import LabelTables
from bot.history.labels import OwnLabels
from bot.history.records import Forgotten, HistoryStore, RepoHistory
from bot.history.replay.job import replay_of
from bot.history.replay.told import told
from bot.history.search import Histories
from bot.history.store import PostgresHistory
from bot.history.thresholds import fit_to_marks
from bot.history.wave_store import WaveTables
from bot.jobs.queue import requeue
from bot.ports import Recorder
from bot.runtime.core import EngineCore, KnownEngine
from bot.runtime.resources import open_service
from bot.runtime.triage_pool import ENGINE, TriagePool
from bot.serve.compose import make_app
from bot.settings import Settings, load_settings
from knowledge.engine import Knowledge
from knowledge.errors import SettingsError, UserError
from knowledge.history.record import Post, aware
from knowledge.report import Report
from knowledge.triage import Triage

# What `bot backfill` does, over the configured database and engine.


@contextmanager
def opened(settings: Settings) -> Iterator[SyncPool]:
    """Connections to the migrated database."""
    with migrated_database(settings) as url, sync_pool(url, 2) as pool:
        yield pool


@contextmanager
def recording(settings: Settings) -> Iterator[Recorder]:
    """What reads issues: this process, or as many triage processes as are set."""
    if settings.triage_processes == 1:
        yield EngineCore(settings)
        return
    with closing(TriagePool(ENGINE, settings.triage_processes)) as pool:
        yield InPieces(pool, settings.triage_processes)


def fill_from_file(
    settings: Settings, repository: str, file: Path, most: int, tick: Tick, *, again: bool
) -> int:
    """Read an export; returns how many issues are kept. Raises UserError."""
    source = Export(file, repository, most)
    with opened(settings) as pool, recording(settings) as recorder:
        store = PostgresHistory(pool)
        kept = _fill(store, recorder, repository, source, tick, again=again, keep_texts=settings.keep_texts)
        OwnLabels(LabelTables(pool)).learn_what_is_due()
        return kept


def fill_from_github(
    settings: Settings, repository: str, since: datetime | None, most: int, tick: Tick, *, again: bool
) -> int:
    """Read GitHub's issues through the App; returns how many issues are kept. Raises UserError."""
    app = make_app(settings)
    if app is None:
        raise SettingsError(
            f"Can't read from GitHub: {', '.join(settings.missing_github_app)} not set.",
            "Set the App's credentials (see docs/github.md), or read an export with --from.",
        )
    try:
        installation, ref = app.find_repository(repository)
    except Gone:
        raise UserError(
            f"The App is not installed on {repository}.", "Install it there, or read an export with --from."
        ) from None
    except GitHubError as error:
        raise _unanswered(error) from error
    source = app.history_of(installation, ref, since, most)
    with opened(settings) as pool, recording(settings) as recorder:
        store = PostgresHistory(pool)
        reports, now = WaveTables(pool), datetime.now(UTC)
        try:
            kept = _fill(
                store,
                recorder,
                ref.full_name,
                Ahead(source),
                tick,
                again=again,
                keep_texts=settings.keep_texts,
                repo_id=ref.id,
                installation=installation,
                seen=lambda issues: reports.note_read(installation, ref.id, ref.full_name, issues, now),
            )
            add_releases(store, ref.full_name, ref.id, source.first_holding)
            OwnLabels(LabelTables(pool)).learn_what_is_due()
        except GitHubError as error:
            raise _unanswered(error) from error
        return kept


def replay_history(
    settings: Settings, repository: str, since: date | None, comments: int, *, fit: bool
) -> str:
    """The replay as Markdown; `fit` keeps its own threshold. Raises UserError for a repository without a history."""
    with opened(settings) as pool:
        repo = _known(PostgresHistory(pool), repository)
        triage = EngineCore(settings).triage if settings.keep_texts else None
        made = replay_of(
            pool, repo, settings.github_web_url, since, fit=fit_to_marks if fit else None, triage=triage
        )
        return told(made, comments)


def _known(store: HistoryStore, repository: str) -> RepoHistory:
    repo = store.find(repository)
    if repo is None:
        raise UserError(f"No history is stored for {repository}.", f"First run: bot backfill {repository}")
    return repo


Look = Callable[[Report, Triage], Triage]
"""A report and its triage to the triage with what the repository's history holds."""


@contextmanager
def open_history(settings: Settings, repository: str, knowledge: Knowledge) -> Iterator[Look]:
    """Looks for earlier reports of the repository. Raises UserError when nothing is kept of it."""
    with opened(settings) as pool:
        histories = Histories(PostgresHistory(pool), KnownEngine(knowledge), web=settings.github_web_url)
        _known(histories.store, repository)
        own = OwnLabels(LabelTables(pool))

        def look(report: Report, triage: Triage) -> Triage:
            name, _, number = report.id.rpartition("#")
            id = number if name.lower() == repository.lower() else report.id
            opened_at = aware(datetime.fromisoformat(report.opened)) if report.opened else None
            # The day alone is known: what was opened on it counts as earlier.
            post = Post(id, report.title, report.body, opened_at + timedelta(days=1) if opened_at else None)
            looked = histories.look(repository, None, post, triage)
            if looked is None:
                return triage
            kept = looked.repo
            labels = own.suggested(kept, looked.record, report.title, report.body) if kept else []
            return triage.model_copy(update={"same_failure": list(looked.earlier), "own_labels": labels})

        yield look


def _unanswered(error: GitHubError) -> UserError:
    return UserError(
        f"Can't read from GitHub right now: {error}.", "Run it again later; it resumes where it stopped."
    )


def _fill(
    store: HistoryStore,
    recorder: Recorder,
    repository: str,
    source: Source,
    tick: Tick,
    *,
    again: bool,
    keep_texts: bool,
    repo_id: int | None = None,
    installation: int | None = None,
    seen: Seen = lambda issues: None,
) -> int:
    begin = store.begin_again if again else store.begin
    repo = begin(repository, recorder.records([]).encoder, repo_id, installation)
    try:
        fill(store, repo, source, recorder, tick, seen, keep_texts=keep_texts)
    except Forgotten:
        raise UserError(
            f"The history of {repository} was deleted during the import because the App was removed from it.",
            "Reinstall the App, then run this command again.",
        ) from None
    return store.count(repo.key)


Result = TypeVar("Result")


def with_deliveries(use: Callable[[Deliveries], Result]) -> Result:
    """Call `use` with the deliveries of the configured database."""
    with waiting("asking the database"), migrated_database(load_settings()) as url, sync_pool(url, 1) as pool:
        return use(Deliveries(pool))


def all_corrections() -> list[GivenLabels]:
    """Everything that people corrected, oldest first."""
    settings = load_settings()
    with waiting("asking the database"), migrated_database(settings) as url, sync_pool(url, 1) as pool:
        return GivenTables(pool, settings.github_web_url).every()


def forget_repository(name: str, *, really: bool) -> dict[str, int]:
    """Delete all that is stored of "owner/name", or only count it; table to number of rows."""
    settings = load_settings()
    with waiting("asking the database"), migrated_database(settings) as url:
        rows = forget(url, name, really=really)
    spent = forget_spending(settings, name) if really else 0
    return rows | ({"llm_spending": spent} if spent else {})


def retry_dead(delivery_id: str | None) -> list[str]:
    """Queue one dead delivery again, or all of them (None); returns the ids of those queued."""
    settings = load_settings()
    with migrated_database(settings) as url:

        async def go() -> list[str]:
            async with open_service(settings, url) as service:
                if delivery_id is not None:
                    wanted = [delivery_id]
                else:
                    dead = await asyncio.to_thread(Deliveries(service.threads).newest, "dead", 100_000)
                    wanted = [delivery.id for delivery in reversed(dead)]
                return [one for one in wanted if await requeue(service.pool, service.queue, one)]

        return asyncio.run(go())
