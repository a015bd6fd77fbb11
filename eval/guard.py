"""The leakage guard: what was learned from, or shows as a neighbour, is not scored as if it were new."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from eval.benchmark import Benchmark, EvalCase
from knowledge.errors import UserError
from knowledge.training.items import Prepared
from knowledge.training.leakage import Learned, fingerprints

_NAMED = 20


class LeakageError(UserError):
    """Records to be scored are known to the index or the training set; `ids` names them all."""

    def __init__(self, known: Sequence[tuple[str, str]]) -> None:
        self.ids = tuple(id for id, _ in known)
        shown = "\n".join(f"  {id}: {why}" for id, why in known[:_NAMED])
        more = f"\n  and {len(known) - _NAMED} more" if len(known) > _NAMED else ""
        super().__init__(
            f"{len(known)} of the given records cannot be scored as held out:\n{shown}{more}\n",
            "Use --cross-validate (they join the training data and are scored out of fold, but for those that the "
            "encoder was taught), "
            "or --skip-known to score the others alone.",
        )


def known_records(
    scored: Iterable[Prepared], shipped: Iterable[Prepared], judge: Learned
) -> list[tuple[str, str]]:
    """(id, why) of each scored record that the judge learned from or that ships, or nearly does."""
    ships = Learned.of(fingerprints(p.reading for p in shipped))
    out = []
    for record in scored:
        why = judge.knows(record.reading) or ships.knows(record.reading)
        if why:
            out.append((record.record.report.id, why))
    return out


def guard(benchmark: Benchmark, judge: Learned, *, skip: bool = False) -> Benchmark:
    """The benchmark when nothing scored is known; LeakageError otherwise, or without those when `skip`.

    A given record that ships word for word is known, too. UserError when skipping leaves nothing.
    """
    shipped = [case.prepared for case in benchmark.cases if not _given(case)]
    known = known_records([c.prepared for c in benchmark.scored], shipped, judge)
    if not known:
        return benchmark
    if not skip:
        raise LeakageError(known)
    return _without(benchmark, {id for id, _ in known})


def _without(benchmark: Benchmark, ids: set[str]) -> Benchmark:
    left = tuple(_unscored(case) if _known(case, ids) else case for case in benchmark.cases)
    left = tuple(case for case in left if case.scored or not _given(case))
    if not any(case.scored for case in left):
        raise UserError(
            "Every record is in the training data.", "Use records that distriage was not trained on."
        )
    return Benchmark(left, benchmark.types_only)


def untaught(benchmark: Benchmark, encoder: Learned) -> Benchmark:
    """The benchmark without scored records that the encoder was taught, or nearly: no fold teaches it anew.

    UserError when nothing is left.
    """
    taught = {c.prepared.record.report.id for c in benchmark.scored if encoder.knows(c.prepared.reading)}
    return _without(benchmark, taught) if taught else benchmark


def _known(case: EvalCase, ids: set[str]) -> bool:
    return case.scored and case.prepared.record.report.id in ids


def _unscored(case: EvalCase) -> EvalCase:
    return replace(case, scored=False)


def _given(case: EvalCase) -> bool:
    return not case.in_corpus and case.prepared.record.source != "composed"
