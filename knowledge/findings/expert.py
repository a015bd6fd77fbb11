"""Reports that a known failure would not help: those of a regression, and those that name the defect themselves.

Blind readers found the catalogue's answer to such reports to be noise.
"""

from __future__ import annotations

import re2

from knowledge.evidence import Reading

_REGRESSION = re2.compile(
    r"(?i)\bregression\b|\bused to work\b|\bno longer works?\b|\b(?:since|after) (?:the )?(?:upgrad|updat)\w+"
    r"|\bwork(?:s|ed|ing)? (?:fine |well |ok |as expected )?(?:in|with|on|using|before) (?:the )?"
    r"(?:v?\d+\.\d|previous|older|earlier|last)|\bdowngrad\w+ (?:to|from|fix|help|solv)"
)
_DIAGNOSED = re2.compile(
    r"(?i)\bcaused by\b|\b(?:this|it|error) (?:is|was|seems) caused\b|\bhappens because\b|\broot cause (?:is|was)\b"
    r"|\bthe (?:problem|issue|cause|bug) (?:is|was) (?:that|in|with|due|caused)\b"
    r"|\bI think the (?:problem|issue|bug|cause|fix)\b"
    r"|\bthe (?:proper |correct |right )?fix (?:is|would|could)\b|github\.com/[\w.-]+/[\w.-]+/(?:blob|pull|commit)/"
)


def knows_better(reading: Reading) -> bool:
    """Whether the report tells of a regression or already names its cause."""
    text = f"{reading.report.title}\n{reading.prose}"  # an error message, too, says what it is caused by
    return bool(_REGRESSION.search(text) or _DIAGNOSED.search(text))
