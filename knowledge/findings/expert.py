"""Reports that a known failure would not help: those of a regression, and those that name the defect themselves.

Blind readers found the catalogue's answer to such reports to be noise.
"""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path

import re2

from knowledge.evidence import Reading

_FILE = Path(__file__).with_suffix(".toml")


def knows_better(reading: Reading) -> bool:
    """Whether the report describes a regression or already names its cause."""
    # The prose alone: an error message, too, says what it is caused by.
    return bool(_words().search(f"{reading.report.title}\n{reading.prose}"))


@cache
def _words() -> re2._Regexp:
    table = tomllib.loads(_FILE.read_text("utf-8"))
    return re2.compile("(?i)" + "|".join(word for words in table.values() for word in words))
