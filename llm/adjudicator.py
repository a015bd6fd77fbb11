"""The second duty: candidates with definitions, local distribution, near cases in; a ranking of ids out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from knowledge.evidence import Reading
from knowledge.judging.axes import Judged
from knowledge.taxonomy import Taxonomy
from knowledge.triage import AXES, RESOLUTION_CHARS, AxisName, Neighbour
from llm.faults import UnknownIds
from llm.fence import Fence
from llm.plain_reason import line_numbers, plain_reason
from llm.replies import AdjudicatorReply, adjudicator_schema, check
from llm.shown_lines import NOTE_TOKENS, ShownLines, choose_lines
from llm.texts import NO_TOKEN, make_request
from llm.values import ChatRequest

QUESTION_TOKENS = 7_000
"""Of the whole question, estimated; the report gets what the rest leaves."""
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
