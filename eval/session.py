"""One evaluation from files to predictions: records read and embedded, folds made, systems run by their names."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from embeddings.encoder import Backend, Encoder, Floats, OnnxEncoder
from embeddings.index import text_hash
from eval.benchmark import (
    FOLDS,
    Benchmark,
    EvalCase,
    Fold,
    Split,
    given_benchmark,
    guard,
    held_out,
    shipped_benchmark,
    split,
    untaught,
)
from eval.protocol import SCORED, CasePrediction, Predictions, Shown, System, TrainingSet, Verdict, axes_of
from eval.systems import BASELINES, Judging, Refitted, Shipped, baseline
from knowledge.cases import Case, load_cases
from knowledge.engine import load_knowledge
from knowledge.errors import UserError
from knowledge.judging.axes import labels_of
from knowledge.judging.judge import check_encoder, load_judge
from knowledge.taxonomy import Taxonomy, load_taxonomy
from knowledge.training.items import Learned

if TYPE_CHECKING:
    from eval.llm_systems import LlmSystem
    from llm.calls import LlmAccess


# An encoder that remembers the vectors of texts on disk: an evaluation run again embeds nothing twice.


class CachingEncoder:
    """Wraps an encoder; vectors are kept by text hash in one file for each model. Call `save` when done."""

    def __init__(self, encoder: Encoder, folder: Path) -> None:
        """Read what `folder` holds for this model; a damaged file counts as empty."""
        self._encoder = encoder
        self._file = folder / f"vectors-{encoder.model_hash[:16]}-{encoder.backend}.npz"
        self._known = _read(self._file, encoder.dims)
        self._stored = len(self._known)

    @property
    def dims(self) -> int:
        """Length of a vector."""
        return self._encoder.dims

    @property
    def model_hash(self) -> str:
        """SHA-256 of the weights."""
        return self._encoder.model_hash

    @property
    def backend(self) -> Backend:
        """What runs the model."""
        return self._encoder.backend

    def encode(self, texts: Sequence[str]) -> Floats:
        """Return float32 (len(texts), dims); only texts never seen reach the model."""
        keys = [text_hash(text) for text in texts]
        new = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._known}
        if new:
            self._known |= dict(zip(new, self._encoder.encode(list(new.values())), strict=True))
        out: Floats = np.empty((len(texts), self.dims), np.float32)
        for row, key in enumerate(keys):
            out[row] = self._known[key]
        return out

    def save(self) -> None:
        """Write the file anew when there is something new to keep."""
        if len(self._known) == self._stored:
            return
        self._file.parent.mkdir(parents=True, exist_ok=True)
        part = self._file.with_suffix(f".{os.getpid()}.part")
        with part.open("wb") as file:
            np.savez(file, keys=np.array(list(self._known)), vectors=np.stack(list(self._known.values())))
        part.replace(self._file)
        self._stored = len(self._known)


def _read(file: Path, dims: int) -> dict[str, Floats]:
    try:
        # Opened here: numpy leaves a file that it cannot read open.
        with file.open("rb") as raw, np.load(raw, allow_pickle=False) as arrays:
            keys, vectors = arrays["keys"].tolist(), arrays["vectors"]
    except (OSError, KeyError, ValueError, zipfile.BadZipFile):
        return {}
    if vectors.shape != (len(keys), dims):
        return {}
    return dict(zip(keys, vectors, strict=True))


# Running systems over folds: predictions for every scored case, none of which its system had learned from.

EXCERPT = 600
LINES = 4


def run(
    systems: Sequence[System],
    benchmark: Benchmark,
    folds: Sequence[Fold],
    taxonomy: Taxonomy,
    split: str,
    learned_from: str,
    progress: Callable[[str], None] = lambda _: None,
) -> dict[str, Predictions]:
    """Predictions of each system by its name; a case that several folds test counts once, in the first.

    `split` and `learned_from` are told in the predictions; `progress` hears of each system in each fold that is done.
    """
    known = {case.id: case for case in load_cases()}
    done: dict[str, dict[int, CasePrediction]] = {system.name: {} for system in systems}
    for fold in folds:
        train = training_set(benchmark.cases, fold, taxonomy)
        for system in systems:
            system.fit(train)
            items = [benchmark.cases[at] for at in fold.test]
            verdicts = system.rank([item.prepared for item in items])
            for at, item, verdict in zip(fold.test, items, verdicts, strict=True):
                done[system.name].setdefault(at, _prediction(item, verdict, fold.name, known))
            progress(f"{system.name}, {fold.name}")
    return {
        name: Predictions(
            system=name,
            split=split,
            learned_from=learned_from,
            types_only=benchmark.types_only,
            cases=[cases[at] for at in sorted(cases)],
        )
        for name, cases in done.items()
    }


def training_set(cases: Sequence[EvalCase], fold: Fold, taxonomy: Taxonomy) -> TrainingSet:
    """What a fold leaves to learn from."""
    left = [cases[at] for at in fold.train]
    return TrainingSet(
        [case.prepared for case in left], [case.prepared for case in left if case.in_corpus], taxonomy
    )


def _prediction(case: EvalCase, verdict: Verdict, fold: str, known: Mapping[str, Case]) -> CasePrediction:
    record, reading = case.prepared.record, case.prepared.reading
    labels = {axis: list(labels_of(record.labels, axis)) for axis in SCORED}
    return CasePrediction(
        id=record.report.id,
        group=case.group,
        fold=fold,
        source=record.source,
        repository=record.report.id.rpartition("#")[0],
        framework=case.framework,
        title=reading.report.title[:200],
        excerpt=(reading.prose or reading.report.body)[:EXCERPT],
        lines=[d.text[:240] for d in reading.decisive if not d.in_title][:LINES],
        labels={axis: ids for axis, ids in labels.items() if ids},
        axes=axes_of(verdict.axes),
        neighbours=[_shown(known[id]) for id in verdict.neighbours if id in known],
        usage=verdict.usage,
    )


def _shown(case: Case) -> Shown:
    return Shown(id=case.id, url=case.url, title=case.title, symptom=list(labels_of(case.labels, "symptom")))


def sources_of(cases: Sequence[EvalCase]) -> str:
    """How many records of each source there are ("annotated 549, composed 939, ...")."""
    count: dict[str, int] = {}
    for case in cases:
        count[case.prepared.record.source] = count.get(case.prepared.record.source, 0) + 1
    return ", ".join(f"{source} {n}" for source, n in sorted(count.items()))


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


# The systems of `bot eval` by their names; those with an LLM are opened only when they are asked for.

TOGETHER = "distriage+llm"
LLM = ("llm", TOGETHER)
NAMES = ("distriage", *BASELINES, *LLM)


def checked(names: Sequence[str]) -> list[str]:
    """The names, each once. UserError for a name that is none."""
    wanted = list(dict.fromkeys(name.strip() for name in names if name.strip()))
    unknown = [name for name in wanted if name not in NAMES]
    if unknown or not wanted:
        raise UserError(
            f"Unknown system: {', '.join(unknown)}." if unknown else "--systems is empty.",
            f"Choose from: {', '.join(NAMES)}.",
        )
    return wanted


def checked_llm(
    names: Sequence[str],
    *,
    fit_fusion: bool,
    fresh: bool,
    held_out: bool,
    cassette: Path | None = None,
    record: bool = False,
    writer: bool = False,
) -> None:
    """UserError when what is asked of the LLM needs other systems or other splits."""
    if fit_fusion and not {"distriage", TOGETHER} <= set(names):
        raise UserError(
            "--fit-fusion needs distriage both with and without the LLM.",
            f"Use: --systems distriage,{TOGETHER} --fit-fusion",
        )
    if fit_fusion and held_out:
        raise UserError(
            "--fit-fusion needs cross-validation, but --data records are held out.", "Add --cross-validate."
        )
    if record and cassette is None:
        raise UserError("--record needs --llm-cassette.", "Add --llm-cassette FILE.jsonl.")
    if cassette and fresh:
        raise UserError(
            "--fresh asks the LLM again, but --llm-cassette replays recorded answers.", "Drop one of them."
        )
    if cassette and not set(names) & set(LLM):
        raise UserError("--llm-cassette needs a system with an LLM.", f"Use: --systems distriage,{TOGETHER}")
    if writer and TOGETHER not in names:
        raise UserError(f"--writer needs the system {TOGETHER}.", f"Use: --systems {TOGETHER} --writer")
    if writer and cassette and not record:
        raise UserError(
            "--writer calls the LLM, but --llm-cassette replays recorded answers.",
            "Drop --writer, or add --record.",
        )
    if fresh and not set(names) & set(LLM):
        raise UserError("--fresh needs a system with an LLM.", f"Use: --systems distriage,{TOGETHER} --fresh")


@contextmanager
def open_systems(
    wanted: Sequence[str],
    session: Session,
    plan: Plan,
    access: LlmAccess | None,
    *,
    fit_fusion: bool = False,
    fresh: bool = False,
) -> Iterator[list[System]]:
    """The systems in the order of their (checked) names."""
    if not any(name in LLM for name in wanted):
        yield [
            plan.distriage() if name == "distriage" else baseline(name, session.plain_encoder)
            for name in wanted
        ]
        return
    from eval.llm_systems import open_llm_systems

    local = plan.distriage()
    fits = None if "distriage" in wanted else next(name for name in wanted if name in LLM)
    with open_llm_systems(
        local, session.encoder, access, fits=fits, fit_fusion=fit_fusion, fresh=fresh
    ) as with_llm:
        yield [
            with_llm[name]
            if name in LLM
            else local
            if name == "distriage"
            else baseline(name, session.plain_encoder)
            for name in wanted
        ]


def finished(runs: Mapping[str, Predictions], systems: Sequence[System]) -> dict[str, Predictions]:
    """The runs with what only the whole of a run tells: the LLM that was asked, and the fusion in nested folds."""
    asking = _asking(systems)
    return {name: asking[name].finished(run) if name in asking else run for name, run in runs.items()}


def together(systems: Sequence[System]) -> LlmSystem:
    """The system that fuses distriage and the LLM."""
    return _asking(systems)[TOGETHER]


def _asking(systems: Sequence[System]) -> dict[str, LlmSystem]:
    if not any(system.name in LLM for system in systems):
        return {}
    from eval.llm_systems import LlmSystem

    return {system.name: system for system in systems if isinstance(system, LlmSystem)}
