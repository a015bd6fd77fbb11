"""A triage as Markdown, for a file or a ticket; the GitHub comment has its own form in comment.py."""

from __future__ import annotations

from bot.gate.quote import code_block, code_span, prose
from bot.render.sayings import headline, labels_line, source_mark, supported, verdict
from knowledge.taxonomy import Taxonomy
from knowledge.triage import Triage


def markdown_of(triage: Triage, taxonomy: Taxonomy, *, script: bool = True) -> str:
    """The triage as Markdown; whatever comes from a report is quoted so that it cannot act."""
    parts = [
        f"## Triage of {code_span(triage.id)}",
        f"**{headline(triage, taxonomy)}**",
        _axes(triage, taxonomy),
    ]
    evidence = triage.evidence
    if evidence.lines:
        quoted = "\n".join(f"{'title' if q.in_title else q.line}: {q.text}" for q in evidence.lines)
        parts.append(f"### Evidence\n\n{code_block(quoted)}")
    parts += [f"- {prose(s.meaning)}" for s in evidence.signatures[:3]]
    facts = [f"{name} {code_span(version)}" for name, version in evidence.versions.items()]
    if facts:
        parts.append("Versions: " + ", ".join(facts))
    parts += [f"- {prose(c.text)} ({c.source})" for c in evidence.conflicts]
    parts += [f"- Note: {prose(note)}" for note in evidence.notes]
    if triage.measured:
        parts.append("### Measured\n\n" + "\n".join(f"- {prose(sentence)}" for sentence in triage.measured))
    if triage.advice.fixes:
        parts.append("### What resolved such cases")
        parts += [
            f"{n}. **{fix.name}** ({fix.p:.0%}; {supported(fix.support)}). {fix.text}"
            for n, fix in enumerate(triage.advice.fixes, start=1)
        ]
    if triage.neighbours:
        parts.append("### Similar cases")
        parts += [
            f"- [{prose(c.title)}]({c.url}) ({prose(labels_line(c.labels))}; {source_mark(c.label_source)})"
            + (f": {prose(c.resolution)}" if c.resolution else "")
            for c in triage.neighbours
        ]
    if triage.missing:
        parts.append("### To say more, please add")
        parts += [f"- {item.ask}" for item in triage.missing]
    if triage.script and script:
        parts.append(f"### Diagnostics script\n\n{code_block(triage.script)}")
    return "\n\n".join(parts) + "\n"


def _axes(triage: Triage, taxonomy: Taxonomy) -> str:
    rows = ["| | judged | else |", "|---|---|---|"]
    names = ("type", "stage", "symptom", "cause") if triage.type.top == "fault" else ("type",)
    for name in names:
        claimed, others = verdict(getattr(triage, name), taxonomy, name)
        rows.append(f"| {name} | {claimed} | {others} |")
    return "\n".join(rows)
