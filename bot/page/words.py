"""The page's words for what the service stores as ids: findings in one line, outcomes, reasons, what happened."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from bot.page.tables import Event, Listed
from bot.render.wording import KINDS
from knowledge.taxonomy import Taxonomy

LIKELY = 0.5
"""From which probability on a finding says more in the list than symptom and cause."""
OUTCOMES = {"posted": "Posted", "would_post": "Would post", "silent": "Silent"}
_SCOPES = {
    "other_field": "Not about distributed training",
    "too_little": "Too little text",
    "unreadable": "Not in English",
}
_REASONS = {
    "answered_by_people": "a maintainer answered first",
    "another_bot_asks": "another bot asks already",
    "best_guess": "best guess",
    "claim": "symptom or cause is clear",
    "configured": "as configured",
    "created": "new comment",
    "deleted_by_person": "a person deleted the comment",
    "diagnostics": "a diagnostics result",
    "dismissed": "a person dismissed the comment",
    "edited": "comment updated",
    "edited_by_person": "a person edited the comment",
    "gate_refused": "the gate refused the comment",
    "known_failure": "known failure",
    "labels": "labels only",
    "missing_only": "asks for what is missing",
    "noise_budget": "too many dismissals",
    "not_a_report": "not a failure report",
    "nothing_specific": "nothing specific to say",
    "other_field": "not our field",
    "same_failure": "same failure as an earlier issue",
    "set_by_people": "a correction",
    "shadow": "shadow mode",
    "still_missing": "something is still missing",
    "switched_off": "switched off with /triage off",
    "too_little": "too little text",
    "unchanged": "nothing new",
    "unreadable": "not in English",
    "version_conflict": "version conflict",
    "written_answer": "drafted answer",
}
_DISMISSED = {
    "command": "dismissed the comment",
    "reaction": "gave the comment a thumbs down",
    "deleted": "deleted the comment",
}
_ASKED = {"open": "Still missing", "arrived": "Arrived", "dropped": "No longer needed"}


def reason_words(reason: str) -> str:
    """A stored reason in words."""
    return _REASONS.get(reason) or reason.replace("_", " ")


def age(at: datetime, now: datetime | None = None) -> str:
    """How long ago, in one unit: "5 min", "3 h", "12 d"."""
    seconds = ((now or datetime.now(UTC)) - at).total_seconds()
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{int(seconds // size)} {unit}"
    return "now"


def finding_words(one: Listed, names: Mapping[str, str]) -> str:
    """What was found, in one line; `names` are those of symptoms and causes."""
    if one.scope != "ours":
        return _SCOPES.get(one.scope, one.scope)
    if one.finding and one.sure:
        return one.finding
    if one.type in KINDS:
        kind = KINDS[one.type]
        return kind[0].upper() + kind[1:]
    if one.finding and one.p >= LIKELY:
        return f"Possibly: {one.finding}"
    claimed = ", ".join(names[id_] for id_ in (one.symptom, one.cause) if id_ is not None and id_ in names)
    return claimed or "Unclear"


def names_of(taxonomy: Taxonomy) -> dict[str, str]:
    """Names of all symptoms and causes by id."""
    return {entry.id: entry.name for axis in ("symptom", "cause") for entry in taxonomy.on_axis(axis)}


def happened(event: Event) -> str:
    """An event in a sentence, without its date."""
    by = event.by
    match event.kind:
        case "triaged":
            return f"Triaged: {OUTCOMES[event.more['outcome']].lower()} ({reason_words(event.text)})"
        case "commented":
            return "First comment of the bot"
        case "corrected":
            labels = "; ".join(f"{axis} {', '.join(ids)}" for axis, ids in event.more["labels"].items())
            return f"{by} corrected: {labels}"
        case "dismissed":
            return f"{'Somebody' if by == '?' else by} {_DISMISSED.get(event.text, event.text)}"
        case "labelled" | "unlabelled":
            done = "set" if event.kind == "labelled" else "removed"
            return f"{'The bot' if event.more['by_us'] else by} {done} the label {event.text}"
        case "asked":
            ended = f" on {event.more['ended']}" if event.more["ended"] else ""
            return f"Asked: {event.text} {_ASKED[event.more['state']]}{ended}."
        case "result":
            checked = "" if event.more["by_maintainer"] else ", without write access"
            return f"{by}{checked} posted a diagnostics result"
        case "draft":
            return f"{by} {'posted' if event.text == 'post' else 'rejected'} the drafted answer"
        case _:
            return _closed(event)


def _closed(event: Event) -> str:
    more = event.more
    parts = [f"Closed by {event.by}" if event.by else "Closed"]
    if more["reason"]:
        parts[0] += f" ({more['reason'].replace('_', ' ')})"
    if more["pull_request"]:
        parts.append(f"pull request {more['pull_request']}")
    if more["commit"]:
        parts.append(f"commit {more['commit'][:10]}")
    if event.text:
        parts.append(f"{more['said_by']} ({more['role']}): {event.text}")
    return " · ".join(parts)
