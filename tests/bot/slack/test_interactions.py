"""What shortcuts, buttons and modals ask for, and how a modal is opened, without a service."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import pytest

from bot.gate.slack import PassedView
from bot.slack import words
from bot.slack.answer import MORE, WRONG
from bot.slack.inbound import Unreadable
from bot.slack.interactions import (
    PASTE,
    SHORTCUT,
    WRONG_LABELS,
    chosen_labels,
    errors,
    interaction,
    open_modal,
    pasted,
    say_now,
)
from bot.slack.ports import SlackPorts
from bot.slack.records import Answer, Decision, Open, Queue, Refused, Reply, SlackTriage, Task, Unreachable
from tests.bot.fake_core import IDS, FakeCore, a_triage
from tests.bot.memory_store import StillClock
from tests.bot.slack.test_inbound import LOG, RESULT, Seal

NOW = StillClock().now()
REPLY = Reply(sealed="https://hooks.slack.com/x", issued=NOW.timestamp())


def asked(kind: str, **more: Any) -> Decision:
    payload = {
        "type": kind,
        "team": {"id": "T1"},
        "user": {"id": "U1"},
        "channel": {"id": "C1"},
        "trigger_id": "t",
        "response_url": "https://hooks.slack.com/x",
        **more,
    }
    return interaction(payload, Seal(), 5.0)


def task_of(decision: Decision) -> Task:
    assert isinstance(decision, Queue)
    return decision.task


def test_a_call_of_nobody_is_unreadable_and_one_of_another_kind_asks_for_nothing() -> None:
    with pytest.raises(Unreadable):
        asked("block_actions", user={"id": "../x"})
    assert asked("view_closed") == Answer()
    assert asked("message_action", callback_id="someone_elses") == Answer()


def test_the_shortcut_triages_the_message_with_its_files() -> None:
    message = {"text": LOG, "files": [{"id": "F1"}], "thread_ts": "1.0"}
    task = task_of(asked("message_action", callback_id=SHORTCUT, message=message))
    assert (task.kind, task.text, task.files, task.thread) == ("triage", LOG, ("F1",), "1.0")
    task = task_of(asked("message_action", callback_id=SHORTCUT, message={"text": RESULT, "thread_ts": 3}))
    assert (task.kind, task.thread) == ("result", None)


def pressed(name: Any, value: Any = "0a1b") -> Decision:
    return asked("block_actions", actions=[{"action_id": name, "value": value}])


def test_a_button_stands_under_its_triage() -> None:
    task = task_of(pressed(MORE))
    assert (task.kind, task.triage) == ("more", "0a1b")
    opened = pressed(WRONG)
    assert isinstance(opened, Open) and (opened.modal, opened.triage) == ("wrong", "0a1b")


@pytest.mark.parametrize(
    "actions", [None, [], ["junk"], [{"action_id": MORE}], [{"action_id": MORE, "value": "../x"}]]
)
def test_a_button_without_a_triage_asks_for_nothing(actions: Any) -> None:
    assert asked("block_actions", actions=actions) == Answer()


def test_a_button_that_is_not_ours_asks_for_nothing() -> None:
    assert pressed("someone_elses") == Answer()


def submitted(callback: str, values: Any, note: Any = None, *, raw: str | None = None) -> Decision:
    kept = {"channel": "C9", "triage": "0a1b", "reply": REPLY.model_dump()} if note is None else note
    view = {
        "callback_id": callback,
        "private_metadata": json.dumps(kept) if raw is None else raw,
        "state": {"values": values},
    }
    return asked("view_submission", view=view, channel=None, response_url=None)


def chosen(**labels: str) -> dict[str, Any]:
    return {axis: {axis: {"selected_option": {"value": id_}}} for axis, id_ in labels.items()}


def test_a_pasted_log_goes_where_the_box_was_opened() -> None:
    values = {"text": {"text": {"value": LOG}}, "files": {"files": {"files": [{"id": "F1"}]}}}
    decision = submitted(PASTE, values)
    task = task_of(decision)
    assert isinstance(decision, Queue) and decision.from_modal
    assert (task.kind, task.text, task.files, task.channel, task.reply) == (
        "triage",
        LOG,
        ("F1",),
        "C9",
        REPLY,
    )
    assert task_of(submitted(PASTE, {"text": {"text": {"value": RESULT}}}, {})).reply is None


def test_a_box_with_nothing_in_it_stays_open() -> None:
    assert submitted(PASTE, {"text": {"text": {"value": " "}}}) == errors("text", words.NOTHING_TO_READ)
    assert submitted(PASTE, {"text": "junk"}) == errors("text", words.NOTHING_TO_READ)


def test_of_what_was_pasted_only_texts_and_ids_are_taken() -> None:
    junk: list[Any] = [{"id": "../x"}, "junk", {"id": "F1"}, {"id": "F2"}, {"id": "F3"}, {"id": "F4"}]
    assert pasted({"text": {"text": {"value": 3}}, "files": {"files": {"files": junk}}}) == (
        "",
        ("F1", "F2", "F3"),
    )


def test_a_correction_is_stored_when_it_makes_sense() -> None:
    task = task_of(submitted(WRONG_LABELS, chosen(symptom="D.2.1", stage="D")))
    assert (task.kind, task.triage, task.labels) == (
        "correct",
        "0a1b",
        {"symptom": ("D.2.1",), "stage": ("D",)},
    )
    assert task_of(submitted(WRONG_LABELS, chosen(symptom="D.2.1"))).kind == "correct"
    for values, place in ((chosen(), "type"), (chosen(symptom="D.2.1", stage="B"), "symptom")):
        answer = submitted(WRONG_LABELS, values)
        assert isinstance(answer, Answer) and answer.body is not None
        assert list(answer.body["errors"]) == [place]


def named(text: Any) -> dict[str, Any]:
    return {"same": {"same": {"value": text}}}


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("#12", "12"),
        (" 12 ", "12"),
        ("acme/train#12", "acme/train#12"),
        ("https://github.com/acme/train/issues/12#issuecomment-1", "acme/train#12"),
    ],
)
def test_an_issue_with_the_same_failure_is_a_correction_by_itself(text: str, same: str) -> None:
    task = task_of(submitted(WRONG_LABELS, named(text)))
    assert (task.kind, task.labels, task.same) == ("correct", {}, same)


def test_what_is_no_issue_keeps_the_modal_open() -> None:
    assert submitted(WRONG_LABELS, {**chosen(stage="D"), **named("that one")}) == errors(
        "same", words.NO_ISSUE
    )
    assert task_of(submitted(WRONG_LABELS, {**chosen(stage="D"), **named(None)})).same == ""


def test_of_what_was_chosen_junk_is_left_out() -> None:
    junk = {**chosen(stage="D"), "type": {"type": {"selected_option": {"value": 3}}}, "cause": "junk"}
    assert chosen_labels(junk) == {"stage": ("D",)}


@pytest.mark.parametrize("raw", ["{", "3", '{"reply": {"sealed": 1}}', "[1]"])
def test_metadata_that_is_not_ours_is_unreadable(raw: str) -> None:
    with pytest.raises(Unreadable):
        submitted(PASTE, {}, raw=raw)


def test_a_modal_that_is_not_ours_asks_for_nothing() -> None:
    assert submitted("someone_elses", {}) == Answer()
    assert submitted(WRONG_LABELS, chosen(stage="D"), {"triage": None}) == Answer()


@dataclass
class Slack:
    """Whatever opening a modal needs, with faults on demand."""

    faults: list[Exception] = field(default_factory=list)
    kept: SlackTriage | None = None
    opened: list[list[str]] = field(default_factory=list)
    """The blocks of each modal."""
    told: list[str] = field(default_factory=list)
    fresh: bool = True
    installed: bool = True
    used_up: bool = False

    def token(self, workspace: str) -> str | None:
        return "xoxb-x" if self.installed else None

    def open_view(self, token: str, trigger: str, view: PassedView) -> None:
        if self.faults:
            raise self.faults.pop(0)
        self.opened.append([block.get("block_id", "") for block in view.view["blocks"]])

    def respond(self, url: str, message: str) -> None:
        if self.used_up:
            raise Unreachable("Slack is down")
        self.told.append(message)

    def triage(self, workspace: str, id_: str) -> SlackTriage | None:
        return self.kept

    def open(self, sealed: str) -> str:
        return sealed

    def use_reply(self, digest: str, at: datetime) -> bool:
        return self.fresh

    def ports(self) -> SlackPorts:
        anything: Any = self
        return SlackPorts(anything, anything, anything, anything, anything, FakeCore(), StillClock())


def shown(slack: Slack, modal: Any, user: str = "U1") -> Slack:
    open_modal(Open(modal, "T1", "t", user, "C1", REPLY, "0a1b"), slack.ports())
    return slack


def answered(shared: str | None = None) -> SlackTriage:
    return SlackTriage(
        "0a1b", "T1", "U1", "C1", "b", (), a_triage(), datetime(2026, 1, 2, tzinfo=UTC), shared
    )


def test_the_box_has_an_upload_where_the_app_may_read_files() -> None:
    assert shown(Slack(), "paste").opened == [["text", "files"]]
    assert shown(Slack([Refused("missing_scope")]), "paste").opened == [["text"]]


def test_a_trigger_that_has_opened_a_modal_opens_no_second_one() -> None:
    again = shown(Slack([Refused("exchanged_trigger_id")]), "paste")
    assert (again.opened, again.told) == ([], [])


@pytest.mark.parametrize(
    ("modal", "faults", "said"),
    [
        ("paste", [Unreachable("down")], words.NOT_OPENED),
        ("paste", [Refused("missing_scope"), Refused("expired_trigger_id")], words.NOT_OPENED),
        ("wrong", [Refused("expired_trigger_id")], words.TRY_AGAIN),
    ],
)
def test_who_gets_no_modal_is_told(modal: str, faults: list[Exception], said: str) -> None:
    assert shown(Slack(faults, answered()), modal).told == [said]


def test_who_cannot_even_be_told_is_left_alone() -> None:
    slack = Slack(used_up=True)
    say_now(Open("paste", "T1", "t", "U1", "C1", REPLY), slack.ports(), words.TRY_AGAIN)
    say_now(Open("paste", "T1", "t", "U1", "C1", None), slack.ports(), words.TRY_AGAIN)
    slack = Slack(fresh=False)
    say_now(Open("paste", "T1", "t", "U1", "C1", REPLY), slack.ports(), words.TRY_AGAIN)
    assert slack.told == []


def test_a_workspace_without_a_token_gets_words() -> None:
    assert shown(Slack(installed=False), "paste").told == [words.NOT_OPENED]


def test_an_answer_is_corrected_by_its_asker_and_once_shared_by_anyone() -> None:
    assert shown(Slack(), "wrong").told == [words.NO_LONGER_KEPT]
    assert shown(Slack(kept=answered()), "wrong", "U2").told == [words.NOT_YOURS]
    axes = [*IDS]
    assert shown(Slack(kept=answered()), "wrong").opened[0][1:] == axes
    assert shown(Slack(kept=answered("C1")), "wrong", "U2").opened[0][1:] == axes
    linked = replace(answered(), body="like https://github.com/acme/train/issues/7")
    assert shown(Slack(kept=linked), "wrong").opened[0][1:] == [*axes, "same"]
