"""The only words of a model that people may see: one plain sentence or two, or nothing.

Narrower than the gate, which checks the finished comment again: no link, code, command, reference, markup.
"""

from __future__ import annotations

import unicodedata

import re2

from knowledge.text.hazards import has_unseen, hazards
from knowledge.text.quote import prose

MAX_CHARS = 300

_ALLOWED = re2.compile(r"^[\pL\pN .,:;'()%-]+$")
_DOMAIN = re2.compile(r"\pL\w*\.\pL{2,}")
_FLAG = re2.compile(r"(^|[ (])-+\pL|--")
_COMMAND = re2.compile(
    r"(?i)\b(?:sudo|curl|wget|chmod|chown|pip3?|conda|mamba|npm|npx|apt|apt-get|yum|brew|git|docker|kubectl|ssh|scp"
    r"|bash|zsh|powershell|cmd|eval|exec|rm|dd|mkfs|nc|base64|python3?|mpirun|torchrun)\b"
)
_LINE_NUMBER = re2.compile(r"(?i)\blines?\b[ #:]*([0-9]+(?:(?:,| and| to|-| or)? ?[0-9]+)*)")
_NUMBER = re2.compile(r"[0-9]+")


def plain_reason(text: str) -> str | None:
    """The text when it is plain and at most 300 characters, else None; white space is folded."""
    text = " ".join(text.split())
    if not text or len(text) > MAX_CHARS or has_unseen(text) or unicodedata.normalize("NFKC", text) != text:
        return None
    if not _ALLOWED.match(text) or hazards(text):
        return None
    if _DOMAIN.search(text) or _FLAG.search(text) or _COMMAND.search(text):
        return None
    # What the gate's own quoting would turn into code is not plain.
    return text if prose(text, MAX_CHARS) == text else None


def line_numbers(text: str) -> set[int]:
    """Numbers that the words themselves call lines ("lines 12 and 14")."""
    found = (str(match.group(1)) for match in _LINE_NUMBER.finditer(text))
    return {int(number[:9]) for numbers in found for number in _NUMBER.findall(numbers)}
