"""What resolved such cases: the first fix with its advice, the next ones by name until "More" is pressed."""

from __future__ import annotations

from slack_sdk.models.blocks import Block

from bot.gate.mrkdwn import prose
from bot.render.wording import TRIED
from bot.slack.view import Links, View, section
from knowledge.triage import FixAdvice

SHOWN = 3


def fixes(view: View, links: Links) -> list[Block]:
    """The most probable fixes, with how many labelled cases stand behind each and links to near ones."""
    found = [f for f in view.triage.advice.fixes if f.support.count and f.id != "framework_version"][:SHOWN]
    if not found:
        return []
    told = len(found) if view.extras else 1
    parts = [_fix(place, fix, view, links, whole=place <= told) for place, fix in enumerate(found, 1)]
    return [section([f"*{TRIED}*", *parts[0]]), *map(section, parts[1:])]


def _fix(place: int, fix: FixAdvice, view: View, links: Links, *, whole: bool) -> list[str]:
    count, of = fix.support.count, fix.support.of
    behind = f"{count or 'none'} of {of} {prose(fix.support.scope, 100)}"
    lines = [f"{place}. *{prose(fix.name, 80)}* — {behind}"]
    if whole:
        lines.append(f"   {prose(fix.text, 350)}")
    near = [n for n in view.triage.neighbours if fix.id in n.labels.fix][:2]
    if near:
        cases = "A near case" if len(near) == 1 else "Near cases"
        lines.append(f"   {cases} that it resolved: {', '.join(links(n.url, n.id) for n in near)}")
    return lines
