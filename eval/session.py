"""One evaluation from files to predictions: records read and embedded, folds made, systems run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from embeddings.encoder import Encoder, OnnxEncoder
from eval.benchmark import Benchmark, given_benchmark, shipped_benchmark
from eval.caching import CachingEncoder
from eval.guard import guard, untaught
from eval.predictions import Predictions
from eval.protocol import System
from eval.run import run, sources_of
from eval.splits import FOLDS, Fold, Split, held_out, split
from eval.systems import Judging, Refitted, Shipped
from knowledge.engine import load_knowledge
from knowledge.judging.store import check_encoder, load_judge
from knowledge.taxonomy import Taxonomy, load_taxonomy
from knowledge.training.leakage import Learned

Tick = Callable[[str, int], None]
"""Hears what is done and how many of it."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is scored, in which folds; `shipped` is the judge as it ships where records are held out whole."""

    benchmark: Benchmark
    folds: tuple[Fold, ...]
    split: str
    learned_from: str
    shipped: Judging | None
    skipped: int

    def distriage(self) -> Refitted | Shipped:
        """distriage for this plan: refitted in each fold, or as it ships."""
        return Shipped(self.shipped) if self.shipped else Refitted()


class Session:
    """Model and vectors, kept for several plans. `tick` hears of progress."""

    def __init__(
        self,
        model_dir: Path | None,
        cache_dir: Path,
        tick: Tick = lambda what, n: None,
        encoder: Encoder | None = None,
    ) -> None:
        """Open the encoder. ModelError when the model is missing, or none that the judge was trained with."""
        self.taxonomy: Taxonomy = load_taxonomy()
        self._model_dir = model_dir
        self._cache_dir = cache_dir
        self._tick = tick
        self._plain: CachingEncoder | None = None
        self.encoder = CachingEncoder(
            encoder or OnnxEncoder(model_dir, cache_dir / "model"), cache_dir / "eval"
        )
        self._judge, self._about = load_judge(self.taxonomy)
        check_encoder(self._about, self.encoder)
        self._taught = Learned.of(self._judge.tuned.about["fingerprints"])

    def cross_validated(self, data: Sequence[Path] = (), how: Split = "cv", folds: int = FOLDS) -> Plan:
        """The shipped benchmark, or given files that join the training data, in folds."""
        if data:
            benchmark = given_benchmark(data, self.encoder, self._read)
        else:
            benchmark = shipped_benchmark(self.encoder, self._read)
        self.encoder.save()
        known = len(benchmark.scored)
        benchmark = untaught(benchmark, self._taught)
        skipped = known - len(benchmark.scored)
        made = tuple(split(benchmark.cases, how, folds))
        rest = "all but the encoder refitted"
        named = {
            "cv": f"{len(made)}-fold cross-validation by issue, {rest} in each fold",
            "framework": f"each of {len(made)} frameworks left out in turn, {rest}",
            "time": f"the latest cases of each of {len(made)} repositories, {rest} on the earlier ones",
        }
        return Plan(benchmark, made, named[how], sources_of(benchmark.cases), None, skipped)

    def held_out(self, data: Sequence[Path], *, skip_known: bool = False) -> Plan:
        """Given files against what ships. LeakageError when some of them are known, unless they are skipped."""
        given = given_benchmark(data, self.encoder, self._read)
        self.encoder.save()
        learned_from = Learned.of(self._about["fingerprints"]).joined(self._taught)
        benchmark = guard(given, learned_from, skip=skip_known)
        store = load_knowledge(self._model_dir, self._cache_dir, encoder=self.encoder).store
        judging = Judging(self._judge, store.index, {id: case.labels for id, case in store.cases.items()})
        learned = ", ".join(f"{source} {n}" for source, n in sorted(self._about["sources"].items()))
        fold = held_out(benchmark.cases)
        skipped = len(given.scored) - len(benchmark.scored)
        return Plan(benchmark, (fold,), "held out, distriage as it ships", learned, judging, skipped)

    def plain_encoder(self) -> CachingEncoder:
        """The shipped encoder without what training added to it."""
        if self._plain is None:
            plain = OnnxEncoder(None, self._cache_dir / "model", adapted=False)
            self._plain = CachingEncoder(plain, self._cache_dir / "eval")
        return self._plain

    def run(self, plan: Plan, systems: Sequence[System]) -> dict[str, Predictions]:
        """Predictions of each system by its name."""
        made = run(
            systems,
            plan.benchmark,
            plan.folds,
            self.taxonomy,
            plan.split,
            plan.learned_from,
            lambda done: self._tick(done, 1),
        )
        if self._plain is not None:
            self._plain.save()
        return made

    def _read(self, count: int) -> None:
        self._tick("reading and embedding", count)
