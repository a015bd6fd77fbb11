"""What is only an echo of the root, in a few sentences."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import re2

from knowledge.evidence.roles import Part
from knowledge.evidence.roots import Candidate, Chosen
from knowledge.evidence.stamps import seconds_between
from knowledge.evidence.summaries import Blamed
from knowledge.evidence.units import Unit

MOST = 4
_NAME = re2.compile(
    r"^\W{0,4}(?:[A-Za-z_]\w*\.)*([A-Z]\w*(?:Error|Exception|Failure|Interrupt|Exit|Timeout))\b"
)
_KINDS = (
    (re2.compile(r"(?i)watchdog caught|collective operation timeout|nccl.*time[d -]*out"), "NCCL timeout"),
    (re2.compile(r"(?i)stall"), "stall warning"),
    (
        re2.compile(
            r"(?i)connection (?:was )?(?:likely )?(?:closed|reset)|broken ?pipe|remote process exited|ncclremote"
            r"|lost connection|got 0 bytes"
        ),
        "lost connection",
    ),
    (re2.compile(r"(?i)timed? ?out|timeout"), "timeout"),
    (re2.compile(r"(?i)refused|no route|unreachable|failed to connect"), "failed connection"),
    (re2.compile(r"(?i)communicator was aborted|some nccl operations"), "aborted communicator"),
)


def sentences_of(chosen: Chosen, candidates: Iterable[Candidate], blamed: Blamed | None) -> tuple[str, ...]:
    """At most four sentences; none where there is no root or nothing that follows from it."""
    root = chosen.root
    if root is None:
        return ()
    out: list[str] = []
    if chosen.same:
        ranks = _ranks(c.unit.rank for c in chosen.same)
        out.append(f"{ranks} raised the same error." if ranks else "Other processes raised the same error.")
    out += _followed(root, candidates)
    if blamed is not None and root.part is not Part.FAULT and blamed.rank is not None and blamed.ended:
        out.append(f"The launcher names rank {blamed.rank} as the first to fail ({blamed.ended}).")
    return tuple(out[:MOST])


def _followed(root: Candidate, candidates: Iterable[Candidate]) -> list[str]:
    """One sentence for each kind of echo on other ranks."""
    kinds: dict[str, list[Candidate]] = {}
    for candidate in candidates:
        if candidate.part <= root.part or candidate.part not in (Part.WAITED, Part.ECHO):
            continue
        kind = next((name for pattern, name in _KINDS if pattern.search(candidate.unit.text)), None)
        own = candidate.unit.rank is not None and candidate.unit.rank == root.unit.rank
        if kind and not own and candidate.unit.number != root.unit.number:
            kinds.setdefault(kind, []).append(candidate)
    return [_sentence(root, kind, found) for kind, found in kinds.items()]


def _sentence(root: Candidate, kind: str, found: Sequence[Candidate]) -> str:
    who = _who(root.unit)
    ranks = sorted({c.unit.rank for c in found if c.unit.rank is not None})
    whose = (
        f"rank {ranks[0]}'s {kind}"
        if len(ranks) == 1
        else f"the {kind} of {_ranks(ranks).lower()}"
        if ranks
        else f"the {kind}"
    )
    after = _gap(root.unit, found[0].unit)
    line = f"(line {found[0].unit.number})"
    if after:
        return f"{who} {_did(root)} {after} before {whose}, which is its consequence {line}."
    return (
        f"{whose[0].upper()}{whose[1:]} {line} is only a consequence: {who[0].lower()}{who[1:]} {_did(root)}."
    )


def _did(root: Candidate) -> str:
    name = _NAME.match(root.unit.text)
    if root.part is Part.KILLED:
        return "was killed"
    return f"raised {name.group(1)}" if name else "failed"


def _gap(first: Unit, second: Unit) -> str:
    if first.time is None or second.time is None:
        return ""
    seconds = seconds_between(first.time, second.time)
    if not 1 <= seconds < 86_400:
        return ""
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def _who(unit: Unit) -> str:
    if unit.rank is not None:
        return f"Rank {unit.rank}"
    return f"A process on {unit.host}" if unit.host else "A process"


def _ranks(ranks: Iterable[int | None]) -> str:
    """ "Rank 3", "Ranks 0-6", "Ranks 0, 2 and 5"; "" without any."""
    known = sorted({rank for rank in ranks if rank is not None})
    if not known:
        return ""
    if len(known) == 1:
        return f"Rank {known[0]}"
    if known[-1] - known[0] == len(known) - 1:
        return f"Ranks {known[0]}-{known[-1]}"
    return f"Ranks {', '.join(map(str, known[:-1][:6]))} and {known[-1]}"
