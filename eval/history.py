"""How well earlier reports of the same failure are found: against a tracker's marks, and replayed forward in time."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from embeddings.encoder import Encoder
from eval.metrics import Estimate, share_of, wilson
from eval.origin import Part
from eval.protocol import Origin
from knowledge.history.index import Index, Postings
from knowledge.history.learner import LEAST, TARGET_PRECISION, Prediction, fit_threshold
from knowledge.history.record import Post, Record, records_of
from knowledge.history.tracker import Tracker
from knowledge.history.verifier import Near, Weights, nearest, worth_reading
from knowledge.signatures import SignatureTable

# How often the report that a tracker marked as the same failure is among the nearest earlier ones.
#
# Forward in time: a report is compared with those that were opened before it, and word rarities are those of that
# moment. A query is a report with an earlier one of its group (knowledge/history/tracker.py); any of these is right.

LOWEST = 0.5
"""No threshold that fits itself is below: the verifier, too, must find a match likelier than not."""
KEPT = 10
"""Reports named for a query."""
CUTS = (1, 5, 10)
_HEAD = ["", *(f"R@{k}" for k in CUTS)]
Tick = Callable[[str, int], None]
_WORD = re.compile(r"\w\w+")


@dataclass(frozen=True, slots=True)
class Ranked:
    """A report and what was found for it, best first."""

    id: str
    group: int
    right: frozenset[str]
    """Marked as the same; a query has some."""
    near: tuple[str, ...]
    found: tuple[Near, ...] = ()
    """The same with scores and reasons, where distriage found it."""

    @property
    def shown(self) -> list[str]:
        """Ids of what would be shown below it."""
        return [one.record.id for one in self.found if one.shown]

    @property
    def place(self) -> int | None:
        """Of the first right one, counted from 1."""
        return next((n for n, id in enumerate(self.near, 1) if id in self.right), None)


def rank(
    tracker: Tracker, encoder: Encoder, weights: Weights, tick: Tick = lambda what, n: None
) -> list[Ranked]:
    """What distriage finds for each query, and for each other report below which it shows or could show something."""
    queries = tracker.queries()
    index = Index(encoder.dims)
    out: list[Ranked] = []
    for at, record in enumerate(_ticked(records_of(tracker.posts, encoder, SignatureTable()), tick)):
        found = tuple(nearest(record, index, weights, KEPT))
        if at in queries or any(one.shown for one in found) or worth_reading(found):
            near = tuple(one.record.id for one in found)
            out.append(Ranked(record.id, tracker.group[at], queries.get(at, frozenset()), near, found))
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
    asked = [one for one in ranked if one.right]
    hits = [one.place is not None and one.place <= k for one in asked]
    return share_of(hits, [one.group for one in asked])


def table(tracker: Tracker, systems: Mapping[str, Sequence[Ranked]]) -> str:
    """Recall of each system as Markdown."""
    head = [_counted(tracker), "", f"| {' | '.join(_HEAD)} |", "|---" * len(_HEAD) + "|"]
    return "\n".join([*head, *(f"| {' | '.join(line)} |" for line in _lines(systems))]) + "\n"


def duplicates_part(tracker: Tracker, systems: Mapping[str, Sequence[Ranked]], origin: Origin) -> Part:
    """The same as a table of the report's page."""
    notes = [_counted(tracker)]
    return Part(title="Duplicates", notes=notes, head=_HEAD, rows=_lines(systems), origin=origin)


def _lines(systems: Mapping[str, Sequence[Ranked]]) -> list[list[str]]:
    return [[name, *(str(recall(ranked, k)) for k in CUTS)] for name, ranked in systems.items()]


def _counted(tracker: Tracker) -> str:
    marked = len(tracker.queries())
    return f"{len(tracker.posts)} reports, {marked} with an earlier one marked as the same; 95 % intervals."


def shown_line(ranked: Sequence[Ranked]) -> str:
    """What would be shown of all reports, those without a marked earlier one included, in words.

    Trackers leave many repeats unmarked, so the share marked is a lower bound of precision.
    """
    asked = [one for one in ranked if one.right]
    matches = [(id in one.right, one.group) for one in ranked for id in one.shown]
    reached = [(bool(one.right & set(one.shown)), one.group) for one in asked]
    commented = sum(bool(one.shown) for one in ranked)
    return (
        f"Shown: {len(matches)} matches below {commented} reports; {_share(matches)} of them are marked. "
        f"Of the reports with a marked earlier one, {_share(reached)} are shown it.\n"
    )


# What would have been shown of a repository's history, forward in time, and what people marked later.
#
# Each report is compared with those that were opened before it, as the service would have done; weights and threshold
# are the shipped ones, word rarities those of that moment. A match is right when people marked the two as the same,
# in either direction or through others. Trackers leave many unmarked, so precision is a lower bound.


@dataclass(frozen=True, slots=True)
class Replayed:
    """A report and the matches that something speaks for, whatever their probability."""

    record: Record
    group: int
    """Reports that people marked as the same share it."""
    has_earlier: bool
    """An earlier report of its group exists."""
    near: tuple[Near, ...]
    """At most two, best first."""
    marked: tuple[bool, ...]
    """For each of `near`: whether people marked the two as the same."""

    def shown(self, threshold: float) -> list[tuple[Near, bool]]:
        """What is shown at a threshold, and whether people marked it."""
        pairs = zip(self.near, self.marked, strict=True)
        return [(near, right) for near, right in pairs if near.p >= threshold or near.copied]


def replay(
    records: Iterable[Record],
    groups: Sequence[int],
    weights: Weights,
    tick: Callable[[], None] = lambda: None,
) -> list[Replayed]:
    """Go through the records in the order in which they were opened; all are in memory, about 10 kB each."""
    anything = replace(weights, threshold=0.0)
    index: Index | None = None
    seen: dict[int, set[str]] = {}
    out = []
    for record, group in zip(records, groups, strict=True):
        index = index or Index(record.vectors.shape[1])
        near = tuple(one for one in nearest(record, index, anything) if one.shown)
        same = seen.setdefault(group, set())
        marked = tuple(one.record.id in same for one in near)
        out.append(Replayed(record, group, bool(same), near, marked))
        same.add(record.id)
        index.add(record)
        tick()
    return out


@dataclass(frozen=True, slots=True)
class Figures:
    """What a replay comes to at one threshold."""

    reports: int
    with_earlier: int
    """Reports with an earlier one that people marked as the same."""
    commented: int
    """Reports below which something would have been shown."""
    precision: Estimate
    """Of the matches shown, the share that people marked; a lower bound."""
    coverage: Estimate
    """Of the reports with an earlier one, the share that would have been shown a marked one."""


def figures(replayed: Sequence[Replayed], threshold: float) -> Figures:
    """Shares with 95 % intervals; reports of one group are drawn together."""
    shown = [one.shown(threshold) for one in replayed]
    matches = [(right, one.group) for one, pairs in zip(replayed, shown, strict=True) for _, right in pairs]
    earlier = [
        (any(right for _, right in pairs), one.group)
        for one, pairs in zip(replayed, shown, strict=True)
        if one.has_earlier
    ]
    return Figures(len(replayed), len(earlier), sum(map(bool, shown)), _share(matches), _share(earlier))


def own_threshold(replayed: Sequence[Replayed]) -> float | None:
    """The lowest threshold at which 0.90 of the matches are marked; None where fewer than ten are."""
    found = fit_threshold(
        [
            Prediction(
                place=None,
                p=np.array([near.p for near in one.near]),
                same=np.array(one.marked, bool),
                reason=np.ones(len(one.near), bool),
                has_same=one.has_earlier,
            )
            for one in replayed
        ]
    )
    return found if found <= 1 else None


def older_and_newer(replayed: Sequence[Replayed]) -> tuple[Sequence[Replayed], Sequence[Replayed]]:
    """The 70 % that a threshold is fitted to, and the 30 % that it is measured on."""
    cut = len(replayed) * 7 // 10
    return replayed[:cut], replayed[cut:]


def proven_threshold(replayed: Sequence[Replayed], shipped: float) -> float | None:
    """A threshold below the shipped one that marks bear out; None = they don't.

    Fitted to the older reports, it must hold on the newer ones: ten matches at least, 0.90 of them marked. It is never
    above the shipped one: most repeats are left unmarked, so marks can't show that matches are wrong.
    """
    older, newer = older_and_newer(replayed)
    fitted = own_threshold(older)
    if fitted is None or fitted >= shipped:
        return None
    lowest = max(fitted, LOWEST)
    right = figures(newer, lowest).precision
    return (
        lowest if right.n >= LEAST and right.value is not None and right.value >= TARGET_PRECISION else None
    )


def _share(hits: Sequence[tuple[bool, int]]) -> Estimate:
    groups = [group for _, group in hits]
    found = share_of([hit for hit, _ in hits], groups)
    if found.value not in (0.0, 1.0):
        return found
    # Where all are alike, no draw is different, which is no certainty.
    count = len(set(groups))
    return replace(wilson(round(found.value) * count, count), n=found.n)
