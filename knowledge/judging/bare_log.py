"""What the root line of a bare log speaks for.

The judge learned from reports of people, who say what they did and often ask the framework's developers for a fix.
Of a log alone it hears every rank's words at once, and takes a bug of the framework, which half the reports of a
tracker are about, for likely. Here the root line counts alone: by the signature that it bears, else by where its
exception was raised, else by its class.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import re2

from knowledge.evidence import Reading
from knowledge.evidence.decisive import Decisive
from knowledge.evidence.lines import Kind
from knowledge.evidence.tracebacks import frames_above
from knowledge.signatures import Signature, most_specific

MOST_BELOW = 6
"""Lines of a message below its first one that are looked at."""
_STEP = re2.compile(
    r"(?i)\b(?:epoch|step|iter\w*|batch)\b\W{0,3}\d.*\b(?:loss|acc\w*|lr)\b|\bloss\b\W{0,3}\d"
    r"|(?i)\b(?:step|iteration) \d+ (?:done|ok|finished)"
)
_SETUP = re2.compile(r", in init_process_group\b|, in _new_process_group_helper|/rendezvous\.py\"")
_FILE = Path(__file__).with_suffix(".toml")


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
