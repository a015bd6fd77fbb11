"""The folded sections of the GitHub comment."""

from __future__ import annotations

from bot.gate.quote import code_span, fenced
from bot.render.frame import Frame
from knowledge.triage import AXES, Triage

_FOLD_CHARS = 700
"""What a fold's own words take beside the script."""


def fold(summary: str, body: str) -> str:
    """A closed section. The blank lines end the HTML, so that what is inside is Markdown again."""
    return f"<details>\n<summary>{summary}</summary>\n\n{body}\n\n</details>"


def script_fold(script: str, say: Frame, room: int) -> list[str]:
    """The script with one line on how to run it, within `room` characters: half a script is no script."""
    if not script.strip():
        return []
    if len(script) > room - _FOLD_CHARS:
        return [say("script_long")]
    block = fenced(script.strip("\n"), "python")
    return [fold(say("script"), f"{say('script_run')}\n\n{block}")]


def explain_fold(triage: Triage, say: Frame) -> list[str]:
    """What was asked for with `/triage explain`: the ranking of every axis and its answer set."""
    lines = []
    for name in AXES:
        axis = getattr(triage, name)
        ranking = ", ".join(f"{code_span(r.id)} {round(100 * r.p)} %" for r in axis.ranking[:5])
        entry = say("explain_axis", axis=name, ranking=ranking or "—")
        if axis.answer_set:
            ids = ", ".join(code_span(id_) for id_ in axis.answer_set[:8])
            entry += "; " + say("explain_set", ids=ids)
        lines.append(f"- {entry}")
    lines += [f"- {code_span(s.id)}: {code_span(s.meaning)}" for s in triage.evidence.signatures[:8]]
    return [fold(say("explain"), "\n".join(lines))]


def correct_fold(say: Frame) -> list[str]:
    """How to correct, dismiss or switch off, and what this comment is."""
    return [fold(say("correct"), f"{say('correct_how')}\n\n{say('footer')}")]
