"""What a slash command, an event or a message asks for, without a service."""

from __future__ import annotations

from typing import Any

import pytest

from bot.slack import words
from bot.slack.inbound import (
    Unreadable,
    attached,
    call_id,
    command,
    event,
    file_links,
    message_text,
    reply_of,
    typed,
    workspace_of,
)
from bot.slack.records import Answer, Decision, Open, Queue, Task, say

LOG = "Traceback (most recent call last):\nValueError: no"
RESULT = "```distriage-result\n{}\n```"


class Seal:
    """Seals nothing, and shows that it was asked."""

    def seal(self, text: str) -> str:
        return f"sealed {text}"


def called(text: str, **form: str) -> Decision:
    given = {"team_id": "T1", "user_id": "U1", "channel_id": "C1", "trigger_id": "t", "text": text, **form}
    return command(given, Seal(), 5.0)


def task_of(decision: Decision) -> Task:
    assert isinstance(decision, Queue)
    return decision.task


def test_slack_looking_at_the_certificate_is_answered() -> None:
    assert command({"ssl_check": "1"}, Seal(), 0.0) == Answer()


def test_a_command_without_a_text_opens_the_box() -> None:
    assert called(" ") == Open("paste", "T1", "t", "U1", "C1", None)


def test_help_and_a_web_address_are_answered_at_once() -> None:
    assert called("Help") == say(words.HELP)
    assert called("https://example.org/log.txt") == say(words.NO_PAGES)


def test_a_text_is_queued_redacted_with_the_files_it_links_to() -> None:
    link = "https://acme.slack.com/files/U1ABC/F1ABCDE/train.log"
    task = task_of(called(f"{LOG} <{link}> ghp_{'a1B2' * 9}", response_url="https://hooks.slack.com/x"))
    assert (task.kind, task.files, task.workspace) == ("triage", ("F1ABCDE",), "T1")
    assert "ghp_" not in task.text and "slack.com" not in task.text
    assert task.reply is not None and task.reply.sealed == "sealed https://hooks.slack.com/x"
    assert task_of(called(RESULT)).kind == "result"
    assert file_links(f"{link} {link}") == ("F1ABCDE",)


def test_the_id_of_a_call_is_that_of_its_retries() -> None:
    assert call_id("T1", "a") == call_id("T1", "a") != call_id("T1", "b")


@pytest.mark.parametrize(
    ("escaped", "text"),
    [
        ("a &lt; b &amp;&amp; c", "a < b && c"),
        ("<https://a.example|the log>", "the log"),
        ("<https://a.example>", "https://a.example"),
        ("172.17.0.1<41873>", "172.17.0.1<41873>"),
    ],
)
def test_what_slack_escaped_is_read_as_typed(escaped: str, text: str) -> None:
    assert typed(escaped) == text


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ({"text": "a", "attachments": [{"title": "b", "text": "c"}, "junk"]}, "a\nb\nc"),
        ({"attachments": [{"fallback": "f"}]}, "f"),
        ({"attachments": [{"blocks": [{"text": {"text": "in a block"}}]}]}, "in a block"),
        ({"blocks": [{"elements": [{"text": "one"}, {"text": 2}]}, {"text": "two"}, "junk"]}, "one\ntwo"),
        ({"text": "words", "blocks": [{"text": "twice"}]}, "words"),
        ({"text": 3, "attachments": "junk", "blocks": None}, ""),
    ],
)
def test_a_message_is_read_wherever_a_program_put_its_text(message: dict[str, Any], text: str) -> None:
    assert message_text(message) == text


def test_at_most_three_files_are_read_and_no_junk() -> None:
    files: list[Any] = [
        {"id": "F1"},
        {"id": "../x"},
        {"id": 3},
        "junk",
        {"id": "F2"},
        {"id": "F3"},
        {"id": "F4"},
    ]
    assert attached({"files": files}) == ("F1", "F2", "F3")
    assert attached({"files": "junk"}) == ()


@pytest.mark.parametrize(
    ("team", "enterprise", "whole", "chosen"),
    [
        ("T1", None, None, "T1"),
        ("T1", "E1", "false", "T1"),
        ("T1", "E1", "true", "E1"),
        ("T1", None, True, "T1"),
        (None, "E1", None, "E1"),
    ],
)
def test_a_workspace_is_the_team_or_the_whole_organisation(
    team: Any, enterprise: Any, whole: Any, chosen: str
) -> None:
    assert workspace_of(team, enterprise, whole) == chosen


@pytest.mark.parametrize("team", [None, "", 3, "../x", "T" * 41])
def test_without_a_workspace_nothing_can_be_read(team: Any) -> None:
    with pytest.raises(Unreadable):
        workspace_of(team, None, None)


@pytest.mark.parametrize("url", [None, 3, "", "x" * 1001])
def test_a_response_url_that_cannot_be_kept_is_none(url: Any) -> None:
    assert reply_of(url, Seal(), 0.0) is None


def happened(inner: Any, **more: Any) -> Decision:
    return event({"team_id": "T1", "event_id": "E1", "event": inner, **more}, 5.0)


def test_slack_asking_whether_the_address_is_ours_gets_its_challenge() -> None:
    assert event({"type": "url_verification", "challenge": "c"}, 0.0) == Answer({"challenge": "c"})
    assert event({"type": "url_verification", "challenge": 3}, 0.0) == Answer({"challenge": ""})


@pytest.mark.parametrize("payload", [{}, {"event": {}}, {"event": "x", "event_id": "E1"}])
def test_an_event_without_what_events_have_is_unreadable(payload: dict[str, Any]) -> None:
    with pytest.raises(Unreadable):
        event({"team_id": "T1", **payload}, 0.0)


def test_an_uninstalled_app_and_a_revoked_bot_are_work() -> None:
    assert task_of(happened({"type": "app_uninstalled"}, event_time=7)).at == 7.0
    assert task_of(happened({"type": "app_uninstalled"}, event_time="x")).at == 5.0
    revoked = {"type": "tokens_revoked", "tokens": {"bot": ["U9"]}}
    assert task_of(happened(revoked)).kind == "revoked"
    for other in (
        {"type": "tokens_revoked", "tokens": {"oauth": ["U1"]}},
        {"type": "tokens_revoked"},
        {"type": "x"},
    ):
        assert happened(other) == Answer()


def test_an_event_of_a_whole_organisation_says_so_in_its_authorizations() -> None:
    seen = [{"team_id": "T2", "enterprise_id": "E2", "is_enterprise_install": True}]
    gone = {"type": "app_uninstalled"}
    assert task_of(happened(gone, team_id=None, authorizations=seen)).workspace == "E2"
    assert task_of(happened(gone, authorizations=["junk"])).workspace == "T1"


REPLY: dict[str, Any] = {
    "type": "message",
    "channel": "C1",
    "user": "U2",
    "text": LOG,
    "thread_ts": "1.0",
    "ts": "2.0",
}


def test_a_reply_with_a_log_is_work_if_its_thread_is_ours() -> None:
    decision = happened(REPLY)
    task = task_of(decision)
    assert isinstance(decision, Queue) and decision.if_shared
    assert (task.kind, task.user, task.thread, task.ts, task.text) == ("result", "U2", "1.0", "2.0", LOG)
    file = {**REPLY, "text": "", "subtype": "file_share", "files": [{"id": "F1"}]}
    assert task_of(happened(file)).files == ("F1",)
    assert task_of(happened({**REPLY, "text": RESULT})).text == RESULT


@pytest.mark.parametrize(
    "changes",
    [
        {"text": "Thanks!"},
        {"bot_id": "B1"},
        {"thread_ts": None},
        {"thread_ts": "2.0"},
        {"subtype": "channel_join"},
    ],
)
def test_what_is_no_reply_of_a_person_or_says_nothing_is_left(changes: dict[str, Any]) -> None:
    assert happened({**REPLY, **changes}) == Answer()


def changed(before: Any, message: Any, subtype: str = "message_changed") -> Decision:
    outer = {"type": "message", "subtype": subtype, "channel": "C1"}
    return happened({**outer, "previous_message": before, "message": message})


def test_an_edit_is_read_when_it_changes_what_is_said() -> None:
    assert task_of(changed(REPLY, {**REPLY, "text": f"{LOG} more"})).text == f"{LOG} more"
    assert changed(REPLY, {**REPLY, "edited": {}}) == Answer(), "Slack unfolded a link"
    assert changed(REPLY, {**REPLY, "text": RESULT}) == Answer(), "a result stays what it was"
    assert changed("junk", "junk") == Answer()


def test_a_deleted_reply_takes_its_text_along() -> None:
    assert task_of(changed(REPLY, None, "message_deleted")).text == ""
    tombstone = {**REPLY, "subtype": "tombstone", "text": "This message was deleted.", "user": None}
    task = task_of(changed(REPLY, tombstone))
    assert (task.text, task.user) == ("", "U2")
