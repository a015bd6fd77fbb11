"""The two modals: a box to paste a log into, and "Not right" with the taxonomy."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

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
from bot.slack.decisions import Open
from knowledge.text.quote import shorten
from knowledge.triage import AXES, AxisName

PASTE = "dt_paste"
WRONG_LABELS = "dt_wrong_labels"
_AXIS_WORDS: dict[AxisName, str] = {
    "type": "What kind of post it is",
    "stage": "Stage",
    "symptom": "Symptom",
    "cause": "Root cause",
    "fix": "What fixed it",
}


def paste_view(opened: Open, *, files: bool) -> PassedView:
    """A large text box; with `files` also an upload, for which the app needs the scope files:read."""
    box = PlainTextInputElement(action_id="text", multiline=True, max_length=INPUT_CHARS, focus_on_load=True)
    hint = "The lines around the first error say most. Secrets are removed before anything is kept."
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
    opened: Open, ids: Callable[[AxisName], Iterable[str]], name: Callable[[AxisName, str], str]
) -> PassedView:
    """The taxonomy to choose from; `ids` in the order shown, `name` of an id in words."""
    note = ContextBlock(
        elements=[_plain("Leave empty what you do not know. Stored with the redacted report.")]
    )
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
