"""The LLM's two systems under the evaluation's protocol: alone, and fused with distriage."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Literal

from bot.llm.calls import Caller
from bot.llm.config import LlmConfig, llm_config
from bot.llm.eval_system import Scored, run_system
from bot.llm.ledgers import open_ledger
from bot.llm.openai_client import OpenAiClient
from bot.llm.real_clock import RealClock
from bot.llm.reply_cache import FileCache
from bot.llm.second_reader import SecondReader
from bot.settings import Settings
from embeddings.encoder import Encoder
from eval.protocol import Opinion, TrainingSet, Verdict
from eval.systems import Refitted, Shipped
from knowledge.case_store import CaseStore
from knowledge.cases import load_cases
from knowledge.engine import Knowledge
from knowledge.errors import UserError
from knowledge.judging.axes import Judged
from knowledge.signatures import SignatureTable
from knowledge.training.items import Prepared
from knowledge.triage import Triage


class LlmSystem:
    """`eval.protocol.System`; the LLM sees the fold's judge and the fold's cases, no others."""

    def __init__(
        self,
        name: Literal["llm", "distriage+llm"],
        local: Refitted | Shipped,
        fits: bool,
        encoder: Encoder,
        config: LlmConfig,
        caller: Caller,
        reader: SecondReader,
    ) -> None:
        """`fits`: nobody else fits `local` before this system is asked."""
        self.name = name
        self._kind: Literal["llm", "distriage+llm"] = name
        self._local, self._fits, self._encoder = local, fits, encoder
        self._config, self._caller, self._reader = config, caller, reader
        self.cost = 0.0
        """US dollars spent so far."""

    def fit(self, train: TrainingSet) -> None:
        """Fit the local system, unless it is a system of the run itself."""
        if self._fits:
            self._local.fit(train)

    def rank(self, items: Sequence[Prepared]) -> list[Verdict]:
        """Ask about each report; an axis without a reply stays unscored."""
        done = run_system(
            self._kind,
            [item.record.report for item in items],
            self._knowledge(),
            self._config,
            self._caller,
            self._reader,
        )
        self.cost += sum(one.cost for one in done)
        return [_verdict(one) for one in done]

    def _knowledge(self) -> Knowledge:
        judging = self._local.judging
        assert judging is not None, "fit comes first"
        cases = {case.id: case for case in load_cases() if case.id in judging.labels}
        return Knowledge(self._encoder, judging.judge, CaseStore(cases, judging.index), SignatureTable())


def _verdict(one: Scored) -> Verdict:
    if one.triage is not None:
        return _of_triage(one.triage)
    ranked: dict[Judged, Opinion] = {
        axis: Opinion(tuple((id, 0.0) for id in ranking)) for axis, ranking in one.rankings.items() if ranking
    }
    return Verdict(ranked)


def _of_triage(triage: Triage) -> Verdict:
    axes: dict[Judged, Opinion] = {}
    for axis in ("type", "stage", "symptom", "cause", "fix"):
        value = getattr(triage, axis)
        ranking = tuple((r.id, r.p) for r in value.ranking)
        axes[axis] = Opinion(ranking, tuple(value.answer), tuple(value.answer_set))
    p, claim = triage.distributed.p, triage.distributed.answer
    pair = (("distributed", p), ("single_device", 1 - p))
    answer = () if claim is None else ("distributed",) if claim else ("single_device",)
    axes["distributed"] = Opinion(tuple(sorted(pair, key=lambda one: -one[1])), answer)
    return Verdict(axes, tuple(n.id for n in triage.neighbours[:3]))


@contextmanager
def open_llm_systems(
    local: Refitted | Shipped, fits: bool, encoder: Encoder, settings: Settings
) -> Iterator[dict[str, LlmSystem]]:
    """Both systems by name, their connection closed at the end. UserError when no LLM is configured."""
    config = llm_config(settings)
    if config is None:
        raise UserError(
            "No LLM is configured.", "Set DISTRIAGE_LLM_BASE_URL and DISTRIAGE_LLM_MODEL, or leave llm away."
        )
    clock = RealClock()
    with OpenAiClient(config) as client:
        cache = FileCache(settings.data_dir / "cache" / "llm")
        caller = Caller(config, client, cache, open_ledger(settings), clock)
        reader = SecondReader(config, caller, clock)
        yield {
            "llm": LlmSystem("llm", local, fits, encoder, config, caller, reader),
            "distriage+llm": LlmSystem("distriage+llm", local, fits, encoder, config, caller, reader),
        }
