"""The folded sections of the GitHub comment."""

from __future__ import annotations

from knowledge.text.quote import code_span
from knowledge.triage import AXES, Triage

BY_PROGRAM = "This reply was written by a program from a catalogue of known failures and the lines it quotes."
BY_COMPARISON = (
    "This reply was written by a program that compared the report with this repository's earlier issues."
)
FEEDBACK = (
    "A maintainer can correct it (`/triage symptom=D.2.1 cause=network_environment`), run it again (`/triage`) or "
    "switch it off for this repository (`/triage off`). The author can hide it with `/triage dismiss` and see how it "
    "was reached with `/triage explain`."
)


def fold(summary: str, body: str) -> str:
    """A closed section. The blank lines end the HTML, so that what is inside is Markdown again."""
    return f"<details>\n<summary>{summary}</summary>\n\n{body}\n\n</details>"


def explain_fold(triage: Triage) -> str:
    """What was asked for with `/triage explain`: the ranking of every axis and its answer set."""
    lines = []
    for name in AXES:
        axis = getattr(triage, name)
        ranking = ", ".join(f"{code_span(r.id)} {round(100 * r.p)}%" for r in axis.ranking[:5])
        entry = f"{name}: {ranking or '—'}"
        if axis.answer_set:
            entry += f"; answer set: {', '.join(code_span(id_) for id_ in axis.answer_set[:8])}"
        lines.append(f"- {entry}")
    lines += [f"- known failure {code_span(f.id)} {round(100 * f.p)}%" for f in triage.findings]
    lines += [f"- {code_span(s.id)}: {code_span(s.meaning)}" for s in triage.evidence.signatures[:8]]
    return fold("How this was reached", "\n".join(lines))


def script_fold(link: str) -> str:
    """Where to get the diagnostics script, and how to give back what it prints."""
    return fold(
        "Diagnostics script",
        f"A read-only script made for this report: [diagnose.sh]({link}). Read it, run `sh diagnose.sh` the way the "
        "job is run, then comment `/triage result` with its output below.",
    )


def feedback_fold(by_model: str | None = None, *, from_history: bool = False) -> str:
    """What wrote this (`by_model`: the LLM's name), and how to correct, dismiss or switch it off.

    `from_history`: it says nothing but that the repository's earlier issues hold the same failure.
    """
    if by_model is None:
        by_program = BY_COMPARISON if from_history else BY_PROGRAM
        return fold("Automated reply. Wrong or not useful?", f"{by_program} {FEEDBACK}")
    who = (
        f"This reply was drafted by a language model ({code_span(by_model, 60)}). A program checked it against the "
        "report and the catalogue of known failures, and a second call tried to refute it."
    )
    return fold("Automated reply by a language model. Wrong or not useful?", f"{who} {FEEDBACK}")
