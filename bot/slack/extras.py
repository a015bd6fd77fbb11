"""What an answer keeps behind its button: similar cases, every axis' ranking, known errors, versions."""

from __future__ import annotations

from slack_sdk.models.blocks import Block

from bot.gate.mrkdwn import code, prose
from bot.render.wording import SIMILAR
from bot.slack.view import Links, View, section
from knowledge.triage import AXES

_CASES = 5


def extras(view: View, links: Links) -> list[Block]:
    """The folded part; blocks that have nothing to say are left out."""
    found = view.triage.evidence
    blocks = cases(view, links)
    blocks.append(section(["*How sure, axis by axis*", *(_axis(view, name) for name in AXES)]))
    if found.signatures:
        known = [f"• {code(s.id, 60)}: {prose(s.meaning, 150)}" for s in found.signatures[:6]]
        blocks.append(section(["*Known errors in the text*", *known]))
    told = [f"{code(name, 30)} {code(version, 40)}" for name, version in list(found.versions.items())[:12]]
    if found.launcher:
        told.append(f"launcher {code(found.launcher, 40)}")
    if found.world_size is not None:
        told.append(f"world size {found.world_size}")
    if told:
        blocks.append(section([f"*Read from the text*: {', '.join(told)}"]))
    return blocks


def cases(view: View, links: Links) -> list[Block]:
    """The nearest labelled cases, with links."""
    lines = []
    for case in view.triage.neighbours[:_CASES]:
        line = f"• {links(case.url, case.id)} — {code(case.title, 100)}"
        lines.append(line + (f". Resolved by: {prose(case.resolution, 120)}" if case.resolution else ""))
    return [section([f"*{SIMILAR}*", *lines])] if lines else []


def _axis(view: View, name: str) -> str:
    axis = getattr(view.triage, name)
    ranking = ", ".join(f"{code(r.id, 50)} {round(100 * r.p)} %" for r in axis.ranking[:4])
    line = f"• {name}: {ranking or '—'}"
    if axis.answer_set:
        line += f"; answer set: {', '.join(code(i, 50) for i in axis.answer_set[:8])}"
    return line
