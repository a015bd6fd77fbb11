"""How often the report that a tracker marked as the same failure is among the nearest earlier ones.

Forward in time: a report is compared with those that were opened before it, and word rarities are those of that moment.
A query is a report with an earlier one of its group (knowledge/history/tracker.py); any of these is right.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from embeddings.encoder import Encoder
from eval.bootstrap import Estimate, share_of
from knowledge.history.index import Index, Postings
from knowledge.history.record import Post, Record, records_of
from knowledge.history.tracker import Tracker
from knowledge.history.verifier import Near, Weights, nearest
from knowledge.signatures import SignatureTable

KEPT = 10
"""Reports named for a query."""
CUTS = (1, 5, 10)
Tick = Callable[[str, int], None]
_WORD = re.compile(r"\w\w+")


@dataclass(frozen=True, slots=True)
class Ranked:
    """A query and what was found for it, best first."""

    id: str
    group: int
    right: frozenset[str]
    near: tuple[str, ...]
    found: tuple[Near, ...] = ()
    """The same with scores and reasons, where distriage found it."""

    @property
    def place(self) -> int | None:
        """Of the first right one, counted from 1."""
        return next((n for n, id in enumerate(self.near, 1) if id in self.right), None)


def rank(
    tracker: Tracker, encoder: Encoder, weights: Weights, tick: Tick = lambda what, n: None
) -> list[Ranked]:
    """What distriage finds for each query."""
    queries = tracker.queries()
    index = Index(encoder.dims)
    out: list[Ranked] = []
    for at, record in enumerate(_ticked(records_of(tracker.posts, encoder, SignatureTable()), tick)):
        if at in queries:
            found = tuple(nearest(record, index, weights, KEPT))
            near = tuple(one.record.id for one in found)
            out.append(Ranked(record.id, tracker.group[at], queries[at], near, found))
        index.add(record)
    return out


def _ticked(records: Iterable[Record], tick: Tick) -> Iterator[Record]:
    for record in records:
        yield record
        tick("reading and comparing", 1)


def rank_plainly(tracker: Tracker, tick: Tick = lambda what, n: None) -> list[Ranked]:
    """The baseline: TF-IDF cosine over the words of title and body, logarithmic counts, nothing else.

    As usual for it, word rarities are those of the whole file, which favours it a little; candidates are earlier ones.
    """
    postings = Postings()
    for post in tracker.posts:
        postings.add(_plain_words(post))
        tick("plain TF-IDF", 1)
    postings.settle()
    out: list[Ranked] = []
    for at, right in tracker.queries().items():
        scores = postings.cosines(_plain_words(tracker.posts[at]))[:at]
        best = np.argsort(-scores, kind="stable")[:KEPT]
        near = tuple(tracker.posts[int(n)].id for n in best)
        out.append(Ranked(tracker.posts[at].id, tracker.group[at], right, near))
    return out


def _plain_words(post: Post) -> Counter[str]:
    return Counter(_WORD.findall(f"{post.title} {post.body}".lower()))


def recall(ranked: Sequence[Ranked], k: int) -> Estimate:
    """Share of queries with a right one among the first `k`; 95 % bootstrap interval, groups drawn as a whole."""
    hits = [one.place is not None and one.place <= k for one in ranked]
    return share_of(hits, [one.group for one in ranked])


def table(tracker: Tracker, systems: Mapping[str, Sequence[Ranked]]) -> str:
    """Recall of each system as Markdown."""
    queries = len(next(iter(systems.values()), ()))
    rows = [
        f"| {name} | " + " | ".join(str(recall(ranked, k)) for k in CUTS) + " |"
        for name, ranked in systems.items()
    ]
    head = [
        f"{len(tracker.posts)} reports, {queries} with an earlier one marked as the same; 95 % intervals.",
        "",
        "| | " + " | ".join(f"R@{k}" for k in CUTS) + " |",
        "|---|" + "---|" * len(CUTS),
    ]
    return "\n".join([*head, *rows]) + "\n"
