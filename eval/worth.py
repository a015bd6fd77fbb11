"""Whether an LLM is worth asking: the rule by which its default is decided, on figures that it had no part in making.

It is asked when, beside distriage alone on the same cases,
1. it answered about at least LEAST of them,
2. nothing made up came out,
3. no figure is significantly worse (the 95 % bootstrap interval lies below zero),
4. and the first id of an axis is significantly better: interval above zero, and McNemar's p below LEVEL
   divided by the number of axes that may show it, so that five chances do not make one.
Otherwise it is not: whoever pays for tokens, and waits, should get something for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from eval.compare import Difference
from eval.usage import UsageSummary

LEAST = 100
"""Reports that the LLM must have answered about; fewer decide nothing."""
LEVEL = 0.05
DECIDING = ("type", "stage", "symptom", "cause", "fix")
"""Axes whose first id may show the gain."""


@dataclass(frozen=True, slots=True)
class Worth:
    """Whether the LLM is to be asked (None: too little was measured) and why, in a sentence."""

    use: bool | None
    why: str


def worth(differences: Sequence[Difference], usage: UsageSummary) -> Worth:
    """The rule, on `differences` of the system with the LLM (B) against the one without (A)."""
    if usage.used < LEAST:
        return Worth(None, f"It answered about {usage.used} reports; fewer than {LEAST} decide nothing.")
    if usage.fabricated:
        return Worth(False, f"Something made up came out in {usage.fabricated} answers.")
    worse = [one for one in differences if one.high < 0]
    if worse:
        return Worth(False, f"Significantly worse: {_named(worse)}.")
    better = [one for one in differences if _decides(one) and one.low > 0 and one.p < LEVEL / len(DECIDING)]
    if better:
        return Worth(True, f"Significantly better: {_named(better)}; nothing significantly worse.")
    return Worth(False, f"No significant gain on {usage.reports} reports.")


def _decides(one: Difference) -> bool:
    return one.axis in DECIDING and one.metric == "top1"


def _named(found: Sequence[Difference]) -> str:
    return ", ".join(f"{one.axis} {one.metric} {one.a:.3f} to {one.b:.3f}" for one in found)
