"""From a webhook to what is said of the repository's own earlier report; and back to nothing when the App goes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest

from bot.github.app import App
from bot.github.ports import Ports
from bot.history.backfill import fill
from bot.history.records import PastIssue, Progress
from bot.history.search import Histories, Said, kept_issue, still_open
from bot.ports import Compared, CoreFailed, Recorded
from knowledge.history.record import Post, Record
from knowledge.history.verifier import load_weights
from knowledge.report import Report
from knowledge.triage import SecondReading, Triage
from tests.bot.fake_core import FakeCore, a_triage, axis
from tests.bot.fake_github import APP_ID, FakeGitHub, FakeIssue, serve, user
from tests.bot.history.fake_past import FakePast, at, closed, marked, node, pull, said, who
from tests.bot.history.memory_history import MemoryHistory, TinyRecorder
from tests.bot.history.test_github_past import CLOSED, reader
from tests.bot.memory_store import MemoryStore, StillClock
from tests.bot.world import REPO, World
from tests.knowledge.history.tiny import AGAIN, OTHERS, made

OPEN = {
    "symptom": axis(("B.2", 0.4), claim=False),
    "stage": axis(("B", 0.4), claim=False),
    "cause": axis(("dependency", 0.3), claim=False),
}
FIX = closed(pull(1301))


class Bench(World):
    """A world whose repository has a history."""

    past: FakePast
    kept: MemoryHistory
    recorder: TinyRecorder

    def same(self) -> list[Any]:
        return self.store.triages[-1].triage.same_failure

    def report(self, number: int = 6, **more: Any) -> FakeIssue:
        """The report of the failure that #2 showed."""
        while len(self.repo.issues) < number - 1:
            self.fake.open_issue(REPO, "x", "y")
        issue = self.issue(AGAIN.title, more.pop("body", AGAIN.body))
        issue.author = more.pop("user", issue.author)
        issue.created_at = datetime(2024, 6, 1, tzinfo=UTC)
        return issue


@pytest.fixture(scope="module")
def _server() -> Iterator[tuple[FakeGitHub, str]]:
    state = FakeGitHub()
    with serve(state) as url:
        yield state, url


def silent(report: Any) -> Triage:
    """Nothing that is worth a comment by itself."""
    return a_triage(report, findings=[], scope="other_field", **OPEN)


@pytest.fixture
def bench(_server: tuple[FakeGitHub, str]) -> Bench:
    fake, url = _server
    fake.reset()
    clock, store, core = StillClock(), MemoryStore(), FakeCore(silent)
    app = App(APP_ID, fake.private_key, url, seconds_between_writes=0, clock=lambda: clock.now().timestamp())
    kept, recorder = MemoryHistory(), TinyRecorder()
    # In a history of five reports no word is rare, so that P is lower than in a real one.
    histories = Histories(kept, recorder, replace(load_weights(), threshold=0.3))
    bench = Bench(fake, store, clock, core, Ports(app, store, clock, core, histories=histories))
    bench.kept, bench.recorder = kept, recorder
    bench.past = FakePast([node(int(p.id), p.title, p.body) for p in OTHERS])
    bench.past.issues[1] |= {**CLOSED, "timelineItems": {"nodes": [FIX]}}
    fake.graphql = bench.past
    bench.configure("mode: comment\n")
    fill(kept, kept.begin(REPO, "words", bench.repo.id, 1), reader(bench.past), recorder)
    return bench


def test_the_same_failure_is_said_with_why_and_how_it_ended(bench: Bench) -> None:
    bench.past.releases, bench.past.holds = [("v0.9.2", 9)], {"v0.9.2": {"a" * 40}}
    issue = bench.report()
    outcome = bench.opened(issue)
    assert (outcome.kind, outcome.reason) == ("written", "created")
    [comment] = bench.ours(issue)
    visible = comment.body.split("<details>")[0]
    assert f"same failure as [`{REPO}#2`](https://redirect.github.com/{REPO}/issues/2)" in visible
    assert "both raise `RuntimeError`" in visible and "both on torch 2.4.0" in visible
    assert "It was closed by `#1301`, released in 0.9.2." in visible
    assert "%" not in visible and "uplicate" not in visible and "lease" not in visible.replace("released", "")
    assert len(visible) < 900
    [earlier] = bench.same()
    assert (earlier.id, earlier.is_open, earlier.opened) == (f"{REPO}#2", False, "2024-05-03")
    assert issue.state == "open"


def test_nothing_near_nothing_shown(bench: Bench) -> None:
    issue = bench.issue(
        "Docs: a word is misspelt", "In the readme it says recieve instead of receive, twice."
    )
    assert bench.opened(issue).reason == "other_field"
    assert bench.same() == []
    assert bench.ours(issue) == []


def test_without_a_history_and_a_near_case_no_record_is_made(bench: Bench) -> None:
    bench.kept.forget(names=[REPO])
    bench.core.answer = lambda report: silent(report).model_copy(update={"neighbours": []})
    bench.recorder.read.clear()
    assert bench.opened(bench.report()).reason == "other_field"
    assert bench.recorder.read == [] and bench.fake.queries == []


def test_a_later_report_is_found_through_one_that_came_by_webhook(bench: Bench) -> None:
    bench.opened(bench.report())
    later = bench.issue(f"{OTHERS[1].title}, NCCL timeout", AGAIN.body.replace("rank 0", "rank 5"))
    bench.opened(later)
    assert sorted(one.id for one in bench.same()) == [f"{REPO}#2", f"{REPO}#6"], (
        "three reports of one failure"
    )
    assert {one.id: one.ended for one in bench.same()}[f"{REPO}#6"] == "still open"
    first = bench.repo.issues[6]
    bench.opened(first, "edited")
    assert f"{REPO}#7" not in [one.id for one in bench.same()], "what came later is no earlier report"


def test_shown_are_two_at_most(bench: Bench) -> None:
    for n in range(4):
        bench.opened(bench.report(6 + n))
    assert len(bench.same()) == 2
    [comment] = bench.ours(bench.repo.issues[9])
    assert comment.body.count("redirect.github.com") == 2


def test_closing_and_deleting_by_webhook_change_the_history(bench: Bench) -> None:
    issue = bench.report()
    bench.opened(issue)
    bench.past.issues.append(
        node(
            6,
            issue.title,
            issue.body,
            state="CLOSED",
            stateReason="NOT_PLANNED",
            closedAt="2026-01-01T00:00:00Z",
        )
    )
    read = len(bench.recorder.read)
    issue.state = "closed"
    bench.deliver("issues", bench.fake.payload(REPO, issue, "closed"))
    kept = bench.kept.issues(1, ["6"])["6"]
    assert (kept.outcome.is_open, kept.outcome.reason) == (False, "not_planned")
    assert len(bench.recorder.read) == read, "the text is the same"
    bench.deliver("issues", bench.fake.payload(REPO, issue, "deleted"))
    assert bench.kept.issues(1, ["6"]) == {}


def test_comments_bring_other_people_and_marks_into_the_history(bench: Bench) -> None:
    issue = bench.report()
    bench.opened(issue)
    [comments] = [row["comments"]["nodes"] for row in [node(6, issue.title, issue.body)]]
    bench.past.issues.append(node(6, issue.title, issue.body, comments=comments))

    def wrote(login: str, text: str, association: str = "NONE", action: str = "created") -> Any:
        if action == "created":
            comments.append(said(login, text, association))
        comment = bench.fake.add_comment(issue, login, text, association)
        outcome = bench.repeat(issue, comment, action)
        return outcome.reason, bench.kept.issues(1, ["6"])["6"].outcome

    reason, out = wrote("eve", "Same here.")
    assert (reason, out.others, out.is_open) == ("remark", 1, True)
    assert wrote("bob", "+1")[1].others == 2
    assert wrote("ada", "Duplicate of #3", "MEMBER")[1].duplicates == ("3",)
    comments.clear()
    assert wrote("eve", "Same here.", action="deleted")[1].others == 0
    queries = len(bench.fake.queries)
    bench.say(issue, "ci[bot]", "Same here.")
    assert len(bench.fake.queries) == queries, "of bots nothing is read"
    assert [text for text in bench.recorder.read if text == "6"] == ["6"], "the text is the same"


@pytest.mark.parametrize("how", ["labeled", "commented", "commanded", "edited"])
def test_an_issue_that_the_back_fill_passed_over_comes_in_with_whatever_happens_to_it(
    bench: Bench, how: str
) -> None:
    issue = bench.report(user=user("ci[bot]") if how == "edited" else user("reporter"))
    bench.past.issues.append(node(6, issue.title, issue.body))
    assert bench.kept.issues(1, ["6"]) == {}
    if how == "labeled":
        bench.opened(issue, "labeled", label={"name": "bug"})
    elif how == "edited":
        assert bench.opened(issue, "edited").reason == "bot_author"
    else:
        bench.say(issue, "eve", "Same here." if how == "commented" else "/triage off")
    assert bench.kept.issues(1, ["6"])["6"].title == issue.title
    queries = len(bench.fake.queries)
    bench.opened(issue, "labeled", label={"name": "bug"})
    assert len(bench.fake.queries) == queries, "one that is kept is not read again for a label"


def test_what_happens_to_an_issue_that_is_not_triaged_again_is_kept(bench: Bench) -> None:
    issue = bench.report()
    bench.opened(issue)
    issue.state, issue.title, issue.body = "closed", "Removed", "What was here is nobody's business."
    bench.past.issues.append(node(6, issue.title, issue.body, **CLOSED))
    assert bench.opened(issue, "edited").reason == "closed"
    kept = bench.kept.issues(1, ["6"])["6"]
    assert (kept.title, kept.outcome.is_open) == ("Removed", False)
    issue.state, issue.author = "open", user("ci[bot]")
    bench.past.issues[-1] = node(6, issue.title, issue.body)
    assert bench.opened(issue, "reopened").reason == "bot_author"
    assert bench.kept.issues(1, ["6"])["6"].outcome.is_open
    queries = len(bench.fake.queries)
    issue.author = user("reporter")
    bench.opened(issue, "opened")
    assert len(bench.fake.queries) == queries, "a triage keeps it"


def test_a_repository_that_was_renamed_goes_by_its_new_name(bench: Bench) -> None:
    [repo] = bench.kept.repos.values()
    bench.kept.repos[repo.key] = replace(repo, full_name="acme/former")
    bench.opened(bench.report())
    assert [one.id for one in bench.same()] == [f"{REPO}#2"]


def test_an_issue_that_github_does_not_give_or_the_core_cannot_read_is_left_out(bench: Bench) -> None:
    issue = bench.report()
    assert bench.opened(issue, "labeled", label={"name": "bug"}).reason == "label"
    bench.past.issues.append(node(6, issue.title, issue.body))

    def fail(posts: Any, triaged: bool = False) -> Recorded:
        raise CoreFailed("hung")

    bench.recorder.records = fail  # type: ignore[method-assign]
    assert bench.opened(issue, "labeled", label={"name": "bug"}).reason == "label"
    assert bench.kept.issues(1, ["6"]) == {}


def test_a_duplicate_of_a_duplicate_says_how_the_first_one_ended(bench: Bench) -> None:
    closed_as = {"state": "CLOSED", "stateReason": "DUPLICATE", "closedAt": at(4)}
    mark = {"timelineItems": {"nodes": [marked(3, who("ada"))]}}
    bench.past.issues[1] |= {**closed_as, **mark}
    again = {"timelineItems": {"nodes": [marked(4, who("ada"))]}}
    bench.past.issues[2] |= {**closed_as, **again}
    bench.past.issues[3] |= {**CLOSED, "timelineItems": {"nodes": [FIX]}}
    repo = bench.kept.find(REPO)
    assert repo is not None
    fill(bench.kept, replace(repo, progress=Progress()), reader(bench.past), bench.recorder)
    bench.past.releases, bench.past.holds = [("v0.9.2", 9)], {"v0.9.2": {"a" * 40}}
    bench.opened(bench.report())
    [earlier] = bench.same()
    assert (
        earlier.ended
        == "closed as a duplicate of `#3`, itself one of `#4` (closed by `#1301`, released in 0.9.2)"
    )
    bench.past.issues[3] |= {**closed_as, "timelineItems": {"nodes": [marked(2, who("ada"))]}}
    fill(bench.kept, replace(repo, progress=Progress()), reader(bench.past), bench.recorder)
    bench.opened(bench.repo.issues[6], "edited")
    assert bench.same()[0].ended == "closed as a duplicate of `#3`", "marks that go in circles"


def test_where_github_does_not_say_how_it_ended_the_webhook_does(bench: Bench) -> None:
    issue = bench.report()
    bench.opened(issue)
    bench.fake.graphql = None
    payload = bench.fake.payload(REPO, issue, "closed")
    payload["issue"] |= {
        "state": "closed",
        "state_reason": "not_planned",
        "closed_at": "2026-01-01T00:00:00Z",
    }
    bench.deliver("issues", payload)
    outcome = bench.kept.issues(1, ["6"])["6"].outcome
    assert (outcome.reason, outcome.closed_at) == ("not_planned", datetime(2026, 1, 1, tzinfo=UTC))


def test_a_release_that_cannot_be_looked_up_costs_nothing_else(bench: Bench) -> None:
    issue = bench.report()
    bench.fake.graphql = None
    bench.opened(issue)
    assert bench.same()[0].ended == "closed by `#1301`"


def test_a_core_that_fails_over_the_record_costs_the_history_alone(bench: Bench) -> None:
    def fail(posts: Any, triaged: bool = False) -> Recorded:
        raise CoreFailed("hung")

    bench.recorder.records = fail  # type: ignore[method-assign]
    assert bench.opened(bench.report()).reason == "other_field"


def test_a_history_of_another_model_is_left_alone(bench: Bench) -> None:
    bench.recorder.encoder = "new"
    assert bench.opened(bench.report()).reason == "other_field"
    assert bench.kept.count(1) == 5


@pytest.mark.parametrize("how", ["installation", "repository"])
def test_everything_goes_when_the_app_is_removed(bench: Bench, how: str) -> None:
    repo = {"id": bench.repo.id, "full_name": REPO}
    base = {"installation": {"id": 1, "account": {"login": "acme"}}}
    if how == "installation":
        bench.deliver("installation", {**base, "action": "deleted", "repositories": []})
    else:
        removed = {**base, "action": "removed", "repositories_removed": [repo], "repositories_added": []}
        bench.deliver("installation_repositories", removed)
    assert bench.kept.find(REPO, bench.repo.id) is None
    bench.opened(bench.report())
    assert bench.kept.find(REPO) is None, "and a late delivery brings nothing back"


def test_a_suspended_app_keeps_it(bench: Bench) -> None:
    base = {"installation": {"id": 1, "account": {"login": "acme"}}}
    bench.deliver("installation", {**base, "action": "suspend"})
    assert bench.kept.find(REPO) is not None


def test_shadow_mode_shows_it_to_maintainers_alone(bench: Bench) -> None:
    bench.configure("mode: shadow\n")
    issue = bench.report()
    assert bench.opened(issue).kind == "shadow"
    assert "same failure" in bench.store.triages[-1].would_post
    assert bench.fake.writes() == []


def test_without_the_section_it_is_not_said(bench: Bench) -> None:
    bench.configure("mode: comment\nsections: [evidence, fixes]\n")
    issue = bench.report()
    bench.opened(issue)
    assert bench.ours(issue) == [] and bench.same()


def test_an_index_grows_with_what_another_process_adds(bench: Bench) -> None:
    histories = bench.ports.histories
    assert histories is not None
    repo = bench.kept.find(REPO)
    assert repo is not None
    post = Post("99", AGAIN.title, AGAIN.body, datetime(2024, 6, 1, tzinfo=UTC))
    [record] = bench.recorder.records([post]).records
    assert histories.near(repo, record)[0].record.id == "2"
    elsewhere = Histories(bench.kept, bench.recorder)
    earlier = replace(post, id="50", opened=datetime(2024, 5, 31, tzinfo=UTC))
    looked = elsewhere.look(REPO, bench.repo.id, earlier, a_triage())
    assert looked is not None
    elsewhere.keep(looked, PastIssue(earlier, still_open()))
    assert histories.near(repo, record)[0].record.id == "50"


class Reader:
    """An LLM that takes everything, or nothing, for the same failure."""

    def __init__(self, agrees: bool = True, fault: str | None = None) -> None:
        self.agrees, self.fault = agrees, fault
        self.read: list[list[Report]] = []

    def compare(self, report: Report, earlier: Sequence[Report]) -> Compared:
        self.read.append([report, *earlier])
        same = tuple(one.id for one in earlier) if self.agrees and not self.fault else ()
        return Compared("acme-7b", same, self.fault, tokens_in=5, cost=0.25)


NOTED = SecondReading(used=True, duties=["reader"], model="acme-7b", tokens_in=10, cost=0.5)


def with_threshold(bench: Bench, threshold: float, said: Said = lambda repo, id: {}) -> None:
    weights = replace(load_weights(), threshold=threshold)
    bench.ports = replace(bench.ports, histories=Histories(bench.kept, bench.recorder, weights, said=said))


def read_by(bench: Bench, reader: Reader) -> Reader:
    bench.ports = replace(bench.ports, comparer=reader)
    return reader


@pytest.fixture
def doubtful(bench: Bench) -> Bench:
    """Nothing is probable enough by itself, and a repository that wants an LLM's word."""
    with_threshold(bench, 0.99)
    bench.configure("mode: comment\nllm: ids\n")
    bench.core.answer = lambda report: silent(report).model_copy(update={"second_reading": NOTED})
    for post in OTHERS:
        issue = bench.fake.open_issue(REPO, post.title, post.body)
        assert str(issue.number) == post.id
    return bench


def test_what_is_doubtful_is_read_by_an_llm_and_said_with_its_name(doubtful: Bench) -> None:
    reader = read_by(doubtful, Reader())
    issue = doubtful.report()
    doubtful.opened(issue)
    [[report, *earlier]] = reader.read
    assert report.title == AGAIN.title
    assert (earlier[0].id, earlier[0].body) == ("2", OTHERS[1].body)
    [comment] = doubtful.ours(issue)
    assert "an LLM (`acme-7b`) read both and found the same failure, " in comment.body
    first = doubtful.same()[0]
    assert (first.id, first.read_by) == (f"{REPO}#2", "acme-7b")
    note = doubtful.store.triages[-1].triage.second_reading
    assert note is not None
    assert (note.duties, note.tokens_in, note.cost) == (["reader", "comparer"], 15, 0.75)


@pytest.mark.parametrize("reader", [Reader(agrees=False), Reader(fault="timeout")])
def test_what_it_does_not_confirm_is_not_said(doubtful: Bench, reader: Reader) -> None:
    read_by(doubtful, reader)
    issue = doubtful.report()
    assert doubtful.opened(issue).reason == "other_field"
    assert len(reader.read) == 1 and doubtful.ours(issue) == [] == doubtful.same()


def test_it_reads_nothing_where_a_repository_wants_no_llm(doubtful: Bench) -> None:
    reader = read_by(doubtful, Reader())
    doubtful.configure("mode: comment\nllm: off\n")
    doubtful.opened(doubtful.report())
    assert reader.read == [] == doubtful.same()


def test_what_is_sure_is_not_read(doubtful: Bench) -> None:
    reader = read_by(doubtful, Reader(agrees=False))
    with_threshold(doubtful, 0.3)
    doubtful.opened(doubtful.report())
    assert [(one.id, one.read_by) for one in doubtful.same()] == [(f"{REPO}#2", "")]
    assert "2" not in [one.id for found in reader.read for one in found]


def test_what_people_said_of_a_pair_is_not_asked(doubtful: Bench) -> None:
    reader = read_by(doubtful, Reader())
    with_threshold(doubtful, 0.99, said=lambda repo, id: {"2": -1})
    doubtful.opened(doubtful.report())
    assert "2" not in [one.id for found in reader.read for one in found]


def test_an_earlier_issue_that_is_gone_is_not_compared(doubtful: Bench) -> None:
    reader = read_by(doubtful, Reader())
    issue = doubtful.report()
    del doubtful.repo.issues[2]
    doubtful.opened(issue)
    assert "2" not in [one.id for found in reader.read for one in found] and doubtful.same() == []


def test_a_text_that_is_kept_is_read_without_asking_github(doubtful: Bench) -> None:
    reader_ = read_by(doubtful, Reader())
    weights = replace(load_weights(), threshold=0.99)
    histories = Histories(doubtful.kept, doubtful.recorder, weights, keep_texts=True)
    doubtful.ports = replace(doubtful.ports, histories=histories)
    repo = doubtful.kept.find(REPO)
    assert repo is not None
    secret = "ghp_" + "a1B2" * 9
    second = replace(OTHERS[1], body=f"{OTHERS[1].body}\ntoken {secret}")
    records = made([second])
    doubtful.kept.save_page(
        repo.key, [kept_issue(PastIssue(second, still_open()), records[0], with_text=True)]
    )
    issue = doubtful.report()
    del doubtful.repo.issues[2]
    doubtful.opened(issue)
    read = {one.id: one for found in reader_.read for one in found[1:]}
    assert "all_reduce" in read["2"].title and "Watchdog caught" in read["2"].body
    assert secret not in read["2"].body and "token" in read["2"].body
    assert [one.id for one in doubtful.same()] == [f"{REPO}#2"]
    assert doubtful.kept.texts(repo.key, ["6"])["6"].title == AGAIN.title, "the new report's text, too"


def test_without_the_setting_a_webhook_leaves_no_text(bench: Bench) -> None:
    bench.opened(bench.report())
    repo = bench.kept.find(REPO)
    assert repo is not None and bench.kept.issues(repo.key, ["6"]) and bench.kept.bodies == {}


class CutOff(MemoryHistory):
    """A store whose connection is lost once, after so many rows of an index that is built."""

    def __init__(self, after: int) -> None:
        super().__init__()
        self.after = after
        self.asked: list[int] = []

    def newer(self, key: int, version: int) -> Iterator[tuple[int, Record]]:
        self.asked.append(version)
        for n, row in enumerate(super().newer(key, version)):
            if n == self.after and len(self.asked) == 1:
                raise psycopg.OperationalError("the connection was lost")
            yield row


@pytest.mark.parametrize(("after", "resumed"), [(1, 0), (2, 0), (3, 1)])
def test_an_index_whose_building_was_cut_off_is_continued(after: int, resumed: int) -> None:
    """Two issues a version; one that may be incomplete is read again."""
    *earlier, again = made([*OTHERS[:4], AGAIN])
    store = CutOff(after)
    repo = store.begin(REPO, "words", 1, 1)
    for page in (earlier[:2], earlier[2:]):
        kept = [PastIssue(post, still_open()) for post in OTHERS if post.id in {one.id for one in page}]
        store.save_page(repo.key, [kept_issue(*pair) for pair in zip(kept, page, strict=True)])
    histories = Histories(store, TinyRecorder())
    with pytest.raises(psycopg.OperationalError):
        histories.near(repo, again)
    assert histories.near(repo, again)[0].record.id == "2"
    assert store.asked == [0, resumed]
