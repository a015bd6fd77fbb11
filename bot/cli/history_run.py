"""What `bot backfill` does, over the configured database and engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path

from bot.db.connect import SyncPool, migrated_database, sync_pool
from bot.github.errors import GitHubError, Gone
from bot.history.backfill import Export, Source, Tick, add_releases, fill
from bot.history.label_store import LabelTables
from bot.history.labels import OwnLabels, examples_of, verdicts
from bot.history.records import Forgotten, HistoryStore, RepoHistory
from bot.history.replay import labels_told, replayed, told
from bot.history.search import Histories
from bot.history.store import PostgresHistory
from bot.ports import Recorder
from bot.runtime.core import EngineCore, KnownEngine
from bot.serve.compose import make_app
from bot.settings import Settings
from eval.replay import own_threshold
from knowledge.engine import Knowledge
from knowledge.errors import SettingsError, UserError
from knowledge.history.record import Post, aware
from knowledge.report import Report
from knowledge.triage import Triage


@contextmanager
def opened(settings: Settings) -> Iterator[SyncPool]:
    """Connections to the migrated database."""
    with migrated_database(settings) as url, sync_pool(url, 2) as pool:
        yield pool


def fill_from_file(
    settings: Settings, repository: str, file: Path, most: int, tick: Tick, *, again: bool
) -> int:
    """Read an export; returns how many issues are kept. Raises UserError."""
    source = Export(file, repository, most)
    with opened(settings) as pool:
        kept = _fill(PostgresHistory(pool), EngineCore(settings), repository, source, tick, again=again)
        OwnLabels(LabelTables(pool)).learn_what_is_due()
        return kept


def fill_from_github(
    settings: Settings, repository: str, since: datetime | None, most: int, tick: Tick, *, again: bool
) -> int:
    """Read GitHub's issues through the App; returns how many issues are kept. Raises UserError."""
    app = make_app(settings)
    if app is None:
        raise SettingsError(
            f"GitHub can't be read: {', '.join(settings.missing_github_app)} not set.",
            "Set the App's credentials (docs/github.md), or read an export with --from.",
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
    with opened(settings) as pool:
        store, recorder = PostgresHistory(pool), EngineCore(settings)
        try:
            kept = _fill(
                store,
                recorder,
                ref.full_name,
                source,
                tick,
                again=again,
                repo_id=ref.id,
                installation=installation,
            )
            add_releases(store, ref.full_name, ref.id, source.first_holding)
            OwnLabels(LabelTables(pool)).learn_what_is_due()
        except GitHubError as error:
            raise _unanswered(error) from error
        return kept


def replay_history(settings: Settings, repository: str, *, fit: bool) -> str:
    """The replay as Markdown; `fit` keeps its own threshold. Raises UserError for a repository without a history."""
    with opened(settings) as pool:
        store = PostgresHistory(pool)
        repo = _known(store, repository)
        tables = LabelTables(pool)
        found = replayed(store, repo, verdicts(tables.votes(repo.key, "same")))
        if fit:
            store.save_threshold(repo.key, own_threshold(found))
            repo = _known(store, repository)
        labels = labels_told(repo, examples_of(tables.labelled(repo.key)))
        return f"{told(repo, found)}\n{labels}"


def _known(store: HistoryStore, repository: str) -> RepoHistory:
    repo = store.find(repository)
    if repo is None:
        raise UserError(f"There is no history of {repository}.", f"Read it first: bot backfill {repository}")
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
            labels = own.suggested(looked.repo, looked.record, report.title, report.body)
            return triage.model_copy(update={"same_failure": list(looked.earlier), "own_labels": labels})

        yield look


def _unanswered(error: GitHubError) -> UserError:
    return UserError(
        f"GitHub can't be read now: {error}.", "Run it again later; it goes on where it stopped."
    )


def _fill(
    store: HistoryStore,
    recorder: Recorder,
    repository: str,
    source: Source,
    tick: Tick,
    *,
    again: bool,
    repo_id: int | None = None,
    installation: int | None = None,
) -> int:
    if again:
        store.forget([repo_id] if repo_id else [], [repository])
    repo = store.begin(repository, recorder.records([]).encoder, repo_id, installation)
    try:
        fill(store, repo, source, recorder, tick)
    except Forgotten:
        raise UserError(
            f"The history of {repository} was deleted while it was filled: the App was removed from it.",
            "Install the App again, then run this again.",
        ) from None
    return store.count(repo.key)
