"""One report asked about for an evaluation: by distriage with the LLM, or by the LLM alone."""

from __future__ import annotations

import time
from dataclasses import dataclass

from eval.protocol import Opinion, Verdict
from eval.systems import SHOWN, opinions_of
from eval.usage import Usage
from knowledge.engine import Knowledge
from knowledge.evidence import read_report
from knowledge.judging.axes import axis_ids
from knowledge.report import Report
from knowledge.triage import AXES, Triage
from llm.adjudicator import QUESTION_TOKENS, Question, adjudicator_request, read_verdict, with_lines
from llm.calls import Caller
from llm.config import LlmConfig
from llm.course import Course
from llm.faults import LlmFault, NotAsked, UnknownIds
from llm.fence import new_token
from llm.second_reader import SecondReader
from llm.shown_lines import ShownLines


@dataclass(frozen=True, slots=True)
class Answer:
    """What is scored of a report; `course` is what fitting needs, None of the LLM alone."""

    verdict: Verdict
    course: Course | None = None


def fused(report: Report, knowledge: Knowledge, reader: SecondReader) -> Answer:
    """As the service answers it."""
    done = reader.triage(report, knowledge)
    course, note = done.course, done.note
    usage = Usage(
        used=note.used,
        asked=course.asked,
        cached=course.cached > 0,
        tokens_in=note.tokens_in,
        tokens_out=note.tokens_out,
        cost=note.cost,
        seconds=note.seconds,
        faults=[fault.reason for fault in course.faults],
        made_up=course.made_up,
        voided=course.voided,
        fabricated=count_fabricated(done.triage, report, knowledge),
    )
    near = tuple(neighbour.id for neighbour in done.triage.neighbours[:SHOWN])
    return Answer(Verdict(opinions_of(done.judgement), near, usage), course)


def alone(report: Report, knowledge: Knowledge, config: LlmConfig, caller: Caller) -> Answer:
    """All ids of every axis, definitions, the report: no local probabilities, no neighbours, no account.

    An axis without a ranking is unscored, not wrong. A ranking has no probabilities.
    """
    reading = read_report(report, knowledge.table)
    candidates = {axis: [(id_, None) for id_ in axis_ids(knowledge.taxonomy, axis)] for axis in AXES}
    bare = Question(candidates, (), ShownLines({}))
    question = with_lines(bare, reading, knowledge.taxonomy, 2 * QUESTION_TOKENS)
    request = adjudicator_request(question, knowledge.taxonomy, new_token())
    start = time.monotonic()
    fault: LlmFault | None = None
    try:
        done = caller.ask(request, lambda value: read_verdict(value, question), "", start + config.timeout)
    except LlmFault as error:
        fault = error
    seconds = time.monotonic() - start
    if fault is not None:
        return Answer(Verdict({}, (), _failed(fault, config, seconds)))
    usage = Usage(
        used=True,
        asked=not done.cached,
        cached=done.cached,
        tokens_in=done.tokens.input,
        tokens_out=done.tokens.output,
        cost=config.cost(done.tokens),
        seconds=seconds,
        made_up=done.value.fabricated,
        voided=done.value.fabricated > 0,
    )
    ranked = {
        axis: Opinion(tuple((id_, 0.0) for id_ in ids)) for axis, ids in done.value.rankings.items() if ids
    }
    return Answer(Verdict(ranked, (), usage))


def _failed(fault: LlmFault, config: LlmConfig, seconds: float) -> Usage:
    return Usage(
        used=False,
        asked=not isinstance(fault, NotAsked),
        cached=False,
        tokens_in=fault.tokens.input,
        tokens_out=fault.tokens.output,
        cost=config.cost(fault.tokens),
        seconds=seconds,
        faults=[fault.reason],
        voided=isinstance(fault, UnknownIds),
    )


def count_fabricated(triage: Triage, report: Report, knowledge: Knowledge) -> int:
    """Ids outside the taxonomy, cases not shown and lines not in the report that a triage names."""
    note = triage.second_reading
    wrong = 0
    for axis in AXES:
        value = getattr(triage, axis)
        named = {r.id for r in value.ranking} | set(value.answer) | set(value.answer_set)
        wrong += len(named - set(knowledge.taxonomy.ids(axis)))
    if note is not None:
        last = report.body.count("\n") + 1
        wrong += sum(not 0 <= line <= last for line in note.lines)
        wrong += len(set(note.cases) - {n.id for n in triage.neighbours})
    return wrong
