"""What people said of labels, what it teaches, and what is suggested; without a database."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from bot.history.label_store import Labelled, Role, Vote
from bot.history.labels import LEAST_NEW, OwnLabels, counted, examples_of
from bot.history.records import LabelChange, Progress, RepoHistory
from knowledge.history.heads import Example, Family
from knowledge.history.record import Record
from knowledge.history.words import traits_of
from tests.knowledge.history.labelled import tracker
from tests.knowledge.history.tiny import made, post

OPENED = datetime(2025, 6, 1, tzinfo=UTC)
REPO = RepoHistory(1, "acme/train", 101, "words", Progress())


def traits(record: Record) -> Any:
    return traits_of(record.title, record.body, record.small, record.vectors)


def change(label: str, by: str, added: bool = True, hours: float = 1) -> LabelChange:
    return LabelChange(label, added, by, not by.endswith("[bot]"), OPENED + timedelta(hours=hours))


def vote(label: str, role: Role, agrees: bool, by: str = "", id: str = "1") -> Vote:
    return Vote(id, "label", label, by or role, role, agrees, OPENED)


def taught(*changes: LabelChange, votes: tuple[Vote, ...] = ()) -> Example | None:
    [record] = made([post("1", "Weekly report")])
    found = examples_of([Labelled("1", OPENED, traits(record), changes, votes)])
    return found[0] if found else None


def labels(*changes: LabelChange, votes: tuple[Vote, ...] = ()) -> set[str]:
    found = taught(*changes, votes=votes)
    assert found is not None
    return set(found.labels)


def test_only_what_was_said_before_a_moment_teaches() -> None:
    [record] = made([post("1", "Weekly report")])
    changes = (change("bug", "ada", hours=1), change("area: io", "eve", hours=48))
    issue = Labelled("1", OPENED, traits(record), changes, ())
    younger = replace(issue, id="2", opened=OPENED + timedelta(days=3))
    (found,) = examples_of([issue, younger], before=OPENED + timedelta(days=1))
    assert set(found.labels) == {"bug"}
    assert len(examples_of([issue, younger])) == 2


def test_the_newest_word_of_a_person_decides() -> None:
    assert labels(change("bug", "ada")) == {"bug"}
    assert labels(change("bug", "ada"), change("bug", "eve", added=False)) == set()


def test_what_a_bot_did_teaches_nothing() -> None:
    found = taught(change("bug", "ada"), change("stale", "x[bot]"))
    assert found is not None
    assert (found.labels, found.unsure) == ({"bug"}, {"stale"})
    assert taught(change("stale", "x[bot]")) is None
    assert taught() is None, "nobody said anything"


def test_a_label_that_came_with_the_issue_proves_nothing() -> None:
    found = taught(change("bug", "reporter", hours=0.001))
    assert found is not None
    assert (found.labels, found.given) == ({"bug"}, {"bug"})


def test_votes_speak_of_their_label_alone_and_weigh_by_role() -> None:
    found = taught(votes=(vote("bug", "other", True),))
    assert found is not None
    assert (found.labels, found.weight, found.judged) == ({"bug"}, 0.25, {"bug"})
    assert labels(change("bug", "ada"), votes=(vote("bug", "author", False),)) == {"bug"}
    assert labels(change("bug", "ada"), votes=(vote("bug", "maintainer", False),)) == set()
    undecided = (vote("bug", "author", True), vote("bug", "author", False, "eve"))
    assert taught(votes=undecided) is None


def test_a_maintainers_newest_vote_is_the_last_word() -> None:
    many = [vote("bug", "other", False, f"u{n}") for n in range(9)]
    assert counted([vote("bug", "maintainer", True), *many]) == 1
    assert counted([vote("bug", "maintainer", True), vote("bug", "maintainer", False)]) == -1
    assert counted(many[:3]) == -0.75


class Tables:
    """What is kept of a history's labels, in memory."""

    def __init__(self) -> None:
        self.corrected: list[Any] = []
        self.kept: list[Vote] = []
        self.heads: list[Family] = []
        self.times_read = 0
        self.learned_from = 0

    def labelled(self, repo: int) -> list[Labelled]:
        rows = tracker(240)
        return [
            Labelled(one.id, one.opened, traits(record), (change(label, "ada", hours=24 * 400),), ())
            for record, (one, label) in zip(made([one for one, _ in rows]), rows, strict=True)
        ]

    def slack_corrections(self) -> list[Any]:
        return self.corrected

    def save_vote(self, repo: int, one: Vote) -> None:
        self.kept.append(one)

    def votes(self, repo: int, kind: str, ids: list[str]) -> list[Vote]:
        return [one for one in self.kept if one.kind == kind and one.id in ids]

    def families(self, repo: int) -> list[Family]:
        self.times_read += 1
        return self.heads

    def save_heads(self, repo: int, heads: list[Family], facts: int) -> bool:
        self.heads, self.learned_from = heads, facts
        return True

    def facts(self, repo: int) -> int:
        return 240

    def taught(self) -> list[tuple[int, int]]:
        return [(1, self.learned_from)]


@pytest.fixture(scope="module")
def learned() -> Tables:
    tables = Tables()
    assert OwnLabels(tables).learn_what_is_due() == 1  # type: ignore[arg-type]
    return tables


BUG = "The parser crashes with a null pointer"
BODY = "Hello all.\nNow the parser dies with an error each night."


def suggested(own: OwnLabels, title: str = BUG, body: str = BODY, heads: int = 1) -> list[Any]:
    [record] = made([post("999", title, body)])
    return own.suggested(replace(REPO, heads=heads), record, title, body)


def test_a_report_like_others_gets_their_label_and_the_line_that_decided(learned: Tables) -> None:
    [one] = suggested(OwnLabels(learned))  # type: ignore[arg-type]
    assert (one.label, one.rivals) == ("bug", ["feature", "question"])
    assert one.line in (0, 2) and one.text == (BUG, "", BODY.splitlines()[1])[one.line]


def test_what_a_maintainer_denied_is_not_suggested(learned: Tables) -> None:
    tables = Tables()
    tables.heads = learned.heads
    own = OwnLabels(tables)  # type: ignore[arg-type]
    tables.save_vote(1, vote("bug", "maintainer", False, id="999"))
    assert suggested(own) == []


def test_heads_are_read_once_for_each_learning(learned: Tables) -> None:
    tables = Tables()
    tables.heads = learned.heads
    own = OwnLabels(tables)  # type: ignore[arg-type]
    assert suggested(own, heads=0) == [], "nothing was learned yet"
    assert suggested(own) and suggested(own)
    assert tables.times_read == 1
    suggested(own, heads=2)
    assert tables.times_read == 2


def test_heads_are_learned_again_when_people_said_enough(learned: Tables) -> None:
    tables = Tables()
    own = OwnLabels(tables)  # type: ignore[arg-type]
    tables.learned_from = 240 - LEAST_NEW + 1
    assert own.learn_what_is_due() == 0
    tables.learned_from = 240 - LEAST_NEW
    assert own.learn_what_is_due() == 1
    assert tables.learned_from == 240


def test_corrections_from_slack_are_votes_of_others_on_the_labels_of_their_axes() -> None:
    tables = Tables()
    told = SimpleNamespace(
        repo=1,
        repo_id=101,
        full_name="acme/train",
        id="7",
        given={"type": ("fault",)},
        by="U1",
        same="",
        at=OPENED,
    )
    tables.corrected = [told]
    own = OwnLabels(tables, lambda repo_id, given: {"bug": True, "idea": False})  # type: ignore[arg-type]
    own.read_slack()
    assert [(v.id, v.subject, v.by, v.role, v.agrees) for v in tables.kept] == [
        ("7", "bug", "slack:U1", "other", True),
        ("7", "idea", "slack:U1", "other", False),
    ]
    tables.kept.clear()
    told.given = {}
    own = OwnLabels(tables)  # type: ignore[arg-type]
    for told.same in ("7", "acme/other#3", "Acme/train#3"):
        own.read_slack()
    assert [(v.id, v.kind, v.subject, v.role, v.agrees) for v in tables.kept] == [
        ("7", "same", "3", "other", True)
    ]


def test_what_was_said_of_an_earlier_issue_is_counted_by_its_id() -> None:
    tables = Tables()
    tables.kept = [Vote("7", "same", "3", "eve", "author", True, OPENED)]
    own = OwnLabels(tables)  # type: ignore[arg-type]
    assert own.said(1, "7") == {"3": 0.5}
    assert own.said(1, "8") == {}
