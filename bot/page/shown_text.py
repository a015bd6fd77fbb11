"""What the page shows: its words for what is stored as ids, and foreign text as HTML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from html import escape

import re2
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from markupsafe import Markup

from bot.page.tables import Event, Listed
from bot.render.wording import KINDS
from knowledge.evidence.lines import clean_text, split_lines
from knowledge.redaction import redact
from knowledge.taxonomy import Taxonomy
from knowledge.triage import QuotedLine, Triage

# The page's words for what the service stores as ids: findings in one line, outcomes, reasons, what happened.

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
        case "labeled" | "unlabeled":
            done = "set" if event.kind == "labeled" else "removed"
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


_FOLD = re2.compile(r"(</?details>|</?summary>)")
_NOTE = re2.compile(r"<!--[^>]*-->")
_LEAST_CHARS = 8
"""A quote shorter than this is marked at its own line only: elsewhere it would be found by chance."""
AROUND = 3
"""Lines shown before and after a marked one; the rest is folded."""


def comment_html(body: str) -> Markup:
    """A comment as GitHub renders it. Of HTML only folds count, all else is shown as text; links are https alone."""
    return Markup(_renderer().render(body))


def _html(self: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
    pieces = _FOLD.split(_NOTE.sub("", tokens[index].content))
    return "".join(piece if n % 2 else escape(piece) for n, piece in enumerate(pieces))


def _image(
    self: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType
) -> str:
    return escape(tokens[index].content)


def _link(self: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
    address = str(tokens[index].attrGet("href") or "")
    shown = f' href="{escape(address)}" rel="noreferrer"' if address.startswith("https://") else ""
    return f"<a{shown}>"


@cache
def _renderer() -> MarkdownIt:
    markdown = MarkdownIt("commonmark", {"html": True})
    markdown.add_render_rule("html_block", _html)
    markdown.add_render_rule("html_inline", _html)
    markdown.add_render_rule("image", _image)
    markdown.add_render_rule("link_open", _link)
    return markdown


@dataclass(frozen=True, slots=True)
class ShownLine:
    """A line of an issue; `role` is "" for one that is not evidence."""

    number: int
    text: str
    role: str = ""


@dataclass(frozen=True, slots=True)
class ShownIssue:
    """An issue's text, redacted, in runs of lines: shown, and folded (`open` is False)."""

    title: str
    title_role: str
    runs: list[tuple[bool, list[ShownLine]]]
    lost: int
    """Quoted lines that the text no longer holds."""


def quoted_lines(triage: Triage) -> list[QuotedLine]:
    """What the triage quotes, in the order of the report: its evidence, and the lines of its findings."""
    lines = [*triage.evidence.lines, *(line for finding in triage.findings for line in finding.lines)]
    first = {(not line.in_title, line.line): line for line in reversed(lines)}
    return [first[place] for place in sorted(first)]


def shown_issue(title: str, body: str, triage: Triage) -> ShownIssue:
    """An issue's text as the triage read it, redacted here, with the lines that it quotes marked."""
    # As `read_report` does it, so that numbers of lines are the same.
    texts = split_lines(redact(clean_text(body)).text.rstrip())
    roles: dict[int, str] = {}
    title_role, lost = "", 0
    for quote in quoted_lines(triage):
        if quote.in_title:
            title_role = quote.role
            continue
        number = _place(texts, quote)
        if number is None:
            lost += 1
        else:
            roles.setdefault(number, quote.role)
    lines = [ShownLine(n, text, roles.get(n, "")) for n, text in enumerate(texts, 1)]
    return ShownIssue(redact(clean_text(title)).text, title_role, _runs(lines, roles), lost)


def _place(texts: Sequence[str], quote: QuotedLine) -> int | None:
    # A quote is cut ("…") and without what the logger put before it.
    core = max(quote.text.split("…"), key=len).strip()
    if quote.line <= len(texts) and core in texts[quote.line - 1]:
        return quote.line
    if len(core) < _LEAST_CHARS:
        return None
    return next((n for n, text in enumerate(texts, 1) if core in text), None)


def _runs(lines: Sequence[ShownLine], roles: Mapping[int, str]) -> list[tuple[bool, list[ShownLine]]]:
    near = {n for marked in roles for n in range(marked - AROUND, marked + AROUND + 1)}
    runs: list[tuple[bool, list[ShownLine]]] = []
    for line in lines:
        # Without evidence nothing is folded.
        shown = line.number in near or not roles
        if not runs or runs[-1][0] != shown:
            runs.append((shown, []))
        runs[-1][1].append(line)
    # A fold of two lines hides nothing worth a click.
    return [(shown or len(run) <= 2, run) for shown, run in runs]
