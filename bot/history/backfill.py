"""Filling a repository's history, page by page; what was read is committed together with how far it got."""

from __future__ import annotations

import gzip
import hashlib
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from multiprocessing.pool import ThreadPool
from pathlib import Path
from typing import Any, Protocol

import structlog

from bot.history.records import HistoryStore, LabelChange, Outcome, PastIssue, Progress, RepoHistory
from bot.history.search import Releases, kept_issue
from bot.ports import CoreDown, CoreFailed, Recorded, Recorder
from knowledge.errors import InputError, UserError, reason
from knowledge.history.record import Post, aware
from knowledge.history.tracker import Line, exported

log = structlog.get_logger(__name__)

PAGE = 50
"""Issues of a page, and so of a transaction: what is done again after a crash."""
PIECE = 5
"""Reports read at once: a triage that needs the same process waits for no more."""
_SAMPLE = 1 << 20
_COMMITS = 200
_ENDED = frozenset({"closed", "resolved", "done", "fixed", "verified"})
Tick = Callable[[Progress], None]
Seen = Callable[[Sequence[PastIssue]], None]


@dataclass(frozen=True, slots=True)
class Page:
    """Issues, and how far the run is once they are kept."""

    issues: tuple[PastIssue, ...]
    progress: Progress


class Source(Protocol):
    """Where issues come from."""

    def start(self, progress: Progress) -> Progress:
        """Where to go on: the same run if it was cut off, else the start of a new one."""

    def pages(self, progress: Progress) -> Iterator[Page]:
        """The pages from there; the last one's progress has `through` set."""


def fill(
    store: HistoryStore,
    repo: RepoHistory,
    source: Source,
    recorder: Recorder,
    tick: Tick = lambda p: None,
    seen: Seen = lambda issues: None,
    *,
    keep_texts: bool = False,
) -> Progress:
    """Read all pages from where the last run got to; returns the last progress. `seen` gets each page's issues.

    Issues whose text is kept already are not read again, only their outcome is updated. A run that is killed at any
    moment goes on with the page that it was at. Raises `UserError` when the history is of another model, `Forgotten`
    when it is deleted meanwhile.
    """
    progress = source.start(repo.progress)
    tick(progress)
    for page in source.pages(progress):
        known = store.hashes(repo.key, [issue.post.id for issue in page.issues])
        new = [issue for issue in page.issues if known.get(issue.post.id) != issue.content_hash]
        made = recorder.records([issue.post for issue in new])
        if made.encoder != repo.encoder:
            raise UserError(
                f"The history of {repo.full_name} was built with a different model.",
                f"Rebuild it with: bot backfill --again {repo.full_name}",
            )
        records = {issue.post.id: record for issue, record in zip(new, made.records, strict=True)}
        kept = [kept_issue(issue, records.get(issue.post.id), with_text=keep_texts) for issue in page.issues]
        progress = replace(page.progress, at=datetime.now(UTC).isoformat())
        store.save_page(repo.key, kept, progress)
        seen(page.issues)
        tick(progress)
    return progress


class InPieces:
    """A recorder that asks for few reports at once, and reads a report over which the core fails by its title alone."""

    def __init__(self, recorder: Recorder, at_once: int = 1) -> None:
        """`at_once`: pieces asked for side by side; more than the core has processes wait for one."""
        self._recorder = recorder
        self._at_once = at_once

    def records(self, posts: Sequence[Post], triaged: bool = False) -> Recorded:
        """See `Recorder`. Raises `CoreDown`."""
        if not posts:
            return self._recorder.records([])
        pieces = [posts[at : at + PIECE] for at in range(0, len(posts), PIECE)]
        with ThreadPoolExecutor(self._at_once) as reading:
            made = list(reading.map(partial(self._piece, triaged=triaged), pieces))
        return Recorded(made[0].encoder, tuple(record for part in made for record in part.records))

    def _piece(self, posts: Sequence[Post], triaged: bool) -> Recorded:
        try:
            return self._recorder.records(posts, triaged)
        except CoreDown:
            raise
        except CoreFailed as error:
            if len(posts) > 1:
                made = [self._piece([post], triaged) for post in posts]
                return Recorded(made[0].encoder, tuple(one.records[0] for one in made))
            log.warning("read by its title alone", id=posts[0].id, error=type(error).__name__)
            return self._recorder.records([replace(posts[0], body="")], triaged)


class Ahead:
    """A source that is asked for its next page while the one before is being read."""

    def __init__(self, source: Source) -> None:
        self._source = source

    def start(self, progress: Progress) -> Progress:
        """See the protocol."""
        return self._source.start(progress)

    def pages(self, progress: Progress) -> Iterator[Page]:
        """See the protocol."""
        pages = self._source.pages(progress)
        # Its thread is a daemon: whoever stops a run doesn't wait for a page that GitHub holds back for an hour.
        with ThreadPool(1) as asking:
            coming = asking.apply_async(next, (pages, None))
            while (page := coming.get()) is not None:
                coming = asking.apply_async(next, (pages, None))
                yield page


def add_releases(store: HistoryStore, full_name: str, repo_id: int | None, first_holding: Releases) -> None:
    """Look up which release first holds each fix, a few commits at a time; what was found is kept at once."""
    repo = store.find(full_name, repo_id)
    if repo is None:
        return
    waiting = store.unreleased(repo.key)
    for start in range(0, len(waiting), _COMMITS):
        store.save_released(repo.key, first_holding(waiting[start : start + _COMMITS]))


class Export:
    """A tracker's export as docs/history.md has it, read line by line."""

    def __init__(self, file: Path, full_name: str, most: int = 0, now: datetime | None = None) -> None:
        """`most`: lines to read at most, 0 = all. Raises InputError when the file cannot be read."""
        self._file = file
        self._name = full_name
        self._most = most
        self._now = now or datetime.now(UTC)
        try:
            with file.open("rb") as opened:
                digest = hashlib.sha256(opened.read(_SAMPLE))
            digest.update(str(file.stat().st_size).encode())
        except OSError as error:
            raise InputError(f"Can't read {file}: {reason(error)}.", "Check the path.") from error
        self._source = f"file:{digest.hexdigest()[:16]}"

    def start(self, progress: Progress) -> Progress:
        """See the protocol: a run over the same file that did not get through goes on."""
        if progress.source == self._source and progress.most == self._most and progress.cursor:
            return progress
        return Progress(
            source=self._source,
            most=self._most,
            total=min(self._count(), self._most or sys.maxsize),
            began=self._now.isoformat(),
            through=progress.through,
        )

    def _count(self) -> int:
        packed = gzip.open if self._file.suffix == ".gz" else open
        try:
            with packed(self._file, "rb") as lines:
                return sum(1 for line in lines if line.strip())
        except (OSError, EOFError, zlib.error):
            return 0  # reading it says what is wrong, and where

    def pages(self, progress: Progress) -> Iterator[Page]:
        """See the protocol; the cursor is the number of the last line that was kept."""
        done = int(progress.cursor or 0)
        page: list[PastIssue] = []
        number = done
        for line in exported(self._file):
            if line.number <= done:
                continue
            if self._most and progress.read + len(page) >= self._most:
                break
            page.append(self._issue(line))
            number = line.number
            if len(page) == PAGE:
                progress = replace(progress, cursor=str(number), read=progress.read + len(page))
                yield Page(tuple(page), progress)
                page = []
        ended = replace(progress, cursor="", read=progress.read + len(page), through=progress.began)
        yield Page(tuple(page), ended)

    def _issue(self, line: Line) -> PastIssue:
        post = replace(line.post, id=self._own(line.post.id), tracker=self._name)
        outcome = Outcome(
            is_open=post.state.lower() not in _ENDED,
            state=post.state,
            reason=post.resolution,
            closed_at=_time(line.record.get("closed")),
            closed_by=_text(line.record, "closed_by"),
            released=_text(line.record, "released"),
            duplicates=tuple(map(self._own, line.duplicates)),
        )
        at = post.opened or self._now
        labels = tuple(LabelChange(name, True, "", True, at) for name in _names(line.record))
        return PastIssue(post, outcome, _text(line.record, "url"), labels)

    def _own(self, id: str) -> str:
        """ "owner/name#12" of the repository itself is "12"."""
        name, hash, number = id.rpartition("#")
        return number if hash and name.lower() == self._name.lower() and number.isdecimal() else id


def _text(record: Mapping[str, Any], name: str) -> str:
    value = record.get(name)
    return value[:500] if isinstance(value, str) else ""


def _names(record: Mapping[str, Any]) -> list[str]:
    """An export's labels; who set them is not known, so people did."""
    value = record.get("labels")
    names = [name for name in value if isinstance(name, str) and name] if isinstance(value, list) else []
    return list(dict.fromkeys(name[:200] for name in names))


def _time(value: object) -> datetime | None:
    try:
        return aware(datetime.fromisoformat(str(value))) if value else None
    except ValueError:
        return None
