"""The bytes that a user points at, as text: bounded, decoded, refused when they are no text."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from knowledge.errors import InputError

MAX_BYTES = 8_000_000
"""Read of one report; of a longer one the first three quarters of this and its end."""
_TAIL = MAX_BYTES // 4
_CONTROL_SHARE = 0.02


@dataclass(frozen=True, slots=True)
class Gap:
    """What was left out of a long text: `lines` of them after line `after`."""

    after: int
    lines: int
    note: str


def printable(text: str) -> str:
    """The text without what a terminal would obey: control characters and escape sequences become U+FFFD."""
    return "".join(char if char.isprintable() else "\ufffd" for char in text)


def read_bytes(path: str) -> tuple[bytes, Gap | None]:
    """The bytes of a file, or of standard input for "-". Raises InputError when they cannot be read."""
    try:
        if path == "-":
            return _bounded(sys.stdin.buffer)
        with Path(path).open("rb") as file:
            return _bounded(file)
    except IsADirectoryError as error:
        raise InputError(
            f"{printable(path)} is a folder.", "Name the files in it, or a .jsonl batch."
        ) from error
    except OSError as error:
        raise InputError(
            f"{printable(path)} cannot be read: {error.strerror}.", "Check the path; - reads standard input."
        ) from error


def _bounded(file: BinaryIO) -> tuple[bytes, Gap | None]:
    """The whole file, or its start and its end; what lies between is read to count its lines."""
    start = file.read(MAX_BYTES + 1)
    if len(start) <= MAX_BYTES:
        return start, None
    head, tail = start[: MAX_BYTES - _TAIL], start[-_TAIL:]
    size, newlines = len(start), start.count(b"\n")
    while block := file.read(1 << 20):
        size += len(block)
        newlines += block.count(b"\n")
        tail = (tail + block)[-_TAIL:]
    after = head.count(b"\n") + 1
    kept = f"the first {(MAX_BYTES - _TAIL) // 10**6} MB and the last {_TAIL // 10**6} MB"
    note = f"only {kept} of {size // 10**6} MB were read"
    # The end begins in the middle of a line, which gets the number that the file gives to it.
    left_out = newlines - tail.count(b"\n") - after
    return head + b"\n" + tail, Gap(after, left_out, note)


def decode(raw: bytes, name: str) -> tuple[str, list[str]]:
    """Text, and what had to be replaced in it. Raises InputError for what is no text."""
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        return raw.decode("utf-16", "replace"), []
    if b"\0" in raw[:4096] or _looks_binary(raw):
        raise InputError(f"{name} is binary, not text.", "Give the log or report as plain text (UTF-8).")
    try:
        return raw.decode("utf-8-sig"), []
    except UnicodeDecodeError:
        text = raw.decode("utf-8", "replace")
        broken = text.count("\ufffd")
        return text, [f"{broken} byte sequences were not UTF-8 and were replaced"]


def _looks_binary(raw: bytes) -> bool:
    sample = raw[:65536]
    control = sum(sample.count(bytes([code])) for code in range(32) if code not in (7, 8, 9, 10, 12, 13, 27))
    return len(sample) > 32 and control / len(sample) > _CONTROL_SHARE
