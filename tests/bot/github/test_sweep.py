"""What webhooks missed: failed deliveries, untriaged issues, thumbs down."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from bot.github import app, handler
from bot.github.events import lock, parse
from bot.github.handler import disliked_comments, lost_deliveries, process, untriaged_issues
from bot.github.payload import storable
from tests.bot.fake_github import user
from tests.bot.world import REPO, World

DAY = timedelta(days=1)


def attempt(id_: int, guid: str, status: int, at: datetime, payload: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": id_,
        "guid": guid,
        "delivered_at": at.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "status_code": status,
        "event": "issues",
        "action": "opened",
        "request": {"headers": {}, "payload": payload},
    }


def test_a_delivery_that_never_got_through_comes_back_with_its_payload(world: World) -> None:
    now = world.clock.now()
    payload = world.fake.payload(REPO, world.issue(), "opened")
    world.fake.deliveries = [
        attempt(5, "mended", 202, now, payload),
        attempt(4, "lost", 502, now, payload),
        attempt(3, "mended", 500, now, payload),
        attempt(2, "old", 500, now - 2 * DAY, payload),
    ]
    [lost] = lost_deliveries(world.ports, DAY)
    assert lost.id == "lost"
    kept = storable(lost.payload, keep_text=False)
    assert kept["issue"]["number"] == 1
    assert "Watchdog" not in str(kept)


def test_many_deliveries_are_read_page_by_page(world: World) -> None:
    now = world.clock.now()
    world.fake.deliveries = [attempt(n, f"g{n}", 500 if n == 149 else 200, now, {}) for n in range(150)]
    assert [lost.id for lost in lost_deliveries(world.ports, DAY)] == ["g149"]


def test_each_sweep_reads_other_lost_deliveries(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "_PER_SWEEP", 2)
    now = world.clock.now()
    world.fake.deliveries = [
        attempt(n, f"g{n}", 502, now - timedelta(minutes=9 - n), {}) for n in range(5, 0, -1)
    ]
    swept = [[lost.id for lost in lost_deliveries(world.ports, DAY)] for _ in range(4)]
    assert swept == [["g1", "g2"], ["g3", "g4"], ["g1", "g5"], ["g2", "g3"]], (
        "GitHub lists them all each time"
    )


def test_issues_without_a_triage_are_swept_once(world: World) -> None:
    world.clock.time = datetime.now(UTC)
    triaged, missed = world.issue(), world.issue("Second", "It hangs at the first barrier after loading")
    old = world.issue("Old", "It hung a long time ago, on another machine")
    old.created_at = world.clock.now() - 2 * DAY
    world.opened(triaged)
    [swept] = untriaged_issues(world.ports, DAY)
    assert swept.payload["issue"]["number"] == missed.number
    assert process(swept, world.ports).kind == "shadow"
    assert list(untriaged_issues(world.ports, DAY)) == []


def test_a_suspended_installation_is_passed_over(world: World) -> None:
    world.issue()
    world.fake.installations[1]["suspended_at"] = "2026-01-01T00:00:00Z"
    assert list(untriaged_issues(world.ports, DAY)) == []
    assert world.store.installations[1].state == "suspended"


def test_a_quiet_repository_is_looked_at_for_nothing(world: World) -> None:
    world.clock.time = datetime.now(UTC)
    world.opened(world.issue())
    assert list(untriaged_issues(world.ports, DAY)) == []
    assert list(untriaged_issues(world.ports, DAY)) == []
    assert world.fake.unchanged == 1
    missed = world.issue("Second", "It hangs at the first barrier after loading")
    for _ in range(2):
        [swept] = untriaged_issues(world.ports, DAY)
        assert swept.payload["issue"]["number"] == missed.number
    assert world.fake.unchanged == 2, "what is still not triaged is found again without being sent again"


def test_many_new_issues_are_read_page_by_page(world: World) -> None:
    world.clock.time = datetime.now(UTC)
    for n in range(130):
        world.issue(f"Hang {n}", "It hangs at the first barrier after loading")
    assert len(list(untriaged_issues(world.ports, DAY))) == 130


def test_of_many_repositories_each_sweep_looks_at_a_part(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handler, "LOOKS", 4)
    world.clock.time = datetime.now(UTC)
    for n in range(10):
        world.fake.open_issue(f"acme/r{n}", "Training hangs", "Watchdog caught a timeout on rank 3.")
    found = []
    for _ in range(3):
        world.fake.requests.clear()
        found += [d.payload["repository"]["full_name"] for d in untriaged_issues(world.ports, DAY)]
        assert sum(path.endswith("/issues") for _, path in world.fake.requests) <= 4
        world.clock.forward(600)
    assert sorted(found) == sorted(f"acme/r{n}" for n in range(10))


def test_an_installation_that_refuses_the_app_stops_no_other(world: World) -> None:
    world.clock.time = datetime.now(UTC)
    world.fake.installations[2] = {"id": 2, "account": user("octo")}
    world.repo.installation = 1
    world.fake.open_issue("octo/jobs", "Training hangs", "It hangs at the first barrier")
    world.fake.repo("octo/jobs").installation = 2
    world.issue()
    refused = {1: True}

    def revoke(method: str, path: str) -> None:
        if refused[1]:
            world.fake.revoked.update(t for t, i in world.fake.tokens.items() if i == 1)

    world.fake.on_request = revoke
    assert [d.payload["repository"]["full_name"] for d in untriaged_issues(world.ports, DAY)] == ["octo/jobs"]
    world.fake.repo("octo/jobs").issues.clear()
    refused[1] = False
    assert [d.payload["repository"]["full_name"] for d in untriaged_issues(world.ports, DAY)] == [REPO]


def test_an_issue_triaged_while_its_sweep_waited_is_not_triaged_again(world: World) -> None:
    world.clock.time = datetime.now(UTC)
    issue = world.issue()
    [swept] = untriaged_issues(world.ports, DAY)
    world.opened(issue)
    outcome = process(swept, world.ports)
    assert (outcome.kind, outcome.reason, world.core.calls) == ("unchanged", "triaged_before", 1)


def test_the_authors_thumb_down_folds_the_comment(world: World) -> None:
    world.configure("mode: comment\n")
    issue = world.issue()
    world.opened(issue)
    world.ours(issue)[0].reactions.append(("reporter", "-1"))
    [disliked] = disliked_comments(world.ports, DAY)
    assert lock(parse(disliked.event, disliked.payload)) == f"github:{world.repo.id}:{issue.number}"
    assert process(disliked, world.ports).reason == "dismissed"
    body = world.ours(issue)[0].body
    assert "dismissed" in body
    assert len(body.splitlines()) == 2, "the marker and one line"
    [dismissal] = world.store.dismissals.values()
    assert (dismissal.by, dismissal.how) == ("reporter", "reaction")
    assert list(disliked_comments(world.ports, DAY)) == []
    assert process(disliked, world.ports).reason == "no_thumb"


def test_a_strangers_thumb_down_does_nothing(world: World) -> None:
    world.configure("mode: comment\n")
    issue = world.issue()
    world.opened(issue)
    world.ours(issue)[0].reactions.append(("mallory", "-1"))
    [disliked] = disliked_comments(world.ports, DAY)
    assert process(disliked, world.ports).reason == "no_right"
    assert "dismissed" not in world.ours(issue)[0].body


def test_the_same_thumb_is_acted_on_once_and_another_one_again(world: World) -> None:
    world.configure("mode: comment\n")
    issue = world.issue()
    world.opened(issue)
    comment = world.ours(issue)[0]
    comment.reactions.append(("reporter", "-1"))
    [first] = disliked_comments(world.ports, DAY)
    process(first, world.ports)
    world.repo.permissions["ada"] = "write"
    world.say(issue, "ada", "/triage")
    assert "dismissed" not in comment.body
    [same] = disliked_comments(world.ports, DAY)
    assert same.id == first.id, "so that the queue knows it as done"
    comment.reactions.append(("ada", "-1"))
    [other] = disliked_comments(world.ports, DAY)
    assert other.id != first.id
