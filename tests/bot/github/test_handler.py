"""From a delivery to one comment, over a real socket with the real PyGithub."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.github.posting import read_marker
from bot.github.records import TryAgain
from bot.render.comment import Draft
from knowledge.report import Report
from tests.bot.fake_core import a_triage, axis, thin
from tests.bot.fake_github import Fault, once, user
from tests.bot.world import REPO, World

BOTH = "mode: both\nlabels:\n  symptom:\n    D.2.1: hang\n"


@pytest.fixture
def posting(world: World) -> World:
    world.configure("mode: comment\n")
    return world


def test_a_new_issue_gets_one_comment_that_fits_its_text(posting: World) -> None:
    issue = posting.issue()
    outcome = posting.opened(issue)
    assert (outcome.kind, outcome.reason) == ("written", "created")
    [comment] = posting.ours(issue)
    marker = read_marker(comment.body)
    assert marker is not None
    assert marker.input_hash == Report("x", issue.title, issue.body).content_hash
    assert comment.body.splitlines()[1].startswith("This looks like a known failure: **NCCL picked")


def test_the_same_delivery_again_changes_nothing(posting: World) -> None:
    issue = posting.issue()
    posting.opened(issue)
    before = len(posting.fake.writes())
    assert posting.opened(issue).kind == "unchanged"
    assert len(posting.fake.writes()) == before


def test_an_edit_is_answered_by_editing(posting: World) -> None:
    issue = posting.issue()
    posting.opened(issue)
    issue.body = "RuntimeError: NCCL error, connection refused by peer 10.0.0.1"
    assert posting.opened(issue, "edited").reason == "edited"
    [comment] = posting.ours(issue)
    assert "connection refused by peer" in comment.body
    assert "Watchdog" not in comment.body


def test_an_edit_of_something_else_is_ignored(posting: World) -> None:
    issue = posting.issue()
    payload = posting.fake.payload(REPO, issue, "edited", changes={})
    assert posting.deliver("issues", payload).reason == "not_the_text"


def test_without_a_configuration_nothing_is_written(world: World) -> None:
    issue = world.issue()
    outcome = world.opened(issue)
    assert outcome.kind == "shadow"
    assert world.fake.writes() == []
    assert "known failure" in world.store.triages[-1].would_post


def test_died_between_writing_and_noting(posting: World) -> None:
    issue = posting.issue()
    posting.opened(issue)
    posting.store.notes.clear()
    posting.store.triages.clear()
    posting.opened(issue)
    assert len(posting.ours(issue)) == 1


def test_dropped_after_the_write_is_found_again(posting: World) -> None:
    issue = posting.issue()
    posting.fake.faults = once("POST", "/comments", Fault("drop_after"))
    with pytest.raises(TryAgain):
        posting.opened(issue)
    assert len(posting.ours(issue)) == 1
    assert posting.opened(issue).kind == "unchanged"
    assert len(posting.ours(issue)) == 1


def test_lost_before_the_write_waits_before_writing_again(posting: World) -> None:
    issue = posting.issue()
    posting.fake.faults = once("POST", "/comments", Fault("drop_before"))
    with pytest.raises(TryAgain):
        posting.opened(issue)
    with pytest.raises(TryAgain) as waits:
        posting.opened(issue)
    assert 0 < waits.value.after <= posting.ports.settle_seconds
    assert posting.ours(issue) == []
    posting.clock.forward(posting.ports.settle_seconds + 1)
    assert posting.opened(issue).reason == "created"
    assert len(posting.ours(issue)) == 1


@pytest.mark.parametrize(
    ("kind", "least"), [("secondary", 60.0), ("retry_after", 1.0), ("primary", 1.0), ("500", 5.0)]
)
def test_limits_and_server_errors_run_again_later(posting: World, kind: str, least: float) -> None:
    issue = posting.issue()
    posting.fake.faults = once("POST", "/comments", Fault(kind, seconds=7))  # type: ignore[arg-type]
    with pytest.raises(TryAgain) as later:
        posting.opened(issue)
    assert later.value.after >= least
    posting.clock.forward(later.value.after + posting.ports.settle_seconds + 1)
    posting.opened(issue)
    assert len(posting.ours(issue)) == 1


def test_a_read_that_fails_once_is_read_again_at_once(posting: World) -> None:
    issue = posting.issue()
    posting.fake.faults = once("GET", "/issues/", Fault("502"))
    assert posting.opened(issue).kind == "written"


def test_text_that_changes_before_the_write_is_triaged_anew(posting: World) -> None:
    issue = posting.issue()
    seen = []

    def edit_on_second_read(method: str, path: str) -> None:
        if method == "GET" and path.endswith(f"/issues/{issue.number}"):
            seen.append(path)
            if len(seen) == 2:
                issue.body = "Now it says: ncclInternalError on every rank, really"

    posting.fake.on_request = edit_on_second_read
    posting.opened(issue)
    [comment] = posting.ours(issue)
    assert "ncclInternalError" in comment.body
    assert posting.core.calls == 2
    assert posting.core.quick == [False, True], "a second reader is waited for once a delivery"


def test_text_that_never_rests_runs_again_later(posting: World) -> None:
    issue = posting.issue()

    def edit_always(method: str, path: str) -> None:
        issue.body += "."

    posting.fake.on_request = edit_always
    with pytest.raises(TryAgain):
        posting.opened(issue)
    assert posting.ours(issue) == []


@pytest.mark.parametrize("state", ["closed", "locked", "pull", "bot", "short", "deleted", "archived"])
def test_left_alone(posting: World, state: str) -> None:
    issue = posting.issue()
    if state == "closed":
        issue.state = "closed"
    if state == "locked":
        issue.locked = True
    if state == "pull":
        issue.is_pull = True
    if state == "bot":
        issue.author = user("dependabot[bot]")
    if state == "short":
        issue.title, issue.body = "help", ""
    if state == "archived":
        posting.repo.archived = True
    payload = posting.fake.payload(REPO, issue, "opened")
    issue.deleted = state == "deleted"
    assert posting.deliver("issues", payload).kind in {"silent", "ignored"}
    assert posting.fake.writes() == []


def test_archived_meanwhile_ends_silently(posting: World) -> None:
    issue = posting.issue()
    payload = posting.fake.payload(REPO, issue, "opened")
    posting.repo.archived = True
    assert posting.deliver("issues", payload).reason == "archived"


def test_a_suspended_installation_ends_silently(posting: World) -> None:
    issue = posting.issue()
    posting.fake.installations[1]["suspended_at"] = "2026-01-01T00:00:00Z"
    assert posting.opened(issue).reason == "suspended"


def test_somebody_elses_marker_is_not_ours(posting: World) -> None:
    issue = posting.issue()
    posting.opened(issue)
    [ours] = posting.ours(issue)
    other = posting.issue("Another hang", "It hangs at the first all-reduce of the second epoch")
    posting.fake.add_comment(other, "mallory", ours.body)
    posting.opened(other)
    assert len(posting.ours(other)) == 1
    assert other.comments[0].edits == 0


def test_a_comment_that_a_person_removed_is_not_written_again(posting: World) -> None:
    issue = posting.issue()
    posting.opened(issue)
    issue.comments.clear()
    issue.body += "\nmore"
    assert posting.opened(issue, "edited").reason == "deleted_by_person"
    assert posting.ours(issue) == []
    assert len(posting.store.dismissals) == 1


def test_a_comment_that_a_person_edited_is_left_alone(posting: World) -> None:
    issue = posting.issue()
    posting.opened(issue)
    posting.ours(issue)[0].body += "\nEdit by a maintainer: no, see the FAQ."
    issue.body += "\nmore"
    assert posting.opened(issue, "edited").reason == "edited_by_person"
    assert "FAQ" in posting.ours(issue)[0].body


def test_answered_by_a_maintainer_already(posting: World) -> None:
    issue = posting.issue()
    posting.fake.add_comment(issue, "maria", "Which switch is that?", "MEMBER")
    assert posting.opened(issue, "reopened").reason == "answered_by_people"


def test_another_bot_that_asks_is_not_repeated(posting: World) -> None:
    issue = posting.issue()
    posting.fake.add_comment(issue, "helper[bot]", "Please provide the logs and your environment.")
    posting.opened(issue)
    [comment] = posting.ours(issue)
    assert "of all ranks." not in comment.body


def test_a_claimed_stage_symptom_or_cause_alone_says_nothing(posting: World) -> None:
    posting.core.answer = lambda report: a_triage(report, findings=[])
    assert posting.opened(posting.issue()).reason == "nothing_specific"
    assert posting.fake.writes() == []


def test_a_claim_is_said_where_the_repository_wants_claims(world: World) -> None:
    world.configure("mode: comment\ncomment_on: claims\n")
    world.core.answer = lambda report: a_triage(report, findings=[])
    issue = world.issue()
    assert world.opened(issue).reason == "created"
    assert "I'd file this under **Hang** (likely)." in world.ours(issue)[0].body


def test_a_best_guess_is_said_where_the_repository_wants_it_and_to_a_maintainer_who_asks(
    world: World,
) -> None:
    unclaimed = {
        "symptom": axis(("B.2", 0.4), claim=False),
        "stage": axis(("B", 0.4), claim=False),
        "cause": axis(("dependency", 0.3), claim=False),
    }
    world.core.answer = lambda report: a_triage(report, findings=[], **unclaimed)
    for level, kind in (("claims", "silent"), ("always", "written")):
        world.configure(f"mode: comment\ncomment_on: {level}\n")
        assert world.opened(world.issue()).kind == kind
    world.repo.permissions["maria"] = "write"
    world.configure("mode: comment\n")
    issue = world.issue()
    assert world.opened(issue).kind == "silent"
    world.say(issue, "maria", "/triage")
    assert len(world.ours(issue)) == 1


def test_a_report_that_shows_nothing_is_asked_for_it_and_nothing_else_is_said(world: World) -> None:
    world.configure("mode: comment\n")
    world.core.answer = thin
    issue = world.issue()
    world.opened(issue)
    [comment] = world.ours(issue)
    assert "NCCL_DEBUG=INFO" in comment.body
    assert "known failure:" not in comment.body
    world.configure("mode: comment\nsections: [evidence]\n")
    assert world.opened(world.issue()).reason == "too_little"


def test_a_finding_that_an_edit_took_away_is_withdrawn(posting: World) -> None:
    issue = posting.issue()
    posting.opened(issue)
    posting.core.answer = lambda report: a_triage(report, type=axis(("feature", 0.9)), findings=[])
    issue.body = "Oh, it is only that I would like a nicer progress bar in the launcher"
    posting.opened(issue, "edited")
    [comment] = posting.ours(issue)
    assert "nothing to add to the current text" in comment.body


def test_an_id_outside_the_taxonomy_stops_at_the_gate(posting: World) -> None:
    posting.core.answer = lambda report: a_triage(report, symptom=axis(("D.9.9", 0.9)))
    outcome = posting.opened(posting.issue())
    assert (outcome.kind, outcome.reason) == ("silent", "gate_refused")
    assert outcome.detail == ("unknown id of symptom",)


def test_a_comment_that_the_gate_refuses_is_noted_with_the_rules_it_breaks(
    posting: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "bot.github.triage_issue.render_comment", lambda view: Draft("never\u200b rendered", frozenset())
    )
    outcome = posting.opened(posting.issue())
    assert (outcome.kind, outcome.reason, outcome.detail) == (
        "silent",
        "gate_refused",
        ("invisible character",),
    )
    assert posting.fake.writes() == []
    [record] = posting.store.triages
    assert (record.reason, record.detail, record.would_post) == ("gate_refused", ("invisible character",), "")


def test_the_budget_of_writes_is_kept(posting: World) -> None:
    posting.store.__init__(per_minute=1)  # type: ignore[misc]
    first, second = posting.issue(), posting.issue("Second", "It hangs at the first barrier after loading")
    posting.opened(first)
    with pytest.raises(TryAgain) as later:
        posting.opened(second)
    assert later.value.after == pytest.approx(60)
    posting.clock.forward(61)
    assert posting.opened(second).kind == "written"


def test_too_many_dismissals_mean_shadow(world: World) -> None:
    world.configure("mode: comment\nnoise: {max_dismissed: 0, of_last: 5}\n")
    first, second = world.issue(), world.issue("Second", "It hangs at the first barrier after loading")
    world.opened(first)
    world.say(first, "reporter", "/triage dismiss")
    outcome = world.opened(second)
    assert (outcome.kind, outcome.reason) == ("shadow", "noise_budget")


def test_labels_are_set_only_where_they_exist(world: World) -> None:
    world.configure(BOTH)
    issue = world.issue()
    assert world.opened(issue).labels_added == ()
    world.repo.labels.append("hang")
    assert world.opened(issue).labels_added == ("hang",)
    assert issue.labels == ["hang"]


def test_a_label_that_a_person_removed_is_not_set_again(world: World) -> None:
    world.configure(BOTH)
    world.repo.labels.append("hang")
    issue = world.issue()
    world.opened(issue)
    issue.labels.clear()
    issue.events.append(("unlabeled", "hang", "maria"))
    issue.body += " And more."
    world.opened(issue, "edited")
    assert issue.labels == []


def test_a_label_that_no_longer_fits_goes_when_it_was_ours(world: World) -> None:
    world.configure(BOTH)
    world.repo.labels.append("hang")
    ours, theirs = world.issue(), world.issue("Second", "It hangs at the first barrier after loading")
    theirs.labels.append("hang")
    theirs.events.append(("labeled", "hang", "maria"))
    world.opened(ours)
    world.core.answer = lambda report: a_triage(report, symptom=axis(("B.2", 0.9)))
    for issue in (ours, theirs):
        issue.body += " Edited."
        world.opened(issue, "edited")
    assert ours.labels == []
    assert theirs.labels == ["hang"]


@pytest.mark.parametrize(("kind", "status"), [("403", 403), ("422", 422)])
def test_labels_that_github_refuses_cost_nothing_else(world: World, kind: str, status: int) -> None:
    world.configure(BOTH)
    world.repo.labels.append("hang")
    world.fake.faults = once("POST", "/labels", Fault(kind))  # type: ignore[arg-type]
    issue = world.issue()
    outcome = world.opened(issue)
    assert (outcome.kind, outcome.reason) == ("written", "created")
    assert outcome.detail == (f"labels refused ({status})",)
    assert len(world.ours(issue)) == 1


def test_the_comment_is_there_before_labels_that_have_to_wait(world: World) -> None:
    world.configure(BOTH)
    world.repo.labels.append("hang")
    world.fake.faults = once("POST", "/labels", Fault("500"))
    issue = world.issue()
    with pytest.raises(TryAgain):
        world.opened(issue)
    assert len(world.ours(issue)) == 1
    assert world.opened(issue).labels_added == ("hang",)
    assert len(world.ours(issue)) == 1


def test_a_configured_framework_is_left_to_the_core_to_use_where_the_text_says_none(world: World) -> None:
    world.configure("mode: comment\nframework: megatron\n")
    seen: list[Report] = []
    world.core.answer = lambda report: (seen.append(report), a_triage(report))[1]
    world.opened(world.issue())
    assert {(one.framework, one.usual_framework) for one in seen} == {(None, "megatron-lm")}


def test_labels_are_created_when_asked(world: World) -> None:
    world.configure(BOTH + "create_labels: true\n")
    issue = world.issue()
    world.opened(issue)
    assert issue.labels == ["hang"]


def test_label_mode_writes_no_comment(world: World) -> None:
    world.configure(BOTH.replace("both", "label"))
    world.repo.labels.append("hang")
    issue = world.issue()
    world.opened(issue)
    assert issue.labels == ["hang"]
    assert issue.comments == []


def test_what_people_do_to_labels_is_noted(world: World) -> None:
    issue = world.issue()
    by = user("maria")
    payload = world.fake.payload(REPO, issue, "labeled", label={"name": "hang"}, sender=by)
    assert world.deliver("issues", payload).kind == "noted"
    [fact] = world.store.facts
    assert (fact.label, fact.added, fact.by, fact.by_us) == ("hang", True, "maria", False)


def test_a_transferred_issue_keeps_its_comment(world: World) -> None:
    world.configure("mode: comment\n")
    issue = world.issue()
    world.opened(issue)
    target = world.fake.repo("acme/other")
    target.files[".github/distriage.yml"] = "mode: comment\n"
    moved = replace(issue, number=1)
    target.issues[1] = moved
    issue.deleted = True
    assert world.deliver("issues", world.fake.payload(REPO, issue, "transferred")).reason == "transferred"
    payload = world.fake.payload("acme/other", moved, "opened")
    assert world.deliver("issues", payload).kind == "unchanged"
    assert len(moved.comments) == 1


def test_without_credentials_all_is_shadow(world: World) -> None:
    world.ports = replace(world.ports, app=None)
    issue = world.issue(body="It hangs. My token is ghp_" + "a1B2" * 9 + " by the way.")
    assert world.opened(issue).kind == "shadow"
    assert world.fake.requests == []
    assert "ghp_a1B2" not in str(world.store.triages)


def test_installations_and_their_repositories_are_noted(world: World) -> None:
    repo = {"id": 7, "full_name": "acme/x"}
    world.deliver(
        "installation",
        {"action": "created", "installation": {"id": 1, "account": user("acme")}, "repositories": [repo]},
    )
    before = world.store.installations[1]
    assert before.state == "active"
    assert [r.full_name for r in world.store.repos[1]] == ["acme/x"]
    world.deliver("installation", {"action": "suspend", "installation": {"id": 1, "account": user("acme")}})
    assert world.store.installations[1].state == "suspended"
