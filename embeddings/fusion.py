"""Hit lists of unlike scores (BM25, cosine) into one list.

Reciprocal rank fusion, after Cormack, Clarke and Buettcher (SIGIR 2009): ranks compare where scores do not.
"""

from __future__ import annotations

from collections.abc import Sequence

Hits = Sequence[tuple[str, float]]

_K = 60
"""The paper's constant: how slowly the weight of a rank falls off."""


def fuse(
    lists: Sequence[Hits], weights: Sequence[float] | None = None, k: int | None = None
) -> list[tuple[str, float]]:
    """Return each key once with its fused score in [0, 1], best first; 1 = first in every list.

    `lists` are hit lists, best first; only the first place of a key in a list counts. `weights` (default:
    equal) say how much each list counts; `k` keeps that many. Equal scores keep the order of the lists.
    Raises ValueError when the weights do not fit the lists or one is negative.
    """
    weights = [1.0] * len(lists) if weights is None else weights
    if len(weights) != len(lists) or min(weights, default=0) < 0:
        raise ValueError(f"{len(weights)} weights do not fit {len(lists)} lists")
    scores: dict[str, float] = {}
    for hits, weight in zip(lists, weights, strict=True):
        seen = dict.fromkeys(key for key, _ in hits)
        for rank, key in enumerate(seen, start=1):
            scores[key] = scores.get(key, 0.0) + weight / (_K + rank)
    best = sum(weights) / (_K + 1)
    ranked = sorted(scores.items(), key=lambda item: -item[1])
    return [(key, score / best if best else 0.0) for key, score in ranked[:k]]
