"""A triage as Markdown, for a file or a ticket; the GitHub comment has its own form in comment.py."""

from __future__ import annotations

from bot.render.answer import answer_parts, earlier_parts, similar, written
from bot.render.findings import fold, linked, quoted
from bot.render.wording import (
    ANSWER,
    DIAGNOSTICS,
    FINDINGS_TOLD,
    NARROW_DOWN,
    NO_FINDING,
    ONLY_NEAREST,
    SIMILAR,
    TRIED,
    TRIED_ALREADY,
    classified,
    is_guess,
    named,
    opening,
    percent,
    supported,
    usual_fixes,
    with_cases,
)
from knowledge.taxonomy import Taxonomy
from knowledge.text.quote import code_block, code_span, prose
from knowledge.triage import Finding, Triage

VISIBLE_FIXES = 2
ITEMS_OF_FIRST = 3
"""Fixes and checks listed of the likeliest finding; of the others the answer alone."""


def markdown_of(triage: Triage, taxonomy: Taxonomy, *, script: bool = False) -> str:
    """The triage as Markdown, the decision first; whatever comes from a report is quoted so that it cannot act."""
    parts = [f"## Triage of {code_span(triage.id)}", *_answer(triage), *_findings(triage)]
    parts += earlier_parts(triage.same_failure)
    if not any(f.sure or f.lines for f in triage.findings):
        parts += _advice(triage)
    parts += [f"Version problem: {prose(c.text)} ({c.source})" for c in triage.evidence.conflicts[:2]]
    if triage.measured:
        parts.append(f"**{DIAGNOSTICS}**\n\n" + "\n".join(f"- {prose(text)}" for text in triage.measured))
    if triage.missing:
        parts.append(f"{NARROW_DOWN}:\n\n" + "\n".join(f"- {item.ask}" for item in triage.missing[:2]))
    if not triage.findings:
        parts.append(prose(classified(triage, taxonomy)))
    parts += [fold("Evidence, classification, similar issues", "\n\n".join(_details(triage, taxonomy)))]
    if triage.script and script:
        parts.append(fold("Diagnostics script", code_block(triage.script, "python")))
    return "\n\n".join(parts) + "\n"


def _answer(triage: Triage) -> list[str]:
    answer = written(triage)
    if answer is None:
        return []
    return [f"### {ANSWER} {code_span(answer.model, 60)}", *answer_parts(answer)[0]]


def _findings(triage: Triage) -> list[str]:
    if not triage.findings:
        return [NO_FINDING] if triage.type.answer == ["fault"] else []
    first, *others = triage.findings[:FINDINGS_TOLD]
    parts = [ONLY_NEAREST] if is_guess(first) else []
    parts.append(f"### {opening(first)}: {prose(first.title, 120)}")
    if first.lines:
        parts.append(quoted(first.lines))
    parts.append(prose(first.answer, 520) + (f" {TRIED_ALREADY}" if first.tried else ""))
    parts += _items(first)
    parts += [
        f"**{opening(other)}: {prose(other.title, 120)}**. {prose(other.answer, 520)}" for other in others
    ]
    return parts


def _items(finding: Finding) -> list[str]:
    checks = [f"- Check: {prose(text.replace('**', ''), 300)}" for text in finding.check[:1]]
    fixes = [f"- Fix: {prose(text.replace('**', ''), 300)}" for text in finding.remedy[:ITEMS_OF_FIRST]]
    whole = f"- Whole entry: `bot failures show {finding.id}`"
    return ["\n".join([*checks, *fixes, whole])]


def _advice(triage: Triage) -> list[str]:
    fixes = usual_fixes(triage, VISIBLE_FIXES)
    if not fixes:
        return []
    lines = [f"- {prose(f.text)}" for f in fixes]
    return [f"{TRIED}:\n\n" + "\n".join(lines)]


def _details(triage: Triage, taxonomy: Taxonomy) -> list[str]:
    parts = []
    evidence = triage.evidence
    if evidence.lines:
        parts.append(quoted(evidence.lines))
    facts = [f"{name} {code_span(version)}" for name, version in evidence.versions.items()]
    if facts:
        parts.append("Versions: " + ", ".join(facts))
    parts += [f"- Note: {prose(note)}" for note in evidence.notes]
    parts += [prose(classified(triage, taxonomy))] if triage.findings else []
    rows = [
        f"- {axis}: " + ", ".join(f"{prose(named(taxonomy, axis, r.id))} {r.p:.0%}" for r in ranking[:3])
        for axis in ("type", "stage", "symptom", "cause", "fix")
        if (ranking := getattr(triage, axis).ranking)
    ]
    rows += [f"- {prose(f.name)}: {supported(f.support)}" for f in with_cases(triage.advice)]
    rows += [
        f"- Known failure {code_span(f.id)}: {percent(f.p)}. Sources: {', '.join(map(linked, f.sources[:5]))}"
        for f in triage.findings
    ]
    parts.append("\n".join(rows))
    if cases := similar(triage, triage.findings):
        parts.append(f"{SIMILAR}:")
        parts += [f"- [{prose(case.title)}]({case.url}): {prose(case.resolution or '')}" for case in cases]
    return parts
