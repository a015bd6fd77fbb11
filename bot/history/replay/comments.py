"""The comments that a replay would have written, worded as they would be.

An issue whose text is kept is triaged again for what its comment quotes. Where it isn't kept, that line is missing, and
a known failure's answer stands as the catalog has it, not cut to what fits the report.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from bot.history.explain import how_it_ended
from bot.history.records import HistoryStore, KeptIssue, Outcome, RepoHistory
from bot.history.search import address, earlier_report, firsts_of, name_of, with_firsts
from bot.ports import CoreFailed
from bot.render.answer import earlier_parts
from bot.render.comment import conflict_parts
from bot.render.findings import finding_parts
from eval.history import Replayed
from eval.metrics import wilson
from knowledge.evidence.facts_table import component_of_tracker
from knowledge.findings.failure import load_catalogue
from knowledge.report import Report
from knowledge.triage import Finding, Triage, VersionConflict
from knowledge.versions import load_facts

LISTED = 100
"""Comments listed, the newest; and issues of one known failure."""
_MOST_NAMED = 2
Triages = Callable[[Report], Triage]


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
    quoted: bool = False
    """Made of the issue's text, whose lines it may hold."""
    conflict: bool = False
    """It names a version conflict."""

    @property
    def about(self) -> str:
        """What it says, in a few words."""
        told = ["known failure"] if self.failures else []
        told += ["version conflict"] if self.conflict else []
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
    conflicts: int = 0
    """Issues with a version conflict and no known failure."""

    @property
    def said(self) -> str:
        """How many, in sentences."""
        told = f"Named below {self.named} of {self.looked} issues, {self.share}."
        return f"{told} Version conflicts: below {self.conflicts} more." if self.conflicts else told


def failures_of(one: Replayed) -> list[str]:
    """The known failures that a comment names."""
    known = load_catalogue()
    return [id for id in one.record.told or () if id in known][:_MOST_NAMED]


def conflict_of(one: Replayed) -> VersionConflict | None:
    """The version conflict that a comment names."""
    named = one.record.conflicts[:1]
    found = next((fact for fact in load_facts() if fact.id in named), None) if named else None
    return VersionConflict(id=found.id, text=found.text, source=found.source) if found else None


def is_told(one: Replayed, threshold: float) -> bool:
    """Whether there is anything to comment on."""
    return bool(one.shown(threshold) or failures_of(one) or conflict_of(one))


@dataclass(frozen=True, slots=True)
class Written:
    """What a replay would have written in a repository; `web` is where people read issues.

    `triage` reads texts that are kept; None = they are not looked at.
    """

    store: HistoryStore
    repo: RepoHistory
    web: str
    triage: Triages | None = None

    def comments(self, found: Sequence[Replayed], threshold: float) -> list[Comment]:
        """The newest comments, newest first."""
        spoken = [one for one in found if is_told(one, threshold)][: -LISTED - 1 : -1]
        ids = {near.record.id for one in spoken for near, _ in one.shown(threshold)}
        kept = with_firsts(self.store, self.repo, sorted(ids | {one.record.id for one in spoken}))
        named = [one.record.id for one in spoken if failures_of(one) or conflict_of(one)]
        texts = self.store.texts(self.repo.key, named) if self.triage and named else {}
        return [
            self._comment(one, threshold, kept, texts.get(one.record.id))
            for one in spoken
            if one.record.id in kept
        ]

    def _comment(
        self, one: Replayed, threshold: float, kept: Mapping[str, KeptIssue], text: Report | None
    ) -> Comment:
        record, read = one.record, self._read(text, kept[one.record.id]) if text else None
        findings = _findings(one, read)
        conflict = _conflict_parts(one, None if findings else read)
        shown = [(near, right) for near, right in one.shown(threshold) if near.record.id in kept]
        then = {id: _as_of(issue, record.opened) for id, issue in kept.items()}
        earlier = [
            earlier_report(self.repo, record, near.shared, then, near.record.id, self.web)
            for near, _ in shown
        ]
        return Comment(
            day=f"{record.opened:%Y-%m-%d}" if record.opened else "",
            issue=self._issue(kept[record.id]),
            text="\n\n".join([*finding_parts(findings), *earlier_parts(earlier), *conflict]),
            failures=len(findings),
            marked=[right for _, right in shown],
            later=[told for near, _ in shown if (told := self._later(near.record.id, then, kept))],
            earlier=[self._issue(kept[near.record.id]) for near, _ in shown],
            quoted=read is not None,
            conflict=bool(conflict),
        )

    def _read(self, text: Report, kept: KeptIssue) -> Triage | None:
        """The triage of a text; None where it can't be read."""
        report = replace(
            text,
            id=name_of(self.repo.full_name, text.id),
            opened=kept.opened.date().isoformat() if kept.opened else "",
        )
        try:
            return self.triage(report) if self.triage else None
        except CoreFailed:
            return None

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
        conflicts = sum(bool(conflict_of(one) and not failures_of(one)) for one in found)
        return Failures(looked, len(found) - looked, hits, share_in_percent(hits, looked), rows, conflicts)

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


def _findings(one: Replayed, read: Triage | None) -> list[Finding]:
    """The known failures, as they were found in the text where it was read."""
    fitted = {finding.id: finding for finding in read.findings if finding.sure} if read else {}
    return [fitted.get(id) or _finding(id) for id in failures_of(one)]


def _conflict_parts(one: Replayed, read: Triage | None) -> list[str]:
    """The version conflict; with the line that it explains where the text was read."""
    conflict = conflict_of(one)
    if conflict is None or read is None:
        return conflict_parts(conflict, []) if conflict else []
    found = next((c for c in read.evidence.conflicts if c.id == conflict.id), conflict)
    return conflict_parts(found, read.evidence.lines)


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
