"""The App is installed: one job a repository reads its history in slices, behind all other work, and writes nothing."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any

import pytest
from pydantic import SecretStr

from bot.db.deliveries import Deliveries, StoredDelivery
from bot.github.app import App
from bot.github.history_jobs import RELEASES_AT_ONCE, HistoryJobs, history_job
from bot.github.records import RepoRef
from bot.github.routes import new_delivery
from bot.history.backfill import PAGE, PIECE, InPieces
from bot.history.records import RepoHistory
from bot.history.replay.job import ReplayFailed
from bot.history.store import PostgresHistory
from bot.history.thresholds import due
from bot.jobs.queue import NewDelivery
from bot.jobs.runner import TryLater
from bot.ports import CoreDown, CoreFailed, Recorded
from bot.runtime.resources import working
from bot.serve.compose import work_of
from knowledge.history.record import Post
from tests.bot.fake_core import FakeCore
from tests.bot.fake_github import APP_ID, FakeGitHub, serve
from tests.bot.history.fake_past import NAME, FakePast, closed, node, pull, said
from tests.bot.history.filling_process import FlatRecorder
from tests.bot.history.memory_history import MemoryHistory
from tests.bot.history.test_github_past import CLOSED
from tests.bot.service.conftest import opened
from tests.bot.slack.bench import FAST

__all__ = ["opened"]

NOW = datetime(2026, 11, 20, tzinfo=UTC)
REPO = RepoRef(100, NAME)


@pytest.fixture
def github() -> Iterator[tuple[FakeGitHub, App]]:
    state = FakeGitHub()
    assert state.repo(NAME).id == REPO.id
    state.graphql = FakePast([node(n, f"Hang {n}", f"rank {n} hangs") for n in range(1, 2 * PAGE + 11)])
    with serve(state) as url:
        yield state, App(APP_ID, state.private_key, url, seconds_between_writes=0)


class Reader(FlatRecorder):
    """Notes what it reads."""

    def __init__(self) -> None:
        super().__init__()
        self.read: list[Post] = []

    def records(self, posts: Sequence[Post], triaged: bool = False) -> Recorded:
        self.read += posts
        return super().records(posts, triaged)


class Bench:
    """The jobs on a history in memory; `run` is what the queue would do until the job has ended."""

    def __init__(self, app: App, **more: Any) -> None:
        self.store, self.recorder = MemoryHistory(), Reader()
        self.queued: list[NewDelivery] = []
        self.replayed: list[tuple[RepoHistory, date | None]] = []
        self.waits: list[TryLater] = []
        values: dict[str, Any] = {"most": 1000, "slice_seconds": 0.0, **more}
        self.jobs = HistoryJobs(
            app=app,
            store=self.store,
            recorder=self.recorder,
            replay=lambda repo, since: self.replayed.append((repo, since)),
            queue=self.queued.append,
            now=lambda: NOW,
            **values,
        )

    def delivery(self, what: str = "backfill") -> StoredDelivery:
        new = history_job(what, 1, REPO, NOW)
        return StoredDelivery(
            new.id,
            new.source,
            new.event,
            None,
            new.lock,
            new.payload,
            "queued",
            1,
            None,
            None,
            None,
            NOW,
            None,
        )

    def run(self, between: Callable[[], None] = lambda: None) -> str:
        delivery = self.delivery()
        while True:
            try:
                return self.jobs(delivery).reason
            except TryLater as later:
                self.waits.append(later)
            between()
            delivery = replace(delivery, waits=delivery.waits + 1)

    def kept(self) -> int:
        found = self.store.find(NAME, REPO.id)
        return self.store.count(found.key) if found else -1


def test_a_slice_ends_after_a_page_and_the_next_goes_on_there(github: tuple[FakeGitHub, App]) -> None:
    bench = Bench(github[1])
    assert bench.run() == "history_read"
    assert bench.kept() == 2 * PAGE + 10
    assert len(bench.recorder.read) == len({post.id for post in bench.recorder.read}), "each is read once"
    assert [later.keeps_place for later in bench.waits] == [True, True]
    assert [(new.event, new.background) for new in bench.queued] == [("replay", True), ("releases", True)]
    assert github[0].writes() == []
    assert bench.jobs(bench.delivery("replay")).reason == "replayed"
    assert [(repo.full_name, since) for repo, since in bench.replayed] == [(NAME, None)]
    asked = history_job("replay", 1, REPO, NOW, since=date(2026, 5, 1))
    bench.jobs(replace(bench.delivery("replay"), payload=asked.payload))
    assert bench.replayed[-1][1] == date(2026, 5, 1)


def test_releases_are_looked_up_in_slices_after_the_back_fill(github: tuple[FakeGitHub, App]) -> None:
    past = github[0].graphql
    assert isinstance(past, FakePast)
    shas = {n: f"{n:040d}" for n in range(1, 2 * PAGE + 11)}
    for n, sha in shas.items():
        past.issues[n - 1] |= {**CLOSED, "timelineItems": {"nodes": [closed(pull(n, sha, day=n / 100))]}}
    past.releases = [("v1.1", 5)]
    past.holds = {"v1.1": {shas[n] for n in shas if n % 2}}
    bench = Bench(github[1])
    bench.run()
    afters: list[int] = []
    delivery = replace(bench.delivery("releases"), payload=bench.queued.pop().payload)
    while True:
        assert bench.jobs(delivery).reason == "releases_read"
        new = bench.queued.pop()
        if new.event != "releases":
            break
        afters.append(new.payload["after"])
        delivery = replace(delivery, payload=new.payload)
    assert afters == [RELEASES_AT_ONCE // 2, RELEASES_AT_ONCE], "of those that are left"
    [key] = bench.store.repos
    kept = bench.store.issues(key, [str(n) for n in shas])
    assert all(kept[str(n)].outcome.released == ("v1.1" if n % 2 else "") for n in shas)
    assert github[0].writes() == []
    github[0].graphql = lambda query, variables: {"data": None, "errors": [{"type": "NOT_FOUND"}]}
    assert bench.jobs(delivery).reason == "gone"
    bench.store.forget([REPO.id])
    assert bench.jobs(delivery).reason == "forgotten"


def test_a_replay_that_fails_is_not_due_again_at_once(github: tuple[FakeGitHub, App]) -> None:
    bench = Bench(github[1])
    bench.run()
    [key] = bench.store.repos
    bench.store.marks = lambda key: {str(n): ("1",) for n in range(60)}  # type: ignore[method-assign]
    assert [repo.key for repo in due(bench.store)] == [key]

    def failing(repo: RepoHistory, since: date | None) -> None:
        raise ReplayFailed("it took too long")

    bench.jobs = replace(bench.jobs, replay=failing)
    with pytest.raises(ReplayFailed):
        bench.jobs(bench.delivery("replay"))
    assert due(bench.store) == []


def test_no_more_issues_than_the_setting_allows(github: tuple[FakeGitHub, App]) -> None:
    bench = Bench(github[1], most=PAGE + 3)
    bench.run()
    assert bench.kept() == PAGE + 3


def test_with_the_setting_at_zero_nothing_is_read(github: tuple[FakeGitHub, App]) -> None:
    bench = Bench(github[1], most=0)
    assert bench.run() == "off"
    assert github[0].queries == [] and bench.kept() == -1


def test_an_app_that_is_removed_meanwhile_leaves_nothing_behind(github: tuple[FakeGitHub, App]) -> None:
    bench = Bench(github[1])
    assert bench.run(between=lambda: bench.store.forget([REPO.id]) and None) == "forgotten"
    assert bench.kept() == -1


def test_a_repository_that_is_not_there_any_more_leaves_nothing_behind(
    github: tuple[FakeGitHub, App],
) -> None:
    def refuse(query: str, variables: dict[str, Any]) -> dict[str, Any]:
        return {"data": None, "errors": [{"type": "NOT_FOUND", "message": "Could not resolve"}]}

    github[0].graphql = refuse
    bench = Bench(github[1])
    assert bench.run() == "gone"
    assert bench.kept() == -1


def test_near_the_end_of_the_hours_budget_it_waits_in_the_queue(github: tuple[FakeGitHub, App]) -> None:
    past = github[0].graphql
    assert isinstance(past, FakePast)
    full = past.__call__

    def nearly_spent(query: str, variables: dict[str, Any]) -> dict[str, Any]:
        answer = full(query, variables)
        answer["data"]["rateLimit"] = {"remaining": 100, "resetAt": "2099-01-01T00:00:00Z"}
        return answer

    github[0].graphql = nearly_spent
    bench = Bench(github[1])

    def reset() -> None:
        github[0].graphql = past

    assert bench.run(between=reset) == "history_read"
    assert bench.waits[0].after > 60 and not bench.waits[0].keeps_place
    assert bench.kept() == 2 * PAGE + 10


def test_a_history_of_another_model_is_started_over(github: tuple[FakeGitHub, App]) -> None:
    bench = Bench(github[1])
    bench.store.begin(NAME, "an older model", REPO.id, 1)
    assert bench.run() == "history_read"
    found = bench.store.find(NAME)
    assert found is not None and found.encoder == "words"


def test_a_history_of_another_model_that_an_export_filled_is_started_over(
    github: tuple[FakeGitHub, App],
) -> None:
    bench = Bench(github[1])
    bench.store.begin(NAME, "an older model", None, None)
    assert bench.run() == "history_read"
    found = bench.store.find(NAME)
    assert found is not None and (found.encoder, found.repo_id) == ("words", REPO.id)


@pytest.mark.parametrize("more", [{"waits": 1}, {"attempts": 2}])
def test_a_core_that_is_down_at_first_only_puts_it_off(
    github: tuple[FakeGitHub, App], more: dict[str, int]
) -> None:
    bench = Bench(github[1], slice_seconds=60.0)
    jobs, delivery = bench.jobs, bench.delivery()
    with pytest.raises(CoreDown):
        replace(jobs, recorder=Down())(delivery)
    assert jobs(replace(delivery, **more)).reason == "history_read"
    assert bench.kept() == 2 * PAGE + 10


class Down(Reader):
    """Has not loaded."""

    def records(self, posts: Sequence[Post], triaged: bool = False) -> Recorded:
        raise CoreDown("loading")


class Fragile(Reader):
    """Fails over whatever says so."""

    def records(self, posts: Sequence[Post], triaged: bool = False) -> Recorded:
        if any("crash" in post.body for post in posts):
            raise CoreFailed("died")
        return super().records(posts, triaged)


@pytest.mark.parametrize("at_once", [1, 3])
def test_a_report_over_which_the_core_fails_is_read_by_its_title(at_once: int) -> None:
    posts = [Post(str(n), f"Title {n}", "crash" if n == 7 else "text") for n in range(12)]
    fragile = Fragile()
    made = InPieces(fragile, at_once).records(posts)
    assert [record.id for record in made.records] == [post.id for post in posts]
    assert [post.id for post in fragile.read if not post.body] == ["7"]
    assert {post.id for post in fragile.read if post.body} == {str(n) for n in range(12) if n != 7}


class Together(Reader):
    """Reads only where somebody else reads, too."""

    def __init__(self) -> None:
        super().__init__()
        self.meet = threading.Barrier(2, timeout=20)

    def records(self, posts: Sequence[Post], triaged: bool = False) -> Recorded:
        self.meet.wait()
        return super().records(posts, triaged)


def test_pieces_are_read_side_by_side_where_the_core_has_the_processes() -> None:
    posts = [Post(str(n), f"Title {n}", "text") for n in range(4 * PIECE)]
    made = InPieces(Together(), 2).records(posts)
    assert [record.id for record in made.records] == [post.id for post in posts]


@pytest.mark.parametrize("at_once", [1, 2])
def test_a_core_that_is_down_is_no_reports_fault(at_once: int) -> None:
    with pytest.raises(CoreDown):
        InPieces(Down(), at_once).records([Post(str(n), "t", "b") for n in range(9)])


def test_from_the_webhook_to_the_kept_history_and_its_replay(
    opened: Any, github: tuple[FakeGitHub, App]
) -> None:
    """Through the real queue, worker and replay process."""
    state, app = github
    waiting = node(
        2 * PAGE + 11, "Hang ghp_" + "a1B2" * 9, createdAt=f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
    )
    answered = {
        **waiting,
        "number": 2 * PAGE + 12,
        "comments": {"nodes": [said("ada", "Looking.", "MEMBER")]},
    }
    assert isinstance(state.graphql, FakePast)
    state.graphql.issues += [waiting, answered]
    payload = {
        "action": "created",
        "installation": {"id": 1, "account": {"login": "acme", "type": "Organization"}},
        "repositories": [{"id": REPO.id, "full_name": NAME}, {"id": 999, "full_name": "acme/gone"}],
    }

    async def go() -> None:
        settings = {
            "github_app_id": APP_ID,
            "github_private_key": SecretStr(state.private_key),
            "backfill_on_install": 60,
            "keep_texts": True,
        }
        async with opened(**settings) as service:
            work = work_of(service, app, FakeCore(), recorder=Reader())
            new = new_delivery("d1", "installation", payload, keep_text=False)
            assert new is not None
            await service.accept(new)
            deliveries, history = Deliveries(service.threads), PostgresHistory(service.threads)
            async with working(service, work, FAST):
                for _ in range(600):
                    await asyncio.sleep(0.1)
                    ended = {d.event: d.state for d in deliveries.newest()}
                    if ended.get("replay") == "done":
                        break
            work.close()
            found = history.find(NAME, REPO.id)
            assert found is not None
            assert history.count(found.key) == 60
            assert history.texts(found.key, ["90"])["90"].body == "rank 90 hangs"
            kept = history.kept_replay(found.key)
            assert kept is not None and kept[1]["reports"] == 60
            reasons = {d.reason for d in deliveries.newest() if d.event == "backfill"}
            assert reasons == {"history_read", "gone"}
            assert history.find("acme/gone") is None
            with service.threads.connection() as connection:
                rows = connection.execute(
                    "SELECT number, title, author, answered_at FROM noted_reports ORDER BY number"
                ).fetchall()
            assert [row[0] for row in rows] == [2 * PAGE + 11, 2 * PAGE + 12], "the newer ones"
            assert rows[0][2:] == ("reporter", None) and "ghp_" not in rows[0][1]
            assert rows[1][3] == datetime(2024, 5, 3, tzinfo=UTC)

    assert state.graphql is not None
    past, lock = state.graphql, threading.Lock()

    def answer(query: str, variables: dict[str, Any]) -> dict[str, Any]:
        with lock:
            if variables["name"] == "gone":
                return {"data": None, "errors": [{"type": "NOT_FOUND", "message": "Could not resolve"}]}
            return past(query, variables)

    state.graphql = answer
    asyncio.run(go())
    assert state.writes() == []


def test_the_job_waits_behind_all_other_work(opened: Any) -> None:
    async def go() -> None:
        async with opened() as service:
            await service.accept(history_job("backfill", 1, REPO, NOW))
            await service.accept(NewDelivery("d2", "github", "issues", "opened", "l", None, {}))
            with service.threads.connection() as connection:
                rows = connection.execute(
                    "SELECT args ->> 'delivery_id' FROM procrastinate_jobs ORDER BY priority DESC, id"
                ).fetchall()
            assert [row[0].partition(":")[0] for row in rows] == ["d2", "backfill"]

    asyncio.run(go())
