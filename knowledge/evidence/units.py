"""What is judged one by one (a line of a log, a sentence of an account), and a decisive one as it is quoted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import re2

from knowledge.evidence.lines import Kind, Line, Stamp
from knowledge.signatures import SignatureHit

LONGEST = 400
"""Characters of a unit that are kept as evidence."""
_BEFORE = 60
_SENTENCE_END = re2.compile(r"[.!?;]\s+[A-Z\"'`(\[]")
# A traceback whose line breaks were lost on the way into the report.
_INLINE_EXCEPTION = re2.compile(r"\b[A-Za-z_][\w.]*(?:Error|Exception)\b: .{1,200}")
_WEIGHTS: Mapping[Kind, float] = {
    Kind.LOG: 1.0,
    Kind.PROSE: 0.6,
    Kind.HEADING: 0.3,
    Kind.CODE: 0.15,
    Kind.COMMAND: 0.3,
    Kind.TEMPLATE: 0.1,
    Kind.ENVIRONMENT: 0.2,
}


@dataclass(frozen=True, slots=True)
class Unit:
    """A line or a sentence, and who printed it."""

    number: int
    text: str
    kind: Kind
    rank: int | None = None
    host: str | None = None
    time: Stamp | None = None
    level: str | None = None
    in_title: bool = False

    @property
    def weight(self) -> float:
        """How much a telling unit of its kind counts."""
        return 1.2 if self.in_title else _WEIGHTS[self.kind]


def units_of(title: str, lines: Sequence[Line]) -> Iterator[Unit]:
    """The units of a report in its order, those of the title first."""
    for sentence in sentences(title):
        yield Unit(1, sentence, Kind.PROSE, in_title=True)
    for line in lines:
        if line.kind not in _WEIGHTS:
            continue
        if len(line.text) > 200 and "Traceback (most recent call" in line.text:
            for match in _INLINE_EXCEPTION.finditer(line.text):
                yield Unit(line.number, match.group(0), Kind.LOG, line.rank)
        elif line.kind is Kind.PROSE and len(line.text) > 120:
            for sentence in sentences(line.text):
                yield Unit(line.number, sentence, line.kind, line.rank)
        else:
            yield Unit(
                line.number,
                line.text.strip(),
                line.kind,
                line.rank,
                line.host,
                line.time,
                line.level,
            )


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


def cut(text: str, telling: int, longest: int) -> tuple[str, int]:
    """At most `longest` characters of a line, cut at word ends and marked by "…", with what is at `telling`.

    With it where in them that stands now.
    """
    if len(text) <= longest:
        return text, telling
    start = 0
    if telling > longest // 2:
        start = text.find(" ", min(telling - min(_BEFORE, longest // 4), len(text) - longest)) + 1
        start = start if 0 < start <= telling else telling
    room = longest - 1 - (start > 0)
    piece = text[start : start + room + 1]
    if len(piece) > room:
        piece = piece[:room].rsplit(" ", 1)[0] if " " in piece[room // 2 : room] else piece[:room]
        piece = piece.rstrip() + "…"
    return (f"…{piece}", telling - start + 1) if start else (piece, telling)


def words_that_tell(text: str) -> list[int]:
    """Where the first name of an error, or word for failing, begins; empty = there is none."""
    found = _TELLING.search(text)
    return [found.start()] if found else []


# A decisive line, as it is quoted.

Role = Literal["root", "consequence", "context"]

_TELLING = re2.compile(
    r"\b[A-Za-z_][\w.]*(?:Error|Exception|Failure)\b|(?i)\b(?:fatal|error|failed|timed? ?out|killed)\b"
)


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
    host: str | None = None
    time: str | None = None
    telling: int = 0
    """Where in `text` the words stand that tell, for who has less room."""


def decisive_of(unit: Unit, role: Role, score: float, hits: Sequence[SignatureHit]) -> Decisive:
    """Quote a unit: cut around what tells in it, with who printed it; `score` is weighed by its kind."""
    first = words_that_tell(unit.text) if not hits or len(unit.text) > 300 else []
    text, telling = cut(unit.text, min([hit.start for hit in hits] + first, default=0), LONGEST)
    return Decisive(
        unit.number,
        text,
        role,
        score * unit.weight,
        unit.rank,
        unit.in_title,
        tuple(hit.signature.id for hit in hits),
        unit.host,
        unit.time.text if unit.time else None,
        telling,
    )
