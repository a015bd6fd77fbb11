"""The part of a reading that is shown: a few decisive lines, versions, signatures, conflicts."""

from __future__ import annotations

from knowledge.evidence.failures import Decisive
from knowledge.evidence.reading import Reading
from knowledge.signatures import most_specific
from knowledge.triage import Evidence, QuotedLine, SignatureMatch, VersionConflict
from knowledge.versions import find_conflicts

LINES = 6
MATCHES = 8


def summarise(reading: Reading) -> Evidence:
    """Evidence as the triage holds it: at most six lines, the root first, each signature once."""
    return Evidence(
        framework=reading.framework,
        lines=[_quote(d) for d in _chosen(reading.decisive)],
        versions=reading.versions,
        launcher=reading.launcher,
        world_size=reading.world_size,
        ranks=list(reading.ranks[:64]),
        signatures=_matches(reading),
        conflicts=[
            VersionConflict(id=fact.id, text=fact.text, source=fact.source)
            for fact in find_conflicts(reading.versions)
        ],
        redactions=reading.redactions,
        notes=list(reading.report.notes),
    )


def _chosen(decisive: tuple[Decisive, ...]) -> list[Decisive]:
    """Roots in the order they were printed, then at most two consequences; sentences where no line says as much."""
    if not decisive:
        return []
    floor = 0.25 * decisive[0].score
    worth = [d for d in decisive if d.score >= floor]
    roots = [d for d in worth if d.role == "root"][:4]
    rest = [d for d in worth if d.role == "context"][: max(0, 4 - len(roots))]
    cascade = [d for d in worth if d.role == "consequence"][:2]
    roots.sort(key=lambda d: (not d.in_title, d.number))
    return [*roots, *rest, *cascade][:LINES]


def _quote(d: Decisive) -> QuotedLine:
    return QuotedLine(line=d.number, text=d.text[:300], role=d.role, in_title=d.in_title, rank=d.rank)


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
