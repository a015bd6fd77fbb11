"""A diagnostics result read back: the causes move by what the probes found, and the answer says so."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from knowledge.diagnostics.compose import NO_LIMIT, compose_script
from knowledge.diagnostics.probe import by_id, catalogue
from knowledge.diagnostics.result import (
    ProbeResult,
    Surroundings,
    counted_noun,
    latest,
    of_this_job,
    parse_result,
    read_block,
    split_blocks,
)
from knowledge.diagnostics.update import Move, Update, in_words, some_of, update
from knowledge.errors import InputError
from knowledge.evidence.reading import Reading
from knowledge.frameworks import built_on
from knowledge.judging.axes import Judged
from knowledge.judging.judge import Judgement
from knowledge.report import FENCE, RESULT, Report, has_result
from knowledge.taxonomy import Taxonomy
from knowledge.triage import Triage

# What a result changed, in sentences of ours; what comes from a pasted block stands in code.

FIRST_STEPS = 3
"""Steps that come before contradictions and differences: a comment shows five sentences."""
MOST_DIFFERENCES = 3


def sentences(moved: Update, names: Mapping[str, str], processes: int) -> tuple[str, ...]:
    """What was found, most telling first: the surfaces show the first few only.

    `names`: cause id to name; `processes`: how many results there are.
    """
    steps = [_step(step, names, processes) for step in moved.moves]
    told = {step.probe for step in moved.moves}
    rest = [f"{one.title}: {one.text}" for one in moved.findings if one.probe not in told]
    said = [f"Contradiction: {in_words(text, names)}" for text in moved.contradictions]
    said += [f"Differs, as pasted: {one.text}" for one in moved.differences[:MOST_DIFFERENCES]]
    if not (steps or rest) and moved.healthy:
        steps = [f"{counted_noun(moved.healthy, 'probe')} found nothing wrong; that moves no cause by much."]
    return (*steps[:FIRST_STEPS], *said, *steps[FIRST_STEPS:], *rest, *moved.notes)


def _step(step: Move, names: Mapping[str, str], processes: int) -> str:
    """What a probe found, on which ranks where there are several, and what that did to a cause."""
    where = (
        f" on {some_of(sorted(step.who, key=lambda name: (len(name), name)))}"
        if processes > 1 and step.who
        else ""
    )
    change = f"{names.get(step.cause, step.cause)} from {step.before:.0%} to {step.after:.0%}"
    return f"{step.title}{where} ({change}): {step.text}"


MOST_NOTES = 3
"""Blocks that could not be read of which the notes speak."""
_FENCE = "```"


@dataclass(frozen=True, slots=True)
class Moved:
    """Causes and fixes after a result, and a sentence for each probe that moved one."""

    judgement: Mapping[Judged, Judgement]
    sentences: tuple[str, ...]
    answered: frozenset[str] = frozenset()
    """Ids of probes that need not be run again."""


def move(judgement: Mapping[Judged, Judgement], text: str, taxonomy: Taxonomy, reading: Reading) -> Moved:
    """Read the result block(s) in `text` and move causes by them; each fix keeps its share within its cause.

    Results that do not belong to the report of `reading` or were not measured in its job's surroundings move nothing;
    the first sentences say so. Raises InputError when the text holds no block, or a damaged one.
    """
    cause, fix = judgement["cause"], judgement["fix"]
    before = dict(cause.ranking)
    job = surroundings(reading, judgement["symptom"].ranking[0][0])
    results, said = of_this_job(parse_result(text), reading.report.id, job)
    if not results:
        return Moved({}, said)
    moved = update(before, results)
    names = {entry.id: entry.name for entry in taxonomy.on_axis("cause")}
    weights = {}
    for id, p in fix.ranking:
        of = taxonomy.cause_of_fix(id)
        weights[id] = p / max(before[of], 1e-6) * moved.posterior.get(of, 0.0)
    return Moved(
        {"cause": _with(cause, moved.posterior), "fix": _with(fix, weights)},
        (*said, *sentences(moved, names, len(results))),
        answered(results),
    )


def surroundings(reading: Reading, symptom: str) -> Surroundings:
    """What the report shows of its job. Of a failed installation or import nothing can be expected."""
    if symptom.startswith("A"):
        return Surroundings()
    versions = reading.versions
    return Surroundings(
        launcher=reading.launcher is not None or len(reading.ranks) > 1 or (reading.world_size or 1) > 1,
        torch="torch" in versions or reading.framework in built_on("pytorch"),
        framework=reading.framework is not None,
        gpu=any(name in versions for name in ("cuda", "cudnn", "nccl", "driver")),
    )


def answered(results: Collection[ProbeResult]) -> frozenset[str]:
    """Probes that need not be run again: those that were run, applicable or not, and those that build on one which
    was not found healthy."""
    outcomes: dict[str, set[str]] = {}
    for result in latest(tuple(results)):
        for one in result.probes:
            outcomes.setdefault(one.id, set()).add(one.outcome)
    known = {id for id, seen in outcomes.items() if seen != {"not_run"}}
    return frozenset(
        known | {probe.id for probe in catalogue() if any(_unwell(id, outcomes) for id in probe.follows)}
    )


def _unwell(id: str, outcomes: Mapping[str, Collection[str]]) -> bool:
    """Whether a probe was run and nobody found the healthy state."""
    probe = by_id()[id]
    return id in outcomes and not any((one := probe.outcome(seen)) and one.healthy for seen in outcomes[id])


def whole_script(triage: Triage, result: str | None = None) -> str:
    """The diagnostics script of a triage without the limit on its length that a comment sets; empty when it has none.

    `result`: the block(s) that the triage rests on; the probes that counted are not asked again. Raises InputError when
    they are damaged.
    """
    if not triage.script:
        return ""
    return compose_script(
        {entry.id: entry.p for entry in triage.cause.ranking},
        framework=triage.evidence.framework,
        symptom=triage.symptom.top,
        largest=NO_LIMIT,
        answered=_counted(triage, result) if result else (),
        report=triage.id,
    )


def _counted(triage: Triage, result: str) -> frozenset[str]:
    """Probes that the results of this report answered."""
    results, _ = of_this_job(parse_result(result), triage.id, Surroundings())
    return answered(results)


def taken_out(report: Report) -> tuple[Report, str | None]:
    """The report without the results pasted into it, and their text; None where there is none that can be read.

    A block that is cut, changed or only mentioned stays text; the report's notes say so. Line numbers stay.
    """
    if not has_result(report.body):
        return report, None
    whole, broken = [], []
    for place, body in enumerate(split_blocks(report.body), 1):
        try:
            read_block(body, place)
        except InputError as error:
            broken.append(f"A diagnostics result in the text could not be read: {error} {error.remedy}")
        else:
            whole.append(f"{FENCE}\n{body}\n{_FENCE}")
    result = "\n".join(whole)
    if whole:
        try:
            parse_result(result)
        except InputError as error:
            broken, whole = (
                [f"The diagnostics results in the text could not be read: {error} {error.remedy}"],
                [],
            )
    body = without_results(report.body, readable_only=bool(broken)) if whole else report.body
    notes = (*report.notes, *dict.fromkeys(broken[:MOST_NOTES]))
    return replace(report, body=body, notes=notes), result if whole else None


def without_results(body: str, *, readable_only: bool = False) -> str:
    """The body with its result blocks emptied, or only those that can be read; line numbers stay."""
    lines = body.split("\n")
    start: int | None = None
    for number, line in enumerate([*lines, _FENCE]):
        stripped = line.strip()
        if stripped.startswith(_FENCE) and RESULT in stripped and (start is None or readable_only):
            start = number
        elif start is not None and stripped == _FENCE:
            if not readable_only or _readable(lines[start : number + 1]):
                lines[start : number + 1] = [""] * len(lines[start : number + 1])
            start = None
    return "\n".join(lines)


def _readable(lines: Sequence[str]) -> bool:
    try:
        parse_result("\n".join(lines))
    except InputError:
        return False
    return True


def _with(judgement: Judgement, weights: Mapping[str, float]) -> Judgement:
    p = np.array([max(weights.get(id, 0.0), 1e-9) for id in judgement.ids])
    return Judgement(judgement.ids, p / p.sum(), judgement.threshold, judgement.mass)
