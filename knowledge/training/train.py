"""`make train`: fit the shipped judge, and the gate before it.

They learn from the corpus, the composed cases and the real texts beside the repository.

    python -m knowledge.training.train [--shared DIR] [--out FILE] [--cache DIR]

Deterministic: the same inputs give the same file. Without --shared the judge learns from shipped texts alone.
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

from rich.progress import Progress

from embeddings.encoder import OnnxEncoder
from knowledge.judging.learner import learn
from knowledge.judging.scope import SHIPPED_SCOPE, save_scope
from knowledge.judging.store import SHIPPED, save_judge
from knowledge.judging.tuned import load_heads
from knowledge.signatures import SignatureTable
from knowledge.taxonomy import load_taxonomy
from knowledge.training.items import prepare, training_items
from knowledge.training.leakage import fingerprints
from knowledge.training.records import real_records, shipped_records
from knowledge.training.scope import learn_scope, other_field_records, scope_items, unlabelled_records


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
