"""The store in memory, and a clock that stands still: for tests of the logic without a database."""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from bot.github.ports import Store
from bot.github.records import (
    CommentNote,
    ConfigCache,
    Correction,
    Dismissal,
    DraftDecision,
    InstallationNote,
    IssueRef,
    LabelFact,
    Noise,
    PastedResult,
    RepoRef,
    Request,
    Resolution,
    TriageRecord,
)
from bot.ports import Clock

Key = tuple[int, int]


def _key(issue: IssueRef) -> Key:
    return issue.repo.id, issue.number


class StillClock(Clock):
    def __init__(self) -> None:
        self.time = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)

    def now(self) -> datetime:
        return self.time

    def forward(self, seconds: float) -> None:
        self.time += timedelta(seconds=seconds)


class MemoryStore(Store):
    def __init__(self, per_minute: int = 80, per_hour: int = 500) -> None:
        self.triages: list[TriageRecord] = []
        self.notes: dict[Key, CommentNote] = {}
        self.refs: dict[Key, IssueRef] = {}
        self.first_noted: dict[Key, datetime] = {}
        self.on_since: dict[int, datetime] = {}
        self.facts: list[LabelFact] = []
        self.asked: dict[tuple[Key, str], Request] = {}
        self.resolutions: dict[Key, Resolution] = {}
        self.given: dict[int, Correction] = {}
        self.decided: dict[tuple[Key, str], DraftDecision] = {}
        self.pasted: dict[int, tuple[Key, PastedResult]] = {}
        self.commands: set[tuple[int, str]] = set()
        self.configs: dict[int, ConfigCache] = {}
        self.off: set[int] = set()
        self.dismissals: dict[Key, Dismissal] = {}
        self.installations: dict[int, InstallationNote] = {}
        self.repos: dict[int, set[RepoRef]] = {}
        self.spent: list[tuple[int, datetime]] = []
        self._limits = ((60.0, per_minute), (3600.0, per_hour))
        self._lock = threading.Lock()

    def save_triage(self, record: TriageRecord) -> None:
        self.triages.append(record)

    def last_triage(self, issue: IssueRef) -> TriageRecord | None:
        return next((t for t in reversed(self.triages) if _key(t.issue) == _key(issue)), None)

    def triage_count(self, issue: IssueRef) -> int:
        return sum(_key(t.issue) == _key(issue) for t in self.triages)

    def save_request(self, issue: IssueRef, request: Request) -> None:
        self.asked[_key(issue), request.item] = request

    def requests(self, issue: IssueRef) -> list[Request]:
        found = [request for (key, _), request in self.asked.items() if key == _key(issue)]
        return sorted(found, key=lambda r: (r.asked_at, r.item))

    def save_resolution(self, issue: IssueRef, resolution: Resolution) -> None:
        self.resolutions[_key(issue)] = resolution

    def resolution(self, issue: IssueRef) -> Resolution | None:
        return self.resolutions.get(_key(issue))

    def forget_resolution(self, issue: IssueRef) -> None:
        self.resolutions.pop(_key(issue), None)

    def comment_note(self, issue: IssueRef) -> CommentNote | None:
        return self.notes.get(_key(issue))

    def save_comment_note(self, issue: IssueRef, note: CommentNote) -> None:
        self.notes[_key(issue)] = note
        self.refs[_key(issue)] = issue
        self.first_noted.setdefault(_key(issue), note.intended_at or datetime.now(UTC))

    def recent_comments(self, repo_id: int, since: datetime) -> list[tuple[IssueRef, CommentNote]]:
        return [
            (self.refs[k], n)
            for k, n in self.notes.items()
            if k[0] == repo_id and n.state == "live" and n.comment_id and self.first_noted[k] >= since
        ]

    def save_label_fact(self, fact: LabelFact) -> None:
        self.facts.append(fact)

    def label_facts(self, issue: IssueRef) -> list[LabelFact]:
        return sorted((f for f in self.facts if _key(f.issue) == _key(issue)), key=lambda f: f.at)

    def save_correction(self, correction: Correction) -> None:
        self.given[correction.comment_id] = correction

    def corrections(self, issue: IssueRef) -> list[Correction]:
        given = (c for c in self.given.values() if _key(c.issue) == _key(issue))
        return sorted(given, key=lambda c: (c.at, c.comment_id))

    def save_draft_decision(self, decision: DraftDecision) -> None:
        self.decided[_key(decision.issue), decision.input_hash] = decision

    def draft_decision(self, issue: IssueRef, input_hash: str) -> DraftDecision | None:
        return self.decided.get((_key(issue), input_hash))

    def save_result(self, issue: IssueRef, result: PastedResult, at: datetime) -> None:
        self.pasted.pop(result.comment_id, None)
        self.pasted[result.comment_id] = (_key(issue), result)

    def results(self, issue: IssueRef, newest: int) -> list[PastedResult]:
        found = [result for key, result in self.pasted.values() if key == _key(issue)]
        return found[::-1][:newest]

    def forget_result(self, comment_id: int) -> None:
        self.pasted.pop(comment_id, None)

    def command_done(self, comment_id: int, digest: str) -> bool:
        return (comment_id, digest) in self.commands

    def mark_command(self, comment_id: int, digest: str) -> None:
        self.commands.add((comment_id, digest))

    def config(self, repo_id: int) -> ConfigCache | None:
        return self.configs.get(repo_id)

    def save_config(self, repo_id: int, cache: ConfigCache) -> None:
        self.configs[repo_id] = cache

    def claim_config_note(self, repo_id: int, error: str | None) -> bool:
        with self._lock:
            known = self.configs[repo_id]
            if known.noted_error == error:
                return False
            self.configs[repo_id] = replace(known, noted_error=error)
            return True

    def repo_on(self, repo_id: int) -> bool:
        return repo_id not in self.off

    def set_repo_on(self, repo_id: int, on: bool, by: str, at: datetime) -> None:
        (self.off.discard if on else self.off.add)(repo_id)
        if on:
            self.on_since[repo_id] = at

    def save_dismissal(self, dismissal: Dismissal) -> None:
        self.dismissals.setdefault(_key(dismissal.issue), dismissal)

    def noise(self, repo_id: int, last: int) -> Noise:
        since = self.on_since.get(repo_id)
        posted = sorted(
            (k for k, n in self.notes.items() if k[0] == repo_id and n.comment_id is not None),
            key=self.first_noted.__getitem__,
        )
        posted = [k for k in posted if since is None or self.first_noted[k] >= since][-last:]
        found = [self.dismissals[k] for k in posted if k in self.dismissals]
        others = {d.by for d in found if not d.by_maintainer}
        return Noise(len(posted), sum(d.by_maintainer for d in found) + len(others))

    def take_writes(self, installation_id: int, count: int, now: datetime) -> float:
        with self._lock:
            for seconds, most in self._limits:
                window = [
                    t for i, t in self.spent if i == installation_id and (now - t).total_seconds() < seconds
                ]
                if len(window) + count > most:
                    return seconds - (now - min(window)).total_seconds()
            self.spent += [(installation_id, now)] * count
            return 0.0

    def save_installation(self, note: InstallationNote) -> None:
        self.installations[note.id] = note

    def save_repos(self, installation_id: int, added: list[RepoRef], removed: list[RepoRef]) -> None:
        self.repos[installation_id] = self.repos.get(installation_id, set()).union(added) - set(removed)
