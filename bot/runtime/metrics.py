"""Metrics for Prometheus: what this process does, and what the database says of all of them.

docs/operating.md lists every metric; a test keeps that list complete.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from bot.db.connect import SyncPool
from bot.ports import Compared
from knowledge.triage import SecondReading

_FAST = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5)
_SLOW = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60)
_KEEP_SECONDS = 5.0

Sample = tuple[Sequence[str], float]


class Metrics:
    """The metrics of one process: those of the web side with the gauges, and those of the work done."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.work = CollectorRegistry()
        self._webhooks = Counter(
            "distriage_webhooks", "Webhook calls by answer", ["source", "status"], registry=self.registry
        )
        self._accept = Histogram(
            "distriage_accept_seconds", "Time to answer a webhook", buckets=_FAST, registry=self.registry
        )
        self._api = Histogram(
            "distriage_api_seconds",
            "Time to answer a call of the API, by status",
            ["status"],
            buckets=_SLOW,
            registry=self.registry,
        )
        self._work = Histogram(
            "distriage_delivery_seconds",
            "Time a worker spent on a delivery, by outcome",
            ["outcome"],
            buckets=_SLOW,
            registry=self.work,
        )

    def webhook(self, source: str, status: str, seconds: float) -> None:
        """Count a webhook call."""
        self._webhooks.labels(source, status).inc()
        self._accept.observe(seconds)

    def api(self, status: int, seconds: float) -> None:
        """Count a call of `POST /api/triage`."""
        self._api.labels(str(status)).observe(seconds)

    def delivery(self, outcome: str, seconds: float) -> None:
        """Count a delivery that a worker ended."""
        self._work.labels(outcome).observe(seconds)

    def page(self) -> bytes:
        """The text of the web side's metrics and of the gauges."""
        return generate_latest(self.registry)

    def work_page(self) -> bytes:
        """The text of the metrics of the work that this process has done."""
        return generate_latest(self.work)


class DatabaseCollector(Collector):
    """Gauges read from the database at scrape time, so that any process can tell of all of them."""

    def __init__(self, read: Callable[[], dict[str, list[Sample]]]) -> None:
        self._read = read
        self._kept: tuple[float, dict[str, list[Sample]]] = (float("-inf"), {})

    def collect(self) -> Iterable[Metric]:
        """The gauges; two scrapes within a few seconds see the same ones."""
        read_at, samples = self._kept
        if time.monotonic() - read_at > _KEEP_SECONDS:
            samples = self._read()
            self._kept = (time.monotonic(), samples)
        for name, (text, labels) in GAUGES.items():
            family = GaugeMetricFamily(name, text, labels=labels)
            for values, number in samples.get(name, []):
                family.add_metric(values, number)
            yield family

    def describe(self) -> Iterable[Metric]:
        """Their names, without asking the database."""
        return [GaugeMetricFamily(name, text, labels=labels) for name, (text, labels) in GAUGES.items()]


GAUGES: dict[str, tuple[str, list[str]]] = {
    "distriage_deliveries": ("Stored deliveries, by state", ["state"]),
    "distriage_queue_depth": ("Jobs waiting or running", ["status"]),
    "distriage_queue_oldest_seconds": ("Age of the oldest delivery not done", []),
    "distriage_triages": ("Stored triages, by outcome", ["outcome"]),
    "distriage_abstentions": ("Triages that cannot tell, by axis", ["axis"]),
    "distriage_comments": ("Comments on issues, by state", ["state"]),
    "distriage_noise": ("Comments that somebody dismissed, by how", ["how"]),
    "distriage_github_writes_left": (
        "Content writes left of GitHub's secondary limit",
        ["installation", "window"],
    ),
}


_SECONDS = (0.25, 0.5, 1, 2, 3, 5, 8, 12, 16, 20)


class LlmMetrics:
    """Metrics in the registry of the process; docs/llm.md lists them."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._triages = Counter(
            "distriage_llm_triages",
            "Triages that asked the LLM, by outcome: used, or why the local answer was kept",
            ["outcome"],
            registry=registry,
        )
        self._comparisons = Counter(
            "distriage_llm_comparisons",
            "Comparisons with earlier reports, by outcome: same, different, or why there is no answer",
            ["outcome"],
            registry=registry,
        )
        self._tokens = Counter(
            "distriage_llm_tokens", "Tokens of the LLM, by direction", ["direction"], registry=registry
        )
        self._cost = Counter("distriage_llm_cost_dollars", "US dollars for the LLM", registry=registry)
        self._seconds = Histogram(
            "distriage_llm_seconds", "Time a triage spent on the LLM", buckets=_SECONDS, registry=registry
        )
        self._fabricated = Counter(
            "distriage_llm_fabricated",
            "Lines, cases and versions that the LLM made up (dropped)",
            registry=registry,
        )

    def observe(self, reading: SecondReading | None) -> None:
        """Count one triage; None (no LLM) counts nothing."""
        if reading is None:
            return
        self._triages.labels("used" if reading.used else reading.fallback_reason or "unused").inc()
        self._tokens.labels("in").inc(reading.tokens_in)
        self._tokens.labels("out").inc(reading.tokens_out)
        self._cost.inc(reading.cost)
        self._seconds.observe(reading.seconds)
        self._fabricated.inc(reading.fabricated)

    def observe_comparison(self, compared: Compared) -> None:
        """Count one comparison with earlier reports."""
        outcome = compared.fault or ("same" if compared.same else "different")
        self._comparisons.labels(outcome).inc()
        self._tokens.labels("in").inc(compared.tokens_in)
        self._tokens.labels("out").inc(compared.tokens_out)
        self._cost.inc(compared.cost)


# The figures of the whole service, read from the database for /metrics.

_LABELLED = {
    "distriage_deliveries": "SELECT state, count(*) FROM deliveries GROUP BY state",
    "distriage_queue_depth": (
        "SELECT status::text, count(*) FROM procrastinate_jobs WHERE status IN ('todo', 'doing')"
        " GROUP BY status"
    ),
    "distriage_triages": "SELECT outcome, count(*) FROM triages GROUP BY outcome",
    "distriage_abstentions": (
        "SELECT axis, count(*) FROM triages,"
        " unnest(ARRAY['type', 'stage', 'symptom', 'cause', 'fix']) AS axis"
        " WHERE triage -> axis -> 'answer' = '[]' GROUP BY axis"
    ),
    "distriage_comments": (
        "SELECT state, count(*) FROM comment_notes WHERE comment_id IS NOT NULL GROUP BY state"
    ),
    "distriage_noise": "SELECT how, count(*) FROM dismissals GROUP BY how",
}
_OLDEST = "SELECT extract(epoch FROM now() - min(received_at)) FROM deliveries WHERE state = 'queued'"
_WRITES = (
    "SELECT installation_id, 80 - coalesce(sum(count) FILTER (WHERE at > now() - interval '1 minute'), 0),"
    " 500 - sum(count) FROM content_writes WHERE at > now() - interval '1 hour' GROUP BY installation_id"
)


def read_figures(pool: SyncPool) -> dict[str, list[Sample]]:
    """Every gauge of `bot.runtime.metrics.GAUGES` with its samples."""
    samples: dict[str, list[Sample]] = {}
    with pool.connection() as connection:
        for name, query in _LABELLED.items():
            rows = connection.execute(query.encode()).fetchall()
            samples[name] = [((str(label),), _number(count)) for label, count in rows]
        row = connection.execute(_OLDEST).fetchone()
        samples["distriage_queue_oldest_seconds"] = [((), _number(row[0] if row else None))]
        left: list[Sample] = []
        for installation, minute, hour in connection.execute(_WRITES):
            left.append(((str(installation), "minute"), _number(minute)))
            left.append(((str(installation), "hour"), _number(hour)))
        samples["distriage_github_writes_left"] = left
    return samples


def _number(value: object) -> float:
    return float(str(value)) if value is not None else 0.0
