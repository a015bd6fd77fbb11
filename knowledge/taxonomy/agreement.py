"""Agreement of two annotators: the share of equal labels and Cohen's kappa."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far two annotators agree over `n` items: `raw` share of equal labels, `kappa` beyond chance."""

    n: int
    raw: float
    kappa: float


def agreement_of(pairs: Sequence[tuple[Hashable, Hashable]]) -> Agreement:
    """Cohen's kappa (Educ. Psychol. Meas. 20, 1960) of pairs of labels; ValueError when there are none.

    When both annotators give one and the same label to all, chance explains everything: kappa is 1.
    """
    if not pairs:
        raise ValueError("no pair of labels")
    n = len(pairs)
    raw = sum(first == second for first, second in pairs) / n
    ones, twos = Counter(first for first, _ in pairs), Counter(second for _, second in pairs)
    chance = sum(ones[label] * twos[label] for label in ones) / n**2
    return Agreement(n, raw, 1.0 if chance == 1 else (raw - chance) / (1 - chance))
