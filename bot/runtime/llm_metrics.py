"""What the LLM does, for Prometheus; told from the triages, since it is asked in processes of its own."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Histogram

from knowledge.triage import SecondReading

_SECONDS = (0.25, 0.5, 1, 2, 3, 5, 8, 12, 16, 20)


class LlmMetrics:
    """Metrics in the registry of the process; docs/llm.md lists them."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._triages = Counter(
            "distriage_llm_triages",
            "Triages that asked the LLM, by outcome: used, or why the local answer stood",
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
