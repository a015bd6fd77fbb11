"""Earlier reports of the repository that show the same failure: which, why, and how they ended."""

from __future__ import annotations

from collections.abc import Sequence

from bot.gate.rules import source_link
from knowledge.text.quote import code_span, prose
from knowledge.triage import EarlierReport

SAME_FAILURE = "This looks like the same failure as"
TITLE_CHARS = 90


def earlier_parts(earlier: Sequence[EarlierReport]) -> list[str]:
    """In Markdown: one report in a sentence, two as a list."""
    told = [_told(one) for one in earlier]
    if len(told) < 2:
        return [f"{SAME_FAILURE} {one}" for one in told]
    return [f"{SAME_FAILURE}:", "\n".join(f"- {one}" for one in told)]


def earlier_links(earlier: Sequence[EarlierReport]) -> list[str]:
    """The addresses that `earlier_parts` links to."""
    return [link for one in earlier if (link := source_link(one.url))]


def reasons(one: EarlierReport) -> str:
    """What the two have in common, as one piece of a sentence."""
    return ", ".join(one.why)


def ending(one: EarlierReport) -> str:
    """How the earlier report stands or ended, as a sentence; "" where that is not known."""
    return f"It {'is' if one.is_open else 'was'} {one.ended}." if one.ended else ""


def _told(one: EarlierReport) -> str:
    link, name = source_link(one.url), code_span(one.id, 80)
    shown = f"[{name}]({link})" if link else name
    ended = ending(one)
    told = f"{shown} ({prose(one.title, TITLE_CHARS)}): {prose(reasons(one), 400)}."
    return f"{told} {prose(ended, 300)}" if ended else told
