"""What the interactions of Slack ask for: the message shortcut, buttons, modals. Pure but for sealing.

https://docs.slack.dev/reference/interaction-payloads
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import psycopg
import re2
import structlog
from slack_sdk.models.blocks import (
    Block,
    ContextBlock,
    InputBlock,
    Option,
    OptionGroup,
    PlainTextInputElement,
    PlainTextObject,
    StaticSelectElement,
)
from slack_sdk.models.blocks.block_elements import FileInputElement
from slack_sdk.models.views import View

from bot.gate.slack import INPUT_CHARS, PassedView, pass_view
from bot.history.label_store import ISSUE_LINK
from bot.jobs.runner import TryLater
from bot.slack import words
from bot.slack.answer import MORE, SCRIPT, SHARE, WRONG
from bot.slack.inbound import (
    Unreadable,
    attached,
    call_id,
    id_of,
    message_text,
    reply_of,
    storable,
    workspace_of,
)
from bot.slack.messages import Sender
from bot.slack.ports import SlackPorts
from bot.slack.records import Answer, Decision, Kind, Open, Queue, Refused, Reply, Seal, SlackError, Task
from knowledge.report import has_result
from knowledge.taxonomy import load_taxonomy
from knowledge.text.quote import shorten
from knowledge.triage import AXES, AxisName

# The two modals: a box to paste a log into, and "Not right" with the taxonomy.

PASTE = "dt_paste"
WRONG_LABELS = "dt_wrong_labels"
SAME = "same"
_NUMBER = re2.compile(r"#?(\d{1,9})")
_ISSUE = re2.compile(ISSUE_LINK)
_AXIS_WORDS: dict[AxisName, str] = {
    "type": "Type of post",
    "stage": "Stage",
    "symptom": "Symptom",
    "cause": "Root cause",
    "fix": "What fixed it",
}


def paste_view(opened: Open, *, files: bool) -> PassedView:
    """A large text box; with `files` also an upload, for which the app needs the scope files:read."""
    box = PlainTextInputElement(action_id="text", multiline=True, max_length=INPUT_CHARS, focus_on_load=True)
    hint = "The lines around the first error help most. Secrets are removed before anything is stored."
    blocks: list[Block] = [
        InputBlock(
            block_id="text",
            label=_plain("What the job printed"),
            element=box,
            optional=True,
            hint=_plain(hint),
        )
    ]
    if files:
        upload = FileInputElement(action_id="files", max_files=3)
        blocks.append(
            InputBlock(block_id="files", label=_plain("Or the log as a file"), element=upload, optional=True)
        )
    return pass_view(_modal("Triage a failure", PASTE, "Triage", opened, blocks))


def wrong_view(
    opened: Open,
    ids: Callable[[AxisName], Iterable[str]],
    name: Callable[[AxisName, str], str],
    *,
    of_issue: bool = False,
) -> PassedView:
    """The taxonomy to choose from; `ids` in the order shown, `name` of an id in words.

    `of_issue`: the text links to an issue, so another one that shows the same failure may be named.
    """
    note = ContextBlock(elements=[_plain("Leave blank what you don't know. Saved with the redacted report.")])
    blocks: list[Block] = [note]
    for axis in AXES:
        select = StaticSelectElement(action_id=axis, placeholder=_plain("not known"))
        if axis == "symptom":
            select.option_groups = _by_stage(list(ids(axis)), name)
        else:
            select.options = [_option(axis, id_, name) for id_ in ids(axis)]
        blocks.append(
            InputBlock(block_id=axis, label=_plain(_AXIS_WORDS[axis]), element=select, optional=True)
        )
    if of_issue:
        box = PlainTextInputElement(action_id=SAME, max_length=200, placeholder=_plain("#12, or its link"))
        label = _plain("Earlier issue with the same failure")
        blocks.append(InputBlock(block_id=SAME, label=label, element=box, optional=True))
    return pass_view(_modal("Not right?", WRONG_LABELS, "Store", opened, blocks))


def pasted(state: Mapping[str, Any]) -> tuple[str, tuple[str, ...]]:
    """Text and file ids of a submitted paste modal."""
    text = _value(state, "text", "text").get("value")
    files = _value(state, "files", "files").get("files")
    ids = [file.get("id") for file in files if isinstance(file, dict)] if isinstance(files, list) else []
    kept = tuple(id_ for id_ in ids if isinstance(id_, str) and id_.isalnum())
    return (text if isinstance(text, str) else ""), kept[:3]


def chosen_labels(state: Mapping[str, Any]) -> dict[AxisName, tuple[str, ...]]:
    """The ids chosen in a submitted "Not right" modal; whether they exist is checked where they are used."""
    labels: dict[AxisName, tuple[str, ...]] = {}
    for axis in AXES:
        option = _value(state, axis, axis).get("selected_option")
        value = option.get("value") if isinstance(option, dict) else None
        if isinstance(value, str):
            labels[axis] = (value,)
    return labels


def same_named(state: Mapping[str, Any]) -> str | None:
    """The issue named in a submitted "Not right" modal, "12" or "owner/name#12"; "" = none, None = what is no issue."""
    value = _value(state, SAME, SAME).get("value")
    text = value.strip() if isinstance(value, str) else ""
    if not text:
        return ""
    if number := _NUMBER.fullmatch(text):
        return str(number.group(1))
    found = _ISSUE.search(text)
    return f"{found.group(1)}#{found.group(2)}" if found else None


def _modal(title: str, callback: str, submit: str, opened: Open, blocks: list[Block]) -> View:
    note = {
        "channel": opened.channel,
        "triage": opened.triage,
        "reply": opened.reply.model_dump() if opened.reply else None,
    }
    return View(
        type="modal",
        callback_id=callback,
        title=_plain(title),
        submit=_plain(submit),
        close=_plain("Cancel"),
        private_metadata=json.dumps(note),
        blocks=blocks,
    )


def _by_stage(ids: list[str], name: Callable[[AxisName, str], str]) -> list[OptionGroup]:
    stages = list(dict.fromkeys(id_.partition(".")[0] for id_ in ids))
    return [
        OptionGroup(
            label=_plain(shorten(f"{stage}: {name('stage', stage)}", 75)),
            options=[_option("symptom", id_, name) for id_ in ids if id_.partition(".")[0] == stage],
        )
        for stage in stages
    ]


def _option(axis: AxisName, id_: str, name: Callable[[AxisName, str], str]) -> Option:
    words = name(axis, id_)
    label = words if words == id_ else f"{id_}  {words}" if axis in ("stage", "symptom") else words
    return Option(value=id_, text=_plain(shorten(label, 75)))


def _plain(text: str) -> PlainTextObject:
    return PlainTextObject(text=text, emoji=False)


def _value(state: Mapping[str, Any], block: str, action: str) -> Mapping[str, Any]:
    found: Any = state.get(block)
    found = found.get(action) if isinstance(found, dict) else None
    return found if isinstance(found, dict) else {}


log = structlog.get_logger(__name__)

_OPEN_ALREADY = "exchanged_trigger_id"
"""Slack's word for a trigger that has opened a modal. https://docs.slack.dev/reference/methods/views.open"""


def open_modal(opened: Open, ports: SlackPorts) -> None:
    """Open it; when that fails, say so by the response URL. Never raises for what Slack does."""
    try:
        refusal = _open(opened, ports)
    except (SlackError, TryLater, psycopg.Error) as error:
        if isinstance(error, Refused) and error.code == _OPEN_ALREADY:
            return  # the call came twice
        log.warning("modal not opened", modal=opened.modal, error=type(error).__name__)
        refusal = words.NOT_OPENED if opened.modal == "paste" else words.TRY_AGAIN
    if refusal:
        say_now(opened, ports, refusal)


def say_now(to: Open, ports: SlackPorts, text: str) -> None:
    """Tell the person by the response URL, if that works; nothing is repeated."""
    try:
        Sender(ports, "now").by_reply(to.reply, text)
    except (SlackError, TryLater, psycopg.Error) as error:
        log.warning("person not notified", error=type(error).__name__)


def _open(opened: Open, ports: SlackPorts) -> str | None:
    """None when it is open, else what to say to the person."""
    token = ports.tokens.token(opened.workspace)
    if token is None:
        return words.NOT_OPENED
    if opened.modal == "wrong":
        kept = ports.store.triage(opened.workspace, opened.triage or "")
        if kept is None:
            return words.NO_LONGER_KEPT
        if not kept.shared and kept.asker != opened.user:
            return words.NOT_YOURS
        linked = _ISSUE.search(kept.body) is not None
        view = wrong_view(opened, lambda axis: _ids(axis, ports), ports.core.name, of_issue=linked)
        ports.api.open_view(token, opened.trigger, view)
        return None
    try:
        ports.api.open_view(token, opened.trigger, paste_view(opened, files=True))
    except Refused as error:
        if error.code == _OPEN_ALREADY:
            raise
        # An upload box needs the scope files:read; a refused call has not used up the trigger.
        ports.api.open_view(token, opened.trigger, paste_view(opened, files=False))
    return None


def _ids(axis: AxisName, ports: SlackPorts) -> list[str]:
    known = ports.core.ids(axis)
    return [id_ for id_ in load_taxonomy().ids(axis) if id_ in known]


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
        return _corrected(chosen_labels(state), same_named(state), {**base, "triage": triage}, id_)
    return Answer()


def _pasted(state: Mapping[str, Any], base: dict[str, Any], id_: str) -> Decision:
    text, files = pasted(state)
    if not text.strip() and not files:
        return errors("text", words.NOTHING_TO_READ)
    kind: Kind = "result" if has_result(text) else "triage"
    task = Task(kind=kind, text=storable(text), files=files, files_shown=True, **base)
    return Queue(task, id_, counts=True, from_modal=True)


def _corrected(
    labels: dict[AxisName, tuple[str, ...]], same: str | None, base: dict[str, Any], id_: str
) -> Decision:
    if same is None:
        return errors(SAME, words.NO_ISSUE)
    if not labels and not same:
        return errors("type", "Choose at least one.")
    symptom, stage = labels.get("symptom"), labels.get("stage")
    if symptom and stage and symptom[0].partition(".")[0] != stage[0]:
        return errors("symptom", "This symptom does not belong to the chosen stage.")
    return Queue(Task(kind="correct", labels=labels, same=same, **base), id_)


def errors(block: str, text: str) -> Answer:
    """A modal's answer that keeps it open and says why."""
    return Answer({"response_action": "errors", "errors": {block: text}})


def _map(value: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = value.get(key)
    return found if isinstance(found, dict) else {}
