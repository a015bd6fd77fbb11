"""The LLM's two systems under the evaluation's protocol: alone, and fused with distriage."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Literal

from embeddings.encoder import Encoder
from eval.llm_answers import Answer, alone, fused
from eval.llm_cassette import Cassette
from eval.llm_fusion import Patience, refused, rows_of
from eval.predictions import Predictions
from eval.protocol import TrainingSet, Verdict
from eval.systems import Refitted, Shipped
from eval.usage import Asked
from knowledge.case_store import CaseStore
from knowledge.cases import load_cases
from knowledge.engine import Knowledge
from knowledge.errors import UserError
from knowledge.report import Report
from knowledge.signatures import SignatureTable
from knowledge.training.items import Prepared
from llm.access import LlmAccess
from llm.calls import Caller
from llm.config import LlmConfig
from llm.course import Course
from llm.fit_fusion import FitRow
from llm.real_clock import RealClock
from llm.reply_cache import NoCache
from llm.second_reader import SecondReader

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
            duties=["adjudicator"] if self.name == "llm" else list(config.duties),
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
        return fused(report, knowledge, self._reader)

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
            "No LLM is configured.", "Set DISTRIAGE_LLM_BASE_URL and DISTRIAGE_LLM_MODEL, or leave out llm."
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
