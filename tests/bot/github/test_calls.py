"""The calls themselves, over a real socket: redirects, refused tokens, the pause after a rate limit, headers."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from bot.github import client
from bot.github.ports import GitHub
from bot.github.records import GitHubError, Gone, Outage, TooLarge, TryAgain
from tests.bot.fake_github import Fault, once
from tests.bot.world import REPO, World

COMMENTING = "mode: comment\n"


def github_of(world: World) -> GitHub:
    assert world.ports.app is not None
    return world.ports.app.installation(1)


def rename(world: World, new: str = "acme/renamed", *, by_id: bool = True) -> None:
    repo = world.fake.repos.pop(REPO)
    repo.full_name = new
    world.fake.repos[new] = repo
    world.fake.renamed[REPO] = f"/repositories/{repo.id}" if by_id else f"/repos/{new}"


@pytest.mark.parametrize("by_id", [True, False])
def test_writes_to_a_renamed_repository_arrive(world: World, by_id: bool) -> None:
    world.configure(COMMENTING)
    issue = world.issue()
    payload = world.fake.payload(REPO, issue, "opened")
    rename(world, by_id=by_id)
    outcome = world.deliver("issues", payload)
    assert (outcome.kind, outcome.reason) == ("written", "created")
    issue.body += " Now on rank 4."
    payload["action"], payload["changes"] = "edited", {"body": {"from": "x"}}
    assert world.deliver("issues", payload).reason == "edited"
    [ours] = world.ours(issue)
    assert ours.edits == 1


def test_a_list_of_a_renamed_repository_is_read_whole(world: World) -> None:
    issue = world.issue()
    for n in range(130):
        world.fake.add_comment(issue, "reporter", f"comment {n}")
    ref = world.ref(issue)
    rename(world)
    assert len(github_of(world).comments(ref)) == 130


def test_a_transferred_issue_is_left_alone_in_the_other_repository(world: World) -> None:
    world.configure(COMMENTING)
    other = world.fake.open_issue("acme/other", "Training hangs", "Watchdog caught a timeout on rank 3.")
    issue = world.issue()
    payload = world.fake.payload(REPO, issue, "opened")
    issue.moved_to = f"/repositories/{world.fake.repo('acme/other').id}/issues/{other.number}"
    outcome = world.deliver("issues", payload)
    assert (outcome.kind, outcome.reason) == ("silent", "gone")
    assert world.fake.writes() == []
    assert other.comments == []


@pytest.mark.parametrize("place", ["https://evil.example/repos/acme/train", "/elsewhere/{id}"])
def test_no_other_redirect_counts_as_done(world: World, place: str) -> None:
    issue = world.issue()
    comment = world.fake.add_comment(issue, "distriage[bot]", "before")
    ref = world.ref(issue)
    github = github_of(world)
    world.fake.renamed[REPO] = place.format(id=1)
    with pytest.raises(GitHubError):
        github.react(ref, comment.id, "+1")
    assert comment.reactions == []


def test_a_revoked_token_is_replaced_at_once(world: World) -> None:
    ref = world.ref(world.issue())
    github = github_of(world)
    github.issue(ref)
    world.fake.revoked |= set(world.fake.tokens)
    assert github.issue(ref).number == 1
    assert len(world.fake.tokens) == 2


def test_a_token_that_stays_refused_is_an_error_after_the_second_try(world: World) -> None:
    ref = world.ref(world.issue())
    github = github_of(world)
    github.issue(ref)
    world.fake.on_request = lambda method, path: world.fake.revoked.update(world.fake.tokens)
    with pytest.raises(GitHubError) as caught:
        github.issue(ref)
    assert caught.value.status == 401
    asked = [path for _, path in world.fake.requests if path.endswith("/issues/1")]
    assert len(asked) == 3


def test_one_rate_limit_pauses_all_threads_of_the_installation(world: World) -> None:
    ref = world.ref(world.issue())
    github = github_of(world)
    world.fake.faults = once("GET", "/issues/1", Fault("retry_after", seconds=40))
    with pytest.raises(TryAgain):
        github.issue(ref)
    before = len(world.fake.requests)

    def ask(call: Callable[[], object]) -> float:
        with pytest.raises(TryAgain) as caught:
            call()
        return caught.value.after

    with ThreadPoolExecutor(8) as threads:
        waits = list(threads.map(lambda _: ask(lambda: github.comments(ref)), range(40)))
    assert len(world.fake.requests) == before, "no request while the limit lasts"
    assert set(waits) == {40.0}
    world.clock.forward(41)
    assert github.comments(ref) == []


def test_the_configuration_is_not_asked_for_while_a_limit_lasts(world: World) -> None:
    world.configure(COMMENTING)
    issue = world.issue()
    world.opened(issue)
    world.fake.requests.clear()
    world.fake.faults = once("GET", "distriage.yml", Fault("retry_after", seconds=40))
    with pytest.raises(TryAgain):
        world.opened(issue, "edited")
    with pytest.raises(TryAgain):
        world.opened(issue, "edited")
    assert len(world.fake.requests) == 1


def test_another_installation_goes_on_meanwhile(world: World) -> None:
    world.fake.installations[2] = {"id": 2, "account": {"login": "octo", "id": 2, "type": "User"}}
    ref = world.ref(world.issue())
    world.fake.faults = once("GET", "/issues/1", Fault("secondary"))
    with pytest.raises(TryAgain):
        github_of(world).issue(ref)
    assert world.ports.app is not None
    assert world.ports.app.installation(2).issue(ref).number == 1


def test_an_outage_is_no_rate_limit(world: World) -> None:
    issue = world.issue()
    ref = world.ref(issue)
    github = github_of(world)
    comment = world.fake.add_comment(issue, "reporter", "x")
    world.fake.faults = once("POST", "/reactions", Fault("502"))
    with pytest.raises(Outage):
        github.react(ref, comment.id, "+1")
    github.react(ref, comment.id, "+1")


def test_every_call_names_the_version_of_the_api_it_was_written_for(world: World) -> None:
    world.configure(COMMENTING)
    world.opened(world.issue())
    kinds = {(h.get("accept"), h.get("x-github-api-version")) for h in world.fake.headers}
    assert kinds == {("application/vnd.github+json", "2022-11-28")}


def test_what_is_gone_is_not_followed(world: World) -> None:
    issue = world.issue()
    issue.deleted = True
    with pytest.raises(Gone):
        github_of(world).issue(world.ref(issue))


def test_an_answer_longer_than_any_that_is_read_is_refused(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "MOST_BYTES", 100_000)
    world.fake.gists["a" * 20] = {"log": {"filename": "log", "type": "text/plain", "content": "x" * 200_000}}
    with pytest.raises(TooLarge):
        github_of(world).gist("a" * 20)


def test_of_a_gist_the_text_files_are_read(world: World) -> None:
    world.fake.gists["a" * 20] = {
        "log": {"filename": "train.log", "type": "text/plain", "content": "one\n"},
        "core": {"filename": "core.png", "type": "image/png", "content": "two"},
    }
    assert github_of(world).gist("a" * 20) == [("train.log", "one\n")]
    with pytest.raises(Gone):
        github_of(world).gist("b" * 20)


def test_a_pull_request_closes_an_issue_only_when_merged_at_that_time(world: World) -> None:
    issue = world.issue()
    world.fake.merge(issue, "acme/other", 5)
    world.fake.close(issue, "maria", commit="6dcb09b5b57875f334f61aebed695e2e4193db5e")
    assert issue.closed_at is not None
    closing = github_of(world).closing(world.ref(issue), issue.closed_at)
    assert (closing.by, closing.commit[:7], closing.pull_request) == ("maria", "6dcb09b", "acme/other#5")
    later = github_of(world).closing(world.ref(issue), issue.closed_at + timedelta(hours=1))
    assert later.pull_request == ""
