"""A decisive line, as it is quoted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import re2

from knowledge.evidence.units import Unit, excerpt
from knowledge.signatures import SignatureHit

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


def decisive_of(unit: Unit, role: Role, score: float, hits: Sequence[SignatureHit]) -> Decisive:
    """Quote a unit: cut around what tells in it, with who printed it; `score` is weighed by its kind."""
    first = _TELLING.search(unit.text) if len(unit.text) > 300 else None
    telling = min([hit.start for hit in hits] + ([first.start()] if first else []), default=0)
    return Decisive(
        unit.number,
        excerpt(unit.text, telling),
        role,
        score * unit.weight,
        unit.rank,
        unit.in_title,
        tuple(hit.signature.id for hit in hits),
        unit.host,
        unit.time.text if unit.time else None,
    )
