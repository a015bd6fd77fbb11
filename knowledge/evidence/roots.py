"""Which of many errors came first, and which are only its echoes."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import re2

from knowledge.evidence.lines import seconds_between
from knowledge.evidence.roles import Blamed, Part
from knowledge.evidence.tools.finding import sentence
from knowledge.evidence.units import Unit
from knowledge.text.words import ranks_in_words

MOST_OTHERS = 3
_DIGITS = re2.compile(r"0x[0-9a-fA-F]+|\d+")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A unit of a log that plays a part in a failure."""

    unit: Unit
    part: Part
    marks: frozenset[str]
    raised: bool
    chained_to: int | None
    """Line of the exception that this one was raised after, in the same chain."""
    known: tuple[str, ...]
    """Signatures that call it a fault of its own."""

    @property
    def template(self) -> str:
        """Its text without numbers: equal errors of several ranks have the same."""
        return str(_DIGITS.sub("#", self.unit.text))[:200]


@dataclass(slots=True)
class Chosen:
    """The root of a log's errors, and the lines of other faults that stand on their own."""

    root: Candidate | None = None
    others: set[int] = field(default_factory=set)
    same: list[Candidate] = field(default_factory=list)
    """The same error on other ranks."""

    def distance(self, unit: Unit) -> float:
        """Up to 1 for what is printed far from the root."""
        return 0.0 if self.root is None else min(1.0, abs(unit.number - self.root.unit.number) / 60)


def choose(candidates: Mapping[int, Candidate], blamed: Blamed | None, breaks: Sequence[int] = ()) -> Chosen:
    """The first cause among the candidates of a log; every other one is its consequence, or independent.

    `breaks`: lines in ascending order, written by a person, that end one log and begin another.
    """
    usable = [c for c in candidates.values() if c.part < Part.NONE]
    by_line = {c.unit.number: c for c in usable}
    roots = [c for c in usable if not _explained(c, by_line)]
    if not roots:
        return Chosen()
    first = min(c.part for c in roots)
    same_part = [c for c in roots if c.part is first]
    if first is Part.LOGGED:  # an error's words say more than an error's level alone
        same_part = [c for c in same_part if "hard" in c.marks or c.known] or same_part
    root = _fullest(_earliest(_unprovoked(same_part, usable)), roots)
    root = _silent(root, roots, blamed) or _of_the_blamed(root, roots, blamed) or root
    root = _thrown(root, roots)
    outside = [c for c in roots if c.part is Part.KILLED]
    if first is Part.FAULT and outside and _is_before(killer := _earliest(outside), root):
        root = killer
    faults = [c for c in _unprovoked(roots, usable) if c.part is Part.FAULT and c is not root]
    template = root.template
    same = [c for c in faults if c.unit.rank != root.unit.rank and c.template == template]
    others = _others(root, faults, breaks) if root.part is Part.FAULT else set()
    return Chosen(_named(root, blamed, same), others, same)


def _explained(candidate: Candidate, by_line: Mapping[int, Candidate]) -> bool:
    """Whether an earlier exception of its chain tells more: always, unless only the later one is a known error."""
    before = by_line.get(candidate.chained_to or -1)
    if before is not None:
        return bool(before.known) or not candidate.known or before.part > candidate.part
    return False


def _is_before(first: Candidate, second: Candidate) -> bool:
    one, two = first.unit.time, second.unit.time
    return one is not None and two is not None and seconds_between(one, two) > 0


def _earliest(candidates: list[Candidate]) -> Candidate:
    """By time where every one has it; otherwise the one printed first."""
    best = candidates[0]
    timed = all(c.unit.time is not None for c in candidates)
    for candidate in candidates[1:]:
        if timed and _is_before(candidate, best):
            best = candidate
    return best


def _silent(root: Candidate, roots: list[Candidate], blamed: Blamed | None) -> Candidate | None:
    """The launcher's line about a rank that ended without a word, where all others only missed it."""
    if root.part not in (Part.WAITED, Part.ECHO) or blamed is None or blamed.rank is None:
        return None
    told = [c for c in roots if c.part is Part.SUMMARY]
    missed = {c.unit.rank for c in roots if c.part in (Part.WAITED, Part.ECHO)}
    return _earliest(told) if told and None not in missed and blamed.rank not in missed else None


def _of_the_blamed(root: Candidate, roots: list[Candidate], blamed: Blamed | None) -> Candidate | None:
    """Where every rank only missed another, what the rank that ended first by the launcher's word printed first."""
    if root.part not in (Part.WAITED, Part.ECHO) or blamed is None or blamed.rank is None:
        return None
    own = [c for c in roots if c.unit.rank == blamed.rank and c.part in (Part.WAITED, Part.ECHO)]
    return _earliest(own) if own else None


def _unprovoked(candidates: list[Candidate], usable: list[Candidate]) -> list[Candidate]:
    """Without what a rank raised after it had lost another rank; all of them where nothing is left."""
    lost: dict[int, int] = {}
    for c in usable:
        if c.unit.rank is not None and c.part in (Part.WAITED, Part.ECHO):
            lost.setdefault(c.unit.rank, c.unit.number)
    kept = [
        c
        for c in candidates
        if c.unit.number <= lost.get(-1 if c.unit.rank is None else c.unit.rank, c.unit.number)
    ]
    return kept or candidates


def _fullest(root: Candidate, roots: list[Candidate]) -> Candidate:
    """The exception that ends a process rather than a message of the same fault logged before it."""
    if root.raised or not root.known:
        return root
    for c in roots:
        if (
            c.raised
            and c.part is root.part
            and c.unit.rank == root.unit.rank
            and set(c.known) & set(root.known)
        ):
            return c
    return root


def _thrown(root: Candidate, roots: list[Candidate]) -> Candidate:
    """The exception in which a rank's vain waiting ends, rather than the warnings of its library before it."""
    if root.part is not Part.WAITED or root.raised or root.known or root.unit.level in ("E", "F"):
        return root
    ends = [c for c in roots if c.raised and c.part is Part.WAITED and c.unit.number > root.unit.number]
    own = [c for c in ends if c.unit.rank == root.unit.rank]
    return (own or ends or [root])[0]


def _others(root: Candidate, faults: list[Candidate], breaks: Sequence[int]) -> set[int]:
    """Faults of other processes, or of other logs, with another text: at most one each."""
    out: set[int] = set()
    seen = {root.template}
    sources = {_source(root, breaks)}
    for candidate in faults:
        source = _source(candidate, breaks)
        if source in sources or candidate.chained_to or len(out) == MOST_OTHERS:
            continue
        template = candidate.template
        if template in seen:
            continue
        seen.add(template)
        sources.add(source)
        out.add(candidate.unit.number)
    return out


def _source(candidate: Candidate, breaks: Sequence[int]) -> tuple[int | None, int]:
    return candidate.unit.rank, bisect(breaks, candidate.unit.number)


def _named(root: Candidate, blamed: Blamed | None, same: list[Candidate]) -> Candidate:
    """The root with the rank and host that a launcher's summary gives to it, where its own line has none."""
    unit = root.unit
    if blamed is None or unit.rank is not None or same or root.part in (Part.WAITED, Part.ECHO):
        return root
    if "DUE TO" in unit.text:  # of the whole job, not of one process
        return root
    if unit.host and blamed.told_by and unit.host != blamed.told_by:
        return root
    return replace(root, unit=replace(unit, rank=blamed.rank, host=unit.host or blamed.host))


# What is only an echo of the root, in a few sentences.

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
        ranks = [c.unit.rank for c in chosen.same if c.unit.rank is not None]
        who = sentence(ranks_in_words(ranks)) if ranks else "Other processes"
        out.append(f"{who} raised the same error.")
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
        else f"the {kind} of {ranks_in_words(ranks)}"
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
