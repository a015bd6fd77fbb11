"""A line of a report, and the cleaning that gives lines their text."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import re2

from knowledge.evidence.stamps import Stamp

MAX_LINE = 2000
"""Characters of a line that are looked at; longer ones are data dumps, not messages."""

_ANSI = re2.compile(r"\x1b(\[[0-9;?]*[A-Za-z]|\][^\x07\x1b]*(\x07|\x1b\\)|[()][A-Z0-9])")
# C0 and C1 controls but tab, zero-width and bidirectional marks, soft hyphen, byte-order mark.
_INVISIBLE = {
    code: None
    for span in (
        (0x00, 0x08),
        (0x0B, 0x0C),
        (0x0E, 0x1F),
        (0x7F, 0x9F),
        (0xAD, 0xAD),
        (0x200B, 0x200F),
        (0x202A, 0x202E),
        (0x2060, 0x2064),
        (0x2066, 0x206F),
        (0xFEFF, 0xFEFF),
        (0xE0000, 0xE007F),
    )
    for code in range(span[0], span[1] + 1)
}


class Kind(Enum):
    """What a line is, for the reading that follows."""

    PROSE = "prose"
    HEADING = "heading"
    CODE = "code"
    COMMAND = "command"
    LOG = "log"
    ENVIRONMENT = "environment"
    TEMPLATE = "template"
    NOISE = "noise"
    BLANK = "blank"


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the body; `number` is 1-based, `text` is cleaned and without what stood before the message."""

    number: int
    text: str
    kind: Kind
    rank: int | None = None
    fenced: bool = False
    """True inside a code fence or an indented block of Markdown."""
    host: str | None = None
    pid: int | None = None
    time: Stamp | None = None
    level: str | None = None
    """D, I, W, E or F where a logger says it."""
    group: str | None = None
    """The process group that torch names before the message."""


def clean_text(text: str) -> str:
    """Drop escape sequences, control and invisible characters; the number of newlines stays."""
    # A lone surrogate (from broken JSON) has no UTF-8 form: RE2 and every encoder after it would refuse the text.
    text = text.encode("utf-8", "replace").decode("utf-8").replace("\r\n", "\n")
    if "\x1b" in text:
        text = _ANSI.sub("", text)
    return text.translate(_INVISIBLE)


def split_lines(text: str) -> list[str]:
    """Lines of a cleaned text; of a line redrawn with carriage returns only the last state is kept."""
    return [line.rstrip("\r").rpartition("\r")[2][:MAX_LINE].rstrip() for line in text.split("\n")]
