"""From what a user points at (a file, standard input, a JSON issue, a batch) to reports."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import urlsplit

from bot.pasted import pasted_report
from knowledge.errors import InputError
from knowledge.report import Report

MAX_BYTES = 8_000_000
"""Read of one report; of a longer one the first three quarters of this and its end."""
MAX_BATCH_LINE = 64_000_000
_TAIL = MAX_BYTES // 4
_CONTROL_SHARE = 0.02


@dataclass(frozen=True, slots=True)
class BadRecord:
    """A line of a batch that is no report; the batch goes on and says so in its place."""

    id: str
    error: str


def read_input(path: str) -> Report:
    """Read one report from a file, or from standard input for "-".

    Raises InputError for what cannot be read, is empty, binary, or JSON that is no issue.
    """
    raw, notes = _read_bytes(path)
    name = "-" if path == "-" else Path(path).name
    text, encoding_notes = _decode(raw, name)
    notes += encoding_notes
    if not text.strip():
        raise InputError(
            f"{_shown(path)} is empty.", "Give the report's text: what was run and what it printed."
        )
    suffix = Path(path).suffix.lower()
    if suffix == ".json" or (path == "-" and text.lstrip().startswith("{")):
        return _from_json(text, name, tuple(notes))
    if suffix in (".md", ".markdown") or "\n```" in text or text.startswith("# "):
        title, body = _split_title(text)
        return Report(name, title, body, notes=tuple(notes))
    if suffix in (".log", ".out", ".err"):
        return Report(name, "", text, is_log=True, notes=tuple(notes))
    return pasted_report(name, text, tuple(notes))


def is_batch(path: str) -> bool:
    """Whether the path names a batch: one JSON record a line."""
    return path.lower().endswith((".jsonl", ".ndjson"))


def read_batch(path: str) -> Iterator[Report | BadRecord]:
    """Reports of a .jsonl file in its order; a line that is none comes as a BadRecord in its place.

    Raises InputError when the file itself cannot be read.
    """
    try:
        with Path(path).open("rb") as file:
            number = 0
            while line := file.readline(MAX_BATCH_LINE):
                number += 1
                if line.strip():
                    yield _record(line, number)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.", "Check the path.") from error


def count_lines(path: str) -> int:
    """Number of lines of a file, for a progress bar."""
    with Path(path).open("rb") as file:
        return sum(1 for _ in file)


def _record(line: bytes, number: int) -> Report | BadRecord:
    try:
        row = json.loads(line)
    except ValueError as error:
        return BadRecord(f"line {number}", f"line {number} is no JSON: {error}")
    if not isinstance(row, dict) or not ("body" in row or "title" in row):
        return BadRecord(f"line {number}", f'line {number} is no record {{"id", "title", "body"}}')
    id = str(row.get("id") or f"line {number}")
    return Report(id, _text(row.get("title")), _text(row.get("body")))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else json.dumps(value)


def _read_bytes(path: str) -> tuple[bytes, list[str]]:
    try:
        if path == "-":
            return _bounded(sys.stdin.buffer, None)
        with Path(path).open("rb") as file:
            return _bounded(file, Path(path).stat().st_size)
    except IsADirectoryError as error:
        raise InputError(f"{path} is a folder.", "Name the files in it, or a .jsonl batch.") from error
    except OSError as error:
        raise InputError(
            f"{path} cannot be read: {error.strerror}.", "Check the path; - reads standard input."
        ) from error


def _bounded(file: BinaryIO, size: int | None) -> tuple[bytes, list[str]]:
    head = file.read(MAX_BYTES + 1)
    if len(head) <= MAX_BYTES:
        return head, []
    if size is not None:
        file.seek(size - _TAIL)
        tail = file.read(_TAIL)
    else:
        tail, size = _drain(file, head)
    kept = f"the first {(MAX_BYTES - _TAIL) // 10**6} MB and the last {_TAIL // 10**6} MB"
    note = f"only {kept} of {size // 10**6} MB were read"
    return head[: MAX_BYTES - _TAIL] + b"\n" + tail, [note]


def _drain(file: BinaryIO, head: bytes) -> tuple[bytes, int]:
    """The end of a stream that cannot seek, and its length."""
    size, tail = len(head), head[-_TAIL:]
    while block := file.read(1 << 20):
        size += len(block)
        tail = (tail + block)[-_TAIL:]
    return tail, size


def _decode(raw: bytes, name: str) -> tuple[str, list[str]]:
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


def _from_json(text: str, name: str, notes: tuple[str, ...]) -> Report:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise InputError(
            f"{name} is no valid JSON: {error}.", "Give a GitHub issue as the API returns it."
        ) from error
    if isinstance(value, dict) and isinstance(value.get("issue"), dict):
        value = value["issue"]
    if not isinstance(value, dict) or not isinstance(value.get("title"), str):
        raise InputError(
            f"{name} is JSON, but no issue.",
            'Give an object with "title" and "body", as GitHub\'s API returns it.',
        )
    body = value.get("body")
    if not isinstance(body, str | None):
        raise InputError(f"{name}: the issue's body is no text.", 'Give "body" as a string or null.')
    return Report(_issue_id(value) or name, value["title"], body or "", notes=notes)


def _issue_id(issue: dict[str, Any]) -> str | None:
    """ "owner/repo#n" from an issue's html_url, or its own id where it is a record of ours."""
    parts = urlsplit(str(issue.get("html_url") or "")).path.strip("/").split("/")
    if len(parts) == 4 and parts[2] in ("issues", "pull"):
        return f"{parts[0]}/{parts[1]}#{parts[3]}"
    own = issue.get("id")
    return own if isinstance(own, str) else None


def _split_title(text: str) -> tuple[str, str]:
    """A first heading is the title; its line stays, empty, so that line numbers are those of the file."""
    lines = text.split("\n")
    for number, line in enumerate(lines):
        if not line.strip():
            continue
        if line.startswith("# "):
            lines[number] = ""
            return line[2:].strip(), "\n".join(lines)
        break
    return "", text


def _shown(path: str) -> str:
    return "Standard input" if path == "-" else path
