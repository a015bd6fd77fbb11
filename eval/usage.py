"""What an LLM took and did in an evaluation: money, time, fallbacks, and what it made up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from pydantic import BaseModel, ConfigDict


class _Value(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Usage(_Value):
    """What one report took of an LLM, and what came of it."""

    used: bool
    """Its judgement is in the answer."""
    asked: bool
    """A question really went to the server."""
    cached: bool
    """A reply came from the cache: tokens, cost and seconds are not those of a fresh call."""
    tokens_in: int
    tokens_out: int
    cost: float
    """US dollars."""
    seconds: float
    """What the LLM added to the time of the triage."""
    faults: list[str] = []
    """Why a duty was not done, in a word each."""
    made_up: int = 0
    """Lines, cases and versions that do not exist, as the model wrote them; all were dropped."""
    voided: bool = False
    """The reason, or the whole answer, was void, since it named what does not exist."""
    fabricated: int = 0
    """Ids, lines and cases that do not exist in what came out."""


class Asked(_Value):
    """The LLM that a system asked; prices are US dollars per million tokens, `weights` says what fused it."""

    model: str
    duties: list[str]
    price_input: float
    price_output: float
    weights: str
    note: str = ""
    """Where the answers come from, unless they were asked for."""


@dataclass(frozen=True, slots=True)
class UsageSummary:
    """Sums over reports. Means and times are over `fresh` reports: asked about, without the cache."""

    reports: int
    used: int
    fresh: int
    cached: int
    tokens_in: float | None
    """Mean of a fresh report; None where none is fresh."""
    tokens_out: float | None
    cost: float
    """US dollars spent in this run."""
    cost_each: float | None
    """Mean US dollars of a fresh report."""
    p50: float | None
    """Seconds."""
    p95: float | None
    fallbacks: int
    """Reports on which the LLM said nothing of use: the local answer alone, or none."""
    partial: int
    """Reports of which one duty failed."""
    faults: Mapping[str, int]
    made_up: int
    voided: int
    fabricated: int

    @property
    def fabrication_rate(self) -> float:
        """Share of reports whose answer holds something made up: reports are counted, not things."""
        return self.fabricated / self.reports if self.reports else 0.0

    @property
    def fallback_rate(self) -> float:
        """Share of reports on which the LLM said nothing of use."""
        return self.fallbacks / self.reports if self.reports else 0.0


def sum_up(usages: Sequence[Usage]) -> UsageSummary | None:
    """All reports of a system; None where it asked no LLM."""
    if not usages:
        return None
    fresh = [one for one in usages if one.asked and not one.cached]
    seconds = np.array([one.seconds for one in fresh])
    return UsageSummary(
        reports=len(usages),
        used=sum(one.used for one in usages),
        fresh=len(fresh),
        cached=sum(one.cached for one in usages),
        tokens_in=_mean([one.tokens_in for one in fresh]),
        tokens_out=_mean([one.tokens_out for one in fresh]),
        cost=sum(one.cost for one in usages),
        cost_each=_mean([one.cost for one in fresh]),
        p50=float(np.percentile(seconds, 50)) if fresh else None,
        p95=float(np.percentile(seconds, 95)) if fresh else None,
        fallbacks=sum(not one.used for one in usages),
        partial=sum(one.used and bool(one.faults) for one in usages),
        faults=dict(Counter(fault for one in usages for fault in one.faults).most_common()),
        made_up=sum(one.made_up for one in usages),
        voided=sum(one.voided for one in usages),
        fabricated=sum(one.fabricated > 0 for one in usages),
    )


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if values else None
