"""The job that computes a replay and keeps it.

`python -m bot.history.replay.job KEY [SINCE]` is its process: it holds all records at once and computes for minutes,
which a worker's other jobs must not feel.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from contextlib import closing, nullcontext
from dataclasses import asdict
from datetime import UTC, date, datetime

from bot.db.connect import SyncPool, sync_pool
from bot.history.label_store import LabelTables
from bot.history.labels import verdicts
from bot.history.records import RepoHistory
from bot.history.replay.comments import Triages, Written
from bot.history.replay.labels import labels_summary
from bot.history.replay.summary import Summary, midnight, replayed, summary
from bot.history.store import PostgresHistory
from bot.history.thresholds import Fit, fit_itself
from bot.runtime.triage_pool import ENGINE, TriagePool
from bot.settings import load_settings
from knowledge.errors import DistriageError

MOST = 10_000
"""Reports that the job replays, the newest: about 100 MB and three minutes of CPU time."""
TIMEOUT = 600.0
"""Seconds after which the job is ended; the queue takes one of fifteen minutes for lost."""
_NICENESS = 10


class ReplayFailed(DistriageError):
    """The job's process died, or took too long."""


class ReplayProcess:
    """Has replays computed and kept, each by a process of its own on the database `url`."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[bytes]] = set()

    def __call__(self, repo: RepoHistory, since: date | None = None) -> None:
        """Compute and keep one. Raises `ReplayFailed`."""
        own = {"DISTRIAGE_DATABASE_URL": self._url, "OMP_NUM_THREADS": "1"}
        process = subprocess.Popen(
            [sys.executable, "-m", "bot.history.replay.job", str(repo.key), *([f"{since}"] if since else [])],
            stdin=subprocess.DEVNULL,
            process_group=0,
            env=os.environ | own,
        )
        with self._lock:
            self._running.add(process)
        try:
            status = process.wait(TIMEOUT)
        except subprocess.TimeoutExpired:
            raise ReplayFailed(f"the replay took more than {TIMEOUT:.0f} s") from None
        finally:
            process.kill()
            process.wait()
            with self._lock:
                self._running.discard(process)
        if status:
            raise ReplayFailed(f"the replay ended with status {status}")

    def close(self) -> None:
        """End what runs."""
        with self._lock:
            for process in self._running:
                process.kill()


def replay_of(
    pool: SyncPool,
    repo: RepoHistory,
    web: str,
    since: date | None = None,
    *,
    most: int = 0,
    fit: Fit | None = None,
    triage: Triages | None = None,
) -> Summary:
    """The replay of a history, or of its newest `most` reports; with the threshold that `fit` keeps, if any.

    `triage` reads the texts that are kept.
    """
    store, tables = PostgresHistory(pool), LabelTables(pool)
    found = replayed(store, repo, verdicts(tables.votes(repo.key, "same")), most)
    if fit is not None:
        repo = fit(store, repo, found)
    labels = labels_summary(tables.labelled(repo.key), midnight(since) if since else None)
    return summary(Written(store, repo, web, triage), found, labels, since)


def keep_replay(
    url: str,
    key: int,
    since: date | None = None,
    web: str = "https://github.com",
    triage: Triages | None = None,
) -> None:
    """Compute the replay of a history and keep it; one that was forgotten meanwhile is none."""
    with sync_pool(url, 1) as pool:
        store = PostgresHistory(pool)
        repo = store.by_key(key)
        if repo is not None:
            # Votes are read now: those that come while it computes are not in it.
            at = datetime.now(UTC)
            made = replay_of(pool, repo, web, since, most=MOST, fit=fit_itself, triage=triage)
            store.save_replay(key, at, asdict(made))
            # Nothing stays of an issue that was deleted meanwhile.
            listed = {one.issue.id for one in made.comments}
            for id in listed - store.hashes(key, sorted(listed)).keys():
                store.drop(key, id)


def main() -> None:
    """The job's process."""
    os.nice(_NICENESS)
    settings = load_settings()
    assert settings.database_url is not None
    key, *since = sys.argv[1:]
    # Strangers' texts are read in a process that sees no secret.
    with closing(TriagePool(ENGINE)) if settings.keep_texts else nullcontext() as pool:
        keep_replay(
            settings.database_url.get_secret_value(),
            int(key),
            date.fromisoformat(since[0]) if since else None,
            settings.github_web_url,
            pool.triage if pool is not None else None,
        )


if __name__ == "__main__":
    main()
