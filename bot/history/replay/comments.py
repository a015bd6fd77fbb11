"""The comments that a replay would have written, worded as they would be: known failures and earlier issues.

Texts of issues aren't kept. So the line that a comment quotes is missing here, and a known failure's answer stands as
the catalog has it, not cut to what fits the report.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from bot.history.explain import how_it_ended
from bot.history.records import HistoryStore, KeptIssue, Outcome, RepoHistory
from bot.history.search import address, earlier_report, firsts_of, name_of, with_firsts
from bot.render.answer import earlier_parts
from bot.render.findings import finding_parts
from eval.history import Replayed
from eval.metrics import wilson
from knowledge.evidence.facts_table import component_of_tracker
from knowledge.findings.failure import load_catalogue
from knowledge.triage import Finding

LISTED = 100
"""Comments listed, the newest; and issues of one known failure."""
_MOST_NAMED = 2


@dataclass(frozen=True, slots=True)
class Issue:
    """An issue as it is listed."""

    name: str
    """ "#12", or as another tracker calls it."""
    url: str
    title: str
    id: str = ""
    """ "12"; "" in a replay that an older version computed."""


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment that would have been written."""

    day: str
    issue: Issue
    text: str
    """In Markdown."""
    failures: int
    """Known failures that it names."""
    marked: list[bool]
    """For each earlier issue that it names: whether people marked the two as the same."""
    later: list[str]
    """How earlier issues ended that were open at the time."""
    earlier: list[Issue] = field(default_factory=list)
    """The earlier issues that it names, as in `marked`; none in a replay that an older version computed."""

    @property
    def about(self) -> str:
        """What it says, in a few words."""
        told = ["known failure"] if self.failures else []
        told += [f"earlier issue, {'marked by people' if yes else 'not marked'}" for yes in self.marked]
        return "; ".join(told)


@dataclass(frozen=True, slots=True)
class FailureRow:
    """A known failure, and the issues whose comments would have named it, the newest first."""

    id: str
    title: str
    count: int
    issues: list[Issue]


@dataclass(frozen=True, slots=True)
class Failures:
    """The known failures that comments would have named unasked, the most frequent first."""

    looked: int
    """Issues of which it is known."""
    unknown: int
    """Issues that were read before it was kept."""
    named: int
    """Issues with at least one."""
    share: str
    rows: list[FailureRow]


def failures_of(one: Replayed) -> list[str]:
    """The known failures that a comment names."""
    known = load_catalogue()
    return [id for id in one.record.told or () if id in known][:_MOST_NAMED]


@dataclass(frozen=True, slots=True)
class Written:
    """What a replay would have written in a repository; `web` is where people read issues."""

    store: HistoryStore
    repo: RepoHistory
    web: str

    def comments(self, found: Sequence[Replayed], threshold: float) -> list[Comment]:
        """The newest comments, newest first."""
        spoken = [one for one in found if one.shown(threshold) or failures_of(one)][: -LISTED - 1 : -1]
        ids = {near.record.id for one in spoken for near, _ in one.shown(threshold)}
        kept = with_firsts(self.store, self.repo, sorted(ids | {one.record.id for one in spoken}))
        return [self._comment(one, threshold, kept) for one in spoken if one.record.id in kept]

    def _comment(self, one: Replayed, threshold: float, kept: Mapping[str, KeptIssue]) -> Comment:
        record, failures = one.record, failures_of(one)
        shown = [(near, right) for near, right in one.shown(threshold) if near.record.id in kept]
        then = {id: _as_of(issue, record.opened) for id, issue in kept.items()}
        earlier = [
            earlier_report(self.repo, record, near.shared, then, near.record.id, self.web)
            for near, _ in shown
        ]
        return Comment(
            day=f"{record.opened:%Y-%m-%d}" if record.opened else "",
            issue=self._issue(kept[record.id]),
            text="\n\n".join([*finding_parts([_finding(id) for id in failures]), *earlier_parts(earlier)]),
            failures=len(failures),
            marked=[right for _, right in shown],
            later=[told for near, _ in shown if (told := self._later(near.record.id, then, kept))],
            earlier=[self._issue(kept[near.record.id]) for near, _ in shown],
        )

    def _later(self, id: str, then: Mapping[str, KeptIssue], now: Mapping[str, KeptIssue]) -> str:
        if then[id].outcome.is_open == now[id].outcome.is_open:
            return ""
        component = component_of_tracker(self.repo.full_name)
        ended, _ = how_it_ended(now[id], component, {}, firsts_of(now[id], now))
        return f"{name_of('', id)} was later {ended}."

    def failures(self, found: Sequence[Replayed]) -> Failures:
        """The known failures, with the issues below which they would have been named."""
        told: dict[str, list[str]] = {}
        for one in reversed(found):
            for id in failures_of(one):
                told.setdefault(id, []).append(one.record.id)
        listed = {id for ids in told.values() for id in ids[:LISTED]}
        kept = self.store.issues(self.repo.key, sorted(listed)) if listed else {}
        known = load_catalogue()
        looked = sum(one.record.told is not None for one in found)
        hits = sum(bool(failures_of(one)) for one in found)
        rows = [
            FailureRow(
                id, known[id].title, len(ids), [self._issue(kept[n]) for n in ids[:LISTED] if n in kept]
            )
            for id, ids in told.items()
        ]
        rows.sort(key=lambda row: (-row.count, row.id))
        return Failures(looked, len(found) - looked, hits, share_in_percent(hits, looked), rows)

    def _issue(self, kept: KeptIssue) -> Issue:
        return Issue(name_of("", kept.id), address(self.repo, kept, self.web), kept.title, kept.id)


def share_in_percent(hits: int, n: int) -> str:
    """A small share with its 95 % interval: "0.1% (0.0–0.4%)", or a dash."""
    found = wilson(hits, n)
    if found.value is None or found.low is None or found.high is None:
        return "–"
    return f"{100 * found.value:.1f}% ({100 * found.low:.1f}–{100 * found.high:.1f}%)"


def _as_of(issue: KeptIssue, moment: datetime | None) -> KeptIssue:
    """The issue as it stood then: one that was closed later was still open."""
    closed = issue.outcome.closed_at
    if moment is None or closed is None or closed <= moment:
        return issue
    return replace(issue, outcome=Outcome(is_open=True, state="open"))


def _finding(id: str) -> Finding:
    """The known failure without the lines of the report and with all that the catalog says."""
    entry = load_catalogue()[id]
    return Finding(
        id=entry.id,
        area=entry.area,
        title=entry.title,
        answer=entry.answer,
        p=1.0,
        sure=True,
        lines=[],
        held=[],
        why=list(entry.why),
        check=list(entry.check),
        remedy=list(entry.remedy),
        not_this_when=entry.not_this_when,
        fixed_in=entry.fixed_in,
        sources=list(entry.sources),
    )
