"""What people say of a triage becomes votes; where a repository has no history, nothing is kept."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import pytest

from bot.github.ports import Issue, Permission, Ports
from bot.github.records import CommentNote, Correction, IssueRef, Outage, RepoRef, TriageRecord
from bot.github.repo_config import RepoConfig
from bot.github.votes import correction_votes, note_corrections, note_thumbs, note_vote, role_in, thumbs
from bot.history.label_store import Vote
from bot.history.labels import OwnLabels
from bot.history.search import Histories
from knowledge.triage import EarlierReport, Triage
from tests.bot.fake_core import FakeCore, a_triage
from tests.bot.history.memory_history import MemoryHistory, TinyRecorder
from tests.bot.memory_store import MemoryStore, StillClock

REF = IssueRef(1, RepoRef(101, "acme/train"), 7)
NOW = datetime(2026, 1, 2, tzinfo=UTC)
CONFIG = RepoConfig.model_validate(
    {"labels": {"type": {"fault": "bug", "internal": "bug", "feature": "idea"}}}
)


class Votes:
    """The votes of a history, in memory."""

    def __init__(self) -> None:
        self.kept: list[Vote] = []

    def save_vote(self, repo: int, vote: Vote) -> None:
        self.kept.append(vote)

    def recast(self, repo: int, id: str, votes: list[Vote]) -> None:
        self.kept = [vote for vote in self.kept if not vote.corrected] + votes

    def votes(self, repo: int, kind: str, ids: list[str]) -> list[Vote]:
        return [vote for vote in self.kept if vote.kind == kind and vote.id in ids]


@dataclass
class People:
    """A GitHub of which only people are seen."""

    reacted: list[tuple[str, str]] = field(default_factory=list)
    login: str = "distriage[bot]"
    down: bool = False

    def permission(self, repo: RepoRef, login: str) -> Permission:
        return "write" if login == "ada" else "read"

    def reactions(self, ref: IssueRef, comment_id: int) -> list[tuple[str, str, datetime]]:
        return [(login, content, NOW) for login, content in self.reacted]

    def issue(self, ref: IssueRef) -> Issue:
        if self.down:
            raise Outage("no answer", after=1)
        return Issue(7, "t", "b", "reporter", False, frozenset(), True, False, False, NOW)


def ports_with(tables: Any, *, history: bool = True) -> Ports:
    store = MemoryHistory()
    if history:
        store.begin(REF.repo.full_name, "words", REF.repo.id, 1)
    histories = Histories(store, TinyRecorder())
    return Ports(
        None, MemoryStore(), StillClock(), FakeCore(), histories=histories, own_labels=OwnLabels(tables)
    )


def triaged(ports: Ports, triage: Triage) -> Ports:
    ports.store.save_triage(TriageRecord(REF, "h", triage, "comment", "written", "", "", (), NOW))
    return ports


def test_of_two_ids_with_one_label_either_keeps_it() -> None:
    assert correction_votes({"type": ["internal"]}, CONFIG) == {"bug": True, "idea": False}
    assert correction_votes({"type": ["feature"]}, CONFIG) == {"bug": False, "idea": True}
    assert correction_votes({"stage": ["A"]}, CONFIG) == {}


def test_a_correction_is_a_maintainers_vote_on_each_label_of_its_axis() -> None:
    tables = Votes()
    ports = ports_with(tables)
    given = Correction(REF, 5, "ada", NOW, {"type": ("fault",)}, "t", "b")
    ports.store.save_correction(given)
    note_corrections(ports, REF, CONFIG)
    assert [(v.id, v.subject, v.by, v.role, v.agrees) for v in tables.kept] == [
        ("7", "bug", "ada", "maintainer", True),
        ("7", "idea", "ada", "maintainer", False),
    ]
    ports.store.save_correction(replace(given, labels={"type": ("feature",)}))
    note_corrections(ports, REF, CONFIG)
    assert {v.subject: v.agrees for v in tables.kept} == {"bug": False, "idea": True}, (
        "the newest is the word"
    )


def test_without_a_history_no_vote_is_kept() -> None:
    tables = Votes()
    bare = Ports(None, MemoryStore(), StillClock(), FakeCore())
    for ports in (bare, ports_with(tables, history=False)):
        assert not note_vote(ports, REF, ("label", "bug"), "ada", "maintainer", True)
        assert note_thumbs(People(), ports, REF, [("ada", True, NOW)]) == 0  # type: ignore[arg-type]
        ports.store.save_correction(Correction(REF, 5, "ada", NOW, {"type": ("fault",)}, "t", "b"))
        note_corrections(ports, REF, CONFIG)
    assert tables.kept == []
    assert note_vote(ports_with(tables), REF, ("label", "bug"), "ada", "maintainer", True)
    assert len(tables.kept) == 1


def test_a_role_is_what_somebody_may_do_and_else_whose_issue_it_is() -> None:
    roles = [role_in(People(), REF, login, "reporter") for login in ("ada", "reporter", "eve")]  # type: ignore[arg-type]
    assert roles == ["maintainer", "author", "other"]


def test_thumbs_are_read_off_a_live_comment_alone() -> None:
    github: Any = People([("eve", "-1"), ("ada", "+1"), ("bob", "eyes")])
    assert thumbs(github, REF, CommentNote(9, None)) == [("ada", True, NOW), ("eve", False, NOW)]
    assert thumbs(github, REF, CommentNote(None, None)) == []
    assert thumbs(github, REF, CommentNote(9, None, state="dismissed")) == []


EARLIER = EarlierReport(
    id="acme/train#3", url="", title="Hang", why=["same error line"], is_open=True, ended="still open"
)
SHOWN = a_triage(same_failure=[EARLIER], findings=[])


def test_a_thumb_is_a_vote_on_the_earlier_issue_and_counts_once() -> None:
    tables, github = Votes(), People()
    ports = triaged(ports_with(tables), SHOWN)
    given = [("ada", True, NOW), ("reporter", False, NOW), (github.login, True, NOW)]
    assert note_thumbs(github, ports, REF, given) == 2  # type: ignore[arg-type]
    assert [(v.subject, v.by, v.role, v.agrees) for v in tables.kept] == [
        ("3", "ada", "maintainer", True),
        ("3", "reporter", "author", False),
    ]
    assert note_thumbs(github, ports, REF, given) == 0  # type: ignore[arg-type]
    assert len(tables.kept) == 2


@pytest.mark.parametrize(
    "triage",
    [
        a_triage(same_failure=[EARLIER]),
        SHOWN.model_copy(update={"measured": ["x"]}),
        a_triage(findings=[]),
        a_triage(same_failure=[EARLIER.model_copy(update={"id": "acme/core#3"})], findings=[]),
    ],
    ids=["beside-a-known-failure", "beside-a-measurement", "no-earlier-issue", "of-another-repository"],
)
def test_a_thumb_that_may_mean_something_else_is_no_vote_on_an_earlier_issue(triage: Triage) -> None:
    tables = Votes()
    assert note_thumbs(People(), triaged(ports_with(tables), triage), REF, [("ada", True, NOW)]) == 0  # type: ignore[arg-type]
    assert tables.kept == []


def test_a_thumb_without_a_triage_or_an_answer_of_github_waits() -> None:
    tables = Votes()
    ports = ports_with(tables)
    assert note_thumbs(People(), ports, REF, [("ada", True, NOW)]) == 0  # type: ignore[arg-type]
    github: Any = replace(People(), down=True)
    note_thumbs(github, triaged(ports, SHOWN), REF, [("ada", True, NOW)])
    assert tables.kept == [], "read again with the next sweep"
