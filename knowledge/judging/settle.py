"""Lines that leave no doubt: what a report says outright settles cause and fix, whatever the judge held for likely.

`settle` takes a ruling from wherever it comes; `ruling_of` finds the one that the error signatures give. A signature
decides where `decides` is set in its data file; a sentence that denies it or only advises on it does not count.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import re2

from knowledge.evidence import Reading
from knowledge.evidence.lines import Kind
from knowledge.judging.axes import Judged, axis_ids
from knowledge.judging.bare_log import spoken_for
from knowledge.judging.judge import Judgement
from knowledge.judging.legible import account
from knowledge.taxonomy import Taxonomy

CERTAIN = 0.92
"""Probability of what a deciding line says: set, not counted, as labelled reports hold too few such lines."""
LIKELY = 0.75
"""Probability of what the root line of a bare log speaks for."""
FEW_TOLD = 6
"""Words of title and prose up to which a report is judged as a bare log."""
_WORD = re2.compile(r"[A-Za-z']{2,}")
_ADVISES = re2.compile(
    r"(?i)potential (?:root )?causes|possible (?:root )?(?:causes?|reasons?)|\bif (?:you|the|this|it)\b"
    r"|\byou (?:can|may|should|might)\b|\be\.g\.|\bsuch as\b|\bfor example\b|\busually\b|\bmake sure\b"
    r"|\bcheck (?:that|whether|if|for)\b|\bhint:"
)
_DENIES = re2.compile(
    r"(?i)\b(?:no|not|never|without|neither|nor|isn't|wasn't|don't|didn't|doesn't|cannot|can't|unlike|instead|rather|fixed|"
    r"solved|resolved|used to|previously|earlier|last (?:week|month|time|year)|maybe|perhaps|whether|might|could)\b|\?"
)
_NONE_OF_IT = re2.compile(
    r'(?i)oom-?killed"?\s*[:=]\s*"?false|\b0 workers?\b.{0,30}killed due to memory|\b0 oom'
)
_NOT_DENIAL = re2.compile(r"(?i)no space left|not enough|not all ranks")


@dataclass(frozen=True, slots=True)
class Ruling:
    """What is settled, with its probability; `by` names what settled it. An axis that is None stays as judged."""

    cause: str
    fix: str
    p: float
    by: str
    symptom: str | None = None
    claimed: bool = True
    """Whether what is settled is said whatever the axis's threshold."""


def ruling_of(reading: Reading) -> Ruling | None:
    """What the report's deciding lines settle, else what the root line of a bare log speaks for."""
    decided = _decided(reading)
    if (decided is not None and decided.symptom is not None) or not _says_little(reading):
        return decided
    found = spoken_for(reading)
    if found is None:
        return decided
    if decided is not None:
        return replace(decided, symptom=_scored(found.symptom)) if found.by == decided.by else decided
    # What could have decided and did not, since something in the report leaves it open, is left to the judge.
    if any(hit.signature.decides for _, hit in reading.hits if hit.signature.id == found.by):
        return None
    return Ruling(found.cause, found.fix, LIKELY, found.by, _scored(found.symptom), claimed=False)


def _says_little(reading: Reading) -> bool:
    """Whether people say so little ("Training fails on 4 GPUs, log below") that the log is all there is to judge."""
    return reading.report.is_log or len(_WORD.findall(account(reading))) <= FEW_TOLD


def _scored(symptom: str) -> str:
    return "D.other" if symptom in ("D.1.other", "D.2.other") else symptom


def _decided(reading: Reading) -> Ruling | None:
    """What deciding lines settle: the first one in a log, else what all sentences agree on."""
    kinds = {line.number: line for line in reading.lines}
    told: list[Ruling] = []
    for number, hit in sorted(reading.hits, key=lambda pair: pair[0]):
        signature = hit.signature
        if not signature.decides:
            continue
        text = kinds[number].text if number else reading.report.title
        if _ADVISES.search(text) or _NONE_OF_IT.search(text) or _reopened(signature.unless, reading):
            continue
        symptom = signature.symptom[0] if len(signature.symptom) == 1 else None
        ruling = Ruling(signature.cause[0], signature.fix[0], CERTAIN, signature.id, symptom)
        if number and kinds[number].kind is Kind.LOG:
            return ruling
        if not _DENIES.search(_NOT_DENIAL.sub("", text)):
            told.append(ruling)
    return told[0] if len({(one.cause, one.fix) for one in told}) == 1 else None


def _reopened(unless: str, reading: Reading) -> bool:
    """Whether the report says something that leaves open what the line would decide."""
    if not unless:
        return False
    pattern = re2.compile(unless)
    return any(
        pattern.search(text) for text in (reading.report.title, *(line.text for line in reading.lines))
    )


def settle(
    judged: Mapping[Judged, Judgement], ruling: Ruling | None, taxonomy: Taxonomy
) -> dict[Judged, Judgement]:
    """The judgement with what a ruling settles, claimed; the other ids of an axis keep their order."""
    out = dict(judged)
    if ruling is None:
        return out
    settled: dict[Judged, str] = {"cause": ruling.cause, "fix": ruling.fix}
    if ruling.symptom is not None and ruling.symptom in axis_ids(taxonomy, "symptom"):
        settled |= {"symptom": ruling.symptom, "stage": taxonomy.stage_of(ruling.symptom)}
    for axis, id in settled.items():
        threshold = judged[axis].threshold
        out[axis] = raised(judged[axis], id, ruling.p)
        if not ruling.claimed:
            out[axis] = replace(out[axis], threshold=threshold)
    return out


def raised(judgement: Judgement, id: str, p: float) -> Judgement:
    """A judgement in which an id has at least the probability `p` and is claimed."""
    at = judgement.ids.index(id)
    least = max(p, float(judgement.p[at]))
    rest = judgement.p.copy()
    rest[at] = 0.0
    total = float(rest.sum())
    raised_p = rest * ((1 - least) / total) if total > 0 else rest
    raised_p[at] = least
    return Judgement(judgement.ids, np.asarray(raised_p), min(judgement.threshold, p), judgement.mass)
