"""What the author of a report holds for the cause, in their own words."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import re2

from knowledge.evidence.lines import Kind, Line
from knowledge.evidence.units import sentences

_SAYS_WHY = (
    r"\b(?:is|was|are|were|be|seems?|error|issue|problem) caused by\b",
    r"\bhappens because\b",
    r"\b(?:root cause|culprit|reason(?: for (?:this|that|the \w+))?) (?:is|was|seems|appears)\b",
    r"\bthe (?:\w+ )?(?:problem|issue|cause|bug) (?:is|was|seems to be) (?:that|because|caused|due)\b",
    r"\bturns out (?:that|to be|the)\b",
    r"\bI (?:think|believe|suspect|guess|assume)\b.{0,70}\b(?:because|due to|caused by)\b",
    r"\b(?:this|it) (?:is|was|seems to be) (?:because|due to)\b",
)
REASON = 4
"""Words that have to follow: "The issue is caused by" alone says nothing."""


@cache
def _says_why() -> re2._Regexp:
    return re2.compile("(?i)" + "|".join(_SAYS_WHY))


def own_diagnosis(lines: Sequence[Line]) -> tuple[int, str, int] | None:
    """The first sentence that names a cause: 1-based line, text, where in it the words stand; None = none does."""
    for line in lines:
        # A cheap look first: most of a report is no prose, and most prose explains nothing.
        if line.kind is not Kind.PROSE or not _says_why().search(line.text):
            continue
        for sentence in sentences(line.text):
            found = _says_why().search(sentence)
            if found and not sentence.endswith("?") and len(sentence[found.end() :].split()) >= REASON:
                return line.number, sentence, found.start()
    return None
