"""The same failure, looked for in a repository's own history: what is found, why, and how it ended."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime

import structlog

from bot.history.explain import how_it_ended, is_duplicate, why
from bot.history.records import Forgotten, HistoryStore, KeptIssue, Outcome, PastIssue, RepoHistory
from bot.history.wider import (
    MOST_SIBLINGS,
    CaseRecords,
    Visible,
    among_cases,
    among_siblings,
    near_cases,
    strictest,
)
from bot.ports import Compared, CoreFailed, Recorder
from knowledge.evidence.facts_table import component_of_tracker
from knowledge.history.index import GrowingIndex
from knowledge.history.record import Post, Record, body_to_keep
from knowledge.history.verifier import SHOWN, Near, Shared, Weights, closest, load_weights, worth_reading
from knowledge.report import Report
from knowledge.text.quote import clean, code_span
from knowledge.triage import EarlierReport, Triage

log = structlog.get_logger(__name__)

MOST_HELD = 1_000_000
"""Records indexed in one process, of all repositories together; about 4 kB each (docs/scale.md)."""
TITLE_CHARS = 300
_DUPLICATES = 4
"""Duplicates of duplicates that are followed."""


Releases = Callable[[Sequence[tuple[str, datetime]]], Mapping[str, str]]
"""From commits and when they were made to the tags of the first releases that hold them, where one does."""
ReadBoth = Callable[[Sequence[str], Mapping[str, Report]], Compared]
"""From ids of earlier issues, and the texts that are kept of them, to what an LLM says that reads each beside the
report."""
Said = Callable[[int, str], Mapping[str, float]]
"""From a history's key and an issue to what people said of earlier ones: 1 and more = the same, -1 and less = not."""


@dataclass(frozen=True, slots=True)
class Looked:
    """A report that was looked for."""

    repo: RepoHistory | None
    """None = nothing is kept of its repository, or what another model made."""
    record: Record
    earlier: tuple[EarlierReport, ...]
    compared: Compared | None = None
    """What an LLM said of earlier reports; None = none was asked."""


@dataclass(frozen=True, slots=True)
class _Shown:
    near: Sequence[Near]
    compared: Compared | None = None

    def reader_of(self, id: str) -> str:
        """The LLM on whose word a report is shown; "" = it needs none."""
        return self.compared.model if self.compared is not None and id in self.compared.same else ""


@dataclass
class _Held:
    index: GrowingIndex
    lock: threading.Lock
    version: int = 0


class Histories:
    """All repositories' histories; their indexes are built when they are first asked for, then kept up to date."""

    def __init__(
        self,
        store: HistoryStore,
        recorder: Recorder,
        weights: Weights | None = None,
        web: str = "https://github.com",
        said: Said = lambda repo, id: {},
        *,
        keep_texts: bool = False,
    ) -> None:
        """`web` is where people read issues; `said`, what they voted. `keep_texts`: as the operator wants it."""
        self.store = store
        self._recorder = recorder
        self._cases = CaseRecords(recorder)
        self._weights = weights or load_weights()
        self._web = web
        self._said = said
        self._keep_texts = keep_texts
        self._held: OrderedDict[int, _Held] = OrderedDict()
        self._lock = threading.Lock()

    def look(
        self,
        full_name: str,
        repo_id: int | None,
        post: Post,
        triage: Triage,
        releases: Releases | None = None,
        visible: Visible | None = None,
        read_both: ReadBoth | None = None,
    ) -> Looked | None:
        """The report's record and at most two earlier reports of the same failure; None where nothing can be found.

        `releases` looks up the release that first holds a fix, where that is not known yet. Where the repository has
        no such report, the owner's other ones are searched that `visible` lets be named here, then the shipped cases;
        without a history, these alone.
        What is near but not probable enough is shown where `read_both` says that it is the same.
        Neither a core that fails nor a history of another model is an error: there is less to show then.
        """
        repo = self.store.find(full_name, repo_id)
        if repo is not None and repo_id is not None:
            # It may have been renamed since its history was read.
            repo = replace(repo, full_name=full_name)
        cases = near_cases(name_of(full_name, post.id), triage.neighbours)
        if repo is None and not cases:
            return None
        try:
            made = self._recorder.records([post], triaged=True)
        except CoreFailed as error:
            log.warning("not looked for in its history", repository=full_name, error=type(error).__name__)
            return None
        failures = tuple(f.id for f in triage.findings if f.sure)
        record = replace(
            made.records[0], failures=failures, told=triage.unasked, conflicts=triage.unasked_conflicts
        )
        if repo is not None and made.encoder != repo.encoder:
            log.warning("history of another model; run `bot backfill --again`", repository=full_name)
            repo = None
        earlier: list[EarlierReport] = []
        compared = None
        if repo is not None:
            shown = self._shown(repo, record, read_both)
            kept = self._kept(repo, shown.near)
            if releases is not None and self._look_up_releases(repo, kept, releases):
                kept = self._kept(repo, shown.near)
            earlier, compared = self._told(repo, record, shown, kept), shown.compared
            if not earlier and visible is not None:
                earlier = self._elsewhere(repo, record, visible)
        earlier = earlier or among_cases(record, cases, self._cases, self._weights)
        return Looked(repo, record, tuple(earlier), compared)

    def _elsewhere(self, repo: RepoHistory, record: Record, visible: Visible) -> list[EarlierReport]:
        siblings = [
            strictest(repo, one, self._weights)
            for one in self.store.siblings(repo, MOST_SIBLINGS)
            if one.encoder == repo.encoder
        ]
        found = among_siblings(repo, record, siblings, self.near, visible)
        return [
            told
            for one, near in found
            for told in self._told(one, record, _Shown([near]), self._kept(one, [near]))
        ]

    def near(self, repo: RepoHistory, record: Record) -> list[Near]:
        """The nearest reports that were opened no later, best first."""
        held = self._of(repo.key, record.vectors.shape[1])
        with held.lock:
            newest = held.version
            for version, newer in self.store.newer(repo.key, held.version):
                if version != newest:
                    # Rows come by version, so the last one is complete. If the connection is lost, the next search
                    # goes on from there.
                    held.version, newest = newest, version
                held.index.put(newer)
            held.version = newest
            ids = held.index.candidates(record)
            kept = self.store.records(repo.key, ids)
            found = [kept[id] for id in ids if id in kept]
            weights = self._weights
            if repo.threshold is not None:
                weights = replace(weights, threshold=repo.threshold)
            return closest(record, found, held.index.words, weights)

    def _shown(self, repo: RepoHistory, record: Record, read_both: ReadBoth | None) -> _Shown:
        """What is to be shown; what people said of an earlier report is the last word."""
        said = self._said(repo.key, record.id)
        found = self.near(repo, record)
        wanted = [id for id, count in said.items() if count >= 1]
        far = [id for id in wanted if id not in {one.record.id for one in found}]
        if far:
            kept = list(self.store.records(repo.key, far).values())
            held = self._of(repo.key, record.vectors.shape[1])
            with held.lock:
                found += closest(record, kept, held.index.words, self._weights)
        first = [one for one in found if one.record.id in wanted]
        rest = [one for one in found if one.shown and said.get(one.record.id, 0) > -1 and one not in first]
        shown = [*first, *rest][:SHOWN]
        doubted = [one for one in worth_reading(found) if not said.get(one.record.id)][: SHOWN - len(shown)]
        if read_both is None or not doubted:
            return _Shown(shown)
        ids = [one.record.id for one in doubted]
        compared = read_both(ids, self.store.texts(repo.key, ids) if self._keep_texts else {})
        same = [one for one in doubted if one.record.id in compared.same]
        return _Shown([*shown, *same], compared)

    def _of(self, key: int, dims: int) -> _Held:
        with self._lock:
            held = self._held.setdefault(key, _Held(GrowingIndex(dims), threading.Lock()))
            self._held.move_to_end(key)
            while len(self._held) > 1 and sum(len(one.index) for one in self._held.values()) > MOST_HELD:
                self._held.popitem(last=False)
            return held

    def _kept(self, repo: RepoHistory, near: Sequence[Near]) -> dict[str, KeptIssue]:
        """What is kept of these, and of the issues that they were closed as duplicates of, and so on."""
        return with_firsts(self.store, repo, [one.record.id for one in near])

    def _look_up_releases(self, repo: RepoHistory, kept: Mapping[str, KeptIssue], releases: Releases) -> bool:
        """Whether there was something to look up."""
        outcomes = [issue.outcome for issue in kept.values()]
        open_ones = {
            o.fix_commit: o.fixed_at for o in outcomes if o.fix_commit and not o.released and o.fixed_at
        }
        if open_ones:
            self.store.save_released(repo.key, releases(list(open_ones.items())))
        return bool(open_ones)

    def _told(
        self, repo: RepoHistory, record: Record, shown: _Shown, kept: Mapping[str, KeptIssue]
    ) -> list[EarlierReport]:
        return [
            earlier_report(repo, record, one.shared, kept, id, self._web, shown.reader_of(id))
            for one in shown.near
            if (id := one.record.id) in kept
        ]

    def keep(self, looked: Looked, past: PastIssue) -> None:
        """Keep a report that was looked for, so that later ones find it; what people marked stays."""
        if looked.repo is None:
            return
        before = self.store.issues(looked.repo.key, [past.post.id]).get(past.post.id)
        outcome = past.outcome
        if before is not None:
            outcome = replace(outcome, others=before.outcome.others, duplicates=before.outcome.duplicates)
        kept = kept_issue(replace(past, outcome=outcome), looked.record, with_text=self._keep_texts)
        with suppress(Forgotten):
            self.store.save_page(looked.repo.key, [kept])

    def update(self, repo: RepoHistory, past: PastIssue) -> None:
        """Keep how an issue ended; one whose text is new or has changed is read again."""
        known = self.store.hashes(repo.key, [past.post.id]).get(past.post.id)
        record = None
        if known != past.content_hash:
            made = self._recorder.records([past.post])
            if made.encoder != repo.encoder:
                return
            record = made.records[0]
        with suppress(Forgotten):
            self.store.save_page(repo.key, [kept_issue(past, record, with_text=self._keep_texts)])


def kept_issue(past: PastIssue, record: Record | None, *, with_text: bool = False) -> KeptIssue:
    """What is kept of an issue; its text only `with_text`, and with a record."""
    return KeptIssue(
        id=past.post.id,
        title=clean(past.post.title)[:TITLE_CHARS],
        url=past.url if past.url.startswith(("https://", "http://")) else "",
        content_hash=past.content_hash,
        opened=past.post.opened,
        outcome=past.outcome,
        record=record,
        labels=past.labels or None,
        text=body_to_keep(past.post) if with_text and record is not None else None,
    )


def with_firsts(store: HistoryStore, repo: RepoHistory, ids: Sequence[str]) -> dict[str, KeptIssue]:
    """These issues, those that they were closed as duplicates of, and so on."""
    kept: dict[str, KeptIssue] = {}
    asked = list(ids)
    for _ in range(_DUPLICATES + 1):
        found = store.issues(repo.key, asked) if asked else {}
        kept |= found
        asked = [id for one in found.values() for id in one.outcome.duplicates[:1] if id not in kept]
    return kept


def firsts_of(issue: KeptIssue, kept: Mapping[str, KeptIssue]) -> list[KeptIssue]:
    """What the issue was closed as a duplicate of, what that was, and so on; marks may go in circles."""
    out: list[KeptIssue] = []
    while is_duplicate(issue.outcome) and len(out) < _DUPLICATES:
        first = kept.get(issue.outcome.duplicates[0])
        if first is None:
            break
        out.append(first)
        issue = first
    return out


def earlier_report(
    repo: RepoHistory,
    record: Record,
    shared: Shared,
    kept: Mapping[str, KeptIssue],
    id: str,
    web: str,
    read_by: str = "",
) -> EarlierReport:
    """What is said of the earlier issue `id` below the report of `record`.

    `kept` holds it, and the issues that it was closed as a duplicate of; `web` is where people read issues.
    """
    issue, component = kept[id], component_of_tracker(repo.full_name)
    ended, regression = how_it_ended(issue, component, record.versions, firsts_of(issue, kept))
    return EarlierReport(
        id=name_of(repo.full_name, id),
        url=address(repo, issue, web),
        title=issue.title,
        opened=issue.opened.date().isoformat() if issue.opened else None,
        why=[*_read(read_by), *why(shared, component)],
        read_by=read_by,
        is_open=issue.outcome.is_open,
        ended=ended,
        possible_regression=regression,
    )


def address(repo: RepoHistory, issue: KeptIssue, web: str) -> str:
    """Where people read an issue; "" = not known."""
    return issue.url or (f"{web}/{repo.full_name}/issues/{issue.id}" if issue.id.isdecimal() else "")


def _read(model: str) -> list[str]:
    return [f"an LLM ({code_span(model, 80)}) read both and found the same failure"] if model else []


def own_id(full_name: str, name: str) -> str | None:
    """The id within a repository of what `name_of` names; None for a report of another one."""
    repository, _, id = name.rpartition("#")
    return id if repository in ("", full_name) else None


def name_of(full_name: str, id: str) -> str:
    """ "owner/name#12", or the id as another tracker gives it."""
    return f"{full_name}#{id}" if id.isdecimal() else id


def still_open() -> Outcome:
    """The outcome of an issue that was just opened or reopened."""
    return Outcome(is_open=True, state="open")
