"""The same failure in the owner's other repositories and among the shipped cases; what is private stays so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from bot.history.backfill import fill
from bot.history.records import Progress, RepoHistory
from bot.history.wider import CaseRecords, case_words, strictest
from bot.ports import Recorded
from knowledge.cases import Case, load_cases
from knowledge.history.record import Post
from knowledge.history.verifier import load_weights
from knowledge.triage import CaseLabels, Neighbour
from tests.bot.fake_github import FakeIssue
from tests.bot.history.fake_past import FakePast, closed, node, pull
from tests.bot.history.test_github_past import CLOSED, reader
from tests.bot.history.test_same_failure import Bench, _server, bench, silent
from tests.bot.world import REPO
from tests.knowledge.history.tiny import OTHERS

__all__ = ["_server", "bench"]

CORE = "acme/core"
FIXED = {**CLOSED, "timelineItems": {"nodes": [closed(pull(5, repo=CORE))]}}


class Seen:
    """What GitHub says of each repository: its id and visibility."""

    def __init__(self, bench: Bench) -> None:
        self.of = {REPO: (bench.repo.id, "PUBLIC"), CORE: (bench.fake.repo(CORE).id, "PUBLIC")}
        self.asked: list[str] = []
        self._past = bench.past

    def __call__(self, query: str, variables: dict[str, Any]) -> dict[str, Any]:
        if "visibility" not in query:
            return self._past(query, variables)
        name = f"{variables['owner']}/{variables['name']}"
        self.asked.append(name)
        if name not in self.of:
            return {"data": {"repository": None}, "errors": [{"type": "NOT_FOUND", "message": "not found"}]}
        id_, visibility = self.of[name]
        return {"data": {"repository": {"databaseId": id_, "visibility": visibility}}}


@pytest.fixture
def seen(bench: Bench) -> Seen:
    """The report that #2 is the same as lies in acme/core alone, which has the number that the new report gets."""
    posts = [(n, post) for n, post in enumerate(OTHERS, 1)]
    past = FakePast([node(n + 4, post.title, post.body, day=n) for n, post in posts])
    past.issues[1] |= FIXED
    id_ = bench.fake.repo(CORE).id
    fill(bench.kept, bench.kept.begin(CORE, "words", id_, 1), reader(past), bench.recorder)
    own = bench.kept.find(REPO)
    assert own is not None
    bench.kept.drop(own.key, "2")
    seen = Seen(bench)
    bench.fake.graphql = seen
    return seen


def neighbour(case: Case) -> Neighbour:
    """The case as a neighbour with a signature in common."""
    return Neighbour(
        id=case.id,
        url=case.url,
        title=case.title,
        score=0.9,
        labels=CaseLabels(type="fault"),
        label_source="x",
        resolution=case.resolution,
        shared=["a-signature"],
    )


def visible(issue: FakeIssue, bench: Bench) -> str:
    return "\n".join(comment.body for comment in bench.ours(issue))


def test_a_public_sibling_is_named_with_why_and_how_it_ended(bench: Bench, seen: Seen) -> None:
    issue = bench.report()
    assert bench.opened(issue).kind == "written"
    [earlier] = bench.same()
    assert earlier.id == f"{CORE}#6" and "both raise `RuntimeError`" in earlier.why
    assert "closed by" in earlier.ended
    assert f"same failure as [`{CORE}#6`]" in visible(issue, bench)


@pytest.mark.parametrize("there", ["PRIVATE", "INTERNAL"])
def test_a_sibling_that_not_everybody_sees_is_not_named_in_public(
    bench: Bench, seen: Seen, there: str
) -> None:
    seen.of[CORE] = (seen.of[CORE][0], there)
    issue = bench.report()
    bench.opened(issue)
    assert bench.same() == [] and visible(issue, bench) == ""
    assert seen.asked == [CORE, REPO]


@pytest.mark.parametrize(
    ("here", "there", "named"),
    [
        ("PRIVATE", "PUBLIC", True),
        ("PRIVATE", "PRIVATE", True),
        ("INTERNAL", "PRIVATE", False),
        ("PRIVATE", "INTERNAL", False),
    ],
)
def test_a_repository_that_is_not_public_names_those_that_are_as_visible(
    bench: Bench, seen: Seen, here: str, there: str, named: bool
) -> None:
    seen.of = {REPO: (seen.of[REPO][0], here), CORE: (seen.of[CORE][0], there)}
    bench.opened(bench.report())
    assert bool(bench.same()) == named


@pytest.mark.parametrize("fault", ["gone", "renamed"])
def test_what_github_does_not_vouch_for_is_not_named(bench: Bench, seen: Seen, fault: str) -> None:
    if fault == "gone":
        del seen.of[CORE]
    else:
        seen.of[CORE] = (4711, "PUBLIC")
    bench.opened(bench.report())
    assert bench.same() == []


def test_the_own_repository_comes_first_and_nothing_else_is_asked_for(bench: Bench, seen: Seen) -> None:
    bench.opened(bench.report())
    seen.asked.clear()
    later = bench.issue(OTHERS[1].title, OTHERS[1].body)
    bench.opened(later)
    assert [one.id for one in bench.same()] == [f"{REPO}#6"]
    assert seen.asked == []


def test_another_installation_and_another_owner_are_no_siblings(bench: Bench, seen: Seen) -> None:
    core, own = bench.kept.find(CORE), bench.kept.find(REPO)
    assert core is not None and own is not None
    bench.kept.installed[core.key] = 2
    bench.opened(bench.report())
    assert bench.same() == [] and seen.asked == []


def test_a_sibling_without_the_app_s_credentials_is_not_searched(bench: Bench, seen: Seen) -> None:
    bench.ports = replace(bench.ports, app=None)
    bench.deliver("issues", bench.fake.payload(REPO, bench.report(), "opened"))
    assert bench.same() == []


def test_a_threshold_fitted_to_one_repository_is_no_licence_between_two() -> None:
    own = RepoHistory(1, REPO, 1, "words", Progress(), 0.4)
    shipped = load_weights()
    assert strictest(own, replace(own, key=2), shipped).threshold == shipped.threshold
    assert strictest(replace(own, threshold=0.99), own, shipped).threshold == 0.99


def test_a_shipped_case_of_the_same_failure_is_named_where_nothing_nearer_is(
    bench: Bench, seen: Seen
) -> None:
    bench.kept.forget(names=[CORE])
    case = next(one for one in load_cases() if "RuntimeError" in one.body and one.resolution)

    bench.core.answer = lambda report: silent(report).model_copy(update={"neighbours": [neighbour(case)]})
    issue = bench.issue(case.title, case.body)
    bench.opened(issue)
    [earlier] = bench.same()
    assert earlier.id == case.id and earlier.ended.startswith("answered: ")
    other = bench.issue("Another thing", "RuntimeError: the disk is full, says the trainer at step 9.")
    bench.opened(other)
    assert bench.same() == []


def test_a_repository_without_a_history_is_shown_a_shipped_case_by_the_same_rule(bench: Bench) -> None:
    bench.kept.forget(names=[REPO])
    case = next(one for one in load_cases() if "RuntimeError" in one.body and one.resolution)

    bench.core.answer = lambda report: silent(report).model_copy(update={"neighbours": [neighbour(case)]})
    issue = bench.issue(case.title, case.body)
    bench.opened(issue)
    [earlier] = bench.same()
    assert earlier.id == case.id and case.url.rpartition("/")[2] in visible(issue, bench)
    assert bench.kept.find(REPO) is None, "nothing is kept of a repository that has no history"
    other = bench.issue("Another thing", "RuntimeError: the disk is full, says the trainer at step 9.")
    bench.opened(other)
    assert bench.same() == [] and visible(other, bench) == ""


def test_a_history_of_another_model_is_as_good_as_none(bench: Bench) -> None:
    own = bench.kept.find(REPO)
    assert own is not None
    bench.kept.repos[own.key] = replace(own, encoder="older")
    case = next(one for one in load_cases() if "RuntimeError" in one.body and one.resolution)
    bench.core.answer = lambda report: silent(report).model_copy(update={"neighbours": [neighbour(case)]})
    bench.opened(bench.issue(case.title, case.body))
    assert [one.id for one in bench.same()] == [case.id]
    assert bench.kept.count(own.key) == len(OTHERS), "no record of this model among those of the other"


def test_a_word_is_as_rare_as_among_the_cases() -> None:
    common, never = case_words().rarity(["python", "a-word-of-no-case"])
    assert 1 < common < 3 < never


def test_a_shipped_case_is_read_once(bench: Bench) -> None:
    first, second, third = load_cases()[:3]
    asked: list[str] = []

    class Counting:
        def records(self, posts: Sequence[Post], triaged: bool = False) -> Recorded:
            asked.extend(post.id for post in posts)
            return bench.recorder.records(posts, triaged)

    records = CaseRecords(Counting())
    assert [one.id for one in records.of([first, second])] == [first.id, second.id]
    assert [one.id for one in records.of([third, first])] == [third.id, first.id]
    assert asked == [first.id, second.id, third.id]
