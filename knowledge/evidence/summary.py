"""The part of a reading that is shown: a few decisive lines, versions, signatures, conflicts."""

from __future__ import annotations

import re2

from knowledge.evidence.decisive import Decisive
from knowledge.evidence.lines import Kind
from knowledge.evidence.reading import Reading
from knowledge.evidence.units import excerpt, sentences
from knowledge.signatures import most_specific
from knowledge.triage import Evidence, QuotedLine, SignatureMatch, StatedFact
from knowledge.versions import explained_conflicts

LINES = 6
MATCHES = 8
SAYING, SENTENCE = 3, 5
"""Words from which on a title, or a sentence of the account, can say what is wrong."""
SHOWN = 300
"""Characters of a quoted line."""
_WORD = re2.compile(r"[A-Za-z]{2,}")


def summarise(reading: Reading, *, claims: bool = False) -> Evidence:
    """Evidence as the triage holds it: at most six lines, the root first, each signature once.

    `claims`: where no line tells what failed, the words that say so are quoted, as a claim never stands alone.
    """
    lines = [_quote(d) for d in _chosen(reading.decisive)]
    if not lines and claims:
        lines = _said(reading)
    return Evidence(
        framework=reading.framework,
        echoes=list(reading.echoes),
        lines=lines,
        versions=reading.versions,
        launcher=reading.launcher,
        world_size=reading.world_size,
        ranks=list(reading.ranks[:64]),
        signatures=_matches(reading),
        conflicts=explained_conflicts(
            {name: reading.versions[name] for name in reading.sure},
            [(d.number, d.text) for d in reading.decisive if not d.in_title],
        ),
        facts=[StatedFact(line=fact.line, text=fact.text) for fact in reading.facts],
        redactions=reading.redactions,
        notes=list(reading.report.notes),
    )


def _chosen(decisive: tuple[Decisive, ...]) -> list[Decisive]:
    """The first cause, then other faults, then at most two consequences; sentences where no line says as much."""
    if not decisive:
        return []
    floor = 0.25 * decisive[0].score
    worth = [d for d in decisive if d.score >= floor]
    roots = [d for d in worth if d.role == "root"][:4]
    rest = [d for d in worth if d.role == "context"][: max(0, 4 - len(roots))]
    cascade = [d for d in worth if d.role == "consequence"][:2]
    return [*roots, *rest, *cascade][:LINES]


def _said(reading: Reading) -> list[QuotedLine]:
    """The title; the first sentence of the account where the title hardly says anything."""
    title = reading.report.title.strip()
    told = None
    if len(_WORD.findall(title)) < SAYING:
        account = (
            (line.number, sentence)
            for line in reading.lines
            if line.kind is Kind.PROSE
            for sentence in sentences(line.text)
            if len(_WORD.findall(sentence)) >= SENTENCE
        )
        told = next(account, None)
    number, text = told or (1, title)
    if not text:
        return []
    quoted = excerpt(text, longest=SHOWN)
    return [QuotedLine(line=number, text=quoted, role="context", in_title=told is None)]


def _quote(d: Decisive) -> QuotedLine:
    return QuotedLine(
        line=d.number,
        text=excerpt(d.text, longest=SHOWN),
        role=d.role,
        in_title=d.in_title,
        rank=d.rank,
        host=d.host,
        time=d.time,
    )


def _matches(reading: Reading) -> list[SignatureMatch]:
    seen: dict[str, SignatureMatch] = {}
    kept = {id(hit) for hit in most_specific(hit for _, hit in reading.hits)}
    for line, hit in reading.hits:
        s = hit.signature
        if id(hit) in kept and s.id not in seen:
            seen[s.id] = SignatureMatch(
                id=s.id,
                meaning=s.meaning,
                line=max(line, 1),
                symptom=list(s.symptom),
                cause=list(s.cause),
                fix=list(s.fix),
            )
    ranked = sorted(
        reading.hits, key=lambda pair: {"root": 0, "consequence": 1, "context": 2}[pair[1].signature.role]
    )
    order = list(dict.fromkeys(hit.signature.id for _, hit in ranked))
    return sorted(seen.values(), key=lambda match: order.index(match.id))[:MATCHES]
