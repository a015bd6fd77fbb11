"""Values that have passed the gate; whatever writes to the outside takes only these."""

from __future__ import annotations

from typing import NewType

from knowledge.errors import DistriageError

PassedMarkdown = NewType("PassedMarkdown", str)
"""Markdown for GitHub; made only by `bot.gate.markdown.pass_markdown`."""

PassedLabel = NewType("PassedLabel", str)
"""A label's name; made only by `bot.gate.labels.pass_labels`."""


class GateError(DistriageError):
    """The gate refuses a write; `violations` name the rules broken, without the offending text."""

    def __init__(self, violations: list[str]) -> None:
        super().__init__("the gate refuses this write: " + "; ".join(violations))
        self.violations = violations
