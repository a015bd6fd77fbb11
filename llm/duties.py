"""The first two duties: a clean account of a long, noisy report, and a ranking of candidates."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import re2

from knowledge.evidence import Reading
from knowledge.judging.axes import Judged
from knowledge.report import Report
from knowledge.taxonomy import Taxonomy
from knowledge.text.quote import has_unseen, hazards, prose
from knowledge.triage import AXES, RESOLUTION_CHARS, AxisName, Neighbour
from llm.faults import UnknownIds
from llm.prompts import NO_TOKEN, NOTE_TOKENS, Fence, ShownLines, choose_lines, make_request
from llm.replies import AdjudicatorReply, ReaderReply, adjudicator_schema, check, reader_schema
from llm.values import ChatRequest

# The only words of a model that people may see: one plain sentence or two, or nothing.
#
# Narrower than the gate, which checks the finished comment again: no link, code, command, reference, markup.

MAX_CHARS = 300

_ALLOWED = re2.compile(r"^[\pL\pN .,:;'()%-]+$")
_DOMAIN = re2.compile(r"\pL\w*\.\pL{2,}")
_FLAG = re2.compile(r"(^|[ (])-+\pL|--")
_COMMAND = re2.compile(
    r"(?i)\b(?:sudo|curl|wget|chmod|chown|pip3?|conda|mamba|npm|npx|apt|apt-get|yum|brew|git|docker|kubectl|ssh|scp"
    r"|bash|zsh|powershell|cmd|eval|exec|rm|dd|mkfs|nc|base64|python3?|mpirun|torchrun)\b"
)
_LINE_NUMBER = re2.compile(r"(?i)\blines?\b[ #:]*([0-9]+(?:(?:,| and| to|-| or)? ?[0-9]+)*)")
_NUMBER = re2.compile(r"[0-9]+")


def plain_reason(text: str) -> str | None:
    """The text when it is plain and at most 300 characters, else None; white space is folded."""
    text = " ".join(text.split())
    if not text or len(text) > MAX_CHARS or has_unseen(text) or unicodedata.normalize("NFKC", text) != text:
        return None
    if not _ALLOWED.match(text) or hazards(text):
        return None
    if _DOMAIN.search(text) or _FLAG.search(text) or _COMMAND.search(text):
        return None
    # What the gate's own quoting would turn into code is not plain.
    return text if prose(text, MAX_CHARS) == text else None


def line_numbers(text: str) -> set[int]:
    """Numbers that the words themselves call lines ("lines 12 and 14")."""
    found = (str(match.group(1)) for match in _LINE_NUMBER.finditer(text))
    return {int(number[:9]) for numbers in found for number in _NUMBER.findall(numbers)}


# The first duty: a long, noisy report becomes a clean account, which the local judge then judges.

QUESTION_TOKENS = 7_000
"""Of the reader's whole question, estimated; the report gets what the rest leaves."""
ACCOUNT_WORDS = 150
_LINES = 8


@dataclass(frozen=True, slots=True)
class Account:
    """The report as the reader tells it. Its lines and versions are real: what was made up is dropped."""

    text: str
    lines: tuple[int, ...]
    versions: Mapping[str, str]
    dropped: int
    """Lines and versions that the model made up."""


def reader_request(reading: Reading, token: str) -> tuple[ChatRequest, ShownLines]:
    """The request and the lines it shows."""

    def request(shown: ShownLines) -> ChatRequest:
        def fill(fence: Fence) -> dict[str, str]:
            report = fence.around("REPORT", shown.text)
            return {"framework": _word(reading.framework), "report": report, "partly": shown.partly}

        return make_request("reader", fill, reader_schema(), token, reading.report.content_hash)

    rest = request(ShownLines({})).estimated
    shown = choose_lines(reading, QUESTION_TOKENS - rest - NOTE_TOKENS)
    return request(shown), shown


def read_account(value: Mapping[str, Any], shown: ShownLines) -> Account:
    """The account in a reply, held against the lines that were shown. Raises `WrongSchema`."""
    reply = check(ReaderReply, value)
    lines = [n for n in dict.fromkeys(reply.lines) if n in shown.lines]
    stated = {v.component.strip().lower(): v.version.strip() for v in reply.versions}
    text = shown.text.lower()
    versions = {c: v for c, v in stated.items() if c and v and v.lower() in text}
    dropped = len(set(reply.lines)) - len(lines) + len(stated) - len(versions)
    # Back-ticks could open a code block, in which the judge would read prose as a log.
    words = reply.account.replace("`", " ").split()[:ACCOUNT_WORDS]
    return Account(" ".join(words), tuple(lines[:_LINES]), versions, dropped)


def as_report(account: Account, reading: Reading, shown: ShownLines) -> Report:
    """The account as a report of its own: prose, versions, and the cited lines as the report has them."""
    parts = [account.text]
    if account.versions:
        parts.append(", ".join(f"{name} {version}" for name, version in account.versions.items()) + ".")
    cited = [shown.lines[n].replace("`", "'") for n in account.lines if n > 0]
    if cited:
        parts.append("\n".join(["```", *cited, "```"]))
    return replace(reading.report, body="\n\n".join(parts), is_log=False, notes=())


def _word(framework: str | None) -> str:
    return framework if framework and framework.isascii() and framework.isalnum() else "not known"


# The second duty: candidates with definitions, local distribution, near cases in; a ranking of ids out.

CANDIDATES: Mapping[AxisName, int] = {"type": 4, "stage": 4, "symptom": 12, "cause": 8, "fix": 8}
"""How many ids of each axis are shown, the locally most probable ones."""

Candidates = Mapping[AxisName, Sequence[tuple[str, float | None]]]
"""Axis to (id, local probability; None where it is not told), most probable first."""


@dataclass(frozen=True, slots=True)
class Question:
    """What the adjudicator is shown, and so the closed sets of what it may say."""

    candidates: Candidates
    neighbours: Sequence[Neighbour]
    shown: ShownLines
    account: str = ""
    subject: str = ""
    """The report's content hash."""

    def ids(self, axis: AxisName) -> list[str]:
        """The closed set of an axis."""
        return [id_ for id_, _ in self.candidates[axis]]


@dataclass(frozen=True, slots=True)
class Verdict:
    """Rankings within the closed sets; `reason` is None when it was voided or empty."""

    rankings: Mapping[Judged, tuple[str, ...]]
    reason: str | None
    lines: tuple[int, ...]
    cases: tuple[str, ...]
    fabricated: int
    """Lines and cases cited that do not exist; nothing of them is kept."""


def adjudicator_request(question: Question, taxonomy: Taxonomy, token: str) -> ChatRequest:
    """The request over the closed sets of `question`."""
    cases = [n.id for n in question.neighbours]
    schema = adjudicator_schema({a: question.ids(a) for a in AXES}, cases, list(question.shown.lines))

    def fill(fence: Fence) -> dict[str, str]:
        account = fence.around("ACCOUNT", question.account) if question.account else ""
        return {
            "candidates": _candidates(question, taxonomy),
            "cases": fence.around("CASES", "\n".join(map(_case, question.neighbours)) or "none"),
            "report": fence.around("REPORT", question.shown.text),
            "partly": question.shown.partly,
            "account": f"A short account of it:\n{account}" if account else "",
        }

    return make_request("adjudicator", fill, schema, token, question.subject)


def with_lines(question: Question, reading: Reading, taxonomy: Taxonomy, tokens: int) -> Question:
    """The question with as much of the report as `tokens` of the whole question allow."""
    rest = adjudicator_request(replace(question, shown=ShownLines({})), taxonomy, NO_TOKEN).estimated
    shown = choose_lines(reading, tokens - rest - NOTE_TOKENS)
    return replace(question, shown=shown, subject=reading.report.content_hash)


def read_verdict(value: Mapping[str, Any], question: Question) -> Verdict:
    """The verdict in a reply. Raises `WrongSchema`, and `UnknownIds` when an id was not among those shown."""
    reply = check(AdjudicatorReply, value)
    rankings: dict[Judged, tuple[str, ...]] = {axis: tuple(reply.ranking(axis)) for axis in AXES}
    outside = [axis for axis in AXES if set(rankings[axis]) - set(question.ids(axis))]
    if outside or not any(rankings.values()):
        raise UnknownIds(detail=", ".join(outside) or "none at all")
    known = {n.id for n in question.neighbours}
    claimed = set(reply.lines) | line_numbers(reply.reason)
    made_up = len(claimed - set(question.shown.lines)) + len(set(reply.cases) - known)
    reason = None if made_up else plain_reason(reply.reason)
    return Verdict(
        rankings,
        reason,
        lines=tuple(dict.fromkeys(reply.lines)) if reason else (),
        cases=tuple(dict.fromkeys(reply.cases)) if reason else (),
        fabricated=made_up,
    )


def _candidates(question: Question, taxonomy: Taxonomy) -> str:
    out = []
    for axis in AXES:
        entries = {entry.id: entry for entry in taxonomy.on_axis(axis)}
        out.append(f"{axis}:")
        for id_, p in question.candidates[axis]:
            sure = "" if p is None else f" (local {100 * p:.0f} %)"
            out.append(f"- {id_}{sure}: {entries[id_].name}. {entries[id_].definition}")
    return "\n".join(out)


def _case(case: Neighbour) -> str:
    labels = case.labels
    told = [
        f"{axis} {'/'.join(ids)}"
        for axis, ids in (
            ("stage", labels.stage),
            ("symptom", labels.symptom),
            ("cause", labels.cause),
            ("fix", labels.fix),
        )
        if ids
    ]
    ended = f" Ended: {case.resolution[:RESOLUTION_CHARS]}" if case.resolution else ""
    return f"{case.id} | {case.title[:160]} | {', '.join([f'type {labels.type}', *told])}.{ended}"
