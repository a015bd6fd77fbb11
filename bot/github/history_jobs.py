"""A repository's history in the queue: its back-fill after installing, a slice at a time, and its replay.

One back-fill runs at a time, in slices of seconds and behind all other work, so that triages go on. Nothing is written
to GitHub.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import partial
from typing import Protocol

import structlog

from bot.db.deliveries import StoredDelivery
from bot.github.records import Gone, NotAllowed, Outage, RepoRef, TryAgain
from bot.history.backfill import InPieces, Source, fill
from bot.history.records import Forgotten, HistoryStore, PastIssue, Progress, RepoHistory
from bot.history.thresholds import due
from bot.jobs.queue import NewDelivery
from bot.jobs.runner import Ended, TryLater
from bot.ports import Recorder

log = structlog.get_logger(__name__)

SOURCE = "history"
SLICE = 15.0
"""Seconds after which a back-fill makes room; the page that it is at is finished first."""
PATIENCE = 10.0
"""Longer waits for GitHub are the queue's."""
Job = str
"""backfill, releases or replay."""
RELEASES_AT_ONCE = 40
"""Fixes whose releases are looked up before a job looks at the time."""


def history_job(
    what: Job,
    installation_id: int,
    repo: RepoRef,
    at: datetime,
    *,
    since: date | None = None,
    after: int = 0,
) -> NewDelivery:
    """The delivery that has it done; of several that wait for one repository the newest is.

    `since`: the first day of a replay; None = the history's first. `after`: of the fixes that no release is known to
    hold, those that were looked up already.
    """
    key = f"{what}:{repo.id or repo.full_name}"
    return NewDelivery(
        id=f"{key}:{at.timestamp():.3f}",
        source=SOURCE,
        event=what,
        action=None,
        lock=f"history:{what}",
        coalesce_key=key,
        payload={
            "installation": {"id": installation_id},
            "repository": {"id": repo.id, "full_name": repo.full_name},
            **({"since": since.isoformat()} if since else {}),
            **({"after": after} if after else {}),
        },
        background=True,
    )


def queue_due_replays(store: HistoryStore, queue: Callable[[NewDelivery], object], now: datetime) -> None:
    """Queue the replay of each repository where people marked enough for its threshold to be fitted again."""
    for repo in due(store):
        if repo.repo_id is not None and repo.installation_id is not None:
            queue(history_job("replay", repo.installation_id, RepoRef(repo.repo_id, repo.full_name), now))


class Past(Source, Protocol):
    """A repository's issues and releases on GitHub."""

    def first_holding(self, commits: Sequence[tuple[str, datetime]]) -> Mapping[str, str]:
        """The tag of the first release that holds each commit, for those that one holds."""


class ReadsHistories(Protocol):
    """The App, as far as back-fills need it."""

    def history_of(
        self,
        installation_id: int,
        repo: RepoRef,
        since: datetime | None = None,
        most: int = 0,
        tries: int = 8,
        sleep: Callable[[float], None] = time.sleep,
    ) -> Past:
        """Its issues for a back-fill, and its releases; `tries` of a query, `sleep` waits for a limit or raises."""


class _SliceOver(Exception):
    """The slice's time is up; what was read is kept."""


@dataclass(frozen=True, slots=True)
class HistoryJobs:
    """Does them; `most` issues are read of a repository."""

    app: ReadsHistories | None
    store: HistoryStore
    recorder: Recorder
    most: int
    replay: Callable[[RepoHistory, date | None], None]
    """Computes and keeps the replay of a history from that day on; takes minutes."""
    queue: Callable[[NewDelivery], object]
    now: Callable[[], datetime]
    note: Callable[[int, RepoRef, Sequence[PastIssue]], None] = lambda installation_id, repo, issues: None
    """Keeps whom the issues of an installation's repository wait for."""
    at_once: int = 1
    """Processes of the core: so many pieces of a page are read side by side."""
    slice_seconds: float = SLICE
    keep_texts: bool = False

    def __call__(self, delivery: StoredDelivery) -> Ended:
        """The handler of deliveries whose source is "history"."""
        repository = delivery.payload["repository"]
        repo = RepoRef(int(repository["id"]), str(repository["full_name"]))
        if delivery.event == "replay":
            since = delivery.payload.get("since")
            return self._replay(repo, date.fromisoformat(since) if since else None)
        installation_id = int(delivery.payload["installation"]["id"])
        try:
            if delivery.event == "releases":
                return self._releases(installation_id, repo, int(delivery.payload.get("after") or 0))
            return self._backfill(installation_id, repo, first=delivery.waits + delivery.attempts <= 1)
        except _SliceOver:
            raise TryLater("the rest of the history", 0.0, keeps_place=True) from None
        except TryAgain as error:
            raise TryLater("GitHub", error.after, growing=isinstance(error, Outage)) from error
        except Forgotten:
            return Ended("silent", "forgotten")

    def _replay(self, repo: RepoRef, since: date | None) -> Ended:
        found = self.store.find(repo.full_name, repo.id)
        if found is None:
            return Ended("silent", "forgotten")
        # First, so that a replay that takes too long isn't due again at once.
        self.store.note_marks(found.key)
        self.replay(found, since)
        return Ended("noted", "replayed")

    def _backfill(self, installation_id: int, repo: RepoRef, *, first: bool) -> Ended:
        if self.app is None or not self.most:
            return Ended("ignored", "off")
        found = self.store.find(repo.full_name, repo.id)
        if found is None and not first:
            # The App was removed meanwhile.
            return Ended("silent", "forgotten")
        if found is None:
            # Before anything can fail, lest the next run takes it for one that was forgotten.
            found = self.store.begin(repo.full_name, "", repo.id, installation_id)
        recorder = InPieces(self.recorder, self.at_once)
        encoder = recorder.records([]).encoder
        anew = found.encoder != encoder
        begin = self.store.begin_again if anew else self.store.begin
        kept = begin(repo.full_name, encoder, repo.id, installation_id)
        source = self.app.history_of(installation_id, repo, most=self.most, tries=3, sleep=_wait)
        until = time.monotonic() + self.slice_seconds
        start = source.start(kept.progress).cursor

        def tick(progress: Progress) -> None:
            # At least one page is read, however slow it is.
            if progress.cursor not in ("", start) and time.monotonic() > until:
                raise _SliceOver

        try:
            seen = partial(self.note, installation_id, repo)
            fill(self.store, kept, source, recorder, tick, seen, keep_texts=self.keep_texts)
        except (Gone, NotAllowed):
            if anew:
                self.store.forget([repo.id])
            return Ended("silent", "gone")
        for what in ("replay", "releases"):
            self.queue(history_job(what, installation_id, repo, self.now()))
        return Ended("noted", "history_read")

    def _releases(self, installation_id: int, repo: RepoRef, after: int) -> Ended:
        """Look up which release first holds each fix, for a slice of them; the rest is a job of its own."""
        found = self.store.find(repo.full_name, repo.id)
        if found is None or self.app is None:
            return Ended("silent", "forgotten")
        # Those that were found are no longer listed.
        waiting = self.store.unreleased(found.key)[after:]
        source = self.app.history_of(installation_id, repo, tries=3, sleep=_wait)
        until, done = time.monotonic() + self.slice_seconds, 0
        for start in range(0, len(waiting), RELEASES_AT_ONCE):
            if start and time.monotonic() > until:
                self.queue(
                    history_job("releases", installation_id, repo, self.now(), after=after + start - done)
                )
                break
            try:
                tags = source.first_holding(waiting[start : start + RELEASES_AT_ONCE])
            except (Gone, NotAllowed):
                return Ended("silent", "gone")
            self.store.save_released(found.key, tags)
            done += len(tags)
        return Ended("noted", "releases_read")


def _wait(seconds: float) -> None:
    if seconds > PATIENCE:
        raise TryAgain("GitHub asks to wait", after=seconds)
    time.sleep(seconds)
