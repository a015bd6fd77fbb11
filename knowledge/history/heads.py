"""Heads of a repository's own labels: linear, calibrated, learned from what people set, silent where unsure.

All labels are fitted at once by kernel ridge regression over the traits (knowledge/history/words.py), which gives
every left-out prediction in closed form. These calibrate a head and fix its threshold. A head speaks only if heads
of the older 80 % were right at TARGET_PRECISION of what they set on the newer 20 %.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import numpy as np
import numpy.typing as npt

from knowledge.history.verifier import sigmoid
from knowledge.history.words import BLOCKS, BUCKETS, Traits, parts_of
from knowledge.judging.blocks import sparse_gram
from knowledge.judging.calibrate import lower_bound
from knowledge.judging.features import Floats, Sparse
from knowledge.judging.learner import fit_ridge, invert

Array = npt.NDArray[np.float64]
Truths = npt.NDArray[np.bool_]

TARGET_PRECISION = 0.90
LEAST_EXAMPLES = 30
"""Issues with a label that people set, before a head of it is learned."""
LEAST_TESTED = 5
"""Labels set on the newer 20 % before their precision says anything."""
MOST_EXAMPLES = 3_000
"""The newest are learned from; the work grows with the square."""
HELD_OUT = 0.2
NEVER = 1.01
LIKELY = 0.5
"""No label is set that is less likely than not."""
_PARTS = 10
"""Of the examples in order: each is left out as a whole to learn how far a score can be trusted."""
_LEAST_CUT = 8
"""Labels set above a cut on left-out predictions."""
_FEW = 20
"""As so many labels does left-out precision count beside those set on the newer 20 %: one mistake in five is luck."""
_PENALTY = 1.0
"""Ridge penalty; a third and three times of it do about the same on issue types."""
_HALF_LIFE = timedelta(days=730)
_MOST_WORDS = 20_000
"""Of each block, the most frequent ones; the rest are in hardly any issue."""
_MOST_WEIGHTS = 4_000
"""Of a head, the largest."""
_RARE = 2
_APART = 0.02
"""Two labels exclude each other when at most so many issues of the rarer have both."""


@dataclass(frozen=True, slots=True)
class Example:
    """An issue with what people said of its labels."""

    id: str
    opened: datetime | None
    traits: Traits
    labels: frozenset[str]
    """Those that people set and left on it."""
    unsure: frozenset[str] = frozenset()
    """Those that nobody judged, such as a bot's: they neither teach nor count."""
    given: frozenset[str] = frozenset()
    """Those that came with the report: they teach and do not count, since there was nothing left to set."""
    judged: frozenset[str] | None = None
    """Where people spoke of single labels only: these. None = they went through all, so that one not set is wrong."""
    weight: float = 1.0

    def tells(self, label: str) -> bool:
        """Whether the issue says if the label belongs on such a one."""
        return label not in self.unsure and (self.judged is None or label in self.judged)


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The words that a set of heads knows, by block: buckets ascending, and inverse document frequencies."""

    buckets: Mapping[str, npt.NDArray[np.int32]]
    idf: Mapping[str, Floats]

    @classmethod
    def of(cls, examples: Sequence[Traits]) -> Vocabulary:
        """Count in how many of them each bucket occurs."""
        buckets, idf = {}, {}
        for name in BLOCKS:
            df = np.zeros(BUCKETS, np.int64)
            for traits in examples:
                df[traits.blocks[name].index] += 1
            known = np.flatnonzero(df >= _RARE)
            if len(known) > _MOST_WORDS:
                known = np.sort(known[np.argsort(-df[known], kind="stable")[:_MOST_WORDS]])
            buckets[name] = known.astype(np.int32)
            idf[name] = (np.log((1 + len(examples)) / (1 + df[known])) + 1).astype(np.float32)
        return cls(buckets, idf)

    @property
    def size(self) -> int:
        """Number of words."""
        return sum(map(len, self.buckets.values()))

    def seen(self, traits: Traits) -> Sparse:
        """Positions and values of what is known of the words; each block has unit length."""
        index, weight, start = [], [], 0
        for name in BLOCKS:
            block, known = traits.blocks[name], self.buckets[name]
            place, there = _places(known, block.index)
            value = block.weight[there] * self.idf[name][place[there]]
            index.append(place[there] + start)
            weight.append(value / (float(np.linalg.norm(value)) or 1.0))
            start += len(known)
        return Sparse(np.concatenate(index).astype(np.int32), np.concatenate(weight).astype(np.float32))

    def places(self, parts: Mapping[str, npt.NDArray[np.int64]]) -> npt.NDArray[np.int64]:
        """Positions of the buckets that a line accounts for."""
        found, start = [], 0
        for name in BLOCKS:
            place, there = _places(self.buckets[name], parts.get(name, np.zeros(0, np.int64)))
            found.append(place[there] + start)
            start += len(self.buckets[name])
        return np.concatenate(found)


def _places(
    known: npt.NDArray[np.int32], wanted: npt.NDArray[np.integer]
) -> tuple[npt.NDArray[np.int64], Truths]:
    """Where each wanted bucket is among the known ones, and whether it is."""
    place = np.searchsorted(known, wanted)
    place = np.minimum(place, max(len(known) - 1, 0))
    there = known[place] == wanted if len(known) else np.zeros(len(wanted), bool)
    return place, there


@dataclass(frozen=True, slots=True)
class Head:
    """One label's head; `p` = sigmoid(slope x (bias + weights . words + dense . vectors) + offset)."""

    label: str
    vocabulary: Vocabulary = field(repr=False)
    bias: float
    at: npt.NDArray[np.int32] = field(repr=False)
    """Positions in the vocabulary that have a weight, ascending."""
    weights: Floats = field(repr=False)
    dense: Floats = field(repr=False)
    slope: float
    offset: float
    threshold: float
    """The least p at which the label is set; NEVER = silent."""
    rivals: frozenset[str] = frozenset()
    """Labels that people do not set together with it: of them only the likeliest is set."""
    expected: float = 0.0
    """Precision of its left-out predictions at the threshold."""
    examples: int = 0
    tested: int = 0
    """How often heads of the older issues set it on the newer ones."""
    right: int = 0
    """How often people had set it there, too."""
    through: datetime | None = None
    """When the newest issue that it learned from was opened."""

    @property
    def speaks(self) -> bool:
        """Whether it may set its label."""
        return self.threshold <= 1

    def p(self, seen: Sparse, vectors: Floats) -> float:
        """How probable it is that people would set the label."""
        score = self.bias + float(self._weights(seen.index) @ seen.weight) + float(self.dense @ vectors)
        return float(sigmoid(np.array(self.slope * score + self.offset)))

    def _weights(self, positions: npt.NDArray[np.integer]) -> Floats:
        place, there = _places(self.at, positions)
        return np.where(there, self.weights[place] if len(self.at) else 0, 0).astype(np.float32)

    def moved_by(self, seen: Sparse, line: str, *, in_title: bool) -> float:
        """By how much the words of a line of the report raise the score."""
        own = np.isin(seen.index, self.vocabulary.places(parts_of(line, in_title=in_title)))
        return float(self._weights(seen.index[own]) @ seen.weight[own])


@dataclass(frozen=True, slots=True)
class Suggested:
    """A label that its head would set."""

    head: Head
    p: float


def suggest(heads: Sequence[Head], traits: Traits) -> list[Suggested]:
    """The labels that heads set on a report, likeliest first; of labels that exclude each other one at most."""
    seen: dict[int, Sparse] = {}
    found: dict[str, Suggested] = {}
    for head in heads:
        key = id(head.vocabulary)
        if key not in seen:
            seen[key] = head.vocabulary.seen(traits)
        found[head.label] = Suggested(head, head.p(seen[key], traits.vectors))
    told = [
        one
        for one in found.values()
        if one.p >= one.head.threshold
        and all(found[rival].p < one.p for rival in one.head.rivals if rival in found)
    ]
    return sorted(told, key=lambda one: -one.p)


def learn(examples: Sequence[Example], before: Sequence[Head] = ()) -> list[Head]:
    """A head for each label with enough examples; these are in the order in which they were opened.

    `before`: the heads in use. One stays if the new one does not beat it on the newer 20 %, and is silent from now on
    if it is wrong too often there. Deterministic. A repository with too few examples has no heads.
    """
    taught = list(examples)[-MOST_EXAMPLES:]
    labels = _labels(taught)
    cut = round(len(taught) * (1 - HELD_OUT))
    if not labels:
        return []
    older, newer = taught[:cut], taught[cut:]
    trial = _fit(older, labels)
    whole = {head.label: head for head in _fit(taught, labels)}
    old = {head.label: head for head in before}
    out = []
    for label in labels:
        tried, head = _of(trial, label), whole[label]
        kept = old.get(label)
        if kept is not None and not _beats(tried, kept, newer):
            tried = head = kept
        others = [one for one in trial if one.label != label]
        tested = _tested(tried, others, newer)
        threshold = max(head.threshold, tested.threshold) if tested.raised else head.threshold
        out.append(replace(head, threshold=threshold, tested=tested.n, right=tested.right))
    return out


@dataclass(frozen=True, slots=True)
class _Tested:
    """From which probability on a head was right often enough on issues it did not learn from, and how often there."""

    threshold: float
    raised: bool
    """That is more than its own threshold."""
    right: int
    n: int


def _tested(head: Head, others: Sequence[Head], newer: Sequence[Example]) -> _Tested:
    judged = [one for one in newer if one.tells(head.label) and head.label not in one.given]
    first = [
        next((told.p for told in suggest([head, *others], one.traits) if told.head is head), 0.0)
        for one in judged
    ]
    p, truth = np.array(first), np.array([head.label in one.labels for one in judged], bool)
    threshold = lowest_cut(p, truth, LEAST_TESTED, head.bias, floor=head.threshold, expected=head.expected)
    own = p[p >= head.threshold]
    chosen = p >= threshold
    raised = not len(own) or threshold > own.min()
    return _Tested(threshold, raised, int(truth[chosen].sum()), int(chosen.sum()))


def _of(heads: Sequence[Head], label: str) -> Head:
    return next(head for head in heads if head.label == label)


def _labels(examples: Sequence[Example]) -> list[str]:
    count: dict[str, int] = {}
    for one in examples:
        for label in one.labels:
            count[label] = count.get(label, 0) + 1
    return sorted(label for label, n in count.items() if n >= LEAST_EXAMPLES)


def _beats(tried: Head, kept: Head, newer: Sequence[Example]) -> bool:
    """Whether the new head is the better one on recent issues, by log-loss; on those that the old one never saw."""
    fresh = [one for one in newer if kept.through and one.opened and one.opened > kept.through]
    judged = [one for one in (fresh if len(fresh) >= LEAST_EXAMPLES else newer) if one.tells(kept.label)]
    return _loss(tried, judged) < _loss(kept, judged)


def _loss(head: Head, examples: Sequence[Example]) -> float:
    p = np.array([head.p(head.vocabulary.seen(one.traits), one.traits.vectors) for one in examples])
    truth = np.array([head.label in one.labels for one in examples], bool)
    return float(-np.log(np.clip(np.where(truth, p, 1 - p), 1e-6, 1)).mean()) if len(p) else 0.0


def _fit(examples: Sequence[Example], labels: Sequence[str]) -> list[Head]:
    """Heads of these labels, each with the threshold that its left-out predictions allow."""
    vocabulary = Vocabulary.of([one.traits for one in examples])
    rows = [vocabulary.seen(one.traits) for one in examples]
    vectors = np.stack([one.traits.vectors for one in examples])
    blocks = len(BLOCKS) + 2
    gram = (sparse_gram(rows, vocabulary.size) + vectors @ vectors.T) / blocks
    weights = _weights(examples)
    known = np.array([[one.tells(label) for label in labels] for one in examples])
    truth = np.array([[label in one.labels for label in labels] for one in examples])
    shares = np.where(known, truth, 0).sum(0) / np.maximum(known.sum(0), 1)
    targets = np.where(known, truth, shares[None, :]).astype(np.float64)
    fit = fit_ridge(invert(gram, weights, _PENALTY), targets, weights, _left_out_with(examples))
    lines = [_calibrated(fit.held_out[:, n], truth[:, n], weights * known[:, n]) for n in range(len(labels))]
    p = np.column_stack([sigmoid(a * fit.held_out[:, n] + b) for n, (a, b) in enumerate(lines)])
    rivals = _rivals(truth & known)
    lexical = _primal(rows, fit.alpha, vocabulary.size) / blocks
    dense = (vectors.T @ fit.alpha / blocks).astype(np.float32)
    out = []
    for n, label in enumerate(labels):
        others = np.flatnonzero(rivals[n])
        first = (p[:, [n]] > p[:, others]).all(1) & known[:, n]
        threshold = lowest_cut(p[first, n], truth[first, n], _LEAST_CUT, shares[n])
        at = np.sort(np.argsort(-np.abs(lexical[:, n]), kind="stable")[:_MOST_WEIGHTS]).astype(np.int32)
        out.append(
            Head(
                label=label,
                vocabulary=vocabulary,
                bias=float(fit.prior[n]),
                at=at,
                weights=lexical[at, n],
                dense=dense[:, n],
                slope=lines[n][0],
                offset=lines[n][1],
                threshold=threshold,
                expected=float(truth[first, n][p[first, n] >= threshold].mean()) if threshold <= 1 else 0.0,
                rivals=frozenset(labels[int(other)] for other in others),
                examples=int(truth[:, n].sum()),
                through=max((one.opened for one in examples if one.opened), default=None),
            )
        )
    return out


def _left_out_with(examples: Sequence[Example]) -> list[str]:
    """The part that each example is left out with: its neighbours in time, of which some are nearly the same report.

    Where there are no dates, each is a part by itself.
    """
    dated = any(one.opened is not None for one in examples)
    return [str(n * _PARTS // len(examples) if dated else n) for n in range(len(examples))]


def _primal(rows: Sequence[Sparse], alpha: Array, size: int) -> Floats:
    out = np.zeros((size, alpha.shape[1]), np.float32)
    for row, own in zip(rows, alpha.astype(np.float32), strict=True):
        out[row.index] += row.weight[:, None] * own
    return out


def _weights(examples: Sequence[Example]) -> Array:
    """Weight of each example: half after two years, counted from the newest; never under a quarter."""
    newest = max((one.opened for one in examples if one.opened), default=None)
    ages = [(newest - one.opened) / _HALF_LIFE if newest and one.opened else 0.0 for one in examples]
    told = np.array([one.weight for one in examples])
    return np.asarray(told * np.maximum(0.5 ** np.array(ages), 0.25))


def _rivals(truth: Truths) -> Truths:
    """Which labels (columns) people do not set together, though chance alone would have it."""
    counts = truth.sum(0)
    together = truth.T.astype(np.int64) @ truth.astype(np.int64)
    rarer = np.minimum(counts[:, None], counts[None, :])
    expected = counts[:, None] * counts[None, :] / max(len(truth), 1)
    apart = (together <= _APART * rarer) & (expected >= 3)
    return np.asarray(apart & ~np.eye(len(counts), dtype=bool))


def _calibrated(scores: Array, truth: Truths, weights: Array) -> tuple[float, float]:
    """Slope and offset of a logistic curve over left-out scores (Platt, 1999), pulled a little towards 4 and -2."""
    x, y = np.column_stack([scores, np.ones(len(scores))]), truth.astype(float)
    w, start, pull = np.array([4.0, -2.0]), np.array([4.0, -2.0]), np.array([0.02, 1e-6])
    for _ in range(50):
        p = sigmoid(x @ w)
        curve = (x * (weights * p * (1 - p))[:, None]).T @ x + np.diag(pull)
        step = np.clip(np.linalg.solve(curve, x.T @ (weights * (p - y)) + pull * (w - start)), -3, 3)
        w = w - step
        if np.abs(step).max() < 1e-6:
            break
    return max(float(w[0]), 0.0), float(w[1])


def lowest_cut(
    p: Array, truth: Truths, least: int, usual: float, *, floor: float = 0.0, expected: float = 0.0
) -> float:
    """The lowest probability from `floor` on above which labels are right often enough; NEVER where there is none.

    `least`: labels needed above it; `usual`: the share of issues that have the label: right at least halfway from there
    to the target, with 90 % confidence, since a cut can be lucky with a label that most issues have; `expected`: a
    precision that counts as much as _FEW labels, so that one mistake among five does not silence a head.
    """
    order = np.argsort(-p, kind="stable")
    few = _FEW if expected else 0
    count = np.arange(1, len(order) + 1)
    right = np.cumsum(truth[order])
    last = np.append(np.diff(p[order]) < 0, True) if len(order) else np.zeros(0, bool)
    enough = (right + few * expected) / (count + few) >= TARGET_PRECISION - 1e-9
    enough &= lower_bound(right / count, count) >= (usual + TARGET_PRECISION) / 2
    good = np.flatnonzero(enough & last & (count >= least) & (p[order] > 0) & (p[order] >= floor))
    if not len(good):
        return NEVER
    # Halfway to the next one: where reports are told apart well, hardly any has exactly the probability of the last.
    after = p[order[good[-1] + 1]] if good[-1] + 1 < len(order) else 0.0
    return float(max((p[order[good[-1]]] + after) / 2, LIKELY, floor))
