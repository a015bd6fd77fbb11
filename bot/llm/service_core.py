"""The second reader in the service: processes of its own, so that no triage queues behind a slow LLM."""

from __future__ import annotations

import threading
from contextlib import ExitStack

from bot.llm.build import open_second_reader
from bot.llm.config import LlmConfig, llm_config
from bot.llm.metrics import LlmMetrics
from bot.llm.values import MAX_WAIT
from bot.settings import Settings, load_settings
from bot.triage_process import CanTriage, CoreFailed, TriagePool
from knowledge.report import Report
from knowledge.triage import SecondReading, Triage

FACTORY = "bot.llm.service_core:second_reader_of_environment"


class ReadingCore:
    """The engine with its second reader, in the process that asks."""

    def __init__(self, settings: Settings) -> None:
        from knowledge.engine import load_knowledge

        self._open = ExitStack()
        reader = self._open.enter_context(open_second_reader(settings))
        if reader is None:
            raise ValueError("no LLM is configured")
        self._reader = reader
        self._knowledge = load_knowledge(settings.model_dir, settings.data_dir / "cache")

    def triage(self, report: Report) -> Triage:
        """The triage of one report, with `second_reading`."""
        return self._reader.triage(report, self._knowledge).triage


def second_reader_of_environment() -> ReadingCore:
    """What each process makes of the environment."""
    return ReadingCore(load_settings())


class TwoReaders:
    """The second reader where a slot is free in time, the local core else; each process has one slot.

    Waiting for the slot and for the LLM together stay below 20 s.
    """

    def __init__(
        self, local: CanTriage, second: CanTriage, config: LlmConfig, metrics: LlmMetrics | None = None
    ) -> None:
        self._local = local
        self._second = second
        self._config = config
        self._metrics = metrics
        self._slots = threading.BoundedSemaphore(config.concurrency)

    def triage(self, report: Report) -> Triage:
        """The triage of one report; raises only what the local core raises."""
        triage = self._with_second(report) or self._alone(report)
        if self._metrics is not None:
            self._metrics.observe(triage.second_reading)
        return triage

    def close(self) -> None:
        """End the processes that ask; the local core is left to its owner."""
        if isinstance(self._second, TriagePool):
            self._second.close()

    def _with_second(self, report: Report) -> Triage | None:
        if not self._slots.acquire(timeout=MAX_WAIT - self._config.timeout):
            return None
        try:
            return self._second.triage(report)
        except CoreFailed:
            return None
        finally:
            self._slots.release()

    def _alone(self, report: Report) -> Triage:
        note = SecondReading(used=False, model=self._config.model, fallback_reason="busy")
        return self._local.triage(report).model_copy(update={"second_reading": note})


def with_second_reader(local: CanTriage, settings: Settings, metrics: LlmMetrics | None = None) -> CanTriage:
    """`local` where no LLM is configured, else both readers (`llm_concurrency` processes of 250 MB)."""
    config = llm_config(settings)
    if config is None:
        return local
    return TwoReaders(local, TriagePool(FACTORY, config.concurrency, timeout=MAX_WAIT + 40), config, metrics)
