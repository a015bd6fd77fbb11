"""A repository's own labels: what people said of them, the heads learned from that, and what these suggest."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import structlog

from bot.history.label_store import Labelled, LabelTables, Role, Vote
from bot.history.records import LabelChange, RepoHistory
from knowledge.history.head_learner import learn
from knowledge.history.heads import Example, Family, Suggested, suggest
from knowledge.history.record import Record
from knowledge.history.words import traits_of
from knowledge.text.quote import clean
from knowledge.triage import AxisName, SuggestedLabel

log = structlog.get_logger(__name__)

ROLE_WEIGHT: dict[Role, float] = {"maintainer": 1.0, "author": 0.5, "other": 0.25}
"""What a vote counts. A maintainer's newest one decides alone; of others it takes as many as make 1."""
AT_ONCE = timedelta(seconds=30)
"""A label set so soon after the issue was opened came with its template or form."""
LEAST_NEW = 25
"""Labels and votes of people since the last time, before heads are learned again; or a tenth where that is more."""
MOST_LINES = 300
"""Lines of a report that are looked at for the one that decided."""
LINE_CHARS = 200


VotesOf = Callable[[int, Mapping[AxisName, Sequence[str]]], Mapping[str, bool]]
"""From a repository's id and the ids given on axes to labels and whether they belong."""


class OwnLabels:
    """Suggests labels by the heads in use, and learns new ones. Safe to call from several threads."""

    def __init__(self, tables: LabelTables, votes_of: VotesOf = lambda repo_id, given: {}) -> None:
        """`votes_of`: what a correction of axes says of a repository's labels."""
        self.tables = tables
        self._votes_of = votes_of
        self._held: dict[int, tuple[int, list[Family]]] = {}
        self._lock = threading.Lock()

    def suggested(self, repo: RepoHistory, record: Record, title: str, body: str) -> list[SuggestedLabel]:
        """The labels that the repository's heads would set, likeliest first, each with the line that decided."""
        heads = self._heads(repo)
        if not heads:
            return []
        traits = traits_of(record.title, record.body, record.small, record.vectors)
        said = verdicts(self.tables.votes(repo.key, "label", [record.id])).get(record.id, {})
        told = [one for one in suggest(heads, traits) if said.get(one.head.label, 0) > -1]
        if not told:
            return []
        lines = [clean(title), *clean(body).splitlines()[:MOST_LINES]]
        out = []
        for one in told:
            moved = one.moved_by(traits, lines)
            best = max(range(len(lines)), key=moved.__getitem__)
            out.append(_shown(one, best, lines[best]))
        return out

    def said(self, repo: int, id: str) -> dict[str, float]:
        """What people said of earlier issues shown below this one (`bot.history.search.Said`)."""
        return verdicts(self.tables.votes(repo, "same", [id])).get(id, {})

    def _heads(self, repo: RepoHistory) -> list[Family]:
        """The heads that may speak; read anew after each learning, whichever process did it."""
        with self._lock:
            version, heads = self._held.get(repo.key, (-1, []))
            if version != repo.heads:
                heads = self.tables.families(repo.key) if repo.heads else []
                self._held[repo.key] = repo.heads, heads
            return heads

    def learn(self, repo: int) -> list[Family]:
        """Learn the heads of a repository now and put them into use; the heads."""
        facts = self.tables.facts(repo)
        heads = learn(examples_of(self.tables.labelled(repo)), self.tables.families(repo))
        self.tables.save_heads(repo, heads, facts)
        return heads

    def read_slack(self) -> None:
        """Take what Slack's users said as votes, where their text links to an issue."""
        for one in self.tables.slack_corrections():
            by = f"slack:{one.by}"
            for label, agrees in self._votes_of(one.repo_id, one.given).items():
                self.tables.save_vote(one.repo, Vote(one.id, "label", label, by, "other", agrees, one.at))
            same = _number_in(one.full_name, one.same)
            if same and same != one.id:
                self.tables.save_vote(one.repo, Vote(one.id, "same", same, by, "other", True, one.at))

    def learn_what_is_due(self) -> int:
        """Learn the heads of repositories where people said enough since the last time; how many repositories."""
        done = 0
        self.read_slack()
        for repo, taught in self.tables.taught():
            new = self.tables.facts(repo) - taught
            if new >= max(LEAST_NEW, taught // 10):
                heads = [head for family in self.learn(repo) for head in family.heads]
                log.info("labels learned", history=repo, heads=sum(head.speaks for head in heads))
                done += 1
        return done


def examples_of(issues: Iterable[Labelled], before: datetime | None = None) -> list[Example]:
    """What issues teach, in the same order; those of which nobody said anything are left out.

    `before`: only what was there and was said before that moment.
    """
    if before is not None:
        issues = [_as_of(issue, before) for issue in issues if issue.opened and issue.opened < before]
    return [example for issue in issues if (example := _example(issue)) is not None]


def _as_of(issue: Labelled, moment: datetime) -> Labelled:
    return replace(
        issue,
        changes=tuple(change for change in issue.changes if change.at < moment),
        votes=tuple(vote for vote in issue.votes if vote.at < moment),
    )


def _example(issue: Labelled) -> Example | None:
    by_label: dict[str, list[LabelChange]] = {}
    for change in issue.changes:
        by_label.setdefault(change.label, []).append(change)
    on = {label for label, told in by_label.items() if told[-1].added and told[-1].by_person}
    unsure = {label for label, told in by_label.items() if not told[-1].by_person} - on
    given = {label for label in on if issue.opened and by_label[label][0].by and by_label[label][0].added
             and by_label[label][0].at - issue.opened <= AT_ONCE}  # fmt: skip
    looked_through = any(change.by_person for change in issue.changes)
    votes = {label: count for label, count in verdicts(issue.votes).get(issue.id, {}).items() if count}
    # Less than a maintainer's word changes nothing of what a person or a bot did.
    votes = {label: count for label, count in votes.items() if abs(count) >= 1 or label not in by_label}
    on = on - votes.keys() | {label for label, count in votes.items() if count > 0}
    if not looked_through and not votes:
        return None
    return Example(
        issue.id,
        issue.opened,
        issue.traits,
        frozenset(on),
        frozenset(unsure - votes.keys()),
        frozenset(given & on),
        None if looked_through else frozenset(votes),
        1.0 if looked_through else min(1.0, max(map(abs, votes.values()))),
    )


def counted(votes: Sequence[Vote]) -> float:
    """What votes on one question, oldest first, come to: from 1 on they decide for it, from -1 on against it.

    A maintainer's newest vote is the last word, however many others disagree.
    """
    word = next((vote for vote in reversed(votes) if vote.role == "maintainer"), None)
    if word is not None:
        return 1.0 if word.agrees else -1.0
    return sum(ROLE_WEIGHT[vote.role] * (1 if vote.agrees else -1) for vote in votes)


def verdicts(votes: Iterable[Vote]) -> dict[str, dict[str, float]]:
    """By issue and subject what votes, oldest first, come to (`counted`)."""
    found: dict[str, dict[str, list[Vote]]] = {}
    for vote in votes:
        found.setdefault(vote.id, {}).setdefault(vote.subject, []).append(vote)
    return {id: {about: counted(cast) for about, cast in of.items()} for id, of in found.items()}


def _number_in(full_name: str, named: str) -> str:
    """The number of an issue of this repository that was named in Slack; "" for another one's."""
    repository, _, number = named.rpartition("#")
    return number if repository.lower() in ("", full_name.lower()) else ""


def _shown(one: Suggested, number: int, line: str) -> SuggestedLabel:
    return SuggestedLabel(
        label=one.head.label,
        p=round(one.p, 4),
        line=number,
        text=line.strip()[:LINE_CHARS],
        tested=one.head.tested,
        right=one.head.right,
        rivals=sorted(one.family.labels - {one.head.label}),
    )
