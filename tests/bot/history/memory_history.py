"""Histories in memory, for tests of the logic without a database; and a recorder that needs no model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from bot.history.records import Forgotten, HistoryStore, KeptIssue, Marked, Progress, RepoHistory
from bot.ports import Recorded, Recorder
from knowledge.history.record import Post, Record
from knowledge.report import Report
from tests.knowledge.history.tiny import made


class TinyRecorder(Recorder):
    def __init__(self, encoder: str = "words") -> None:
        self.encoder = encoder
        self.read: list[str] = []

    def records(self, posts: Sequence[Post], triaged: bool = False) -> Recorded:
        self.read += [post.id for post in posts]
        return Recorded(self.encoder, tuple(made(posts)))


class MemoryHistory(HistoryStore):
    def __init__(self) -> None:
        self.repos: dict[int, RepoHistory] = {}
        self.installed: dict[int, int | None] = {}
        self.rows: dict[int, dict[str, tuple[int, KeptIssue]]] = {}
        self.versions: dict[int, int] = {}
        self.bodies: dict[tuple[int, str], str] = {}
        self.by_hand: set[int] = set()
        self.fitted: dict[int, int] = {}
        self._next = 0

    def begin(
        self, full_name: str, encoder: str, repo_id: int | None, installation_id: int | None
    ) -> RepoHistory:
        found = self.find(full_name, repo_id)
        if found is None:
            self._next += 1
            found = RepoHistory(self._next, full_name, repo_id, encoder, Progress())
            self.rows[found.key], self.versions[found.key] = {}, 0
        found = replace(
            found,
            full_name=full_name,
            repo_id=repo_id or found.repo_id,
            installation_id=installation_id or found.installation_id,
        )
        self.repos[found.key] = found
        self.installed[found.key] = installation_id or self.installed.get(found.key)
        return found

    def begin_again(
        self, full_name: str, encoder: str, repo_id: int | None, installation_id: int | None
    ) -> RepoHistory:
        old = self.find(full_name, repo_id)
        self.forget([repo_id] if repo_id else [], [full_name])
        new = self.begin(full_name, encoder, repo_id, installation_id)
        if old is not None and old.key in self.by_hand:
            self.save_threshold(new.key, old.threshold)
        return self.repos[new.key]

    def find(self, full_name: str, repo_id: int | None = None) -> RepoHistory | None:
        by_id = [r for r in self.repos.values() if repo_id is not None and r.repo_id == repo_id]
        by_name = [
            r
            for r in self.repos.values()
            if r.full_name.lower() == full_name.lower() and (r.repo_id is None or repo_id is None)
        ]
        return next(iter([*by_id, *sorted(by_name, key=lambda r: (r.repo_id is None, -r.key))]), None)

    def save_page(self, key: int, page: Sequence[KeptIssue], progress: Progress | None = None) -> None:
        if key not in self.repos:
            raise Forgotten("deleted meanwhile")
        self.versions[key] += 1
        for issue in page:
            self._save(key, issue)
        if progress is not None:
            self.repos[key] = replace(self.repos[key], progress=progress)

    def _save(self, key: int, issue: KeptIssue) -> None:
        version, old = self.rows[key].get(issue.id, (0, None))
        if issue.record is None and old is None:
            return
        out = issue.outcome
        if old is not None and old.outcome.fix_commit == out.fix_commit and not out.released:
            out = replace(out, released=old.outcome.released)
        labels = old.labels if issue.labels is None and old is not None else issue.labels
        record = issue.record or (old.record if old else None)
        if issue.record is not None:
            version = self.versions[key]
            self.bodies.pop((key, issue.id), None)
            if issue.text is not None:
                self.bodies[key, issue.id] = issue.text
        self.rows[key][issue.id] = (
            version,
            replace(issue, outcome=out, record=record, labels=labels or (), text=None),
        )

    def hashes(self, key: int, ids: Sequence[str]) -> dict[str, str]:
        return {id: issue.content_hash for id, issue in self.issues(key, ids).items()}

    def newer(self, key: int, version: int) -> Iterator[tuple[int, Record]]:
        for at, issue in sorted(self.rows.get(key, {}).values(), key=lambda row: (row[0], row[1].id)):
            if at > version and issue.record is not None:
                yield at, issue.record

    def records(self, key: int, ids: Sequence[str]) -> dict[str, Record]:
        return {id: issue.record for id, issue in self.issues(key, ids).items() if issue.record is not None}

    def issues(self, key: int, ids: Sequence[str]) -> dict[str, KeptIssue]:
        rows = self.rows.get(key, {})
        return {id: rows[id][1] for id in ids if id in rows}

    def texts(self, key: int, ids: Sequence[str]) -> dict[str, Report]:
        kept = {id: issue for id, issue in self.issues(key, ids).items() if (key, id) in self.bodies}
        return {id: Report(id, issue.title, self.bodies[key, id]) for id, issue in kept.items()}

    def forget_texts(self) -> int:
        count = len(self.bodies)
        self.bodies.clear()
        return count

    def marks(self, key: int) -> dict[str, tuple[str, ...]]:
        rows = self.rows.get(key, {}).values()
        return {issue.id: issue.outcome.duplicates for _, issue in rows if issue.outcome.duplicates}

    def count(self, key: int) -> int:
        return len(self.rows.get(key, {}))

    def unreleased(self, key: int) -> list[tuple[str, datetime]]:
        found: dict[str, datetime] = {}
        for _, issue in self.rows[key].values():
            out = issue.outcome
            if out.fix_commit and not out.released and out.fixed_at:
                found[out.fix_commit] = min(out.fixed_at, found.get(out.fix_commit, out.fixed_at))
        return sorted(found.items(), key=lambda pair: (pair[1], pair[0]))

    def save_released(self, key: int, tags: Mapping[str, str]) -> None:
        for id, (version, issue) in self.rows[key].items():
            tag = tags.get(issue.outcome.fix_commit)
            if tag is not None:
                self.rows[key][id] = (version, replace(issue, outcome=replace(issue.outcome, released=tag)))

    def siblings(self, repo: RepoHistory, most: int) -> list[RepoHistory]:
        owner = repo.full_name.partition("/")[0]
        others = [
            r
            for r in self.repos.values()
            if r.key != repo.key and r.repo_id and r.full_name.startswith(f"{owner}/") and self.count(r.key)
        ]
        same = [r for r in others if self.installed[r.key] == self.installed[repo.key]]
        return sorted(same, key=lambda r: -self.versions[r.key])[:most]

    def save_threshold(self, key: int, threshold: float | None) -> None:
        self.repos[key] = replace(self.repos[key], threshold=threshold)
        (self.by_hand.discard if threshold is None else self.by_hand.add)(key)

    def save_fitted(self, key: int, threshold: float | None) -> None:
        if key not in self.by_hand:
            self.repos[key] = replace(self.repos[key], threshold=threshold)

    def marked(self) -> list[Marked]:
        covered = [r for r in self.repos.values() if r.repo_id and r.installation_id]
        return [Marked(r, len(self.marks(r.key)), self.fitted.get(r.key, 0)) for r in covered]

    def note_marks(self, key: int) -> None:
        self.fitted[key] = len(self.marks(key))

    def drop(self, key: int, id: str) -> None:
        self.rows.get(key, {}).pop(id, None)
        self.bodies.pop((key, id), None)

    def forget(
        self, repo_ids: Iterable[int] = (), names: Iterable[str] = (), installation_id: int | None = None
    ) -> int:
        ids, named = set(repo_ids), {name.lower() for name in names}
        gone = [
            key
            for key, repo in self.repos.items()
            if repo.repo_id in ids
            or (repo.full_name.lower() in named and (repo.repo_id is None or not ids))
            or (installation_id is not None and self.installed[key] == installation_id)
        ]
        for key in gone:
            del self.repos[key], self.rows[key]
            self.bodies = {at: body for at, body in self.bodies.items() if at[0] != key}
        return len(gone)
