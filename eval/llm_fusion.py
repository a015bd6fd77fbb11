"""Fitting how much the LLM counts, and whether it is asked, on what it said in an evaluation.

The figures that are told come from nested folds: a case is fused with weights that were fitted without its fold.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import cast

from eval.llm_answers import Answer
from eval.predictions import CasePrediction, Predictions, axes_of
from eval.summary import Worth
from eval.systems import opinions_of
from knowledge.errors import UserError
from knowledge.judging.axes import Judged
from llm.breaker import Breaker
from llm.config import LlmConfig
from llm.course import Course
from llm.faults import BreakerOpen
from llm.fit_fusion import FitRow, fit, nested
from llm.fusion import FusionWeights, fuse
from llm.fusion_file import load_weights
from llm.measured import Measured, write_measured
from llm.values import Clock


def rows_of(run: Predictions, heard: Mapping[str, Course]) -> list[FitRow]:
    """The cases about which the LLM said something, by id of the case."""
    return [_row(case, heard[case.id]) for case in run.cases if case.id in heard and heard[case.id].duties]


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
            "Add labelled records, or fix what made the LLM fail.",
        )
    provenance = {
        "how": "fitted on out-of-fold judgements; reported figures come from nested folds",
        "model": config.model,
        "duties": list(config.duties),
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
                    f"{self._config.model} at {self._config.base_url} gives no answer: {self._last}.",
                    "docs/llm.md explains the word. Nothing was measured.",
                )
            while self._breaker.is_open(self._clock.monotonic()):
                self._clock.sleep(_STEP)
