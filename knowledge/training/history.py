"""Fit what ranks and verifies earlier reports (knowledge/history/weights.json).

    python -m knowledge.training.history --tracker FILE ... [--linked FILE] [--cache DIR] [--dry-run]

--tracker: exports with marked duplicates (knowledge/history/tracker.py). --linked: reports with ids "owner/repo#n"; one
that calls itself the same as, or similar to, an earlier one is taken for its duplicate: noisy, and of other trackers.
Where readers went through the likeliest pairs (READ), these teach the verifier, too.
The catalogue's example reports teach nothing; figures on them are printed.
Prints figures on reports whose group was left out, and for each source by weights that never saw it. Deterministic.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path

import numpy as np
import re2
from rich.progress import Progress

from embeddings.encoder import Encoder, OnnxEncoder
from knowledge.findings.compile import read_catalogue
from knowledge.history.calibration import calibration, pairs_of
from knowledge.history.index import Index
from knowledge.history.learner import (
    SHIPPED_PRECISION,
    TARGET_PRECISION,
    Compared,
    Prediction,
    fit,
    fit_threshold,
    held_out,
    pairs_taught,
    predict,
    shown_figures,
)
from knowledge.history.pairs import NAMES, compare, telling
from knowledge.history.record import Post, aware, records_of
from knowledge.history.tracker import Tracker, groups, in_order, read_tracker
from knowledge.history.verifier import SHOWN, VERIFIED, WORTH_READING, Weights, save_weights
from knowledge.report import issue_of
from knowledge.signatures import SignatureTable

JUDGED = Path(__file__).parent / "history_judged.jsonl"
"""Pairs of one tracker that it left unmarked and a reader found to be the same: ids alone. Two passes (not human), over
the 212 likest unmarked pairs and over 152 that later verifiers put first; the others of these are not the same."""
READ = Path(__file__).parent / "history_read.jsonl"
"""Pairs of GitHub issues and whether readers found them the same: ids alone, not human, without seeing P. 119 that
verifiers put first, by one reader; 230 more with P >= 0.07 or much in common, the same only if two readers say so. A
pair of these repositories that isn't here counts as different."""
COMPARED = Path(__file__).parent / "history_compared.jsonl"
"""Pairs that a large language model was asked about with the comparer's question (llm/comparer.py), and whether it
found them the same: ids alone. Those that held-out verifiers gave P >= 0.05 (of GitHub's 0.07) and didn't show."""
LINKED_WEIGHT = 0.3
"""What a report's own word counts beside a tracker's mark."""
_MENTION = re2.compile(
    r"(?i)\b(?:same|similar|duplicate|identical|again|related|like|reopen\w*|seems? to be)\b"
    r"[^\n#]{0,60}?(?:#|/issues/)(\d{1,6})\b"
)
GITHUB = "GitHub"
"""The source of all reports of `--linked`."""
Tick = Callable[[int], None]


def main() -> None:
    """Fit, print the held-out figures, and write the weights."""
    parser = argparse.ArgumentParser(description="Fit what ranks and verifies earlier reports.")
    parser.add_argument(
        "--tracker", type=Path, action="append", default=[], help="export with marked duplicates"
    )
    parser.add_argument(
        "--judged", type=Path, default=JUDGED, help="pairs of ids that a reader found the same"
    )
    parser.add_argument(
        "--linked", type=Path, help="reports (.jsonl.gz) that name others of their repository"
    )
    parser.add_argument("--cache", type=Path, default=Path("build/data/cache"))
    parser.add_argument(
        "--pairs", type=Path, help="write the numbers of the pairs that teach the verifier (.npz), for tests"
    )
    parser.add_argument("--dry-run", action="store_true", help="write nothing")
    args = parser.parse_args()
    encoder = OnnxEncoder(None, args.cache / "model")
    sources = [Source(file.name, read_tracker(file)) for file in args.tracker]
    if args.linked:
        read = read_repositories()
        sources += [
            Source(GITHUB, tracker, LINKED_WEIGHT, complete=name in read)
            for name, tracker in linked_trackers(args.linked)
        ]
    if not sources:
        parser.error("nothing to learn from: give --tracker FILE or --linked FILE")
    same = judged_pairs(args.judged) | {pair for pair, right in read_pairs().items() if right}
    reports: list[Compared] = []
    with Progress() as progress:
        for source in sources:
            task = progress.add_task(source.name, total=len(source.tracker.posts))
            reports += compared(source, encoder, partial(progress.advance, task), same)
    report_figures(reports)
    weights = fit(marked(reports))
    example_figures(weights, compared(Source("examples", example_tracker()), encoder))
    print_weights(weights)
    if args.pairs:
        save_pairs(args.pairs, reports, weights)
    if not args.dry_run:
        asked = Counter(r.source for r in reports if r.has_earlier)
        save_weights(weights, {"encoder": encoder.model_hash, "queries": dict(asked)})


@dataclass(frozen=True, slots=True)
class Source:
    """Reports to learn from or to try."""

    name: str
    tracker: Tracker
    weight: float = 1.0
    """What a mark teaches the ranking."""
    complete: bool = True
    """A pair that is neither marked nor judged is probably not the same; the verifier needs that."""


def compared(
    source: Source,
    encoder: Encoder,
    tick: Tick = lambda n: None,
    judged: Collection[frozenset[str]] = (),
) -> list[Compared]:
    """Every report of a tracker compared with the candidates among its earlier ones.

    `judged`: pairs of ids that are the same, though the tracker does not say so.
    """
    tracker = source.tracker
    queries = tracker.queries()
    confirmed = confirmed_pairs()
    group = dict(zip((p.id for p in tracker.posts), kept_together(tracker, judged), strict=True))
    index = Index(encoder.dims)
    out = []
    for at, record in enumerate(records_of(tracker.posts, encoder, SignatureTable())):
        others = index.candidates(record)
        out.append(
            Compared(
                group=f"{source.name}/{group[record.id]}",
                source=source.name,
                pairs=compare(record, others, index.words),
                tells=telling(record, others, index.words),
                right=np.array([other.id in queries.get(at, ()) for other in others], bool),
                same=np.array([group[other.id] == group[record.id] for other in others], bool),
                has_earlier=at in queries,
                weight=source.weight,
                confirmed=np.array([{record.id, other.id} in confirmed for other in others], bool),
                complete=source.complete,
            )
        )
        index.add(record)
        tick(1)
    return out


def kept_together(tracker: Tracker, judged: Collection[frozenset[str]]) -> list[str]:
    """The first post's id of each post's group, where judged pairs join groups, too: one group is left out together."""
    first: dict[int, str] = {}
    same = {
        post.id: [first.setdefault(n, post.id)] for post, n in zip(tracker.posts, tracker.group, strict=True)
    }
    for one, other in map(tuple, judged):
        if one in same and other in same:
            same[one].append(other)
    ids: dict[int, str] = {}
    return [ids.setdefault(n, id) for n, id in zip(groups(list(same), same), same, strict=True)]


def judged_pairs(file: Path) -> set[frozenset[str]]:
    """Pairs of ids in lines of {"a", "b"}."""
    lines = file.read_text("utf-8").splitlines()
    return {frozenset((pair["a"], pair["b"])) for pair in map(json.loads, lines)}


def confirmed_pairs() -> set[frozenset[str]]:
    """The pairs of COMPARED that the model found the same."""
    lines = map(json.loads, COMPARED.read_text("utf-8").splitlines())
    return {frozenset((pair["a"], pair["b"])) for pair in lines if pair["same"]}


def read_pairs() -> dict[frozenset[str], bool]:
    """The pairs of READ, and whether they are the same."""
    lines = map(json.loads, READ.read_text("utf-8").splitlines())
    return {frozenset((pair["a"], pair["b"])): bool(pair["same"]) for pair in lines}


def read_repositories() -> set[str]:
    """Those whose likeliest pairs are all in READ."""
    return {min(pair).partition("#")[0] for pair in read_pairs()}


def _by_repository(file: Path) -> Iterable[tuple[str, dict[str, dict[str, str]]]]:
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        records = {issue_of(record["id"]): record for record in map(json.loads, lines)}
    by_repository: dict[str, dict[str, dict[str, str]]] = {}
    for id, record in records.items():
        by_repository.setdefault(id.partition("#")[0], {})[id] = record
    return sorted(by_repository.items())


def linked_trackers(file: Path) -> Iterable[tuple[str, Tracker]]:
    """One tracker a repository, of those with pairs in READ or reports that call themselves the same as others."""
    read = read_repositories()
    for repository, records in _by_repository(file):
        marked: dict[str, list[str]] = {}
        for id, record in records.items():
            named = [f"{repository}#{n}" for n in _MENTION.findall(record["body"] or "")]
            marked[id] = [other for other in named if other in records and other != id]
        if repository in read or any(marked.values()):
            posts = in_order(_post(id, record) for id, record in records.items())
            yield repository, Tracker(tuple(posts), tuple(groups([post.id for post in posts], marked)))


def _post(id: str, record: dict[str, str]) -> Post:
    opened = aware(datetime.fromisoformat(record["opened"])) if record.get("opened") else None
    return Post(id, record["title"], record["body"] or "", opened)


def marked(reports: Sequence[Compared]) -> list[Compared]:
    """What weights are fitted on: where people mark duplicates, all reports; elsewhere only those that name one.

    A report that names none says nothing of whether an earlier one was the same.
    """
    return [r for r in reports if r.complete or r.has_earlier]


def report_figures(reports: Sequence[Compared]) -> None:
    """Print recall and what would be shown, held out by group, then by weights that never saw the source."""
    taught = marked(reports)
    predictions = held_out(taught)
    complete = [one for r, one in zip(taught, predictions, strict=True) if r.complete]
    thresholds = [fit_threshold(complete, target) for target in (TARGET_PRECISION, SHIPPED_PRECISION)]
    for source in dict.fromkeys(r.source for r in reports):
        own = [r for r in taught if r.source == source]
        found = [one for r, one in zip(taught, predictions, strict=True) if r.source == source]
        print(f"{source}: {recall_figures(own, found)}")
        told = [one for r, one in zip(own, found, strict=True) if r.complete]
        calibration_figures(told)
        for threshold in thresholds:
            print_shown(told, threshold)
        rest = [r for r in taught if r.source != source]
        if any(r.right.any() for r in rest):
            weights = fit(rest)
            unseen = [predict(r, np.array(weights.rank), np.array(weights.verify)) for r in own]
            print(f"{source}, never seen: {recall_figures(own, unseen)}")
            print_shown([one for r, one in zip(own, unseen, strict=True) if r.complete], weights.threshold)


def print_shown(predictions: Sequence[Prediction], threshold: float) -> None:
    """Print what is shown at a threshold, without an LLM and with the recorded one."""
    for read, by in ((False, ""), (True, " with an LLM that reads both (recorded):")):
        seen = shown_figures(predictions, threshold, read=read)
        print(
            f"  shown from {threshold:.2f} on:{by} {seen.matches}, {seen.right} of them right; "
            f"of {seen.reports} reports that have one {seen.reached} are shown it"
        )


def calibration_figures(predictions: Sequence[Prediction]) -> None:
    """Print whether P(same failure) is right as often as it says, over all pairs that could be shown."""
    found = calibration(*pairs_of(predictions))
    if found is None:
        return
    for one in found.bins:
        print(f"  P of {one.mean:.3f} in the mean: {one.right} of {one.pairs} are the same, {one.share:.3f}")
    print(
        f"  calibration error {found.error():.3f}, {found.error(WORTH_READING):.3f} from P >= {WORTH_READING} on; "
        f"log-loss {found.loss:.3f}, of the share of all {found.base_loss:.3f}"
    )


def save_pairs(file: Path, reports: Sequence[Compared], weights: Weights) -> None:
    """Write what the verifier sees of the pairs that it learns from, which are the same, and their reports' groups."""
    complete = [r for r in reports if r.complete]
    seen, same = pairs_taught(complete, np.array(weights.rank))
    numbers: dict[str, int] = {}
    groups = [
        numbers.setdefault(r.group, len(numbers)) for r in complete for _ in range(min(SHOWN, len(r.pairs)))
    ]
    np.savez_compressed(file, seen=seen.astype(np.float16), same=same, group=np.array(groups, np.int32))


def recall_figures(reports: Sequence[Compared], predictions: Sequence[Prediction]) -> str:
    """R@1, R@5, R@10 over the reports with an earlier one, and how many have it among their candidates."""
    asked = [one for r, one in zip(reports, predictions, strict=True) if r.has_earlier]
    hits = [sum(one.place is not None and one.place <= k for one in asked) for k in (1, 5, 10)]
    pool = sum(one.place is not None for one in asked)
    shares = " / ".join(f"{hit / max(len(asked), 1):.2f}" for hit in hits)
    return f"{len(asked)} queries; R@1/5/10 {shares} ({hits}); {pool} among the candidates"


def example_tracker() -> Tracker:
    """The catalogue's examples as a tracker, in an order that says nothing: those of one entry are the same failure."""
    _, examples = read_catalogue()
    group: dict[str, str] = {}
    posts = []
    for entry, found in examples.items():
        for number, example in enumerate(found):
            id = f"{entry}/{number}"
            posts.append(Post(id, example.title, example.body))
            group[id] = (example.actual or id) if example.kind == "near_miss" else entry
    posts.sort(key=lambda post: hashlib.sha256(post.id.encode()).hexdigest())
    numbers: dict[str, int] = {}
    return Tracker(tuple(posts), tuple(numbers.setdefault(group[p.id], len(numbers)) for p in posts))


def example_figures(weights: Weights, examples: Sequence[Compared]) -> None:
    """Print recall and what would be shown of the examples, none of which the weights saw.

    They set no threshold: many were written to mislead, and as pairs they are rarer in a tracker than here.
    """
    rank, verify = np.array(weights.rank), np.array(weights.verify)
    predictions = [predict(r, rank, verify) for r in examples]
    seen = shown_figures(predictions, weights.threshold)
    print(f"examples, never learned from: {recall_figures(examples, predictions)}")
    print(f"  shown from {weights.threshold:.2f} on: {seen.matches}, {seen.right} of them right; ", end="")
    print(f"of {seen.reports} reports that have one {seen.reached} are shown it")


def print_weights(weights: Weights) -> None:
    """Print the weights by name."""
    print("rank", dict(zip(NAMES, weights.rank, strict=True)))
    print("verify", dict(zip(VERIFIED, weights.verify, strict=True)))
    print(f"threshold {weights.threshold:.3f} for precision {SHIPPED_PRECISION}")


if __name__ == "__main__":
    main()
