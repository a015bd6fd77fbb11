"""`make train-findings`: fit the matcher of the catalogue.

    python -m knowledge.training.findings [--shared DIR] [--cache DIR] [--dry-run]
    python -m knowledge.training.findings --keep-weights        makes new entries known by their examples, fits nothing

It learns from the examples beside the entries and, where --shared has the texts, from real reports labelled with the
entries that apply (failure_labels.jsonl: ids alone). Deterministic.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict
from itertools import chain
from pathlib import Path

from embeddings.encoder import OnnxEncoder
from knowledge.cases import load_cases
from knowledge.engine import Knowledge, judge_report, load_knowledge
from knowledge.evidence import Reading, read_report
from knowledge.findings.compile import read_catalogue
from knowledge.findings.failure import Failure, cited_issues
from knowledge.findings.fitting import fit as fitted
from knowledge.findings.matcher import SHIPPED, Match, Matcher, learned_from, save_matcher
from knowledge.findings.pairs import NAMES, Catalogue, Profiles, Text, entry_texts, example_texts
from knowledge.findings.source import Example
from knowledge.findings.tried import Tried
from knowledge.findings.unasked import objection
from knowledge.report import Report, issue_of
from knowledge.training.matching import (
    Judged,
    calibration,
    figures,
    fit,
    fit_shift,
    fit_threshold,
    held_out,
    held_out_shifted,
    recorded_confirmations,
    shifted,
    with_confirmed,
)
from knowledge.training.records import failure_labels

FOLDS = 3
"""An example is compared with profiles that hold the other examples of its entry alone."""
EXAMPLE_WEIGHT = 0.3
REPORT_WEIGHT = 1.0
"""Of a labelled real report."""
UNASKED_PRECISION = 0.95
"""Of what is said unasked, after everything that is left unsaid though it matches (knowledge/findings/unasked.py).
Above the bar of 0.90: blind readers find less of it worth an e-mail than annotators find right."""
RETOLD = ("one annotation pass with the guide over the report, own retelling (not human)",)
"""Cases that only train the judge; the others are the benchmark."""


def main() -> None:
    """Train, say how well it does on reports that were left out, and write the matcher."""
    parser = argparse.ArgumentParser(description="Fit the matcher of the catalog.")
    parser.add_argument("--shared", type=Path, help="folder with real/ (texts that are not shipped)")
    parser.add_argument("--cache", type=Path, default=Path("build/data/cache"))
    parser.add_argument("--dry-run", action="store_true", help="write nothing")
    parser.add_argument("--keep-weights", action="store_true", help="only index what entries look like")
    args = parser.parse_args()
    if args.keep_weights and args.dry_run:
        parser.error("--keep-weights only writes; there is nothing to print without writing")
    knowledge = load_knowledge(None, args.cache, matching=args.keep_weights)
    entries, examples = read_catalogue()
    if args.keep_weights:
        index(entries, examples, knowledge)
        return
    judged, catalogue = prepare(entries, examples, knowledge, args.shared)
    probabilities = held_out(judged)
    threshold = fit_threshold(judged, probabilities, UNASKED_PRECISION)
    for name, only in (("real", {True}), ("examples", {False})):
        print(name, asdict(figures(judged, probabilities, threshold, only)))
    for name, told in calibration(judged, held_out_shifted(judged, probabilities)).items():
        print(f"real, {name}: {told}")
    confirmed = with_confirmed(judged, probabilities, threshold)
    print("real, with an LLM that confirms (recorded)", asdict(confirmed))
    shift = fit_shift(judged, probabilities)
    weights = shifted(fit(judged), shift)
    print("shift of the log odds without a telltale line", round(shift, 2))
    print({n: round(float(w), 2) for n, w in zip(NAMES, weights, strict=True)}, "threshold", threshold)
    if not args.dry_run:
        learned = sorted({r.group for r in judged if r.weight == REPORT_WEIGHT})
        about = {"encoder": knowledge.encoder.model_hash, "learned": learned}
        save_matcher(Matcher(catalogue, weights, threshold), about)
        print(f"{SHIPPED}: {SHIPPED.stat().st_size / 1e6:.2f} MB")


def index(
    entries: dict[str, Failure], examples: dict[str, tuple[Example, ...]], knowledge: Knowledge
) -> None:
    """Write the shipped matcher again with what all entries look like now; weights and threshold stay as learned."""
    encoder, shipped = knowledge.encoder, knowledge.matcher
    assert isinstance(encoder, OnnxEncoder) and shipped is not None
    own = [e for es in examples.values() for e in es if e.kind != "near_miss"]
    texts = [
        *entry_texts(entries, encoder, knowledge.table),
        *example_texts(own, encoder, knowledge.table),
    ]
    known = dict(zip(shipped.catalogue.entries, shipped.catalogue.rarity.tolist(), strict=True))
    catalogue = _catalogue(entries, texts, known)
    about = {"encoder": encoder.model_hash, "learned": sorted(learned_from())}
    save_matcher(Matcher(catalogue, shipped.weights, shipped.threshold), about)
    print(f"{SHIPPED}: {len(entries)} entries, {len(texts)} texts")


def prepare(
    entries: dict[str, Failure],
    examples: dict[str, tuple[Example, ...]],
    knowledge: Knowledge,
    shared: Path | None,
) -> tuple[list[Judged], Catalogue]:
    """Every report compared with its candidates, and the catalogue as it ships."""
    encoder = knowledge.encoder
    assert isinstance(encoder, OnnxEncoder)
    of_entries = entry_texts(entries, encoder, knowledge.table)
    own = [e for es in examples.values() for e in es if e.kind != "near_miss"]
    near = [e for es in examples.values() for e in es if e.kind == "near_miss"]
    texts = example_texts(own, encoder, knowledge.table)
    place: Counter[str] = Counter()
    fold = []
    for example in own:
        fold.append(place[example.failure] % FOLDS)
        place[example.failure] += 1
    real = list(_real(shared, cited_issues(entries.values()))) if shared else []
    rarity = _rarity(entries, of_entries, knowledge, shared)
    judged: list[Judged] = []
    for k in range(FOLDS):
        kept = [text for text, f in zip(texts, fold, strict=True) if f != k]
        part = _catalogue(entries, [*of_entries, *kept], rarity)
        mine = [e for e, f in zip(own, fold, strict=True) if f == k]
        judged += [_judge(_as_report(e), {e.failure}, EXAMPLE_WEIGHT, part, knowledge) for e in mine]
        if k == 0:
            judged += [
                _judge(_as_report(e), {e.actual} - {""}, EXAMPLE_WEIGHT, part, knowledge) for e in near
            ]
    whole = _catalogue(entries, [*of_entries, *texts], rarity)
    applies = recorded_confirmations()
    scored = [(r, right, REPORT_WEIGHT, counts) for r, right, counts in real]
    scored += [(r, right, 0.0, True) for r, right in _benchmark(cited_issues(entries.values()))]
    judged += [
        _judge(r, right, weight, whole, knowledge, real=counts, confirmed=applies.get(issue_of(r.id), ()))
        for r, right, weight, counts in scored
    ]
    return judged, whole


def _catalogue(entries: dict[str, Failure], texts: Sequence[Text], rarity: dict[str, float]) -> Catalogue:
    return Catalogue(entries, Profiles.of(list(entries), texts), rarity)


def _judge(
    report: Report,
    right: Iterable[str],
    weight: float,
    catalogue: Catalogue,
    knowledge: Knowledge,
    *,
    real: bool = False,
    confirmed: Iterable[str] = (),
) -> Judged:
    found = judge_report(report, knowledge)
    pairs = catalogue.pairs(found.reading, found.vectors, found.symptoms)
    group = issue_of(report.id)
    if not real:
        return Judged(group, pairs, frozenset(right), weight, real)
    lines, tried = dict(zip(pairs.ids, pairs.lines, strict=True)), Tried.of(found.reading)

    def kept_back(id: str, read_by: str = "") -> bool:
        match = Match(catalogue.entries[id], 1.0, lines.get(id, ()), (), True, read_by)
        return objection(match, fitted(match.failure, found.reading), found.reading, tried) is not None

    quiet = frozenset(id for id in pairs.ids if lines[id] and kept_back(id))
    applies = tuple(id for id in confirmed if not kept_back(id, "a language model"))
    return Judged(group, pairs, frozenset(right), weight, real, quiet, applies)


def _as_report(example: Example) -> Report:
    return Report(f"{example.failure}/{example.title}", example.title, example.body)


def _real(shared: Path, cited: Collection[str]) -> Iterable[tuple[Report, frozenset[str], bool]]:
    """Labelled reports, the entries that apply, and whether they count: not those that an entry was written from.

    None of the panel's, which judge the comments, and none of the benchmark's, which `bot eval` scores.
    """
    panel = set(json.loads((shared / "panel" / "ids.json").read_text("utf-8")))
    labels = failure_labels()
    benchmark = {issue_of(case.id) for case in load_cases() if case.label_source not in RETOLD}
    for record in _records(shared):
        id = record["id"]
        label = labels.get(id)
        if label is not None and id not in panel and issue_of(id) not in benchmark:
            report = Report(id, record["title"], record["body"], opened=record.get("opened", "")[:10])
            yield report, label.failures, issue_of(id) not in cited


def _benchmark(cited: Collection[str]) -> Iterable[tuple[Report, frozenset[str]]]:
    """The shipped benchmark's cases, which set the threshold and teach nothing."""
    labels = failure_labels()
    for case in load_cases():
        if case.label_source not in RETOLD and case.id in labels and issue_of(case.id) not in cited:
            yield Report(case.id, case.title, case.body), labels[case.id].failures


def _records(shared: Path) -> Iterable[dict[str, str]]:
    """The real reports, each once."""
    seen: set[str] = set()
    with (
        (shared / "real" / "labelled.jsonl").open(encoding="utf-8") as labelled,
        gzip.open(shared / "real" / "reports.jsonl.gz", "rt", encoding="utf-8") as others,
    ):
        for record in map(json.loads, chain(labelled, others)):
            if issue_of(record["id"]) not in seen:
                seen.add(issue_of(record["id"]))
                yield record


def _rarity(
    entries: dict[str, Failure], texts: Sequence[Text], knowledge: Knowledge, shared: Path | None
) -> dict[str, float]:
    """-log10 of the share of real reports that hold a telltale line of each entry."""
    if shared is None:
        return {}
    counted: Counter[str] = Counter()
    catalogue = _catalogue(entries, texts, {})
    total = 0
    for record in _records(shared):
        total += 1
        reading = _read(record, knowledge)
        counted.update(catalogue.profiles.ids[n] for n in catalogue.telltale(reading))
    return {id: -math.log10((counted[id] + 1) / (total + 1)) for id in entries}


def _read(record: dict[str, str], knowledge: Knowledge) -> Reading:
    return read_report(Report(record["id"], record["title"], record["body"]), knowledge.table)


if __name__ == "__main__":
    main()
