"""Whether earlier reports show the same failure as a new one: the model reads both and has to cite both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from knowledge.evidence import Reading
from llm.calls import Call, Caller
from llm.faults import LlmFault, WrongSchema
from llm.prompts import Fence, ShownLines, choose_lines, make_request, new_token
from llm.replies import ComparerReply, check, comparer_schema
from llm.values import ChatRequest

MOST = 2
"""Earlier reports in one question."""
REPORT_TOKENS = 3_500
EARLIER_TOKENS = 2_000


@dataclass(frozen=True)
class ComparerQuestion:
    """What the comparer is shown: the new report and the earlier ones, each with line numbers of its own."""

    report: ShownLines
    earlier: tuple[ShownLines, ...]
    subject: str = ""
    """The redacted report's content hash."""


def comparer_question(reading: Reading, earlier: Sequence[Reading]) -> ComparerQuestion:
    """The question about at most MOST earlier reports."""
    return ComparerQuestion(
        choose_lines(reading, REPORT_TOKENS),
        tuple(choose_lines(one, EARLIER_TOKENS) for one in earlier[:MOST]),
        reading.report.content_hash,
    )


def comparer_request(question: ComparerQuestion, token: str) -> ChatRequest:
    """The request; every report stands within the fence."""

    def fill(fence: Fence) -> dict[str, str]:
        earlier = [
            "\n".join([fence.around(f"EARLIER {number}", one.text), one.partly]).strip()
            for number, one in enumerate(question.earlier, 1)
        ]
        return {
            "report": fence.around("REPORT", question.report.text),
            "partly": question.report.partly,
            "earlier": "\n\n".join(earlier),
        }

    return make_request("comparer", fill, comparer_schema(), token, question.subject)


def read_comparison(value: Mapping[str, Any], question: ComparerQuestion) -> frozenset[int]:
    """Places in `question.earlier` of the reports that are the same failure. Raises `WrongSchema`.

    One counts only with a line of each report that speaks for it and was shown; one without a word on it doesn't.
    """
    reply = check(ComparerReply, value)
    numbers = [verdict.number for verdict in reply.verdicts]
    if not numbers or len(set(numbers)) < len(numbers) or not set(numbers) <= set(_numbers(question)):
        raise WrongSchema(detail="verdicts")
    return frozenset(
        verdict.number - 1
        for verdict in reply.verdicts
        if verdict.same
        and set(verdict.lines) & set(question.report.lines)
        and set(verdict.earlier_lines) & set(question.earlier[verdict.number - 1].lines)
    )


def _numbers(question: ComparerQuestion) -> range:
    return range(1, len(question.earlier) + 1)


def ask_which_are_same(
    caller: Caller, reading: Reading, earlier: Sequence[Reading], scope: str, until: float
) -> tuple[frozenset[int], Call]:
    """Places in `earlier` of those that show the same failure, and the call; after a fault there are none.

    `scope` is the repository whose budget pays, `until` the moment at which the answer is waited for no longer.
    """
    question = comparer_question(reading, earlier)
    request = comparer_request(question, new_token())
    try:
        answered = caller.ask(request, lambda value: read_comparison(value, question), scope, until)
    except LlmFault as fault:
        return frozenset(), Call.failed("comparer", fault)
    return answered.value, Call.answered("comparer", answered)
