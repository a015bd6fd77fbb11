"""A repository's own labels, from a back-fill through PostgreSQL to what is set on the next issue."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from psycopg.types.json import Jsonb

from bot.db.connect import SyncPool, sync_pool
from bot.github.handler import disliked_comments, process
from bot.github.payload import storable
from bot.github.ports import Delivery
from bot.github.repo_config import RepoConfig
from bot.github.votes import correction_votes
from bot.history.backfill import Export, fill
from bot.history.label_store import LabelTables, Role, Vote
from bot.history.labels import LEAST_NEW, OwnLabels, counted, examples_of, verdicts
from bot.history.records import LabelChange
from bot.history.replay.labels import labels_summary
from bot.history.replay.summary import replayed
from bot.history.search import Histories
from bot.history.store import PostgresHistory
from tests.bot.fake_core import FakeCore, a_triage
from tests.bot.fake_github import BOT, FakeIssue, user
from tests.bot.history.fake_past import FakePast, at, labeled, node, who
from tests.bot.history.memory_history import TinyRecorder
from tests.bot.history.test_github_past import reader
from tests.bot.history.test_same_failure import silent
from tests.bot.service.databases import fresh_database
from tests.bot.world import REPO, World
from tests.knowledge.history.labelled import tracker

NOW = datetime(2026, 1, 2, tzinfo=UTC)
RULES = "mode: label\nown_labels: {}\n"
_numbers = count(1001)


def past_issues(number: int = 240) -> FakePast:
    """Issues that ada labelled a day after they were opened; a bot set "stale" on all."""
    return FakePast(
        [
            node(
                int(post.id),
                post.title,
                post.body,
                events=[
                    labeled(label, who("ada"), int(post.id) + 1),
                    labeled("stale", who("stale", "Bot"), int(post.id) + 2),
                ],
            )
            for post, label in tracker(number)
        ]
    )


@pytest.fixture(scope="module")
def filled(server_url: str) -> Iterator[SyncPool]:
    """A database with the history of acme/train, and heads learned from it."""
    with fresh_database(server_url) as url, sync_pool(url, 4) as pool:
        fill_history(pool)
        assert OwnLabels(LabelTables(pool)).learn_what_is_due() == 1
        yield pool


def fill_history(pool: SyncPool, repo_id: int = 1) -> int:
    store = PostgresHistory(pool)
    repo = store.begin(REPO, "words", repo_id, 1)
    fill(store, repo, reader(past_issues()), TinyRecorder())
    return repo.key


class Bench(World):
    """A world whose repository has labels of its own and a history of them."""

    own: OwnLabels
    histories: Histories
    key: int

    def report(self, title: str = "", body: str = "") -> FakeIssue:
        number = next(_numbers)
        # Reports that differ by a number only are a series, not repeats.
        title = title or f"The parser crashes with a null pointer in step {number}"
        text = body or "It worked before. Now the parser dies with an error each night."
        issue = FakeIssue(number, title, text, user("reporter"), created_at=datetime(2025, 6, 1, tzinfo=UTC))
        self.repo.issues[number] = issue
        return issue

    def suggested(self) -> list[str]:
        return [one.label for one in self.store.triages[-1].triage.own_labels]

    def labeled(self, issue: FakeIssue, name: str, by: str, action: str = "labeled") -> None:
        self.deliver("issues", self.fake.payload(REPO, issue, action, label={"name": name}, sender=user(by)))

    def vote(self, issue: FakeIssue, kind: Any, subject: str, by: str, role: Role, agrees: bool) -> None:
        vote = Vote(str(issue.number), kind, subject, by, role, agrees, self.clock.now())
        self.own.tables.save_vote(self.key, vote)


def bench_on(world: World, pool: SyncPool) -> Bench:
    own = OwnLabels(LabelTables(pool))
    store = PostgresHistory(pool)
    histories = Histories(store, TinyRecorder(), said=own.said)
    ports = replace(world.ports, histories=histories, own_labels=own, core=FakeCore(silent))
    bench = Bench(world.fake, world.store, world.clock, FakeCore(silent), ports)
    bench.own, bench.histories = own, histories
    bench.repo.labels += ["bug", "feature", "question", "stale", "needs-info"]
    bench.repo.permissions["ada"] = "write"
    found = store.find(REPO)
    assert found is not None
    bench.key = (
        store.begin(REPO, "words", bench.repo.id, 1).key if found.repo_id == bench.repo.id else found.key
    )
    bench.configure(RULES)
    return bench


@pytest.fixture
def bench(world: World, filled: SyncPool) -> Bench:
    with filled.connection() as connection:
        connection.execute("UPDATE history_repos SET repo_id = %s", (world.repo.id,))
    return bench_on(world, filled)


def test_a_new_issue_gets_the_label_that_people_set_on_such_issues(bench: Bench) -> None:
    issue = bench.report()
    outcome = bench.opened(issue)
    assert (outcome.kind, outcome.labels_added, issue.labels) == ("written", ("bug",), ["bug"])
    assert bench.ours(issue) == [], "a label is no reason for a comment"
    [one] = bench.store.triages[-1].triage.own_labels
    assert one.right >= 0.9 * one.tested > 0 and one.rivals == ["feature", "question"]


def test_the_line_that_decided_is_kept_with_it_and_redacted(bench: Bench) -> None:
    body = (
        "Hello all\nWe use it in three teams.\nNow it dies with an error each night, token ghp_" + "a1B2" * 9
    )
    bench.opened(bench.report("Weekly report", body))
    [one] = bench.store.triages[-1].triage.own_labels
    assert (one.label, one.line) == ("bug", 3)
    assert one.text.startswith("Now it dies with an error") and "ghp_" not in one.text


@pytest.mark.parametrize(
    ("config", "set_", "would"),
    [
        ("mode: shadow\nown_labels: {}\n", [], ("bug",)),
        ("mode: comment\nown_labels: {}\n", [], ("bug",)),
        ("mode: label\n", [], ()),
        ("mode: both\nown_labels: {}\n", ["bug"], ("bug",)),
        ("mode: label\nown_labels: {only: [feature]}\n", [], ()),
        ("mode: label\nown_labels: {only: ['B*']}\n", ["bug"], ("bug",)),
        ("mode: label\nown_labels: {never: [Bug]}\n", [], ()),
        ("mode: label\nlabels: {type: {howto: bug}}\nown_labels: {}\n", [], ()),
    ],
)
def test_the_mode_and_the_rules_of_the_repository_hold(
    bench: Bench, config: str, set_: list[str], would: tuple[str, ...]
) -> None:
    bench.configure(config)
    issue = bench.report()
    bench.opened(issue)
    assert bench.suggested() == ["bug"], "maintainers see it on the page in any case"
    assert issue.labels == set_
    assert bench.store.triages[-1].would_label[-1:] == would
    assert bench.fake.writes() == [] or set_


def test_of_a_group_that_excludes_others_the_one_on_the_issue_stays(bench: Bench) -> None:
    bench.configure("mode: label\nown_labels: {exclusive: [['sub-*', bug]]}\n")
    issue = bench.report()
    issue.labels.append("sub-ranks")
    bench.opened(issue)
    assert issue.labels == ["sub-ranks"]


def test_a_label_that_people_do_not_set_beside_another_is_not_set_beside_it(bench: Bench) -> None:
    issue = bench.report()
    issue.labels.append("feature")
    bench.opened(issue)
    assert (bench.suggested(), issue.labels) == (["bug"], ["feature"])


def test_a_label_that_a_person_removed_is_not_set_again(bench: Bench) -> None:
    issue = bench.report()
    bench.opened(issue)
    issue.labels.remove("bug")
    issue.events.append(("unlabeled", "bug", "ada"))
    issue.body += "\nStill there."
    bench.opened(issue, "edited")
    assert issue.labels == []


def test_a_label_that_the_repository_no_longer_has_is_not_created(bench: Bench) -> None:
    bench.configure(RULES + "create_labels: true\n")
    bench.repo.labels.remove("bug")
    issue = bench.report()
    bench.opened(issue)
    assert (issue.labels, "bug" in bench.repo.labels) == ([], False)


def test_a_label_of_bots_alone_is_never_learned(bench: Bench) -> None:
    [family] = bench.own.tables.families(bench.key)
    assert family.labels == {"bug", "feature", "question"}


def test_labels_by_webhook_are_kept_and_whose_they_are(bench: Bench) -> None:
    before = bench.own.tables.facts(bench.key)
    issue = bench.report("Something else entirely", "Nothing that anybody would know.")
    bench.labeled(issue, "question", "reporter")
    bench.opened(issue)
    bench.labeled(issue, "bug", "ada")
    bench.labeled(issue, "stale", "stale[bot]")
    bench.labeled(issue, "feature", BOT)
    changes = bench.histories.store.issues(bench.key, [str(issue.number)])[str(issue.number)].labels
    kept = {(c.label, c.by_person) for c in changes or ()}
    assert kept == {("question", True), ("bug", True), ("stale", False), ("feature", False)}
    assert bench.own.tables.facts(bench.key) == before + 2


def test_a_label_is_as_old_as_its_webhook_and_is_kept_once(bench: Bench) -> None:
    issue = bench.report("Something else entirely", "Nothing that anybody would know.")
    bench.opened(issue)
    payload = bench.fake.payload(REPO, issue, "labeled", label={"name": "bug"}, sender=user("reporter"))
    received = bench.clock.now()
    for _ in range(2):
        bench.clock.forward(120)
        process(
            Delivery("d-late", "issues", "labeled", storable(payload, keep_text=False), received), bench.ports
        )
    kept = bench.histories.store.issues(bench.key, [str(issue.number)])[str(issue.number)].labels
    assert [(c.label, c.at) for c in kept or ()] == [("bug", received)]


def test_heads_come_back_from_the_database_as_they_were(bench: Bench, filled: SyncPool) -> None:
    families = bench.own.tables.families(bench.key)
    assert bench.own.tables.save_heads(bench.key, families, bench.own.tables.facts(bench.key))
    [one], [other] = families, bench.own.tables.families(bench.key)
    assert (one.rest, one.through) == (other.rest, other.through) and one.through is not None
    for head, again in zip(one.heads, other.heads, strict=True):
        assert (head.label, head.line, head.threshold, head.tested) == (
            again.label,
            again.line,
            again.threshold,
            again.tested,
        )
        assert head.weights.tolist() == again.weights.tolist() and head.at.tolist() == again.at.tolist()
    for name, known in one.vocabulary.buckets.items():
        assert known.tolist() == other.vocabulary.buckets[name].tolist()
    with filled.connection() as connection:
        types = connection.execute(
            "SELECT pg_typeof(at)::text, pg_typeof(weights)::text FROM label_heads LIMIT 1"
        ).fetchone()
    assert types == ("integer[]", "real[]")
    assert not bench.own.tables.save_heads(999, families, 1), "of a history that was deleted meanwhile"


def test_heads_are_learned_again_once_people_said_enough_and_used_without_a_restart(
    world: World, database: str
) -> None:
    with sync_pool(database, 4) as pool:
        key = fill_history(pool, world.repo.id)
        bench = bench_on(world, pool)
        issue = bench.report()
        bench.opened(issue)
        assert bench.suggested() == [], "nothing learned yet"
        worker = OwnLabels(LabelTables(pool))
        assert worker.learn_what_is_due() == 1
        assert worker.learn_what_is_due() == 0
        issue.body += "\nStill there."
        bench.opened(issue, "edited")
        assert bench.suggested() == ["bug"]
        # From now on ada calls such issues "defect".
        for n in range(1, 241):
            if "crashes" in tracker(240)[n - 1][0].title:
                for label, added in (("bug", False), ("defect", True)):
                    change = LabelChange(label, added, "ada", True, NOW + timedelta(seconds=added))
                    bench.own.tables.save_label(key, str(n), change)
        assert worker.learn_what_is_due() == 1
        issue.body += "\nAnd again."
        bench.opened(issue, "edited")
        assert bench.suggested() == ["defect"]
        assert LEAST_NEW < 50


def test_a_maintainers_word_on_an_issue_is_the_last(bench: Bench) -> None:
    issue = bench.report()
    bench.vote(issue, "label", "bug", "ada", "maintainer", False)
    for n in range(9):
        bench.vote(issue, "label", "bug", f"user{n}", "other", True)
    bench.opened(issue)
    assert (bench.suggested(), issue.labels) == ([], [])


def test_votes_weigh_by_role() -> None:
    def cast(*votes: tuple[Role, bool]) -> float:
        return counted(
            [Vote("1", "same", "2", f"u{n}", role, agrees, NOW) for n, (role, agrees) in enumerate(votes)]
        )

    assert cast(("other", True), ("other", True), ("other", True)) < 1
    assert cast(("author", True), ("other", True), ("other", True)) == 1
    assert cast(("maintainer", True), *[("other", False)] * 9) == 1
    assert cast(("maintainer", True), ("maintainer", False)) == -1
    assert cast(("author", True), ("author", False)) == 0


def test_what_an_issue_teaches_follows_from_who_did_what(bench: Bench) -> None:
    tables, day = bench.own.tables, datetime(2025, 6, 2, tzinfo=UTC)

    def taught(*changes: tuple[str, bool, str], votes: tuple[tuple[str, Role, bool], ...] = ()) -> Any:
        issue = bench.report("Weekly report", "Nothing to tell of the team or of anything else.")
        bench.opened(issue)
        for n, (label, added, by) in enumerate(changes):
            change = LabelChange(label, added, by, not by.endswith("[bot]"), day + timedelta(hours=n))
            tables.save_label(bench.key, str(issue.number), change)
        for label, role, agrees in votes:
            bench.vote(issue, "label", label, role, role, agrees)
        found = [one for one in examples_of(tables.labelled(bench.key)) if one.id == str(issue.number)]
        return found[0] if found else None

    assert taught(("bug", True, "ada")).labels == {"bug"}
    assert taught(("bug", True, "ada"), ("bug", False, "eve")).labels == set()
    by_bot = taught(("bug", True, "ada"), ("stale", True, "x[bot]"))
    assert (by_bot.labels, by_bot.unsure) == ({"bug"}, {"stale"})
    assert taught(("stale", True, "x[bot]")) is None
    removed = taught(("bug", True, "x[bot]"), ("bug", False, "ada"))
    assert not removed.labels and removed.tells("bug")
    voted = taught(votes=(("bug", "other", True),))
    assert (voted.labels, voted.weight, voted.tells("feature")) == ({"bug"}, 0.25, False)
    kept = taught(("bug", True, "ada"), votes=(("bug", "author", False),))
    assert kept.labels == {"bug"}, "less than a maintainer's word changes nothing"
    assert taught(("bug", True, "ada"), votes=(("bug", "maintainer", False),)).labels == set()


def test_a_label_set_with_the_issue_proves_nothing(bench: Bench) -> None:
    issue = bench.report("Weekly report", "Nothing to tell of the team or of anything else.")
    bench.opened(issue)
    opened = LabelChange("bug", True, "reporter", True, issue.created_at + timedelta(seconds=2))
    bench.own.tables.save_label(bench.key, str(issue.number), opened)
    [one] = [e for e in examples_of(bench.own.tables.labelled(bench.key)) if e.id == str(issue.number)]
    assert (one.labels, one.given) == ({"bug"}, {"bug"})


def test_a_correction_by_command_speaks_of_the_labels_of_its_axis(bench: Bench) -> None:
    bench.configure("mode: label\nlabels: {type: {fault: bug, feature: feature}}\nown_labels: {}\n")
    issue = bench.report("Weekly report", "Nothing to tell of the team or of anything else.")
    bench.opened(issue)
    bench.say(issue, "ada", "/triage type=feature")
    votes = bench.own.tables.votes(bench.key, "label", [str(issue.number)])
    assert {(v.subject, v.agrees, v.role) for v in votes} == {
        ("bug", False, "maintainer"),
        ("feature", True, "maintainer"),
    }
    assert correction_votes({"stage": ["A"]}, RepoConfig()) == {}


def test_slacks_corrections_teach_where_the_text_links_to_an_issue(bench: Bench, filled: SyncPool) -> None:
    issue = bench.report("Weekly report", "Nothing to tell of the team or of anything else.")
    bench.opened(issue)
    with filled.connection() as connection:
        for n, (name, number) in enumerate(
            [(REPO, issue.number), ("acme/other", issue.number), (REPO, 999_999)]
        ):
            connection.execute(
                "INSERT INTO slack_corrections VALUES (%s, 'T1', 't', 'U1', %s, %s, now())",
                (
                    f"d{n}",
                    Jsonb({"type": ["fault"]}),
                    f"Look at https://github.com/{name}/issues/{number} please",
                ),
            )
    own = OwnLabels(bench.own.tables, lambda repo_id, given: {"bug": given["type"] == ["fault"]})
    own.learn_what_is_due()
    votes = {v.id: v for v in bench.own.tables.votes(bench.key, "label") if v.by == "slack:U1"}
    assert set(votes) == {str(issue.number), "999999"}
    assert (votes[str(issue.number)].subject, votes[str(issue.number)].role) == ("bug", "other")


def slack_correction(
    pool: SyncPool, id: str, body: str, same: str = "", by: str = "U1", **given: Any
) -> None:
    with pool.connection() as connection:
        connection.execute(
            "INSERT INTO slack_corrections VALUES (%s, 'T1', 't', %s, %s, %s, now(), %s)",
            (id, by, Jsonb(given), body, same),
        )


def test_slacks_corrections_alone_have_heads_learned_again(world: World, database: str) -> None:
    with sync_pool(database, 4) as pool:
        key = fill_history(pool, world.repo.id)
        own = OwnLabels(LabelTables(pool), lambda repo_id, given: {"bug": True})
        assert (own.learn_what_is_due(), own.learn_what_is_due()) == (1, 0)
        for n in range(LEAST_NEW + 1):
            text = f"as in https://github.com/{REPO}/issues/{n + 1} and acme/other#3"
            slack_correction(pool, f"many{n}", text, type=["fault"])
        assert (own.learn_what_is_due(), own.learn_what_is_due()) == (1, 0)
        assert len(own.tables.votes(key, "label")) == LEAST_NEW + 1


def test_four_people_in_slack_say_that_two_issues_are_the_same(bench: Bench, filled: SyncPool) -> None:
    first, again = copies(bench, "heron")
    slack_correction(filled, "of-another", f"{REPO}#{again.number}", f"acme/other#{first.number}")
    slack_correction(filled, "itself", f"{REPO}#{again.number}", str(again.number))
    for n in range(3):
        named = f"{REPO.title()}#{first.number}" if n else str(first.number)
        slack_correction(filled, f"same{n}", f"we see {REPO}#{again.number}", named, by=f"U{n}")
    bench.own.read_slack()
    number = str(again.number)
    assert bench.own.said(bench.key, number) == {str(first.number): 0.75}, "less than a maintainer's word"
    slack_correction(filled, "same3", f"we see {REPO}#{number}", str(first.number), by="U3")
    bench.own.read_slack()
    bench.own.read_slack()
    assert bench.own.said(bench.key, number) == {str(first.number): 1.0}
    repo = bench.histories.store.find(REPO)
    assert repo is not None
    said = verdicts(bench.own.tables.votes(bench.key, "same"))
    found = {one.record.id: one for one in replayed(bench.histories.store, repo, said)}[number]
    marked = dict(zip([near.record.id for near in found.near], found.marked, strict=True))
    assert marked[str(first.number)], "a mark for the threshold"


def shown(bench: Bench) -> list[str]:
    return [one.id.rpartition("#")[2] for one in bench.store.triages[-1].triage.same_failure]


ERROR = (
    "```\nTraceback (most recent call last):\n  File 'a.py', line 3, in run\n    go()\n"
    "RuntimeError: the {what} broker refused frame {what} twice\n```"
)


def copies(bench: Bench, what: str) -> tuple[FakeIssue, FakeIssue]:
    """Two issues of which the second is the first, posted again."""
    bench.configure("mode: comment\nown_labels: {}\n")
    first, again = (bench.report(f"The {what} broker", ERROR.format(what=what)) for _ in range(2))
    bench.opened(first)
    again.created_at += timedelta(days=1)
    bench.opened(again)
    assert shown(bench) == [str(first.number)]
    return first, again


def test_a_maintainer_says_by_command_that_two_issues_are_not_the_same(bench: Bench) -> None:
    first, again = copies(bench, "zebra")
    bench.say(again, "ada", f"/triage different #{first.number}")
    assert shown(bench) == []
    bench.say(again, "ada", f"/triage same {first.number}")
    assert shown(bench) == [str(first.number)]
    assert bench.say(again, "stranger", f"/triage different #{first.number}").reason == "no_right"
    assert bench.say(again, "ada", "/triage same that one").reason == "no_number"


def test_what_a_maintainer_calls_the_same_is_shown_however_unlike_it_is(bench: Bench) -> None:
    issue = bench.report("Monthly digest", "Nobody wrote anything to hand on.")
    bench.opened(issue)
    assert shown(bench) == []
    bench.say(issue, "ada", "/triage same #12")
    assert shown(bench) == ["12"]


def test_thumbs_are_votes_on_the_earlier_issue_by_role(bench: Bench) -> None:
    first, again = copies(bench, "walrus")
    [comment] = bench.ours(again)
    comment.reactions += [("ada", "+1"), ("reporter", "-1"), ("eve", "+1"), (BOT, "+1"), ("eve", "eyes")]
    list(disliked_comments(bench.ports, timedelta(days=900)))
    votes = bench.own.tables.votes(bench.key, "same", [str(again.number)])
    assert {(v.by, v.role, v.agrees, v.subject) for v in votes} == {
        ("ada", "maintainer", True, str(first.number)),
        ("reporter", "author", False, str(first.number)),
        ("eve", "other", True, str(first.number)),
    }
    asked = len(bench.fake.requests)
    list(disliked_comments(bench.ports, timedelta(days=900)))
    assert not any("permission" in path for _, path in bench.fake.requests[asked:]), (
        "nobody is asked of twice"
    )


def test_a_thumb_does_not_take_back_what_its_giver_said_later(bench: Bench) -> None:
    first, again = copies(bench, "narwhal")
    [comment] = bench.ours(again)
    comment.reactions.append(("ada", "+1"))
    list(disliked_comments(bench.ports, timedelta(days=900)))
    assert bench.own.said(bench.key, str(again.number)) == {str(first.number): 1.0}
    bench.vote(again, "same", str(first.number), "ada", "maintainer", False)
    list(disliked_comments(bench.ports, timedelta(days=900)))
    assert bench.own.said(bench.key, str(again.number)) == {str(first.number): -1.0}


def test_votes_enter_what_the_threshold_is_fitted_to(bench: Bench) -> None:
    first, again = copies(bench, "okapi")
    repo = bench.histories.store.find(REPO)
    assert repo is not None

    one, other = str(first.number), str(again.number)

    def marked(said: dict[str, dict[str, float]]) -> bool:
        [found] = [r for r in replayed(bench.histories.store, repo, said) if r.record.id == other]
        return dict(zip([near.record.id for near in found.near], found.marked, strict=True))[one]

    assert not marked({other: {one: 0.75}})
    assert marked({other: {one: 1}})
    assert not marked({one: {other: 1}, other: {one: -1}}), "the word on the very pair counts"


def test_replay_says_what_to_switch_on(bench: Bench) -> None:
    repo = bench.histories.store.find(REPO)
    assert repo is not None
    found = labels_summary(bench.own.tables.labelled(bench.key))
    assert found.only.startswith('["bug", "')
    assert "stale" not in {row.label for row in found.rows}
    assert "Nothing to learn" in labels_summary([]).sentences[0]


def test_an_exports_labels_are_those_of_people(database: str, tmp_path: Path) -> None:
    export = tmp_path / "export.jsonl"
    lines = [
        {"id": p.id, "opened": at(int(p.id)), "title": p.title, "body": p.body, "labels": [label, label]}
        for p, label in tracker(40)
    ]
    export.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with sync_pool(database, 1) as pool:
        store = PostgresHistory(pool)
        repo = store.begin(REPO, "words", None, None)
        fill(store, repo, Export(export, REPO), TinyRecorder())
        found = examples_of(LabelTables(pool).labelled(repo.key))
    assert [one.labels for one in found] == [{label} for _, label in tracker(40)]
    assert not any(one.given for one in found)


def test_everything_goes_with_the_history(world: World, database: str) -> None:
    with sync_pool(database, 4) as pool:
        key = fill_history(pool, world.repo.id)
        own = OwnLabels(LabelTables(pool))
        own.learn(key)
        own.tables.save_vote(key, Vote("1", "label", "bug", "ada", "maintainer", True, NOW))
        PostgresHistory(pool).forget([world.repo.id])
        with pool.connection() as connection:
            for table in ("label_heads", "label_vocabularies", "history_votes", "history_labels"):
                assert connection.execute(f"SELECT count(*) FROM {table}".encode()).fetchone() == (0,)
        own.tables.save_vote(key, Vote("1", "label", "bug", "ada", "maintainer", True, NOW))


def test_a_triage_without_a_history_has_no_labels(world: World) -> None:
    assert a_triage().own_labels == []
    issue = world.issue()
    world.opened(issue)
    assert world.store.triages[-1].triage.own_labels == []
