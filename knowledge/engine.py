"""From a report to a triage: one pure function of the report and what is known."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from embeddings.encoder import Encoder, OnnxEncoder
from knowledge.advice import advise
from knowledge.case_store import CaseStore, open_store
from knowledge.cases import load_cases
from knowledge.diagnostics import compose_script, has_result
from knowledge.evidence import Reading, read_report
from knowledge.evidence.summary import summarise
from knowledge.judging.axes import Judged
from knowledge.judging.features import featurise
from knowledge.judging.judge import Judge, Judgement, neighbour_votes
from knowledge.judging.store import SHIPPED, check_encoder, load_judge
from knowledge.missing import ask_for
from knowledge.readback import move, without_results
from knowledge.report import Report
from knowledge.signatures import SignatureTable
from knowledge.taxonomy import Taxonomy, load_taxonomy
from knowledge.triage import Axis, Distributed, Neighbour, Ranked, Triage

VOTERS = 30
"""Cases looked up for each report: the nearest few are shown, the first dozen vote."""


class Knowledge:
    """Everything a triage rests on, loaded once; shared by threads, never changed."""

    def __init__(self, encoder: Encoder, judge: Judge, store: CaseStore, table: SignatureTable) -> None:
        self.encoder = encoder
        self.judge = judge
        self.store = store
        self.table = table

    @property
    def taxonomy(self) -> Taxonomy:
        """The closed sets of ids."""
        return self.judge.taxonomy

    @cached_property
    def version(self) -> str:
        """Names the model and the corpus: "minilm-53aa5117, 887 cases"."""
        return f"{self.encoder.model_hash[:8]}, {len(self.store.cases)} cases"


@dataclass(frozen=True, slots=True)
class Examined:
    """A report read and judged, before anything is concluded."""

    reading: Reading
    judgement: Mapping[Judged, Judgement]
    neighbours: tuple[Neighbour, ...]


def load_knowledge(
    model_dir: Path | None,
    cache_dir: Path,
    *,
    judge_file: Path = SHIPPED,
    encoder: Encoder | None = None,
    rebuild: bool = False,
) -> Knowledge:
    """Load model, judge and corpus; the first time converts the model and indexes the corpus into `cache_dir`.

    Raises ModelError when the model or the judge's weights are missing or damaged, or the judge was
    trained with another model.
    """
    with ThreadPoolExecutor(1) as beside:
        # Opening the model is C++ without the interpreter's lock; the rest is Python.
        opening = beside.submit(lambda: encoder or OnnxEncoder(model_dir, cache_dir / "model"))
        taxonomy = load_taxonomy()
        table = SignatureTable()
        judge, about = load_judge(taxonomy, judge_file)
        load_cases()
        encoder = opening.result()
    check_encoder(about, encoder)
    store = open_store(load_cases(), cache_dir / "index", lambda: table, encoder, rebuild=rebuild)
    return Knowledge(encoder, judge, store, table)


def triage(report: Report, knowledge: Knowledge, *, top: int = 5) -> Triage:
    """Triage one report: no network, no clock, no database; the same input gives the same value.

    `top` bounds the neighbours and the fixes shown.
    """
    if not has_result(report.body):
        return conclude(examine(report, knowledge), knowledge, top=top)
    bare = replace(report, body=without_results(report.body))
    return triage_with_result(bare, report.body, knowledge, top=top, content_hash=report.content_hash)


def triage_with_result(
    report: Report, result: str, knowledge: Knowledge, *, top: int = 5, content_hash: str | None = None
) -> Triage:
    """Triage a report whose diagnostics were run; `result` holds the pasted block(s).

    Raises InputError when `result` holds no block, or a damaged one.
    """
    examined = examine(report, knowledge)
    moved = move(examined.judgement, result, knowledge.taxonomy)
    triage = conclude(examined, knowledge, judgement=moved.judgement, top=top, answered=moved.answered)
    hashed = content_hash or triage.content_hash
    return triage.model_copy(update={"measured": list(moved.sentences), "content_hash": hashed})


def examine(report: Report, knowledge: Knowledge) -> Examined:
    """Read the report, find its nearest cases and judge every axis."""
    reading = read_report(report, knowledge.table)
    features = featurise([reading], knowledge.encoder)[0]
    # A case must not be found as its own neighbour when it is triaged again.
    own = [id for id in (report.id,) if id in knowledge.store.cases]
    hits = knowledge.store.index.search(reading, features, VOTERS, leave_out=own)
    cases = [(knowledge.store.cases[id], score) for id, score in hits]
    votes = neighbour_votes([(case.labels, score) for case, score in cases], knowledge.taxonomy)
    neighbours = tuple(
        Neighbour(
            id=case.id,
            url=case.url,
            title=case.title,
            score=round(score, 4),
            labels=case.labels,
            label_source=case.label_source,
            resolution=case.resolution,
        )
        for case, score in cases
    )
    return Examined(reading, knowledge.judge.judge(features, votes), neighbours)


def conclude(
    examined: Examined,
    knowledge: Knowledge,
    *,
    judgement: Mapping[Judged, Judgement] | None = None,
    top: int = 5,
    answered: Collection[str] = (),
) -> Triage:
    """Make the triage of an examined report; `judgement` replaces single axes (a second reader's, a result's),
    and the script leaves out the probes that were `answered`."""
    judged = {**examined.judgement, **(judgement or {})}
    reading = examined.reading
    empty = not (reading.report.title.strip() or reading.report.body.strip())
    axes: dict[str, Axis] = {
        axis: _axis(judged[axis], nothing=empty) for axis in judged if axis != "distributed"
    }
    fault = axes["type"].top == "fault" and not empty
    if not fault:
        axes |= {
            axis: axes[axis].model_copy(update={"answer": []})
            for axis in ("stage", "symptom", "cause", "fix")
        }
    evidence = summarise(reading)
    distributed = _distributed(judged["distributed"], claim=fault)
    neighbours = _nearest(examined.neighbours, axes["type"].top, min(max(top, 3), 5) if top >= 3 else top)
    return Triage(
        id=reading.report.id,
        content_hash=reading.content_hash,
        type=axes["type"],
        stage=axes["stage"],
        symptom=axes["symptom"],
        cause=axes["cause"],
        fix=axes["fix"],
        distributed=distributed,
        evidence=evidence,
        neighbours=neighbours,
        advice=advise(axes, reading.framework, knowledge.taxonomy, top=top, fault=fault),
        missing=ask_for(reading, axes, distributed) if fault or empty else [],
        script=_script(judged["cause"], axes["symptom"].top, reading, answered) if fault else "",
    )


def _axis(judgement: Judgement, *, nothing: bool) -> Axis:
    ranking = [Ranked(id=id, p=round(p, 4)) for id, p in judgement.ranking]
    return Axis(ranking=ranking, answer=[] if nothing else judgement.answer, answer_set=judgement.answer_set)


def _distributed(judgement: Judgement, *, claim: bool) -> Distributed:
    p = float(judgement.p[judgement.ids.index("distributed")])
    answer = judgement.answer if claim else []
    return Distributed(p=round(p, 4), answer=answer == ["distributed"] if answer else None)


def _nearest(neighbours: tuple[Neighbour, ...], type_id: str | None, count: int) -> list[Neighbour]:
    """The nearest cases, those of the report's own type first: a question is answered by answered questions."""
    same = [n for n in neighbours[:12] if n.labels.type == type_id]
    rest = [n for n in neighbours if n not in same]
    return [*same, *rest][:count]


def _script(cause: Judgement, symptom: str | None, reading: Reading, answered: Collection[str]) -> str:
    ranking = dict(cause.ranking)
    return compose_script(ranking, framework=reading.framework, symptom=symptom, answered=answered)
