"""What to do now: the one or two steps that every short form of a triage begins with."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from bot.render.answer import written
from bot.render.wording import classified, opening, usual_fixes, without_bold
from knowledge.taxonomy import Taxonomy
from knowledge.triage import Triage

Place = Callable[[int], str]
"""What a line of the body is called: "line 12", or "rank1.log:3" where several files were read as one report."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where a report came from."""

    command: str = "bot triage REPORT"
    """The command line that triages it, without options."""
    script: str | None = None
    """The file that the diagnostics script was written to."""
    place: Place = "line {}".format


NOW = "do this now"
THEN = "then"
FAINT = 0.12
"""A finding below this probability is one among several; the report's own error is looked at first."""
_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z`\"(])")


def decision(triage: Triage, source: Source) -> list[tuple[str, str]]:
    """Up to two steps, the first labelled `NOW`; empty where there is nothing to do (not a failure of the field).

    A sure finding is fixed, then checked; a possible one is checked before anything is changed; before a faint one
    comes the error that the report itself shows.
    """
    steps = _written_steps(triage) or (_finding_steps(triage, source) if triage.findings else [])
    if not steps and triage.scope == "ours" and triage.type.top in (None, "fault"):
        steps = _general_steps(triage) or _script_steps(triage, source.command)
    return list(zip((NOW, THEN), steps, strict=False))


def first_sentence(text: str) -> str:
    """The first sentence of one of our texts."""
    return _END.split(text, maxsplit=1)[0]


def brief(triage: Triage, taxonomy: Taxonomy, source: Source) -> list[tuple[str, str]]:
    """(label, text) rows of the shortest form: the finding, why, what to do."""
    root = _root(triage, source)
    if triage.findings:
        first = triage.findings[0]
        rows = [("found", f"{opening(first)}: {first.title}")]
        rows += [("why", first_sentence(without_bold(first.answer)))]
    elif triage.measured:
        rows = [("found", triage.measured[0])]
    else:
        rows = [("found", classified(triage, taxonomy)), *([("why", root)] if root else [])]
    return [*rows, *decision(triage, source)]


def _root(triage: Triage, source: Source) -> str | None:
    """The error that came first, with its place and rank."""
    line = next((q for q in triage.evidence.lines if q.role == "root" and not q.in_title), None)
    if line is None:
        return None
    rank = "" if line.rank is None else f" rank {line.rank}"
    return f"{source.place(line.line)}{rank}: {' '.join(line.text.split())}"


def _written_steps(triage: Triage) -> list[str]:
    answer = written(triage)
    if answer is None:
        return []
    said = [s.text for role in ("check", "fix") for s in answer.sentences if s.role == role]
    return said[:2]


def _finding_steps(triage: Triage, source: Source) -> list[str]:
    finding = triage.findings[0]
    root = _root(triage, source)
    look = [f"look at the first error, {root}"] if root and finding.p < FAINT and not finding.lines else []
    check, fix = finding.check[:1], finding.remedy[:1]
    return [*look, *(without_bold(text) for text in ([*fix, *check] if finding.sure else [*check, *fix]))]


def _general_steps(triage: Triage) -> list[str]:
    steps = [c.text for c in triage.evidence.conflicts if c.explains_line is not None][:1]
    steps += [f"{check.run}: {check.reading}" for check in triage.checks[:1]]
    steps += [item.ask for item in triage.missing[:1]]
    steps += [fix.text for fix in usual_fixes(triage, 2)[:1]]
    return steps[:2]


def _script_steps(triage: Triage, command: str) -> list[str]:
    if not triage.script:
        return []
    return [
        f"{command} --out-script diagnose.sh",
        f"where the job fails: sh diagnose.sh > result.txt, then {command} --result result.txt",
    ]
