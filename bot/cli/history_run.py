"""What `bot backfill` does, over the configured database and engine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from bot.db.connect import SyncPool, migrated_database, sync_pool
from bot.history.backfill import Export, Source, Tick, fill
from bot.history.store import PostgresHistory
from bot.ports import Recorder
from bot.runtime.core import EngineCore
from bot.settings import Settings


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
        return _fill(PostgresHistory(pool), EngineCore(settings), repository, source, tick, again=again)


def fill_from_github(
    settings: Settings, repository: str, since: datetime | None, most: int, tick: Tick, *, again: bool
) -> int:
    """Read GitHub's issues through the App; returns how many issues are kept. Raises UserError."""
    raise NotImplementedError


def _fill(
    store: PostgresHistory,
    recorder: Recorder,
    repository: str,
    source: Source,
    tick: Tick,
    *,
    again: bool,
    repo_id: int | None = None,
    installation_id: int | None = None,
) -> int:
    if again:
        store.forget([repo_id] if repo_id else [], [repository])
    repo = store.begin(repository, recorder.records([]).encoder, repo_id, installation_id)
    fill(store, repo, source, recorder, tick)
    return store.count(repo.key)
