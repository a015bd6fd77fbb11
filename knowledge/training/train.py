"""`make train`: fit the shipped judge, and the gate before it.

They learn from the corpus, the composed cases and the real texts beside the repository.

    python -m knowledge.training.train [--shared DIR] [--out FILE] [--cache DIR]

Deterministic: the same inputs give the same file. Without --shared the judge learns from shipped texts alone.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

import numpy as np
import numpy.typing as npt
from rich.progress import Progress

from embeddings.encoder import OnnxEncoder
from knowledge.cases import load_cases
from knowledge.judging.blocks import Weighting, gram_of
from knowledge.judging.features import Features, Floats
from knowledge.judging.judge import SHIPPED, save_judge
from knowledge.judging.learner import RidgeFit, fit_ridge, invert, learn, primal_weights
from knowledge.judging.scope import (
    SHARES,
    SHIPPED_SCOPE,
    ScopeHead,
    by_text,
    counts_as_named,
    has_log,
    save_scope,
    says_too_little,
    without_foreign_prose,
)
from knowledge.judging.tuned import load_heads
from knowledge.report import Report, issue_of
from knowledge.signatures import SignatureTable
from knowledge.taxonomy import load_taxonomy
from knowledge.training.items import Prepared, fingerprints, prepare, training_items
from knowledge.training.records import TrainingRecord, read_jsonl, real_records, shipped_records
from knowledge.triage import CaseLabels

# Learning the gate: reports of our field against posts of others.

OTHER_FIELD = Path(__file__).parent / "other_field.jsonl"
"""Posts of ours that are not reports of the field: {"kind", "scope", "title", "body"} a line."""
OTHER_REPOSITORIES = ("facebook/react", "microsoft/vscode", "bitcoin/bitcoin", "opencv/opencv")
"""Of the repositories whose types are known, those of other fields; TensorFlow's are partly ours and left out."""
KEPT_OF_COMPOSED = 3
"""One composed case in this many: they are clear, and real reports must set the border."""
UNLABELLED = 3
"""One real report without labels in this many teaches the gate."""
COMPOSED = 0.3
"""Weight of what is not a real report."""
PENALTY = 0.1
TURNED_AWAY = 0.025
"""Share of the field's own fault reports that may be turned away, by their text alone."""
LABELLED = frozenset({"human", "pass", "agreed", "annotated_full"})
"""Sources of the reports that set the border: known to be faults of the field, as written or retold closely."""
REAL = LABELLED | {"reports"}

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ScopeItem:
    """A post to learn from. `group`: what is left out together (an issue, a foreign repository, a kind of our posts).
    `sets`: whether it helps to set the border."""

    group: str
    features: Features
    ours: bool
    sets: bool
    weight: float = 1.0
    named: bool = True
    """Whether the text names a framework."""


def other_field_records(file: Path = OTHER_FIELD) -> list[TrainingRecord]:
    """Our posts that cannot be judged; the source is the scope that they should get, the id tells their kind."""
    return [
        TrainingRecord(
            Report(f"{row['kind']}#{n}", row["title"], row["body"]),
            CaseLabels(type="howto"),
            1.0,
            False,
            row["scope"],
        )
        for n, row in enumerate(read_jsonl(file), start=1)
    ]


def unlabelled_records(shared: Path) -> list[TrainingRecord]:
    """One in UNLABELLED of the real reports of the field that have no label; nothing is learned from them but that.

    Raises DataError when the folder lacks them.
    """
    labelled = {issue_of(case.id) for case in load_cases()}
    labelled |= {issue_of(row["id"]) for row in read_jsonl(shared / "real" / "labelled.jsonl")}
    return [
        TrainingRecord(
            Report(row["id"], row["title"], row["body"]), CaseLabels(type="fault"), 1.0, False, "reports"
        )
        for row in read_jsonl(shared / "real" / "reports.jsonl.gz")
        if issue_of(row["id"]) not in labelled and crc32(issue_of(row["id"]).encode()) % UNLABELLED == 0
    ]


def scope_items(prepared: Sequence[Prepared]) -> list[ScopeItem]:
    """Items of the posts that the head decides on: rules see to the others first."""
    return [item for p in prepared if (item := item_of(p)) is not None]


def item_of(p: Prepared) -> ScopeItem | None:
    """What is learned of a post; None where a rule decides, or nothing is learned of it."""
    record, repository = p.record, p.record.report.id.rpartition("#")[0]
    features = by_text(p.reading, p.features)
    named = counts_as_named(p.reading)
    if record.source == "other_field":
        return ScopeItem(repository, features, False, False, named=named)
    if record.source == "type":
        foreign = ScopeItem(repository, features, False, False, named=named)
        return foreign if repository in OTHER_REPOSITORIES else None
    if record.source in ("too_little", "unreadable") or _closed_by_rule(p):
        return None
    if record.source == "composed" and crc32(record.group.encode()) % KEPT_OF_COMPOSED:
        return None
    sets = record.source in LABELLED and record.labels.type == "fault"
    return ScopeItem(record.group, features, True, sets, 1.0 if record.source in REAL else COMPOSED, named)


def _closed_by_rule(p: Prepared) -> bool:
    heard = without_foreign_prose(p.reading)
    return says_too_little(heard) or (heard is not p.reading and not has_log(heard))


def learn_scope(items: Sequence[ScopeItem], about: dict[str, object]) -> tuple[ScopeHead, Array]:
    """Fit the head; returns it with each item's held-out score, from a head that never saw the item's group."""
    weighting = Weighting.of([item.features for item in items])
    fit = _fit(items, weighting)
    held_out = fit.held_out[:, 0]
    threshold = border(items, held_out)
    primal = primal_weights([item.features for item in items], weighting, fit, SHARES)
    weights: dict[str, Floats] = {name: np.ascontiguousarray(block[:, 0]) for name, block in primal.items()}
    idf = {name: weighting.idf[name] for name in SHARES if name != "vectors"}
    named = float(sum(alpha for alpha, item in zip(fit.alpha[:, 0], items, strict=True) if item.named))
    head = ScopeHead(Weighting(idf), float(fit.prior[0]), weights, named, threshold, about)
    return head, held_out


def border(items: Sequence[ScopeItem], scores: Array) -> float:
    """The score that a share TURNED_AWAY of the field's own fault reports does not reach."""
    own = [score for item, score in zip(items, scores, strict=True) if item.sets]
    return float(np.quantile(own, TURNED_AWAY))


def _fit(items: Sequence[ScopeItem], weighting: Weighting) -> RidgeFit:
    features = [item.features for item in items]
    ours = np.array([float(item.ours) for item in items])
    weights = np.where(ours > 0, 0.5 / ours.mean(), 0.5 / (1 - ours.mean()))
    weights *= np.array([item.weight for item in items])
    gram = np.asarray(sum(share * gram_of(features, weighting, name) for name, share in SHARES.items()))
    named = np.array([float(item.named) for item in items])
    gram += np.outer(named, named)
    inverse = invert(gram.astype(np.float32), weights, PENALTY)
    targets = np.stack([ours, 1 - ours], axis=1)
    return fit_ridge(inverse, targets, weights, [item.group for item in items])


def main() -> None:
    """Train and write the judge."""
    parser = argparse.ArgumentParser(description="Fit the shipped judge.")
    parser.add_argument("--shared", type=Path, help="folder with real/ (texts that are not shipped)")
    parser.add_argument("--out", type=Path, default=SHIPPED)
    parser.add_argument("--cache", type=Path, default=Path("build/embeddings"))
    args = parser.parse_args()
    records = shipped_records()
    corpus_size = sum(record.source != "composed" for record in records)
    if args.shared:
        records += real_records(args.shared)
    taxonomy = load_taxonomy()
    with Progress() as progress:
        task = progress.add_task("reading and embedding", total=len(records))
        encoder = OnnxEncoder(None, args.cache)
        prepared = prepare(records, SignatureTable(), encoder, lambda n: progress.advance(task, n))
        extra = other_field_records() + (unlabelled_records(args.shared) if args.shared else [])
        task = progress.add_task("the same for the gate", total=len(extra))
        beside = prepare(extra, SignatureTable(), encoder, lambda n: progress.advance(task, n))
    judge = learn(training_items(prepared, prepared[:corpus_size], taxonomy), taxonomy, load_heads(taxonomy))
    about = {
        "sources": dict(sorted(Counter(record.source for record in records).items())),
        "encoder": encoder.model_hash,
        "fingerprints": fingerprints(p.reading for p in prepared),
    }
    save_judge(judge, args.out, about)
    gate_about: dict[str, object] = {
        "sources": dict(sorted(Counter(p.record.source for p in [*prepared, *beside]).items())),
        "encoder": encoder.model_hash,
    }
    gate, _ = learn_scope(scope_items([*prepared, *beside]), gate_about)
    gate_file = args.out.with_name(SHIPPED_SCOPE.name)
    save_scope(gate, gate_file)
    for axis, head in sorted(judge.heads.items()):
        c = head.calibration
        print(
            f"{axis:12} weights {[round(w, 2) for w in c.weights]} threshold {c.threshold:.2f} mass {c.mass:.2f}"
        )
    print(f"gate         border {gate.threshold:.2f}; {gate_file}: {gate_file.stat().st_size / 1e6:.2f} MB")
    print(f"{args.out}: {args.out.stat().st_size / 1e6:.2f} MB from {about['sources']}")


if __name__ == "__main__":
    main()
