"""Waves: a burst against the repository's own rate opens one, more reports grow it, a quiet week ends it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from bot.db.connect import SyncPool, sync_pool
from bot.history.records import KeptIssue, Outcome, PastIssue
from bot.history.search import still_open
from bot.history.store import PostgresHistory
from bot.history.wave_store import WaveTables
from bot.history.waves import Noted, Rate, Wave, at_least, follow, in_common, sentences, unusual
from knowledge.history.record import Post
from tests.bot.fake_core import a_finding, a_triage
from tests.bot.world import REPO, World
from tests.knowledge.history.tiny import AGAIN, made

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
HANG = "failure:nccl-watchdog-timeout"
OOM = "signature:cuda-out-of-memory"
LEAST = 4


@pytest.fixture
def pool(database: str) -> Iterator[SyncPool]:
    with sync_pool(database, 2) as pool:
        yield pool


def report(number: int, days: float = 0.5, **more: Any) -> Noted:
    """A report opened so many days before NOW, each by somebody else."""
    values: dict[str, Any] = {
        "installation_id": 7,
        "repo_id": 700,
        "repo_name": "octo/train",
        "author": f"user{number}",
        "title": f"Report {number}",
        "keys": (HANG,),
        "versions": {"torch": "2.6.0"},
    }
    return Noted(**{**values, "number": number, "opened": NOW - timedelta(days=days), **more})


def noted(pool: SyncPool, *reports: Noted, same: tuple[int, ...] = ()) -> WaveTables:
    tables = WaveTables(pool)
    for one in reports:
        tables.note(one, same, None)
    return tables


def usual(pool: SyncPool, count: int = 60, **more: Any) -> None:
    """Reports of all kinds, spread over the three months before."""
    noted(pool, *(report(1000 + n, 4 + n * 80 / count, **{"keys": (), **more}) for n in range(count)))


def running(tables: WaveTables) -> list[tuple[tuple[str, ...], list[int]]]:
    return [(w.keys, [r.number for r in tables.reports(w)]) for w in tables.waves(running=True)]


def test_the_tail_of_the_poisson_distribution() -> None:
    assert at_least(0, 2.0) == pytest.approx(1.0)
    assert at_least(3, 1.0) == pytest.approx(1 - 2.5 * 0.36787944, rel=1e-6)
    assert at_least(40, 100.0) == pytest.approx(1.0, abs=1e-6)


def test_what_is_usual_for_a_repository_is_no_wave() -> None:
    rare, daily = Rate(0, 300, 90), Rate(90, 300, 90)
    assert unusual(4, 10, rare)
    assert not unusual(4, 10, daily) and unusual(16, 26, daily)
    assert not unusual(40, 40, Rate(0, 4, 5)), "of a repository that little is known of nothing is unusual"
    assert not unusual(6, 60, Rate(9, 90, 90)), "more reports of all kinds are more of each kind"


def test_a_burst_opens_one_wave_and_the_same_again_opens_no_other(pool: SyncPool) -> None:
    usual(pool)
    tables = noted(pool, *(report(n, keys=(HANG, "signature:nccl-timeout")) for n in range(1, 6)))
    for _ in range(2):
        follow(tables, LEAST, NOW)
        [(keys, numbers)] = running(tables)
        assert keys == (HANG, "signature:nccl-timeout")
        assert numbers == [1, 2, 3, 4, 5]


def test_a_burst_of_what_always_comes_is_no_wave(pool: SyncPool) -> None:
    usual(pool, keys=(OOM,))
    tables = noted(pool, *(report(n, keys=(OOM,)) for n in range(1, 6)))
    follow(tables, LEAST, NOW)
    assert running(tables) == []


def test_one_person_makes_no_wave(pool: SyncPool) -> None:
    usual(pool)
    tables = noted(pool, *(report(n, author="ada") for n in range(1, 9)))
    follow(tables, LEAST, NOW)
    assert running(tables) == []


def test_the_rate_is_counted_over_the_history_too(pool: SyncPool) -> None:
    usual(pool)
    history = PostgresHistory(pool)
    kept = history.begin("octo/train", "words", 700, 7)
    [record] = made([AGAIN])
    past = [
        replace(record, id=str(n), opened=NOW - timedelta(days=5 + n), failures=("nccl-watchdog-timeout",))
        for n in range(70)
    ]
    history.save_page(kept.key, [KeptIssue(r.id, "t", "", "h", r.opened, still_open(), r) for r in past])
    tables = noted(pool, *(report(n) for n in range(1, 6)))
    follow(tables, LEAST, NOW)
    assert running(tables) == []


def test_reports_of_one_earlier_report_are_a_wave_without_a_known_failure(pool: SyncPool) -> None:
    usual(pool)
    tables = noted(pool, report(3, 30, keys=()))
    noted(pool, *(report(n, keys=()) for n in (11, 12)), same=(3,))
    noted(pool, *(report(n, keys=()) for n in (13, 14)), same=(12, 3))
    follow(tables, LEAST, NOW)
    assert running(tables) == [(("same:3",), [11, 12, 13, 14])]


def test_two_failures_are_two_waves_and_two_repositories_as_well(pool: SyncPool) -> None:
    usual(pool)
    usual(pool, repo_id=800)
    tables = noted(pool, *(report(n) for n in range(1, 6)), *(report(n, keys=(OOM,)) for n in range(11, 16)))
    noted(pool, *(report(n, repo_id=800) for n in range(1, 6)))
    follow(tables, LEAST, NOW)
    assert sorted(keys for keys, _ in running(tables)) == [(HANG,), (HANG,), (OOM,)]


def test_it_grows_ends_after_a_quiet_week_and_stays_as_it_was(pool: SyncPool) -> None:
    usual(pool)
    tables = noted(pool, *(report(n) for n in range(1, 6)))
    follow(tables, LEAST, NOW)
    noted(pool, report(6, -4))
    follow(tables, LEAST, NOW + timedelta(days=5))
    [(_, numbers)] = running(tables)
    assert numbers[-1] == 6
    follow(tables, LEAST, NOW + timedelta(days=12))
    assert running(tables) == []
    noted(pool, report(7, -13))
    follow(tables, LEAST, NOW + timedelta(days=14))
    [ended] = tables.waves(running=False)
    assert ended.ended_at is not None
    assert [r.number for r in tables.reports(ended)] == [1, 2, 3, 4, 5, 6], "what comes later is not of it"


def test_what_they_share_is_computed_and_said(pool: SyncPool) -> None:
    usual(pool, versions={"torch": "2.5.1"})
    noted(pool, report(900, 5, keys=(), versions={"torch": "2.6.0"}))
    versions = [{"torch": "2.6.0", "nccl": "2.25.1"}, {"torch": "2.6.0", "nccl": "2.25.3"}] * 2
    tables = noted(
        pool,
        *(
            report(n, days=2.5 - n / 2, versions=of, launcher="torchrun" if n < 4 else "")
            for n, of in enumerate([*versions, {"torch": "2.6.0"}], 1)
        ),
    )
    follow(tables, LEAST, NOW)
    [wave] = tables.waves(running=True)
    assert sentences(wave, tables.reports(wave)) == [
        "All torch 2.6.0; nccl 2.25 in 4 of 5; launcher torchrun in 3 of 5.",
        "None in the 90 days before.",
        "First seen 3 days after the first report on torch 2.6.0.",
    ]


def test_versions_that_differ_are_not_shared() -> None:
    assert in_common([report(1), report(2, versions={"torch": "1.13"}), report(3, versions={})]) == []


def test_a_deleted_report_and_a_removed_app_leave_nothing(pool: SyncPool) -> None:
    usual(pool)
    tables = noted(pool, *(report(n) for n in range(1, 6)))
    follow(tables, LEAST, NOW)
    tables.drop(700, 3)
    assert running(tables)[0][1] == [1, 2, 4, 5]
    tables.forget([], 7)
    assert tables.waves(running=False) == []
    with pool.connection() as connection:
        assert connection.execute("SELECT count(*) FROM noted_reports").fetchone() == (0,)


def test_what_a_back_fill_reads_waits_for_somebody_and_is_in_no_wave(pool: SyncPool) -> None:
    history = PostgresHistory(pool)
    history.begin("octo/train", "words", 700, 7)
    tables = noted(pool, report(9, 1))

    def read(number: int, days: float, author: str = "", **more: Any) -> PastIssue:
        post = Post(str(number), "It hangs", "", NOW - timedelta(days=days))
        outcome = Outcome(False, "closed", closed_at=NOW) if more.pop("closed", False) else still_open()
        return PastIssue(post, outcome, author=author or f"user{number}", **more)

    issues = [read(n, 1) for n in range(1, 7)]
    issues += [
        read(7, 1, closed=True),
        read(8, 100),
        read(9, 1, answered_at=NOW),
        replace(read(10, 1), author=""),
    ]
    tables.note_read(7, 700, "octo/train", issues, NOW)
    found = rows(pool, "number", "backfilled", "answered_at", "closed_at")
    assert [row[0] for row in found] == [1, 2, 3, 4, 5, 6, 7, 9], "no bot's and no old ones"
    assert found[6][1:] == (True, None, NOW) and found[7][1:] == (False, NOW, None)
    with pool.connection() as connection:
        connection.execute("UPDATE noted_reports SET keys = %s", ([HANG],))
    assert tables.bursts(NOW - timedelta(days=3), NOW, 2) == []
    assert tables.rate(700, HANG, NOW - timedelta(days=90), NOW).total <= 1
    tables.note(report(1, 1), (), None)
    assert rows(pool, "backfilled")[0] == (False,), "read for a triage"
    tables.note_read(7, 701, "octo/forgotten", [read(1, 1)], NOW)
    assert len(rows(pool, "number")) == 8, "of a history that is gone"


def test_what_is_old_is_deleted(pool: SyncPool) -> None:
    tables = noted(pool, report(1, 200), report(2, 20))
    tables.begin(Wave(0, 7, 700, "octo/train", (HANG,), NOW, NOW, NOW, 0))
    tables.forget_old(NOW + timedelta(days=100))
    assert tables.waves(running=False) == []
    with pool.connection() as connection:
        assert connection.execute("SELECT number FROM noted_reports").fetchall() == [(2,)]


@pytest.fixture
def noting(world: World, pool: SyncPool) -> World:
    """A world whose reports are noted."""
    world.ports = replace(world.ports, reports=WaveTables(pool))
    return world


def rows(pool: SyncPool, *columns: str) -> list[tuple[object, ...]]:
    with pool.connection() as connection:
        query = f"SELECT {', '.join(columns)} FROM noted_reports ORDER BY number"
        return connection.execute(query.encode()).fetchall()


def test_a_triage_notes_what_its_report_shows(noting: World, pool: SyncPool) -> None:
    issue = noting.issue("Hang with ghp_" + "a1B2" * 9)
    noting.core.answer = lambda report: a_triage(report, findings=[a_finding()])
    noting.opened(issue)
    [(title, keys, author, answered, closed)] = rows(
        pool, "title", "keys", "author", "answered_at", "closed_at"
    )
    assert "ghp_" not in str(title)
    assert keys == ["failure:nccl-wrong-interface", "same:1"]
    assert (author, answered, closed) == ("reporter", None, None)


def test_what_maintainers_and_github_do_moves_a_report_on(noting: World, pool: SyncPool) -> None:
    issue = noting.issue()
    noting.opened(issue)

    def said(association: str) -> object:
        comment = noting.fake.add_comment(issue, "ada", "We look into it.", association)
        noting.repeat(issue, comment)
        return rows(pool, "answered_at")[0][0]

    assert said("NONE") is None
    first = said("MEMBER")
    assert first == noting.clock.now()
    noting.clock.forward(60)
    assert said("MEMBER") == first, "the first answer counts"
    noting.fake.close(issue, "ada")
    noting.deliver("issues", noting.fake.payload(REPO, issue, "closed"))
    assert rows(pool, "closed_at")[0][0] is not None
    noting.fake.reopen(issue)
    noting.opened(issue, "reopened")
    assert rows(pool, "closed_at") == [(None,)]
    noting.deliver("issues", noting.fake.payload(REPO, issue, "deleted"))
    assert rows(pool, "number") == []


def test_nothing_is_left_when_the_app_is_removed(noting: World, pool: SyncPool) -> None:
    noting.opened(noting.issue())
    base = {"installation": {"id": 1, "account": {"login": "acme"}}}
    noting.deliver("installation", {**base, "action": "deleted", "repositories": []})
    assert rows(pool, "number") == []
