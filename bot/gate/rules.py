"""What may pass: known ids, labels that exist, links to what was shown; and the types of what has passed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import NewType

import re2

from knowledge.errors import DistriageError
from knowledge.triage import AXES, AxisName, Triage


def check_ids(triage: Triage, ids: Callable[[AxisName], frozenset[str]]) -> None:
    """`GateError` when an axis ranks, claims or advises an id that the taxonomy has not."""
    broken = []
    for name in AXES:
        axis = getattr(triage, name)
        named = {r.id for r in axis.ranking} | set(axis.answer) | set(axis.answer_set)
        if name == "fix":
            named |= {fix.id for fix in triage.advice.fixes}
        if named - ids(name):
            broken.append(f"unknown id of {name}")
    if broken:
        raise GateError(broken)


def pass_labels(
    wanted: Iterable[str], mapped: Collection[str], existing: Collection[str]
) -> list[PassedLabel]:
    """Those of `wanted` that are in the map and exist; GitHub compares names without case."""
    shown = {name.casefold(): name for name in existing}
    allowed = {name.casefold() for name in mapped}
    keys = [name.casefold() for name in wanted]
    return [PassedLabel(shown[key]) for key in keys if key in allowed and key in shown]


_GITHUB = re2.compile(
    r"^https://(?:www\.)?github\.com/([A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+/(?:issues|pull|discussions)/[0-9]+)$"
)

_PAGE = re2.compile(r"^https://[a-z0-9.-]+(?::[0-9]+)?(?:/[A-Za-z0-9_.~%#=&?+/-]*)?$")

LINK_HOST = "redirect.github.com"
"""GitHub's own redirect: a link through it leaves no "mentioned this" mark on the issue it points to."""


def case_link(url: str) -> str | None:
    """The link to show for a case, None when its address is not that of a GitHub thread."""
    match = _GITHUB.match(url) if url.isascii() else None
    return f"https://{LINK_HOST}/{match.group(1)}" if match else None


def source_link(url: str) -> str | None:
    """The link to show for a source of ours: a GitHub thread as `case_link`, else a plain https address."""
    return case_link(url) or (url if url.isascii() and _PAGE.match(url) else None)


PassedMarkdown = NewType("PassedMarkdown", str)
"""Markdown for GitHub; made only by `bot.gate.markdown.pass_markdown`."""

PassedLabel = NewType("PassedLabel", str)
"""A label's name; made only by `bot.gate.rules.pass_labels`."""


class GateError(DistriageError):
    """The gate refuses a write; `violations` name the rules broken, without the offending text."""

    def __init__(self, violations: list[str]) -> None:
        super().__init__("the gate refuses this write: " + "; ".join(violations))
        self.violations = violations
