"""The decisive lines: the first cause among cascading errors, not the last line printed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import re2

from knowledge.evidence.lines import Kind, Line
from knowledge.evidence.roles import Part, marks_of, part_of, read_summary
from knowledge.evidence.roots import Candidate, Chosen, choose, sentences_of
from knowledge.evidence.units import Decisive, Role, Unit, decisive_of, units_of
from knowledge.signatures import SignatureHit, SignatureTable

# Python tracebacks of several processes in one log, however their lines are mixed.

Process = tuple[int | None, str | None, int | None]
"""Rank, host and process id, as far as a line tells them."""

_START = re2.compile(r"^\s*(?:Original )?Traceback \(most recent call")
_CHAIN = re2.compile(
    r"^\s*(?:During handling of the above exception|The above exception was the direct cause)"
)
_SPAWNED = re2.compile(r"^-- Process (\d+) terminated with the following error")
# "KeyError: 'x'", "my_package.DataStarved", "ray.exceptions.RayTaskError(KeyError): ..."
_RAISED = re2.compile(r"^[A-Za-z_][\w.<>]*(?:\([\w.]+\))?\s*(?::|$)")
MOST_FRAMES = 400
"""Lines above an exception in which its traceback is looked for."""
PASSED = 20
"""Lines of others that can stand inside a traceback without prefixes."""
_FRAME = re2.compile(r"^\s|^(?:-{2,}> ?)?\d{1,5}\s{2,}\S|^(?:\.\.\.|[~^ ]+$|\[Previous line repeated)")


@dataclass(slots=True)
class _Open:
    """What is known of one process while its lines pass."""

    bare: bool = False
    passed: int = 0
    open: bool = False
    chained: bool = False
    rank: int | None = None


@dataclass(slots=True)
class Tracebacks:
    """Line numbers of exceptions: `raised` ends a traceback, `chained` was raised because of an earlier one."""

    raised: set[int] = field(default_factory=set)
    chained: dict[int, int] = field(default_factory=dict)
    """Line of a later exception to the line of the one before it in the chain."""
    frames: set[int] = field(default_factory=set)
    ranks: dict[int, int] = field(default_factory=dict)
    """Ranks that the text around a traceback tells ("-- Process 3 terminated ...")."""


def process_of(line: Line) -> Process:
    """Whose line it is; a rank alone says enough."""
    return (line.rank, None, None) if line.rank is not None else (None, line.host, line.pid)


def find_tracebacks(lines: Sequence[Line]) -> Tracebacks:
    """Follow the tracebacks of every process through the lines of a report."""
    out = Tracebacks()
    states: dict[Process, _Open] = {}
    last: dict[Process, int] = {}
    for line in lines:
        text = line.text
        if line.kind in (Kind.BLANK, Kind.HEADING) or not text:
            continue
        process = process_of(line)
        state = states.get(process)
        if "raceback" in text and _START.match(text):
            state = states.setdefault(process, _Open())
            state.open, state.bare, state.passed = True, line.time is None, 0
        elif text[:3] in ("Dur", "The") and _CHAIN.match(text):
            states.setdefault(process, _Open()).chained = True
        elif text[:3] == "-- " and (spawned := _SPAWNED.match(text)):
            states.setdefault(process, _Open()).rank = int(spawned.group(1))
        elif state is not None and state.open:
            if _FRAME.match(text):
                out.frames.add(line.number)
            elif _RAISED.match(text) and not (state.bare and line.time is not None):
                _end(out, state, line, last.get(process))
                last[process] = line.number
            else:
                state.passed += 1
                state.open = state.passed < PASSED
    return out


def _end(out: Tracebacks, state: _Open, line: Line, before: int | None) -> None:
    out.raised.add(line.number)
    if state.chained and before is not None:
        out.chained[line.number] = before
    if state.rank is not None:
        out.ranks[line.number] = state.rank
    state.open = state.chained = False


def frames_above(lines: Sequence[Line], number: int) -> tuple[str, ...]:
    """The frames of the traceback that ends in line `number`, outermost first; none where it ends none.

    Only lines of that process count, and at most MOST_FRAMES of them.
    """
    at = next((index for index, line in enumerate(lines) if line.number == number), None)
    if at is None:
        return ()
    process = process_of(lines[at])
    frames: list[str] = []
    for line in reversed(lines[max(0, at - MOST_FRAMES) : at]):
        if process_of(line) != process:
            continue
        if "raceback" in line.text and _START.match(line.text):
            return tuple(reversed(frames))
        if line.text.lstrip().startswith("File "):
            frames.append(line.text.strip())
        elif _CHAIN.match(line.text):
            break
    return ()


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
        if _SHOWN_CODE.match(unit.text) or _SOURCE.match(unit.text):
            continue
        if _HEADER.match(unit.text) or (not raised and _BARE_LABEL.match(unit.text)):
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
