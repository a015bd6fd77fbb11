"""The LLM as a system of `bot eval`: distriage+llm (fused) and llm (alone), with cost, latency and fabrications."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Literal

from bot.llm.adjudicator import REPORT_CHARS, Question, adjudicator_request, read_verdict
from bot.llm.calls import Caller
from bot.llm.config import LlmConfig
from bot.llm.faults import LlmFault
from bot.llm.fence import new_token
from bot.llm.second_reader import SecondReader
from bot.llm.shown_lines import choose_lines
from bot.llm.values import Tokens
from knowledge.engine import Knowledge
from knowledge.evidence import read_report
from knowledge.judging.axes import axis_ids
from knowledge.report import Report
from knowledge.triage import AXES, AxisName, Triage

System = Literal["distriage+llm", "llm"]


@dataclass(frozen=True, slots=True)
class Scored:
    """What a system said of one report. An axis without a ranking was not answered: unscored, not wrong."""

    id: str
    rankings: Mapping[AxisName, Sequence[str]]
    """Ids per axis, best first."""
    triage: Triage | None
    """The whole triage; None for the LLM alone."""
    tokens: Tokens
    cost: float
    """US dollars."""
    seconds: float
    fallback_reason: str | None
    made_up: int
    """Lines, cases and versions that the model made up; all were dropped."""
    fabricated: int
    """Of what came out: ids, lines, cases that do not exist. 0 by construction; measured all the same."""


def run_system(
    system: System,
    reports: Iterable[Report],
    knowledge: Knowledge,
    config: LlmConfig,
    caller: Caller,
    reader: SecondReader,
) -> list[Scored]:
    """Every report in its order, `config.concurrency` at a time. Use a `NoCache` where latency is measured."""

    def one(report: Report) -> Scored:
        if system == "llm":
            return _alone(report, knowledge, config, caller)
        return _fused(report, knowledge, reader)

    with ThreadPoolExecutor(config.concurrency) as pool:
        return list(pool.map(one, reports))


def _fused(report: Report, knowledge: Knowledge, reader: SecondReader) -> Scored:
    start = time.monotonic()
    done = reader.triage(report, knowledge)
    note = done.triage.second_reading
    return Scored(
        id=report.id,
        rankings={axis: [r.id for r in getattr(done.triage, axis).ranking] for axis in AXES},
        triage=done.triage,
        tokens=done.tokens,
        cost=done.cost,
        seconds=time.monotonic() - start,
        fallback_reason=done.fallback_reason,
        made_up=note.fabricated if note else 0,
        fabricated=count_fabricated(done.triage, report, knowledge),
    )


def _alone(report: Report, knowledge: Knowledge, config: LlmConfig, caller: Caller) -> Scored:
    """All ids of every axis, definitions, the report: no local probabilities, no neighbours, no account."""
    reading = read_report(report, knowledge.table)
    candidates = {axis: [(id_, None) for id_ in axis_ids(knowledge.taxonomy, axis)] for axis in AXES}
    question = Question(candidates, (), choose_lines(reading, 2 * REPORT_CHARS))
    start = time.monotonic()
    rankings: Mapping[AxisName, Sequence[str]] = {}
    tokens, fault, made_up = Tokens(), None, 0
    try:
        request = adjudicator_request(question, knowledge.taxonomy, new_token())
        done = caller.ask(request, lambda value: read_verdict(value, question), "", start + config.timeout)
        rankings, tokens, made_up = done.value.rankings, done.tokens, done.value.fabricated
    except LlmFault as error:
        tokens, fault = error.tokens, error.reason
    seconds = time.monotonic() - start
    return Scored(report.id, rankings, None, tokens, config.cost(tokens), seconds, fault, made_up, 0)


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
