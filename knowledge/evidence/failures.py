"""The decisive lines: the first cause among cascading errors, not the last line printed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import re2

from knowledge.evidence.lines import Kind, Line
from knowledge.signatures import SignatureHit, SignatureTable

Role = Literal["root", "consequence", "context"]

_EXCEPTION = re2.compile(
    r"^\W{0,4}(?:E\s+)?(?:[A-Za-z_][\w]*[.:]{1,2})*[A-Z]\w*(?:Error|Exception|Failure|Interrupt|Abort|Exit|Timeout)\b(?:\([\w.]+\))?\s*(?::|$)"
    r"|^\W{0,4}(?:[A-Za-z_]\w*\.)*(?:AssertionError|StopIteration|KeyboardInterrupt|Assertion)\b"
)
# A traceback whose line breaks were lost on the way into the report.
_INLINE_EXCEPTION = re2.compile(r"\b[A-Za-z_][\w.]*(?:Error|Exception)\b: .{1,200}")
_HARD = re2.compile(
    r"(?i)\b(?:fatal(?: error)?|error|panic|critical)\b\s?[:\]#-]|segmentation fault|bus error|core dumped|terminate called|check failed"
    r"|illegal instruction|out of memory|undefined symbol|cannot open shared object|no such file|command not found|undefined reference"
    r"|\bsig(?:segv|abrt|kill|bus|term)\b|\baborted\b|\bkilled\b|assert(?:ion)? .*failed|unhandled|\bstall(?:ed)?\b|timed? ?out|connection (?:refused|reset|closed)"
    r"|\bfailed\b|\bfailure\b|not supported|not implemented|unable to|could not|can't|cannot"
)
_SOFT = re2.compile(
    r"(?i)\b(?:error|errors|exception|fail|fails|failing|crash|crashes|crashed|hang|hangs|hanging|hung|stuck|freez\w+|deadlock\w*|block(?:s|ed)|wait(?:s|ing)"
    r"|slow|slower|leak\w*|wrong|incorrect\w*|unexpected\w*|mismatch\w*|nan|diverg\w+|never|does(?:n't| not)|not work\w*|missing|ignored|inconsistent|duplicate\w*"
    r"|different|instead of|broken|invalid|idle|unused|only one|raises?|complains?|breaks?|aborts?|dies|exits?)\b"
)
_CONSEQUENCE = re2.compile(
    r"ChildFailedError|exited on signal|exited with (?:non-zero|code|exit)|non-zero (?:exit )?status|returned a? ?non-zero|job has been aborted"
    r"|CalledProcessError|subprocess.*returned|Terminating|Sending (?:process|SIG)|SystemExit|has been shut ?down|raise_?with_?traceback"
    r"|RayTaskError|failed with error code|Failed building wheel|ProcessRaisedException|ProcessExitedException|warnings?\.warn|DeprecationWarning|FutureWarning"
)
_CHAIN = re2.compile(
    r"^\s*(?:During handling of the above exception|The above exception was the direct cause)"
)
_BARE_LABEL = re2.compile(
    r"(?i)^\W*(?:the )?(?:error|errors|exception|traceback|stack ?trace|failure|warning|error (?:log|message|output|trace))s?\W*$"
)
_DIGITS = re2.compile(r"0x[0-9a-fA-F]+|\d+")


@dataclass(frozen=True, slots=True)
class Decisive:
    """A line or sentence of the report that says what failed; `score` orders them, highest first."""

    number: int
    text: str
    role: Role
    score: float
    rank: int | None = None
    in_title: bool = False
    signatures: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Unit:
    number: int
    text: str
    kind: Kind
    rank: int | None
    in_title: bool = False


_WEIGHT = {
    Kind.LOG: 1.0,
    Kind.PROSE: 0.6,
    Kind.HEADING: 0.3,
    Kind.CODE: 0.15,
    Kind.COMMAND: 0.3,
    Kind.TEMPLATE: 0.1,
    Kind.ENVIRONMENT: 0.2,
}
_READ = frozenset(_WEIGHT)


def find_failures(
    title: str, lines: Sequence[Line], table: SignatureTable
) -> tuple[tuple[Decisive, ...], tuple[tuple[int, SignatureHit], ...]]:
    """Decisive units in order of importance, and the signature hits with their 1-based line (0: title)."""
    units = list(_units(title, lines))
    hits: dict[int, list[SignatureHit]] = {}
    for hit in table.match([unit.text for unit in units]):
        hits.setdefault(hit.line, []).append(hit)
    found: dict[str, Decisive] = {}
    chained = False
    first_error: int | None = None
    for index, unit in enumerate(units):
        if _CHAIN.match(unit.text):
            chained = True
            continue
        decisive = _judge(unit, hits.get(index, ()), chained)
        if decisive is None:
            continue
        if unit.kind is Kind.LOG and decisive.score >= 1.5:
            # A cascade prints its cause first: what comes later in the log counts less.
            first_error = unit.number if first_error is None else first_error
            distance = unit.number - first_error
            decisive = replace(decisive, score=decisive.score - min(1.0, distance / 60))
            chained = chained and not _EXCEPTION.match(unit.text)
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
    return tuple(ordered[:40]), located


def _units(title: str, lines: Sequence[Line]) -> Iterator[_Unit]:
    for sentence in sentences(title):
        yield _Unit(1, sentence, Kind.PROSE, None, True)
    for line in lines:
        if line.kind not in _READ:
            continue
        if len(line.text) > 200 and "Traceback (most recent call" in line.text:
            for match in _INLINE_EXCEPTION.finditer(line.text):
                yield _Unit(line.number, match.group(0), Kind.LOG, line.rank)
        elif line.kind is Kind.PROSE and len(line.text) > 120:
            for sentence in sentences(line.text):
                yield _Unit(line.number, sentence, line.kind, line.rank)
        else:
            yield _Unit(line.number, line.text.strip(), line.kind, line.rank)


def _judge(unit: _Unit, hits: Sequence[SignatureHit], chained: bool) -> Decisive | None:
    if len(unit.text) < 8 or _BARE_LABEL.match(unit.text):
        return None
    weight = 1.2 if unit.in_title else _WEIGHT[unit.kind]
    score = 0.0
    role: Role = "root"
    if _EXCEPTION.match(unit.text):
        score = 2.5
    elif _HARD.search(unit.text):
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
    if role == "root" and "root" not in roles and (_CONSEQUENCE.search(unit.text) or chained):
        score, role = score * 0.5, "consequence"
    if role == "root" and score < 1.5:
        role = "context"
    names = tuple(hit.signature.id for hit in hits)
    return Decisive(unit.number, unit.text[:400], role, score * weight, unit.rank, unit.in_title, names)


def sentences(text: str) -> list[str]:
    """Split prose into sentences: at . ! ? or ; before a space and a capital, digit or quote."""
    out: list[str] = []
    start = 0
    for match in _SENTENCE_END.finditer(text):
        cut = match.start() + 1
        if cut - start >= 12:
            out.append(text[start:cut].strip())
            start = cut
    tail = text[start:].strip()
    return [*out, tail] if tail else out


_SENTENCE_END = re2.compile(r"[.!?;]\s+[A-Z\"'`(\[]")
