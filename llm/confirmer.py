"""Whether a known failure that sounds like the report is what happened: the model cites the lines that show it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from knowledge.evidence import Reading
from knowledge.triage import Finding, Triage
from llm.faults import WrongSchema
from llm.prompts import NO_TOKEN, NOTE_TOKENS, Fence, ShownLines, choose_lines, make_request
from llm.replies import ConfirmerReply, check, confirmer_schema
from llm.values import ChatRequest
from llm.writer import entry_text, facts_text

WORTH_CONFIRMING = 0.04
"""P(it applies) of the likeliest known failure from which on the model is asked."""
QUESTION_TOKENS = 7_000
"""Of the whole question, estimated; the report gets what the rest leaves."""


@dataclass(frozen=True)
class ConfirmerQuestion:
    """What the confirmer is shown: known failures, what a program read, and the report's lines."""

    findings: Sequence[Finding]
    facts: str
    shown: ShownLines
    subject: str = ""
    """The redacted report's content hash."""


def worth_confirming(triage: Triage) -> bool:
    """Whether a known failure is likely enough to ask, and none is sure already."""
    found = triage.findings
    return bool(found) and found[0].p >= WORTH_CONFIRMING and not any(one.sure for one in found)


def confirmer_question(triage: Triage, reading: Reading) -> ConfirmerQuestion:
    """The question about the triage's findings with as much of the report as its budget allows."""
    facts = facts_text(triage)
    rest = confirmer_request(ConfirmerQuestion(triage.findings, facts, ShownLines({})), NO_TOKEN).estimated
    shown = choose_lines(reading, max(0, QUESTION_TOKENS - rest - NOTE_TOKENS))
    return ConfirmerQuestion(triage.findings, facts, shown, reading.report.content_hash)


def confirmer_request(question: ConfirmerQuestion, token: str) -> ChatRequest:
    """The request; whatever is not ours stands within the fence."""

    def fill(fence: Fence) -> dict[str, str]:
        entries = [f"{n}. {entry_text(one)}" for n, one in enumerate(question.findings, 1)]
        return {
            "entries": "\n".join(entries),
            "facts": fence.around("FACTS", question.facts or "nothing"),
            "report": fence.around("REPORT", question.shown.text),
            "partly": question.shown.partly,
        }

    return make_request("confirmer", fill, confirmer_schema(), token, question.subject)


def read_confirmation(value: Mapping[str, Any], question: ConfirmerQuestion) -> dict[str, tuple[int, ...]]:
    """Ids of the known failures that apply, each with the lines that show it. Raises `WrongSchema`.

    One counts only with a line that was shown.
    """
    reply = check(ConfirmerReply, value)
    numbers = [verdict.number for verdict in reply.verdicts]
    if not numbers or len(set(numbers)) < len(numbers):
        raise WrongSchema(detail="verdicts")
    if not set(numbers) <= set(range(1, len(question.findings) + 1)):
        raise WrongSchema(detail="verdicts")
    cited = {
        question.findings[verdict.number - 1].id: tuple(
            n for n in dict.fromkeys(verdict.lines) if n in question.shown.lines
        )
        for verdict in reply.verdicts
        if verdict.applies
    }
    return {id: lines for id, lines in cited.items() if lines}
