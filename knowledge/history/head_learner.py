"""Learning the heads of a repository's own labels from what people set.

All labels are fitted at once by kernel ridge regression over the traits (knowledge/history/words.py), which gives
every left-out prediction in closed form. These calibrate the heads and fix their thresholds. A head speaks only if
heads of the older 80 % were right at TARGET_PRECISION of what they set on the newer 20 %.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

import numpy as np

from knowledge.history.heads import (
    NEVER,
    Array,
    Example,
    Family,
    Head,
    Line,
    Truths,
    Vocabulary,
    among,
    suggest,
)
from knowledge.history.verifier import sigmoid
from knowledge.history.words import BLOCKS
from knowledge.judging.blocks import sparse_gram
from knowledge.judging.calibrate import lower_bound
from knowledge.judging.features import Floats, Sparse
from knowledge.judging.learner import RidgeFit, fit_ridge, invert

TARGET_PRECISION = 0.90
LEAST_EXAMPLES = 30
"""Issues with a label that people set, before a head of it is learned."""
LEAST_TESTED = 3
"""Labels set on the newer 20 % before their precision says anything."""
MOST_EXAMPLES = 3_000
"""The newest are learned from; the work grows with the square."""
HELD_OUT = 0.2
LIKELY = 0.5
"""No label is set that is less likely than not."""
_PARTS = 10
"""Of the examples in order: each is left out as a whole to learn how far a score can be trusted."""
_LEAST_CUT = 8
"""Labels set above a cut on left-out predictions."""
_MARGIN = 0.15
"""Standard errors by which a family's left-out precision lies above the target: the best of many cuts is lucky."""
_LESS = 0.03
"""By how much a label of a family may be right less often than the family, before it gets a threshold of its own."""
_CHANCE = 1
"""Mistakes on the newer 20 % that are forgiven: of five labels one is chance, of a hundred it makes no difference."""
_CHANCE_OF = 5
"""Labels set before one is forgiven: a head that is wrong 40 % of the time often has two of three right."""
_PENALTY = 1.0
"""Ridge penalty; a third and three times of it do about the same on issue types."""
_IMPOSSIBLE = 1e-3
"""A mistake costs no more than that."""
_HALF_LIFE = timedelta(days=730)
_MOST_WEIGHTS = 4_000
"""Of a head, the largest."""
_APART = 0.02
"""Two labels exclude each other when at most so many issues of the rarer have both."""


def learn(examples: Sequence[Example], before: Sequence[Family] = ()) -> list[Family]:
    """Families of heads for the labels with enough examples; these are in the order in which they were opened.

    `before`: those in use. One stays if the new one does not beat it on the newer 20 %; its heads are silent from now
    on where they are wrong too often there. Deterministic. A repository with too few examples has none.
    """
    taught = list(examples)[-MOST_EXAMPLES:]
    count = Counter(label for one in taught for label in one.labels)
    labels = sorted(label for label, n in count.items() if n >= LEAST_EXAMPLES)
    if not labels:
        return []
    cut = round(len(taught) * (1 - HELD_OUT))
    older, newer = taught[:cut], taught[cut:]
    groups = _families(taught, labels)
    trial, whole = _fit(older, labels, groups), _fit(taught, labels, groups)
    won, lost = [], list[Family]()
    for tried, new in zip(trial, whole, strict=True):
        old = [family for family in before if family.labels & new.labels]
        if old and not _beats(tried, old, newer):
            lost += [family for family in old if family not in lost]
        else:
            won.append(_tested(tried, new, newer))
    taken = {label for family in won for label in family.labels}
    return won + [_tested(family, family, newer, taken) for family in lost]


def _tested(tried: Family, used: Family, newer: Sequence[Example], taken: Iterable[str] = ()) -> Family:
    """The family with the figures of `tried` on issues that this did not learn from; what is wrong there is silent.

    `taken`: labels that other heads set now.
    """
    heads = []
    told = [suggest([_eager(tried)], one.traits)[0] for one in newer]
    for head, own in zip(tried.heads, used.heads, strict=True):
        judged = [one.tells(head.label) and head.label not in one.given for one in newer]
        p = np.array([one.p * (one.head.label == head.label) for one in told])[judged]
        truth = np.array([head.label in one.labels for one in newer], bool)[judged]
        cut = lowest_cut(p, truth, LEAST_TESTED, head.bias, floor=head.threshold, forgiven=_CHANCE)
        above, chosen = p[p >= head.threshold], p >= cut
        raised = not len(above) or cut > above.min()
        threshold = max(own.threshold, cut) if raised else own.threshold
        heads.append(
            replace(
                own,
                threshold=NEVER if head.label in taken else threshold,
                tested=int(chosen.sum()),
                right=int(truth[chosen].sum()),
            )
        )
    return replace(used, heads=tuple(heads))


def _eager(family: Family) -> Family:
    """The family, always setting its likeliest label."""
    return replace(family, heads=tuple(replace(head, threshold=0.0) for head in family.heads))


def _beats(tried: Family, old: Sequence[Family], newer: Sequence[Example]) -> bool:
    """Whether the new heads are the better ones on recent issues, by log-loss; on those that the old never saw."""
    through = max((family.through for family in old if family.through), default=None)
    fresh = [one for one in newer if through and one.opened and one.opened > through]
    judged = fresh if len(fresh) >= LEAST_EXAMPLES else newer
    return _loss([tried], old, judged) < _loss(old, [tried], judged)


def _loss(families: Sequence[Family], others: Sequence[Family], examples: Sequence[Example]) -> float:
    """Log-loss over the labels of both; a label that only the others know is one that is never set."""
    unknown = {label for family in others for label in family.labels}
    unknown -= {label for family in families for label in family.labels}
    total = 0.0
    for one in examples:
        likely = dict.fromkeys(unknown, 0.0)
        for family in families:
            p = family.p(family.vocabulary.seen(one.traits), one.traits.vectors)
            likely |= dict(zip((head.label for head in family.heads), p.tolist(), strict=True))
        for label, at in likely.items():
            if one.tells(label):
                total -= float(np.log(max(at if label in one.labels else 1 - at, _IMPOSSIBLE)))
    return total


@dataclass(frozen=True, slots=True)
class _Told:
    """What examples say of labels, (examples, labels)."""

    truth: Truths
    known: Truths

    @classmethod
    def of(cls, examples: Sequence[Example], labels: Sequence[str]) -> _Told:
        known = np.array([[one.tells(label) for label in labels] for one in examples])
        return cls(np.array([[label in one.labels for label in labels] for one in examples]) & known, known)


def _families(examples: Sequence[Example], labels: Sequence[str]) -> list[list[int]]:
    """Numbers of labels that people do not set together, though chance alone would have it; the commonest first."""
    truth = _Told.of(examples, labels).truth
    counts = truth.sum(0)
    together = truth.T.astype(np.int64) @ truth.astype(np.int64)
    rarer = np.minimum(counts[:, None], counts[None, :])
    expected = counts[:, None] * counts[None, :] / len(truth)
    apart = (together <= _APART * rarer) & (expected >= 3)
    groups: list[list[int]] = []
    for label in np.argsort(-counts, kind="stable").tolist():
        home = next((group for group in groups if apart[label, group].all()), None)
        if home is None:
            groups.append([label])
        else:
            home.append(label)
    return groups


def _fit(examples: Sequence[Example], labels: Sequence[str], groups: Sequence[Sequence[int]]) -> list[Family]:
    """A family of each group, with the thresholds that its left-out predictions allow."""
    vocabulary = Vocabulary.of([one.traits for one in examples])
    rows = [vocabulary.seen(one.traits) for one in examples]
    vectors = np.stack([one.traits.vectors for one in examples])
    blocks = len(BLOCKS) + 2
    gram = (sparse_gram(rows, vocabulary.size) + vectors @ vectors.T) / blocks
    weights = _weights(examples)
    told = _Told.of(examples, labels)
    shares = told.truth.sum(0) / np.maximum(told.known.sum(0), 1)
    targets = np.where(told.known, told.truth, shares[None, :]).astype(np.float64)
    fit = fit_ridge(invert(gram, weights, _PENALTY), targets, weights, _left_out_with(examples))
    lexical = _primal(rows, fit.alpha, vocabulary.size) / blocks
    dense = (vectors.T @ fit.alpha / blocks).astype(np.float32)
    through = max((one.opened for one in examples if one.opened), default=None)
    out = []
    for group in groups:
        lines, rest, cuts = _calibrated_family(fit, told, weights, group)
        heads = []
        for n, line, threshold in zip(group, lines, cuts, strict=True):
            at = np.sort(np.argsort(-np.abs(lexical[:, n]), kind="stable")[:_MOST_WEIGHTS]).astype(np.int32)
            count = int(told.truth[:, n].sum())
            bias = float(fit.prior[n])
            heads.append(Head(labels[n], bias, at, lexical[at, n], dense[:, n], line, threshold, count))
        out.append(Family(vocabulary, tuple(heads), rest, through))
    return out


def _calibrated_family(
    fit: RidgeFit, told: _Told, weights: Array, group: Sequence[int]
) -> tuple[list[Line], Line, list[float]]:
    """Curves of the labels and of none of them, and the labels' thresholds."""
    scores, truth, known = fit.held_out[:, group], told.truth[:, group], told.known[:, group]
    lines = [_calibrated(scores[:, n], truth[:, n], weights * known[:, n]) for n in range(len(group))]
    sure = known.all(1)
    rest = _calibrated(1 - scores.sum(1), np.asarray(~truth.any(1)), weights * sure)
    p = among(lines, rest, scores)
    best = p.argmax(1)
    top, hit = p.max(1), truth[np.arange(len(p)), best]
    usual = float(truth[sure].mean(0).max()) if sure.any() else 0.0
    common = lowest_cut(top[sure], hit[sure], _LEAST_CUT, usual, margin=_MARGIN)
    cuts = []
    for n in range(len(group)):
        own = (best == n) & known[:, n]
        cut = common
        if common == NEVER or _precision(hit[own & (top >= common)]) < TARGET_PRECISION - _LESS:
            share = float(truth[known[:, n], n].mean())
            cut = lowest_cut(top[own], hit[own], _LEAST_CUT, share, margin=_MARGIN)
        cuts.append(cut)
    return lines, rest, cuts


def _precision(hits: Truths) -> float:
    return float(hits.mean()) if len(hits) else 0.0


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


def _calibrated(scores: Array, truth: Truths, weights: Array) -> Line:
    """A logistic curve over left-out scores (Platt, 1999), pulled a little towards slope 4 and offset -2."""
    x, y = np.column_stack([scores, np.ones(len(scores))]), truth.astype(float)
    w, start, pull = np.array([4.0, -2.0]), np.array([4.0, -2.0]), np.array([0.02, 1e-3])
    for _ in range(50):
        p = sigmoid(x @ w)
        curve = (x * (weights * p * (1 - p))[:, None]).T @ x + np.diag(pull)
        step = np.clip(np.linalg.solve(curve, x.T @ (weights * (p - y)) + pull * (w - start)), -3, 3)
        w = w - step
        if np.abs(step).max() < 1e-6:
            break
    return Line(max(float(w[0]), 0.0), float(w[1]))


def lowest_cut(
    p: Array,
    truth: Truths,
    least: int,
    usual: float,
    *,
    floor: float = 0.0,
    margin: float = 0.0,
    forgiven: int = 0,
) -> float:
    """The lowest probability from `floor` on above which labels are right often enough; NEVER where there is none.

    `least`: labels needed above it; `usual`: the share of issues that have the label: right at least halfway from there
    to the target, with 90 % confidence, since a cut can be lucky with a label that most issues have; `margin`: standard
    errors by which they must be right more often; `forgiven`: mistakes that count as none in five labels or more; where
    most issues have the label, they count against luck all the same.
    """
    order = np.argsort(-p, kind="stable")
    count = np.arange(1, len(order) + 1)
    right = np.cumsum(truth[order])
    last = np.append(np.diff(p[order]) < 0, True) if len(order) else np.zeros(0, bool)
    share = np.minimum(right + forgiven * (count >= _CHANCE_OF), count) / count
    enough = lower_bound(share, count, margin) >= TARGET_PRECISION - 1e-9
    # A label that most issues have is often right by luck: there, no mistake is forgiven.
    clear = share if usual < LIKELY else right / count
    enough &= lower_bound(clear, count) >= (usual + TARGET_PRECISION) / 2
    good = np.flatnonzero(enough & last & (count >= least) & (p[order] > 0) & (p[order] >= floor))
    if not len(good):
        return NEVER
    # Halfway to the next one: where reports are told apart well, hardly any has exactly the probability of the last.
    after = p[order[good[-1] + 1]] if good[-1] + 1 < len(order) else LIKELY
    return float(max((p[order[good[-1]]] + after) / 2, LIKELY, floor))
