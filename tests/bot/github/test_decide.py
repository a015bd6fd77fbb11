"""The decisions about one issue, each from plain values: leave it alone, say something, ask, set labels."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import pytest

from bot.gate.rules import PassedLabel
from bot.github.decide import (
    LabelPlan,
    answered_by_maintainer,
    drop_requests,
    has_arrived,
    lacking,
    leave_alone,
    mode_now,
    note_requests,
    other_bot_asks,
    own_labels,
    plan_labels,
    plan_own_labels,
    plan_request_label,
    remove_request_label,
    wanted_labels,
    what_to_say,
    with_lacking,
    write_labels,
)
from bot.github.ports import Comment, Issue, LabelEvent, Ports
from bot.github.records import IssueRef, Noise, RepoRef, Request, TryAgain
from bot.github.repo_config import RepoConfig
from knowledge.report import Report
from knowledge.triage import AxisName, EarlierReport, MissingItem, SuggestedLabel, Triage, WrittenAnswer
from tests.bot.fake_core import FakeCore, a_triage, axis, thin
from tests.bot.memory_store import MemoryStore, StillClock

BOT = "distriage[bot]"
REF = IssueRef(1, RepoRef(101, "acme/train"), 7)
NOW = datetime(2026, 1, 2, tzinfo=UTC)
ISSUE = Issue(
    number=7,
    title="Training hangs on two nodes",
    body="It stops after the first epoch on all ranks.",
    author="reporter",
    author_is_bot=False,
    labels=frozenset(),
    open=True,
    locked=False,
    is_pull_request=False,
    created_at=NOW,
)
QUIET = Noise(20, 0)


def config(**keys: Any) -> RepoConfig:
    return RepoConfig.model_validate({"mode": "both", **keys})


def test_an_open_issue_of_a_person_is_looked_at() -> None:
    assert leave_alone(ISSUE, config(), repo_open=True) is None


@pytest.mark.parametrize(
    ("changes", "keys", "why"),
    [
        ({"is_pull_request": True}, {}, "pull_request"),
        ({"locked": True}, {}, "locked"),
        ({"open": False}, {}, "closed"),
        ({"author_is_bot": True}, {}, "bot_author"),
        ({"author_is_bot": True}, {"ignore": {"bots": False}}, None),
        ({}, {"ignore": {"authors": ["Reporter"]}}, "ignored_author"),
        ({"labels": frozenset({"Docs"})}, {"ignore": {"labels": ["docs"]}}, "ignored_label"),
        ({"title": "Hi", "body": " "}, {}, "too_short"),
    ],
)
def test_why_an_issue_is_left_alone(changes: dict[str, Any], keys: dict[str, Any], why: str | None) -> None:
    assert leave_alone(replace(ISSUE, **changes), config(**keys), repo_open=True) == why
    assert leave_alone(replace(ISSUE, **changes), config(**keys), repo_open=False) == "archived"


def test_what_is_switched_off_or_too_noisy_falls_back_to_shadow() -> None:
    assert mode_now(config(), True, QUIET) == ("both", "configured")
    assert mode_now(config(), False, QUIET) == ("shadow", "switched_off")
    assert mode_now(config(), True, Noise(20, 5)) == ("shadow", "noise_budget")
    assert mode_now(config(mode="shadow"), True, Noise(20, 5)) == ("shadow", "shadow")


EARLIER = EarlierReport(
    id="acme/train#3", url="", title="Hang", why=["same error line"], is_open=True, ended="still open"
)
ANSWER = WrittenAnswer(sentences=[], model="m", verified=True)


@pytest.mark.parametrize(
    ("triage", "keys", "reason"),
    [
        (a_triage(same_failure=[EARLIER], findings=[]), {}, "same_failure"),
        (a_triage(same_failure=[EARLIER], scope="unreadable"), {"sections": ["evidence"]}, "unreadable"),
        (a_triage(answer=ANSWER, findings=[]), {"llm": "comment"}, "written_answer"),
        (a_triage(answer=ANSWER, findings=[]), {"llm": "draft"}, "nothing_specific"),
    ],
)
def test_an_earlier_issue_and_a_verified_answer_are_worth_a_comment(
    triage: Triage, keys: dict[str, Any], reason: str
) -> None:
    assert what_to_say(triage, config(**keys), other_bot_asks=False).reason == reason


def test_an_answer_that_a_maintainer_posted_stays() -> None:
    triage = a_triage(answer=ANSWER, findings=[])
    assert what_to_say(triage, config(), other_bot_asks=False, posted=True).reason == "written_answer"


def test_nobody_is_asked_twice_by_two_bots() -> None:
    bare = thin(Report("acme/train#1", "It hangs", "It hangs."))
    assert what_to_say(bare, config(), other_bot_asks=False).what == "ask"
    assert what_to_say(bare, config(), other_bot_asks=True).reason == "another_bot_asks"


def said(author: str, body: str, association: str = "NONE") -> Comment:
    return Comment(1, author, author.endswith("[bot]"), body, association)


def test_another_bot_asks_when_it_asks_for_information() -> None:
    ask = "Please fill in the template."
    assert other_bot_asks([said("helper[bot]", ask)], BOT)
    assert not other_bot_asks([said(BOT, ask), said("eve", ask), said("helper[bot]", "Thanks!")], BOT)


def test_a_maintainers_words_answer_and_a_command_does_not() -> None:
    assert answered_by_maintainer([said("ada", "Update the driver.", "MEMBER")], "reporter")
    assert not answered_by_maintainer(
        [said("ada", "/triage again", "MEMBER"), said("reporter", "Me, too.", "OWNER"), said("eve", "+1")],
        "reporter",
    )


# Requests: noted when the comment asks, ended when something came.

LOG = MissingItem(id="log", ask="Please post the log.")
STACKS = MissingItem(id="stacks", ask="Please post the stacks.")


def asked(item: MissingItem, state: Any = "open", input_hash: str = "old") -> Request:
    return Request(item.id, item.ask, input_hash, NOW, state)


def test_a_log_stays_asked_for_until_there_is_one() -> None:
    fault, question = a_triage(missing=[]), a_triage(missing=[], type=axis(("howto", 0.9)))
    assert lacking([asked(LOG)], fault, "It still hangs.") == [LOG]
    assert lacking([asked(LOG)], fault, "RuntimeError: no") == []
    assert lacking([asked(LOG)], question, "It still hangs.") == []
    assert lacking([asked(LOG, "arrived")], fault, "It still hangs.") == []
    assert lacking([asked(STACKS)], fault, "It still hangs.") == []


def test_what_is_still_missing_is_asked_for_in_the_words_of_today() -> None:
    today = STACKS.model_copy(update={"ask": "Which stacks are there?"})
    assert lacking([asked(STACKS)], a_triage(missing=[today]), "") == [today]


def test_what_was_asked_for_before_comes_first() -> None:
    assert with_lacking(a_triage(missing=[STACKS, LOG]), [LOG]).missing == [LOG, STACKS]


def test_something_has_arrived_when_the_text_has_it_or_it_was_seen_before() -> None:
    assert has_arrived([asked(STACKS, "arrived")], "")
    assert has_arrived([asked(LOG)], "RuntimeError: no")
    assert not has_arrived([asked(LOG), asked(STACKS, "dropped")], "It hangs.")


@pytest.fixture
def ports() -> Ports:
    return Ports(None, MemoryStore(), StillClock(), FakeCore())


def states(ports: Ports) -> dict[str, str]:
    return {one.item: one.state for one in ports.store.requests(REF)}


def test_requests_are_noted_once_and_end_when_they_came_or_are_asked_no_more(ports: Ports) -> None:
    def note(*items: MissingItem, body: str = "It hangs.") -> bool:
        return note_requests(ports, REF, ports.store.requests(REF), items, Report("x", "Hang", body))

    assert note(LOG, STACKS)
    first = ports.store.requests(REF)
    assert note(LOG, STACKS)
    assert ports.store.requests(REF) == first, "twice is once"
    reworded = LOG.model_copy(update={"ask": "Please post the whole log."})
    assert note(reworded)
    assert states(ports) == {"log": "open", "stacks": "dropped"}, "the same text holds no stacks"
    assert {one.ask for one in ports.store.requests(REF) if one.item == "log"} == {reworded.ask}
    assert not note(body="RuntimeError: no")
    assert states(ports) == {"log": "arrived", "stacks": "dropped"}
    assert note(LOG)
    assert states(ports)["log"] == "open", "asked for anew"


def test_with_the_comment_go_its_requests(ports: Ports) -> None:
    ports.store.save_request(REF, asked(LOG))
    ports.store.save_request(REF, asked(STACKS, "arrived"))
    drop_requests(ports, REF)
    assert states(ports) == {"log": "dropped", "stacks": "arrived"}


# Labels: people win.

MAPPED = {"labels": {"symptom": {"D.2.1": "hang", "B.2": "setup-hang"}, "cause": {"dependency": "deps"}}}
WANTED: dict[AxisName, tuple[str, ...]] = {"symptom": ("hang",)}


def event(label: str, actor: str, added: bool = True) -> LabelEvent:
    return LabelEvent(label, added, actor)


def test_a_label_is_wanted_where_its_id_is_claimed_and_probable_enough() -> None:
    wanted = wanted_labels(a_triage(), config(**MAPPED))
    assert wanted["symptom"] == ("hang",)
    assert wanted["cause"] == (), "network_environment has no label"
    assert wanted_labels(a_triage(), config(**MAPPED, thresholds={"label": 0.9}))["symptom"] == ()


@pytest.mark.parametrize(
    ("present", "events", "plan"),
    [
        ((), (), LabelPlan(add=("hang",))),
        (("hang",), (event("hang", BOT),), LabelPlan()),
        (("Setup-Hang",), (event("setup-hang", BOT),), LabelPlan(add=("hang",), remove=("setup-hang",))),
        (("setup-hang",), (event("setup-hang", "ada"),), LabelPlan()),
        ((), (event("hang", BOT), event("hang", "ada", added=False)), LabelPlan()),
        (("deps",), (event("deps", BOT),), LabelPlan(add=("hang",), remove=("deps",))),
    ],
    ids=["none", "there", "ours-moves", "a-persons-stays", "removed-by-a-person", "ours-of-another-axis"],
)
def test_people_win_over_the_bots_labels(
    present: tuple[str, ...], events: tuple[LabelEvent, ...], plan: LabelPlan
) -> None:
    assert plan_labels(WANTED, config(**MAPPED), present, events, BOT) == plan


def learned(label: str, *rivals: str) -> SuggestedLabel:
    return SuggestedLabel(label=label, p=0.9, line=0, text="", tested=9, right=9, rivals=list(rivals))


def test_learned_labels_are_those_that_the_rules_allow_and_nothing_else_sets() -> None:
    triage = a_triage(own_labels=[learned("bug"), learned("hang"), learned("needs-info"), learned("ci")])
    rules = {"own_labels": {"never": ["ci"]}}
    assert [one.label for one in own_labels(triage, config(**MAPPED, **rules))] == ["bug"]
    assert own_labels(triage, config()) == ()


@pytest.mark.parametrize(
    ("present", "events", "add"),
    [
        ((), (), ("bug", "sub-a")),
        (("feature",), (), ("sub-a",)),
        (("sub-b",), (), ("bug",)),
        ((), (event("bug", "ada", added=False),), ("sub-a",)),
        (("BUG",), (), ("sub-a",)),
    ],
)
def test_of_labels_that_exclude_each_other_one_is_set(
    present: tuple[str, ...], events: tuple[LabelEvent, ...], add: tuple[str, ...]
) -> None:
    wanted = [learned("bug", "feature"), learned("sub-a"), learned("sub-c")]
    rules = config(own_labels={"exclusive": ["sub-*"]})
    assert plan_own_labels(wanted, rules, present, events, BOT) == LabelPlan(add=add)
    assert plan_own_labels(wanted, config(), present, events, BOT) == LabelPlan()


@pytest.mark.parametrize(
    ("pending", "present", "events", "plan"),
    [
        (True, (), (), LabelPlan(add=("ask",))),
        (True, (), (event("ask", "ada", added=False),), LabelPlan()),
        (True, ("ask",), (event("ask", BOT),), LabelPlan()),
        (False, ("ask",), (event("ask", BOT),), LabelPlan(remove=("ask",))),
        (False, ("ask",), (event("ask", "ada"),), LabelPlan()),
        (False, (), (), LabelPlan()),
    ],
)
def test_the_label_of_a_request_is_set_while_something_is_asked_for(
    pending: bool, present: tuple[str, ...], events: tuple[LabelEvent, ...], plan: LabelPlan
) -> None:
    assert plan_request_label("ask", pending, present, events, BOT) == plan


@dataclass
class Labels:
    """A GitHub of which only the labels are seen."""

    has: set[str]
    events: list[LabelEvent] = field(default_factory=list)
    login: str = BOT
    calls: list[str] = field(default_factory=list)

    def label_events(self, ref: IssueRef) -> list[LabelEvent]:
        return self.events

    def repo_labels(self, repo: RepoRef) -> frozenset[str]:
        return frozenset(self.has)

    def create_label(self, repo: RepoRef, label: PassedLabel) -> None:
        self.calls.append(f"create {label}")

    def add_labels(self, ref: IssueRef, labels: list[PassedLabel]) -> None:
        self.calls.append(f"add {', '.join(labels)}")

    def remove_label(self, ref: IssueRef, label: PassedLabel) -> None:
        self.calls.append(f"remove {label}")


def written(
    github: Any, ports: Ports, triage: Triage, *present: str, pending: bool = False, **keys: Any
) -> LabelPlan:
    issue = replace(ISSUE, labels=frozenset(present))
    return write_labels(github, ports, REF, issue, triage, config(**keys), pending)


def test_only_labels_that_the_repository_has_are_set(ports: Ports) -> None:
    github = Labels({"Hang"})
    assert written(github, ports, a_triage(), **MAPPED) == LabelPlan(("Hang",))
    assert github.calls == ["add Hang"]
    bare = Labels(set())
    assert written(bare, ports, a_triage(), **MAPPED) == LabelPlan()
    assert bare.calls == []


def test_mapped_labels_are_created_where_that_is_configured_and_learned_ones_never(ports: Ports) -> None:
    github = Labels(set())
    triage = a_triage(own_labels=[learned("bug")])
    plan = written(github, ports, triage, **MAPPED, own_labels={}, create_labels=True)
    assert plan == LabelPlan(("hang",))
    assert github.calls == ["create hang", "add hang"]


def test_labels_of_an_axis_a_request_and_what_was_learned_are_set_at_once(ports: Ports) -> None:
    github = Labels({"hang", "setup-hang", "needs-info", "bug"}, [event("setup-hang", BOT)])
    triage = a_triage(own_labels=[learned("bug")])
    plan = written(github, ports, triage, "setup-hang", pending=True, **MAPPED, own_labels={})
    assert plan == LabelPlan(("hang", "needs-info", "bug"), ("setup-hang",))
    assert github.calls == ["add hang, needs-info, bug", "remove setup-hang"]


def test_where_nothing_is_to_change_nothing_is_written(ports: Ports) -> None:
    github = Labels({"hang"}, [event("hang", BOT)])
    assert written(github, ports, a_triage(), "hang", **MAPPED) == LabelPlan()
    assert written(github, ports, a_triage()) == LabelPlan(), "no label is configured"
    assert github.calls == []


def test_when_the_write_budget_is_spent_no_label_is_set() -> None:
    one_a_minute = Ports(None, MemoryStore(per_minute=1), StillClock(), FakeCore())
    github = Labels({"hang"})
    written(github, one_a_minute, a_triage(), **MAPPED)
    with pytest.raises(TryAgain):
        written(github, one_a_minute, a_triage(), **MAPPED)
    assert github.calls == ["add hang"]


@pytest.mark.parametrize(
    ("present", "by", "keys", "removed"),
    [
        (("Needs-Info",), BOT, {}, ("Needs-Info",)),
        (("needs-info",), "ada", {}, ()),
        ((), BOT, {}, ()),
        (("needs-info",), BOT, {"request_label": None}, ()),
        (("needs-info",), BOT, {"labels": {"symptom": {"B.2": "needs-info"}}}, ()),
    ],
)
def test_the_label_of_a_request_goes_where_the_bot_set_it(
    ports: Ports, present: tuple[str, ...], by: str, keys: dict[str, Any], removed: tuple[str, ...]
) -> None:
    github: Any = Labels({"needs-info"}, [event("needs-info", by)])
    issue = replace(ISSUE, labels=frozenset(present))
    assert remove_request_label(github, ports, REF, issue, config(**keys)) == removed
    assert github.calls == [f"remove {name}" for name in removed]
