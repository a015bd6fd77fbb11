"""The decisive lines: the first cause among cascading errors, not the last line printed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import re2

from knowledge.evidence.decisive import Decisive, Role, decisive_of
from knowledge.evidence.echoes import sentences_of
from knowledge.evidence.lines import Kind, Line
from knowledge.evidence.roles import Part, marks_of, part_of
from knowledge.evidence.roots import Candidate, Chosen, choose
from knowledge.evidence.summaries import read_summary
from knowledge.evidence.tracebacks import find_tracebacks
from knowledge.evidence.units import Unit, units_of
from knowledge.signatures import SignatureHit, SignatureTable

MOST = 40
_SOFT = re2.compile(
    r"(?i)\b(?:error|errors|exception|fail|fails|failing|crash|crashes|crashed|hang|hangs|hanging|hung|stuck|freez\w+|deadlock\w*|block(?:s|ed)|wait(?:s|ing)"
    r"|slow|slower|leak\w*|wrong|incorrect\w*|unexpected\w*|mismatch\w*|nan|diverg\w+|never|does(?:n't| not)|not work\w*|missing|ignored|inconsistent|duplicate\w*"
    r"|different|instead of|broken|invalid|idle|unused|only one|raises?|complains?|breaks?|aborts?|dies|exits?)\b"
)
_BARE_LABEL = re2.compile(
    r"(?i)^\W*(?:the )?(?:error|errors|exception|traceback|stack ?trace|failure|warning|error (?:log|message|output|trace))s?\W*$"
)
# IPython shows the code around a frame with its line numbers.
_SHOWN_CODE = re2.compile(r"^(?:-{2,}> ?)?\d{1,5}\s{2,}\S")
# What stands above a stack of Python or C++, and the frames of the latter: they say no more than that it is there.
_HEADER = re2.compile(
    r"^\W*(?:Traceback \(most recent call|Exception raised from .*\(most recent call first\)|frame #\d+: )"
)
_SOURCE = re2.compile(r'^\s*File ".*", line \d+')
_POLITE = re2.compile(
    r"(?i)^\W*(?:(?:i'?m )?sorry\b|thanks?\b|thank you|(?:any|some) (?:help|ideas?|suggestions?|pointers?|advice)\b|i(?: would|'d) (?:really )?(?:appreciate|like)"
    r"|(?:please )?let me know|hope (?:this|that|you)|is there (?:any|a) |am i (?:missing|doing)|what am i |could (?:you|someone|anyone)|can (?:you|someone|anyone))"
)
ROOT = 4.5
"""Score of the root: above every other line of a log."""
_DIGITS = re2.compile(r"0x[0-9a-fA-F]+|\d+")
_QUIET = ("D", "I", "W")
_LOUD = ("E", "F")
NEAR_FRAME = 4
"""Lines below a frame in which its source can stand where ranks print into each other."""


_WRITTEN = (Kind.PROSE, Kind.HEADING, Kind.TEMPLATE)


@dataclass(frozen=True, slots=True)
class Failures:
    """What a report says failed."""

    decisive: tuple[Decisive, ...]
    """In order of importance."""
    hits: tuple[tuple[int, SignatureHit], ...]
    """Signatures with their 1-based line; 0 is the title."""
    echoes: tuple[str, ...]
    """Which other lines follow from the root, in sentences."""


def find_failures(title: str, lines: Sequence[Line], table: SignatureTable) -> Failures:
    """Decisive units in order of importance, the signature hits, and what is only an echo of the root."""
    units = list(units_of(title, lines))
    hits: dict[int, list[SignatureHit]] = {}
    for hit in table.match([unit.text for unit in units]):
        hits.setdefault(hit.line, []).append(hit)
    candidates, silent = _candidates(units, lines, hits)
    blamed = read_summary(lines)
    breaks = [line.number for line in lines if not line.fenced and line.kind in _WRITTEN]
    chosen = choose(candidates, blamed, breaks)
    found: dict[str, Decisive] = {}
    for index, unit in enumerate(units):
        if index in silent:
            continue
        candidate = candidates.get(index)
        decisive = (
            _of_log(candidate, chosen, hits.get(index, ()))
            if candidate is not None
            else _of_account(unit, hits.get(index, ()))
        )
        if decisive is None:
            continue
        key = _DIGITS.sub("#", decisive.text)[:160]
        if key not in found or found[key].score < decisive.score:
            found[key] = decisive
    ordered = sorted(found.values(), key=lambda d: (-d.score, d.number))
    located = tuple(
        (0 if units[i].in_title else units[i].number, hit)
        for i in sorted(hits)
        for hit in hits[i]
        if units[i].kind is not Kind.CODE
    )
    return Failures(tuple(ordered[:MOST]), located, sentences_of(chosen, candidates.values(), blamed))


def _candidates(
    units: Sequence[Unit], lines: Sequence[Line], hits: Mapping[int, Sequence[SignatureHit]]
) -> tuple[dict[int, Candidate], set[int]]:
    """Every unit of a log that plays a part in a failure; and those that say nothing.

    These are the heads of stacks, source in them, and plain lines.
    """
    tracebacks = find_tracebacks(lines)
    unsaid = _levels_of_wrappers(lines)
    sources = _source_lines(lines)
    out: dict[int, Candidate] = {}
    silent: set[int] = set()
    for index, unit in enumerate(units):
        raised = unit.number in tracebacks.raised and not unit.in_title
        if unit.number in sources and not raised and not unit.in_title:
            silent.add(index)
            continue
        if (unit.kind is not Kind.LOG and not raised) or unit.number in tracebacks.frames:
            continue
        if _SHOWN_CODE.match(unit.text):
            continue
        if _HEADER.match(unit.text):
            silent.add(index)
            continue
        level = None if unit.level in unsaid else unit.level
        marks = marks_of(unit.text)
        found = hits.get(index, ())
        if not marks and not found and not raised and level not in ("E", "F"):
            silent.add(index)
            continue
        part = part_of(marks, found, level, raised=raised)
        if part is Part.NONE and not found:
            continue
        rank = tracebacks.ranks.get(unit.number)
        out[index] = Candidate(
            unit if rank is None or unit.rank is not None else replace(unit, rank=rank),
            part,
            marks,
            raised,
            tracebacks.chained.get(unit.number),
            tuple(hit.signature.id for hit in found if hit.signature.role == "root"),
        )
    return out, silent


def _levels_of_wrappers(lines: Sequence[Line]) -> frozenset[str]:
    """Levels that say nothing: a wrapper gave them to whatever a process printed, a traceback as well as a step."""
    logged = [line.level for line in lines if line.kind is Kind.LOG]
    quiet = {line.level for line in lines if line.level in _QUIET and _HEADER.match(line.text)}
    loud = {level for level in _LOUD if logged.count(level) > 0.5 * len(logged)}
    return frozenset(level for level in quiet | loud if level is not None)


def _source_lines(lines: Sequence[Line]) -> set[int]:
    """Indented lines just below a frame, of whatever process: the source that the frame shows."""
    out: set[int] = set()
    frame = -NEAR_FRAME
    for line in lines:
        if line.text.startswith("    "):
            if line.number - frame < NEAR_FRAME:
                out.add(line.number)
        elif line.text.lstrip().startswith("File ") and _SOURCE.match(line.text):
            frame = line.number
    return out


def _of_log(candidate: Candidate, chosen: Chosen, hits: Sequence[SignatureHit]) -> Decisive | None:
    unit, part = candidate.unit, candidate.part
    if part is Part.NONE and "exception" not in candidate.marks:
        context = any(hit.signature.role == "context" for hit in hits)
        return decisive_of(unit, "context", 0.4, hits) if context and len(unit.text) >= 8 else None
    if chosen.root is not None and unit.number == chosen.root.unit.number:
        return decisive_of(chosen.root.unit, "root", ROOT, hits)
    base = 2.5 if candidate.raised or "exception" in candidate.marks else 1.6 if part <= Part.ECHO else 1.0
    base += 1.5 if candidate.known else 0.0
    if unit.number in chosen.others:
        return decisive_of(unit, "root", base - chosen.distance(unit), hits)
    return decisive_of(unit, "consequence", base * 0.5 - 0.2 * chosen.distance(unit), hits)


def _of_account(unit: Unit, hits: Sequence[SignatureHit]) -> Decisive | None:
    """A sentence, a heading, a line of code or of a form."""
    if len(unit.text) < 8 or _BARE_LABEL.match(unit.text):
        return None
    marks = marks_of(unit.text)
    if not unit.in_title and "exception" not in marks and _POLITE.match(unit.text):
        return None
    score = 0.0
    role: Role = "root"
    if "exception" in marks:
        score = 2.5
    elif unit.kind is Kind.LOG or (unit.kind is not Kind.PROSE and "harmless" in marks):
        return None
    elif "hard" in marks:
        score = 1.6
    elif unit.kind is Kind.PROSE and _SOFT.search(unit.text):
        score = 1.0
    roles = {hit.signature.role for hit in hits}
    if "root" in roles:
        score = max(score, 1.5) + 1.5
    elif "consequence" in roles:
        score, role = max(score, 1.0) * 0.5, "consequence"
    elif "context" in roles:
        score, role = max(score, 0.4), ("root" if score >= 1.6 else "context")
    if score == 0.0:
        return None
    if role == "root" and "root" not in roles and marks & {"summary", "teardown"}:
        score, role = score * 0.5, "consequence"
    if role == "root" and score < 1.5:
        role = "context"
    return decisive_of(unit, role, score, hits)
