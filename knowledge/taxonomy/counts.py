"""Counts over the imported labels of study 1, and the data file that ships them.

`python -m knowledge.taxonomy.counts final_categories.xlsx` rewrites study1_counts.json.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from knowledge.taxonomy.study1 import Fault, HowTo, ImportedStudy, import_labels

SOURCE = "Liu et al., TOSEM 2023: counted by the importer in final_categories.xlsx of the replication package"


@dataclass(frozen=True, slots=True)
class ScopeCount:
    """Faults of a scope (leaf, inner stage, stage or "all"), and those specific to distributed training."""

    faults: int
    distributed: int


@dataclass(frozen=True, slots=True)
class FixCount:
    """Distributed-specific faults whose only pattern this is, and those that have it among theirs."""

    single: int
    any: int


@dataclass(frozen=True)
class StudyCounts:
    """The study's tables: `scopes` (1.1, 1.2), `fixes` per scope and fix (1.3, 1.4), `topics` of how-tos."""

    scopes: dict[str, ScopeCount]
    fixes: dict[str, dict[str, FixCount]]
    fix_faults: dict[str, ScopeCount]
    topics: dict[str, int]
    subtopics: dict[str, dict[str, int]]


def count(study: ImportedStudy) -> StudyCounts:
    """All tables of a study; scopes and fixes that do not occur are left out."""
    everywhere = [(scope, fault) for fault in study.faults for scope in scopes_of(fault)]
    order = sorted({scope for scope, _ in everywhere}, key=_by_scope)
    grouped = {scope: [fault for at, fault in everywhere if at == scope] for scope in order}
    topics = Counter(howto.topic for howto in study.howtos)
    return StudyCounts(
        scopes={scope: _scope_count(faults) for scope, faults in grouped.items()},
        fixes={scope: _fix_counts(faults) for scope, faults in grouped.items()},
        fix_faults=_fix_faults(study.faults),
        topics=dict(topics.most_common()),
        subtopics={topic: _subtopics(study.howtos, topic) for topic in topics},
    )


def scopes_of(fault: Fault) -> list[str]:
    """Every scope a fault counts for: its leaf, D.other, its inner stage, its stage, "all"."""
    scopes = [fault.symptom]
    if fault.stage == "D":
        scopes.append(fault.symptom[:3])
        if fault.symptom.endswith(".other"):
            scopes.append("D.other")
    return [*scopes, fault.stage, "all"]


def as_json(counts: StudyCounts) -> dict[str, Any]:
    """The shape of study1_counts.json (only "any" counts per scope; the paper's "single" ones per stage)."""
    stages = ("A", "B", "C", "D", "all")
    return {
        "source": SOURCE,
        "scopes": {scope: asdict(c) for scope, c in counts.scopes.items()},
        "fixes": {fix: asdict(c) for fix, c in counts.fix_faults.items()},
        "fixes_by_scope": {s: {f: c.any for f, c in by_fix.items()} for s, by_fix in counts.fixes.items()},
        "single_fixes_by_stage": {
            s: {f: c.single for f, c in counts.fixes[s].items() if c.single}
            for s in stages
            if s in counts.fixes
        },
        "topics": {
            t: {"howtos": n, "subtopics": dict(sorted(counts.subtopics[t].items()))}
            for t, n in counts.topics.items()
        },
    }


def write_counts(sheet: Path, target: Path) -> StudyCounts:
    """Count the sheet and write the data file. DataError when the sheet cannot be read."""
    counts = count(import_labels(sheet))
    target.write_text(json.dumps(as_json(counts), indent=1, ensure_ascii=False) + "\n", "utf-8")
    return counts


def _scope_count(faults: Iterable[Fault]) -> ScopeCount:
    listed = list(faults)
    return ScopeCount(len(listed), sum(fault.distributed for fault in listed))


def _fix_counts(faults: Iterable[Fault]) -> dict[str, FixCount]:
    distributed = [fault for fault in faults if fault.distributed]
    any_ = Counter(fix for fault in distributed for fix in fault.fix)
    single = Counter(fault.fix[0] for fault in distributed if len(fault.fix) == 1)
    return {fix: FixCount(single[fix], n) for fix, n in sorted(any_.items(), key=lambda i: (-i[1], i[0]))}


def _fix_faults(faults: Iterable[Fault]) -> dict[str, ScopeCount]:
    listed = list(faults)
    by_fix = {fix: [f for f in listed if fix in f.fix] for fix in sorted({x for f in listed for x in f.fix})}
    return {fix: _scope_count(having) for fix, having in by_fix.items()}


def _subtopics(howtos: Iterable[HowTo], topic: str) -> dict[str, int]:
    return dict(Counter(h.subtopic for h in howtos if h.topic == topic and h.subtopic))


def _by_scope(scope: str) -> tuple[object, ...]:
    return (
        scope == "all",
        *((not part.isdigit(), int(part) if part.isdigit() else part) for part in scope.split(".")),
    )


if __name__ == "__main__":
    write_counts(Path(sys.argv[1]), Path(__file__).with_name("study1_counts.json"))
