"""What `bot doctor` reports of one thing that it looked at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Checked:
    """One thing looked at; `remedy` says what to do, "" when nothing."""

    state: Literal["ok", "missing", "broken"]
    subject: str
    text: str
    remedy: str = ""
