"""Lists in a sentence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

_MOST_NAMED = 4


def listed(parts: Iterable[str], last: str = "and") -> str:
    """Each part once: "a", "a and b", "a, b, and c"; or with another `last` word. No parts are ""."""
    *others, end = list(dict.fromkeys(parts)) or [""]
    if len(others) < 2:
        return f" {last} ".join([*others, end])
    return f"{', '.join(others)}, {last} {end}"


def ranks_in_words(ranks: Sequence[int]) -> str:
    """ "rank 3", "ranks 3 and 5", "ranks 0-6", "ranks 3, 5, 6, 7 and 12 more"."""
    ranks = sorted(set(ranks))
    if len(ranks) == 1:
        return f"rank {ranks[0]}"
    if len(ranks) > 2 and ranks[-1] - ranks[0] == len(ranks) - 1:
        return f"ranks {ranks[0]}-{ranks[-1]}"
    if len(ranks) > _MOST_NAMED:
        shown = ", ".join(map(str, ranks[:_MOST_NAMED]))
        return f"ranks {shown} and {len(ranks) - _MOST_NAMED} more"
    return f"ranks {listed(map(str, ranks))}"
