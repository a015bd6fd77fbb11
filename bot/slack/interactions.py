"""What the interactions of Slack ask for: the message shortcut, buttons, submitted modals. Pure but for sealing.

https://docs.slack.dev/reference/interaction-payloads
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from bot.slack import words
from bot.slack.answer import MORE, SCRIPT, SHARE, WRONG
from bot.slack.decisions import Answer, Decision, Open, Queue, Seal
from bot.slack.inbound import Unreadable, attached, call_id, id_of, reply_of, workspace_of
from bot.slack.incoming_text import message_text, storable
from bot.slack.modals import PASTE, WRONG_LABELS, chosen_labels, pasted
from bot.slack.records import Kind, Reply, Task
from knowledge.diagnostics import has_result
from knowledge.triage import AxisName

SHORTCUT = "triage_message"
_BUTTONS: dict[str, Kind] = {MORE: "more", SCRIPT: "script", SHARE: "share"}


def interaction(payload: Mapping[str, Any], seal: Seal, now: float) -> Decision:
    """What an interaction asks for. Raises `Unreadable`."""
    team, enterprise, user = _map(payload, "team"), _map(payload, "enterprise"), _map(payload, "user")
    workspace = workspace_of(team.get("id"), enterprise.get("id"), payload.get("is_enterprise_install"))
    trigger, user_id = str(payload.get("trigger_id") or ""), id_of(user.get("id"))
    if not user_id:
        raise Unreadable
    base = {
        "workspace": workspace,
        "user": user_id,
        "channel": id_of(_map(payload, "channel").get("id")),
        "at": now,
        "reply": reply_of(payload.get("response_url"), seal, now),
    }
    kind = payload.get("type")
    if kind == "message_action" and payload.get("callback_id") == SHORTCUT:
        return _shortcut(_map(payload, "message"), base, call_id(workspace, trigger))
    if kind == "block_actions":
        return _button(payload, base, trigger)
    if kind == "view_submission":
        return _submitted(_map(payload, "view"), base, call_id(workspace, trigger))
    return Answer()


def _shortcut(message: Mapping[str, Any], base: dict[str, Any], id_: str) -> Decision:
    text, files = message_text(message), attached(message)
    thread = message.get("thread_ts")
    task = Task(
        kind="result" if has_result(text) else "triage",
        text=storable(text),
        files=files,
        files_shown=True,
        thread=thread if isinstance(thread, str) else None,
        **base,
    )
    return Queue(task, id_, counts=True)


def _button(payload: Mapping[str, Any], base: dict[str, Any], trigger: str) -> Decision:
    actions = payload.get("actions")
    action = actions[0] if isinstance(actions, list) and actions and isinstance(actions[0], dict) else {}
    name, triage = action.get("action_id"), action.get("value")
    if not isinstance(triage, str) or not triage.isalnum():
        return Answer()
    if name == WRONG:
        return Open("wrong", base["workspace"], trigger, base["user"], base["channel"], base["reply"], triage)
    if name not in _BUTTONS:
        return Answer()
    return Queue(
        Task(kind=_BUTTONS[name], triage=triage, **base), call_id(base["workspace"], f"{trigger}:{name}")
    )


def _submitted(view: Mapping[str, Any], base: dict[str, Any], id_: str) -> Decision:
    try:
        note = json.loads(str(view.get("private_metadata") or "{}"))
        kept = Reply.model_validate(note["reply"]) if note.get("reply") else None
        channel, triage = id_of(note.get("channel")), note.get("triage")
    except (ValueError, AttributeError) as error:
        raise Unreadable from error
    base = {**base, "reply": kept, "channel": channel}
    state = _map(_map(view, "state"), "values")
    if view.get("callback_id") == PASTE:
        return _pasted(state, base, id_)
    if view.get("callback_id") == WRONG_LABELS and isinstance(triage, str):
        return _corrected(chosen_labels(state), {**base, "triage": triage}, id_)
    return Answer()


def _pasted(state: Mapping[str, Any], base: dict[str, Any], id_: str) -> Decision:
    text, files = pasted(state)
    if not text.strip() and not files:
        return errors("text", words.NOTHING_TO_READ)
    kind: Kind = "result" if has_result(text) else "triage"
    task = Task(kind=kind, text=storable(text), files=files, files_shown=True, **base)
    return Queue(task, id_, counts=True, from_modal=True)


def _corrected(labels: dict[AxisName, tuple[str, ...]], base: dict[str, Any], id_: str) -> Decision:
    if not labels:
        return errors("type", "Choose at least one.")
    symptom, stage = labels.get("symptom"), labels.get("stage")
    if symptom and stage and symptom[0].partition(".")[0] != stage[0]:
        return errors("symptom", "This symptom does not belong to the chosen stage.")
    return Queue(Task(kind="correct", labels=labels, **base), id_)


def errors(block: str, text: str) -> Answer:
    """A modal's answer that keeps it open and says why."""
    return Answer({"response_action": "errors", "errors": {block: text}})


def _map(value: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = value.get(key)
    return found if isinstance(found, dict) else {}
