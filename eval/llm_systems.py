"""The LLM's two systems under the evaluation's protocol: alone, and fused with distriage; and the fusion's fit."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Literal, cast

from embeddings.encoder import Encoder
from eval.llm_cassette import Cassette
from eval.protocol import (
    Asked,
    CallUsage,
    CasePrediction,
    Opinion,
    Predictions,
    TrainingSet,
    Usage,
    Verdict,
    axes_of,
)
from eval.summary import Worth
from eval.systems import SHOWN, Refitted, Shipped, opinions_of
from knowledge.cases import load_cases
from knowledge.engine import Knowledge
from knowledge.errors import UserError
from knowledge.evidence import read_report
from knowledge.judging.axes import Judged, axis_ids
from knowledge.judging.retrieve import CaseStore
from knowledge.report import Report
from knowledge.signatures import SignatureTable
from knowledge.training.items import Prepared
from knowledge.triage import AXES, Triage
from llm.calls import Breaker, Call, Caller, LlmAccess, NoCache
from llm.duties import QUESTION_TOKENS, Question, adjudicator_request, read_verdict, with_lines
from llm.faults import BreakerOpen, LlmFault, UnknownIds
from llm.fit_fusion import FitRow, fit, nested
from llm.fusion import FusionWeights, Measured, fuse, load_weights, write_measured
from llm.prompts import ShownLines, new_token
from llm.second_reader import Course, SecondReader
from llm.values import RANKING, Clock, LlmConfig, RealClock

# One report asked about for an evaluation: by distriage with the LLM, or by the LLM alone.


@dataclass(frozen=True, slots=True)
class Answer:
    """What is scored of a report; `course` is what fitting needs, None of the LLM alone."""

    verdict: Verdict
    course: Course | None = None


def fused(report: Report, knowledge: Knowledge, config: LlmConfig, reader: SecondReader) -> Answer:
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
        late=course.late,
        calls=_usages(course.calls, config),
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
        return Answer(Verdict({}, (), _failed(Call.failed(request.duty, fault), fault, config, seconds)))
    call = Call.answered(request.duty, done)
    usage = Usage(
        used=True,
        asked=call.asked,
        cached=done.cached,
        tokens_in=call.spent.input,
        tokens_out=call.spent.output,
        cost=config.cost(call.spent),
        seconds=seconds,
        made_up=done.value.fabricated,
        voided=done.value.fabricated > 0,
        calls=_usages([call], config),
    )
    ranked = {
        axis: Opinion(tuple((id_, 0.0) for id_ in ids)) for axis, ids in done.value.rankings.items() if ids
    }
    return Answer(Verdict(ranked, (), usage))


def _failed(call: Call, fault: LlmFault, config: LlmConfig, seconds: float) -> Usage:
    return Usage(
        used=False,
        asked=call.asked,
        cached=False,
        tokens_in=call.spent.input,
        tokens_out=call.spent.output,
        cost=config.cost(call.spent),
        seconds=seconds,
        faults=[fault.reason],
        voided=isinstance(fault, UnknownIds),
        calls=_usages([call], config),
    )


def _usages(calls: Sequence[Call], config: LlmConfig) -> list[CallUsage]:
    """The questions that were put, now or when they were recorded."""
    return [_usage(call, config) for call in calls if call.cached or call.asked]


def _usage(call: Call, config: LlmConfig) -> CallUsage:
    took = call.took
    if took is None:
        return CallUsage(duty=call.duty, kept=call.cached)
    return CallUsage(
        duty=call.duty,
        kept=call.cached,
        failed=call.fault is not None,
        tokens_in=took.tokens.input,
        tokens_out=took.tokens.output,
        estimated=took.tokens.estimated,
        cost=config.cost(took.tokens),
        seconds=round(took.seconds, 3),
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


# Fitting how much the LLM counts, and whether it is asked, on what it said in an evaluation.
#
# The figures that are told come from nested folds: a case is fused with weights that were fitted without its fold.


def rows_of(run: Predictions, heard: Mapping[str, Course]) -> list[FitRow]:
    """The cases on which the LLM moved probabilities; a written answer moves none."""
    ranked = {id_: course for id_, course in heard.items() if set(course.duties) & set(RANKING)}
    return [_row(case, ranked[case.id]) for case in run.cases if case.id in ranked]


def refused(run: Predictions, rows: Sequence[FitRow]) -> Predictions:
    """The run with each of the rows fused by weights that its fold had no part in."""
    weights = nested(rows, load_weights())
    again = {row.id: _axes(row, weights[row.fold]) for row in rows}
    cases = [
        case.model_copy(update={"axes": again[case.id]}) if case.id in again else case for case in run.cases
    ]
    return run.model_copy(update={"cases": cases})


def store(data_dir: Path, config: LlmConfig, rows: Sequence[FitRow], decided: Worth) -> tuple[Path, Measured]:
    """Keep weights fitted on all rows, and whether the LLM is asked. UserError when too little was measured."""
    if decided.use is None:
        raise UserError(
            f"Nothing was fitted. {decided.why}",
            "Add labeled records, or fix what made the LLM fail.",
        )
    provenance = {
        "how": "fitted on out-of-fold judgments; reported figures come from nested folds",
        "model": config.model,
        "duties": [duty for duty in config.duties if duty in RANKING],
        "cases": len(rows),
        "date": date.today().isoformat(),
    }
    measured = Measured(fit(rows, load_weights(), provenance), decided.use, decided.why)
    return write_measured(data_dir, config, measured), measured


def _row(case: CasePrediction, course: Course) -> FitRow:
    return FitRow(
        id=case.id,
        fold=case.fold,
        group=case.group,
        local=course.examined.judgement,
        account=course.account_judgement,
        rankings=course.verdict.rankings if course.verdict else {},
        right=cast("Mapping[Judged, Sequence[str]]", case.labels),
    )


def _axes(row: FitRow, weights: FusionWeights) -> dict[str, object]:
    return dict(axes_of(opinions_of(fuse(row.local, row.account, row.rankings, weights))))


WAITS = 2
"""How often in a row the breaker is waited for without an answer in between."""
_STEP = 0.5
"""Seconds between two looks at the breaker."""


class Patience:
    """Asks again where the circuit breaker kept a question back; gives up when waiting did not help. Thread-safe."""

    def __init__(self, config: LlmConfig, breaker: Breaker, clock: Clock) -> None:
        self._config = config
        self._breaker = breaker
        self._clock = clock
        self._lock = threading.Lock()
        self._ever = False
        self._vain = 0
        self._last = "unreachable"

    def answer(self, ask: Callable[[], Answer]) -> Answer:
        """The answer of `ask`. UserError when the server never gave one, or waiting did not help."""
        while True:
            self._wait()
            answer = ask()
            usage = answer.verdict.usage
            faults = usage.faults if usage else []
            if usage is not None and usage.used:
                self._ever, self._vain = True, 0
            if BreakerOpen.reason not in faults:
                self._last = faults[0] if faults else self._last
                return answer

    def _wait(self) -> None:
        with self._lock:
            if not self._breaker.is_open(self._clock.monotonic()):
                return
            self._vain += 1
            if not self._ever or self._vain > WAITS:
                raise UserError(
                    f"{self._config.model} at {self._config.base_url} doesn't answer: {self._last}.",
                    "Nothing was measured. docs/llm.md explains the error code.",
                )
            while self._breaker.is_open(self._clock.monotonic()):
                self._clock.sleep(_STEP)


UNFITTED = "weights as shipped, fitted on a large model's answers about the shipped cases"
NESTED = "weights fitted in nested folds, no case on its own answers"


class LlmSystem:
    """`eval.protocol.System`; the LLM sees the fold's judge and the fold's cases, no others."""

    def __init__(
        self,
        name: Literal["llm", "distriage+llm"],
        local: Refitted | Shipped,
        encoder: Encoder,
        config: LlmConfig,
        parts: tuple[Caller, SecondReader, Patience],
        *,
        fits: bool,
        weights: str,
        cassette: Cassette | None = None,
    ) -> None:
        """`fits`: nobody else fits `local` before this system is asked. `weights` says what fuses."""
        self.name = name
        self.config = config
        self.rows: list[FitRow] = []
        """What fitting needs, after `finished`."""
        self._local, self._fits, self._encoder = local, fits, encoder
        self._caller, self._reader, self._patience = parts
        self._weights = weights
        self._cassette = cassette
        self._heard: dict[str, Course] = {}
        self._table = SignatureTable()

    def fit(self, train: TrainingSet) -> None:
        """Fit the local system, unless it is a system of the run itself."""
        if self._fits:
            self._local.fit(train)

    def rank(self, items: Sequence[Prepared]) -> list[Verdict]:
        """Ask about each report, as many at a time as calls are allowed. UserError when no answer comes at all."""
        reports = [item.record.report for item in items]
        knowledge = self._knowledge()
        with ThreadPoolExecutor(self.config.concurrency) as pool:
            answers = list(
                pool.map(lambda one: self._patience.answer(lambda: self._ask(one, knowledge)), reports)
            )
        self._heard |= {
            report.id: answer.course
            for report, answer in zip(reports, answers, strict=True)
            if answer.course is not None
        }
        return [answer.verdict for answer in answers]

    def finished(self, run: Predictions) -> Predictions:
        """The run with what it asked; fused anew in nested folds where weights are fitted."""
        config = self.config
        asked = Asked(
            model=config.model,
            duties=["adjudicator"] if self.name == "llm" else list(config.all_duties),
            price_input=config.price_input,
            price_output=config.price_output,
            weights="none" if self.name == "llm" else self._weights,
            note=self._cassette.note if self._cassette else "",
        )
        self.rows = rows_of(run, self._heard)
        run = run.model_copy(update={"asked": asked})
        return refused(run, self.rows) if self._weights == NESTED and self.rows else run

    def _ask(self, report: Report, knowledge: Knowledge) -> Answer:
        if self.name == "llm":
            return alone(report, knowledge, self.config, self._caller)
        return fused(report, knowledge, self.config, self._reader)

    def _knowledge(self) -> Knowledge:
        judging = self._local.judging
        assert judging is not None, "fit comes first"
        cases = {case.id: case for case in load_cases() if case.id in judging.labels}
        return Knowledge(self._encoder, judging.judge, CaseStore(cases, judging.index), self._table)


@contextmanager
def open_llm_systems(
    local: Refitted | Shipped,
    encoder: Encoder,
    access: LlmAccess | None,
    *,
    fits: str | None,
    fit_fusion: bool = False,
    fresh: bool = False,
) -> Iterator[dict[str, LlmSystem]]:
    """Both systems by name, their connection closed at the end. UserError when no LLM is configured.

    Weights are fitted in nested folds when `fit_fusion` says so, or when fitted ones exist: these may have seen
    the very cases. Records held out as a whole are fused by the weights that the service uses. `fits` names the
    system that fits `local`, None where another does. `fresh`: no cache.
    """
    if access is None:
        raise UserError(
            "No LLM is configured.",
            "Set DISTRIAGE_LLM_BASE_URL and DISTRIAGE_LLM_MODEL, or drop the LLM from --systems.",
        )
    config, measured = access.config, access.measured
    weights = UNFITTED
    if isinstance(local, Refitted) and (fit_fusion or measured):
        weights = NESTED
    elif measured:
        weights = f"weights fitted on {measured.weights.provenance.get('cases')} other cases"
    clock = RealClock()
    with access.client() as client:
        cache = NoCache() if fresh else access.cache
        caller = Caller(config, client, cache, access.ledger, clock)
        reader = SecondReader(config, caller, clock, measured.weights if measured else None)
        parts = (caller, reader, Patience(config, caller.breaker, clock))
        cassette = cache if isinstance(cache, Cassette) else None
        yield {
            name: LlmSystem(
                name, local, encoder, config, parts, fits=name == fits, weights=weights, cassette=cassette
            )
            for name in ("llm", "distriage+llm")
        }
