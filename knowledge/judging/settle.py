"""Lines that leave no doubt: what a report says outright settles cause and fix, whatever the judge held for likely.

`settle` takes a ruling from wherever it comes; `ruling_of` finds the one that the error signatures give. A signature
decides where `decides` is set in its data file; a sentence that denies it or only advises on it does not count.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
import re2

from knowledge.evidence import Reading
from knowledge.evidence.failures import frames_above
from knowledge.evidence.lines import Kind
from knowledge.evidence.units import Decisive
from knowledge.judging.axes import Judged, axis_ids
from knowledge.judging.judge import Judgement
from knowledge.judging.scope import account
from knowledge.signatures import Signature, most_specific
from knowledge.taxonomy import Taxonomy

# What the root line of a bare log speaks for.
#
# The judge learned from reports of people, who say what they did and often ask the framework's developers for a fix.
# Of a log alone it hears every rank's words at once, and takes a bug of the framework, which half the reports of a
# tracker are about, for likely. Here the root line counts alone: by the signature that it bears, else by where its
# exception was raised, else by its class.

MOST_BELOW = 6
"""Lines of a message below its first one that are looked at."""
_STEP = re2.compile(
    r"(?i)\b(?:epoch|step|iter\w*|batch)\b\W{0,3}\d.*\b(?:loss|acc\w*|lr)\b|\bloss\b\W{0,3}\d"
    r"|(?i)\b(?:step|iteration) \d+ (?:done|ok|finished)"
)
_SETUP = re2.compile(r", in init_process_group\b|, in _new_process_group_helper|/rendezvous\.py\"")
_FILE = Path(__file__).with_name("bare_log.toml")


@dataclass(frozen=True, slots=True)
class SpokenFor:
    """The ids that a root line speaks for; `by` names the signature or the rule."""

    symptom: str
    cause: str
    fix: str
    by: str


@dataclass(frozen=True, slots=True)
class _Rule:
    raised: re2._Regexp
    frames: re2._Regexp | None
    ids: SpokenFor
    on_one_rank: str | None


@dataclass(frozen=True, slots=True)
class _Rules:
    general: frozenset[str]
    last_words: frozenset[str]
    places: tuple[_Rule, ...]
    exceptions: tuple[_Rule, ...]


@cache
def _rules() -> _Rules:
    with _FILE.open("rb") as file:
        table = tomllib.load(file)
    return _Rules(
        frozenset(table["general"]),
        frozenset(table["last_words"]),
        tuple(_rule(one, "place") for one in table["place"]),
        tuple(_rule(one, "exception") for one in table["exception"]),
    )


def _rule(entry: dict[str, str], kind: str) -> _Rule:
    frames = entry.get("frames")
    return _Rule(
        re2.compile(entry["raised"] if frames else entry["names"]),
        re2.compile(frames) if frames else None,
        SpokenFor(entry["symptom"], entry["cause"], entry["fix"], kind),
        entry.get("on_one_rank"),
    )


def spoken_for(reading: Reading) -> SpokenFor | None:
    """What the root of a bare log speaks for; None where it has none, or it says nothing that is known."""
    root = reading.decisive[0] if reading.decisive else None
    if root is None or root.role != "root" or root.in_title or not _is_log(reading, root):
        return None
    known = _known(reading, root)
    ruled = _ruled(reading, root)
    if known is None:
        return ruled
    said = SpokenFor(_symptom(known, reading, root), known.cause[0], known.fix[0], known.id)
    if known.id in _rules().last_words:
        return SpokenFor("D.other", "other", "other", known.id)
    if known.id in _rules().general and ruled is not None:
        placed = known.symptom[0].endswith(".other") or ruled.symptom in known.symptom
        return SpokenFor(ruled.symptom if placed else said.symptom, ruled.cause, ruled.fix, known.id)
    return said


def _symptom(signature: Signature, reading: Reading, root: Decisive) -> str:
    """Of a signature's symptoms the first one of the stage that the job had reached, else the first."""
    steps = any(line.number < root.number and _STEP.search(line.text) for line in reading.lines)
    stage = "D" if steps else "B" if _SETUP.search(_frames(reading, root)) else ""
    return next((one for one in signature.symptom if stage and one.startswith(stage)), signature.symptom[0])


def _frames(reading: Reading, root: Decisive) -> str:
    return "\n".join(frames_above(reading.lines, root.number))


def _is_log(reading: Reading, root: Decisive) -> bool:
    return any(line.number == root.number and line.kind is Kind.LOG for line in reading.lines)


def _known(reading: Reading, root: Decisive) -> Signature | None:
    """The signature of the root line that says most: a fault of its own before a consequence, a special one before a
    general one, and one that leaves no doubt before all."""
    for numbers in ([*_below(reading, root)], [root.number]):
        hits = most_specific(hit for line, hit in reading.hits if line in numbers)
        told = [hit.signature for hit in hits if hit.signature.role != "context"]
        if told:
            return min(told, key=_order)
    return None


def _below(reading: Reading, root: Decisive) -> Iterator[int]:
    """The lines in which a message goes on whose first line ends with a colon ("RuntimeError: Error(s) in ...:")."""
    if not root.text.rstrip().endswith(":"):
        return
    below = [line for line in reading.lines if root.number < line.number <= root.number + MOST_BELOW]
    for line in below:
        if line.rank == root.rank or line.rank is None or root.rank is None:
            yield line.number


def _order(signature: Signature) -> tuple[bool, bool, bool, bool]:
    rules = _rules()
    return (
        not signature.decides,
        signature.id in rules.last_words,
        signature.role != "root",
        signature.id in rules.general,
    )


def _ruled(reading: Reading, root: Decisive) -> SpokenFor | None:
    frames = _frames(reading, root)
    rules = _rules()
    rule = next((one for one in rules.places if _fits(one, root.text, frames)), None)
    if rule is None:
        rule = next((one for one in rules.exceptions if one.raised.search(root.text)), None)
    if rule is None:
        return None
    cause = rule.on_one_rank if rule.on_one_rank and _alone(reading, root) else rule.ids.cause
    fix = "device_consistency" if cause == rule.on_one_rank else rule.ids.fix
    return SpokenFor(rule.ids.symptom, cause, fix, rule.ids.by)


def _fits(rule: _Rule, raised: str, frames: str) -> bool:
    assert rule.frames is not None
    return bool(frames and rule.raised.search(raised) and rule.frames.search(frames))


def _alone(reading: Reading, root: Decisive) -> bool:
    """Whether one of several ranks failed, and the others did not say the same."""
    several = len(reading.ranks) > 1 or (reading.world_size or 1) > 1
    return several and root.rank is not None and not any("raised the same error" in e for e in reading.echoes)


CERTAIN = 0.92
"""Probability of what a deciding line says: set, not counted, as labelled reports hold too few such lines."""
LIKELY = 0.75
"""Probability of what the root line of a bare log speaks for."""
FEW_TOLD = 6
"""Words of title and prose up to which a report is judged as a bare log."""
_WORD = re.compile(r"[A-Za-z']{2,}")
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
