"""The second reader in the service: processes of its own, so that no triage queues behind a slow LLM."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import ExitStack
from typing import Protocol, TypeVar

import structlog

from bot.ports import Compared, Comparer, CoreFailed
from bot.runtime.llm_setup import llm_config, measurement, open_second_reader, why_silent
from bot.runtime.metrics import LlmMetrics
from bot.runtime.triage_pool import CanTriage, TriagePool
from bot.settings import Settings, load_settings
from knowledge.report import Report
from knowledge.triage import SecondReading, Triage
from llm.values import MAX_WAIT, LlmConfig

T = TypeVar("T")
log = structlog.get_logger(__name__)
FACTORY = "bot.runtime.second_reader_pool:second_reader_of_environment"
NEEDED = ("DISTRIAGE_LLM_", "DISTRIAGE_DATABASE_URL", "SSL_", "HTTP", "http", "NO_PROXY", "no_proxy")
"""Beginnings of the variables that asking an LLM takes: its settings, the budget's database, the way out."""


class ReadingCore:
    """The engine with its second reader, in the process that asks."""

    def __init__(self, settings: Settings) -> None:
        from knowledge.engine import load_knowledge

        self._open = ExitStack()
        reader = self._open.enter_context(open_second_reader(settings))
        config = llm_config(settings)
        if reader is None or config is None:
            raise ValueError("no LLM is configured, or none is asked")
        self._reader = reader
        self._config = config
        self._knowledge = load_knowledge(settings.model_dir, settings.cache)

    def triage(self, report: Report) -> Triage:
        """The triage of one report, with `second_reading`."""
        return self._reader.triage(report, self._knowledge).triage

    def compare(self, report: Report, earlier: Sequence[Report]) -> Compared:
        """Which of the earlier reports show the same failure."""
        same, call = self._reader.compare(report, earlier, self._knowledge)
        return Compared(
            self._config.model,
            same,
            call.fault.reason if call.fault else None,
            call.spent.input,
            call.spent.output,
            self._config.cost(call.spent),
            0.0 if call.cached or call.took is None else call.took.seconds,
        )


def second_reader_of_environment() -> ReadingCore:
    """What each process makes of the environment."""
    return ReadingCore(load_settings())


class ReadsTwice(CanTriage, Comparer, Protocol):
    """What asks the LLM; may raise `CoreFailed`."""


class TwoReaders:
    """The second reader where a slot is free in time, the local core else; each process has one slot.

    Whatever the LLM's side does (a queue, a slow stream, a database that hangs, a process that has to load), a
    triage waits for it 20 s at most; one that is late goes on in the background and keeps its slot until it ends.
    """

    def __init__(
        self,
        local: CanTriage,
        second: ReadsTwice,
        config: LlmConfig,
        metrics: LlmMetrics | None = None,
        *,
        longest: float = MAX_WAIT,
    ) -> None:
        """`longest` is in seconds."""
        self._local = local
        self._second = second
        self._config = config
        self._metrics = metrics
        self._longest = longest
        self._slots = threading.BoundedSemaphore(config.concurrency)
        self._waiting = ThreadPoolExecutor(config.concurrency, "second-reader")

    def triage(self, report: Report) -> Triage:
        """The triage of one report; raises only what the local core raises."""
        triage = self._in_a_slot(lambda: self._second.triage(report)) or self._alone(report)
        if self._metrics is not None:
            self._metrics.observe(triage.second_reading)
        return triage

    def compare(self, report: Report, earlier: Sequence[Report]) -> Compared:
        """Which of `earlier` the LLM takes for the same failure; raises nothing."""
        found = self._in_a_slot(lambda: self._second.compare(report, earlier))
        found = found or Compared(self._config.model, fault="busy")
        if self._metrics is not None:
            self._metrics.observe_comparison(found)
        return found

    @property
    def compares(self) -> bool:
        """Whether it is for the LLM to compare reports."""
        return self._config.compares

    def close(self) -> None:
        """End the processes that ask; the local core is left to its owner."""
        if isinstance(self._second, TriagePool):
            self._second.close()
        self._waiting.shutdown(wait=False, cancel_futures=True)

    def _in_a_slot(self, work: Callable[[], T]) -> T | None:
        until = time.monotonic() + self._longest
        # Whoever would come too late for a whole answer need not wait for the slot.
        if not self._slots.acquire(timeout=max(0.0, self._longest - self._config.timeout)):
            return None
        job = self._waiting.submit(work)
        job.add_done_callback(lambda _: self._slots.release())
        try:
            return job.result(max(0.0, until - time.monotonic()))
        except (CoreFailed, TimeoutError, CancelledError):
            return None

    def _alone(self, report: Report) -> Triage:
        late = "writer" in self._config.duties and report.write
        note = SecondReading(used=False, model=self._config.model, fallback_reason="busy", late=late)
        return self._local.triage(report).model_copy(update={"second_reading": note})


def with_second_reader(local: CanTriage, settings: Settings, metrics: LlmMetrics | None = None) -> CanTriage:
    """`local` where no LLM is configured or asked, else both readers (`llm_concurrency` processes of 250 MB)."""
    config = llm_config(settings)
    if config is None:
        return local
    silent = why_silent(config, measurement(settings, config))
    if silent:
        log.info("llm_not_asked", model=config.model, why=silent)
        return local
    second = TriagePool(FACTORY, config.concurrency, timeout=MAX_WAIT + 10, also=NEEDED)
    return TwoReaders(local, second, config, metrics)
