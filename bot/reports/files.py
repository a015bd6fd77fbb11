"""From what a user points at (a file, standard input, a pasted text, a JSON issue, a batch) to reports."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import urlsplit

import re2

from knowledge.errors import InputError, reason
from knowledge.evidence.lines import Kind
from knowledge.evidence.prefixes import split_prefix
from knowledge.evidence.shape import shape_of
from knowledge.report import RESULT, Report
from knowledge.text.words import listed

# A pasted text as a report: what a person wrote is read as words, what a program printed as a log.
#
# A text that begins with a sentence is read like an issue whose title is that sentence. On 200 real reports pasted
# whole, 98 % then get the symptom that they get as issues, 74 % when read as logs; of their titles alone 96 and 47 %.

LONGEST_TITLE = 300
FEWEST_WORDS = 4
_WORDS = re2.compile(r"[A-Za-z]{2,}")


def pasted_report(name: str, text: str, notes: tuple[str, ...] = ()) -> Report:
    """The report of a text, called `name`.

    The line that becomes the title is left empty in the body, so that line numbers stay.
    """
    lines = text.split("\n")
    place = next((number for number, line in enumerate(lines) if line.strip()), 0)
    title = lines[place].strip()
    if _is_sentence(title):
        lines[place] = ""
        return Report(id=name, title=title, body="\n".join(lines), notes=notes)
    is_log = "\n```" not in f"\n{_without_results(text)}"
    return Report(id=name, title="", body=text, is_log=is_log, notes=notes)


def _without_results(text: str) -> str:
    if RESULT not in text:
        return text
    from knowledge.readback import without_results

    return without_results(text)


def _is_sentence(line: str) -> bool:
    """Whether a person wrote the line; one of a form ("GPU: A100") says no more than what it is asked."""
    words, rank = len(_WORDS.findall(line)), split_prefix(line, in_log=False).rank
    if len(line) > LONGEST_TITLE or rank is not None or words < FEWEST_WORDS:
        return False
    kind = shape_of(line, fenced=False)
    asks = kind is Kind.ENVIRONMENT and words >= FEWEST_WORDS + 2 and ":" not in line
    return kind is Kind.PROSE or asks


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
            f"{printable(path)} is a folder.", "Pass the files in it, or a .jsonl batch."
        ) from error
    except OSError as error:
        raise InputError(
            f"Can't read {printable(path)}: {reason(error)}.",
            "Check the path, or use - to read standard input.",
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
    end = {b"\xff\xfe": b"\n\0", b"\xfe\xff": b"\0\n"}.get(head[:2], b"\n")
    return head + end + tail, Gap(after, left_out, note)


def decode(raw: bytes, name: str) -> tuple[str, list[str]]:
    """Text, and what had to be replaced in it. Raises InputError for what is no text."""
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        return raw.decode("utf-16", "replace"), []
    if b"\0" in raw[:4096] or _looks_binary(raw):
        raise InputError(f"{name} is binary, not text.", "Pass the log or report as plain text (UTF-8).")
    try:
        return raw.decode("utf-8-sig"), []
    except UnicodeDecodeError:
        text = raw.decode("utf-8", "replace")
        broken = text.count("\ufffd")
        return text, [f"{broken} byte sequences were not valid UTF-8 and were replaced"]


def _looks_binary(raw: bytes) -> bool:
    sample = raw[:65536]
    control = sum(sample.count(bytes([code])) for code in range(32) if code not in (7, 8, 9, 10, 12, 13, 27))
    return len(sample) > 32 and control / len(sample) > _CONTROL_SHARE


_DAY = re2.compile(r"^\d{4}-\d{2}-\d{2}$")
MAX_BATCH_LINE = 64_000_000
_BATCHES = (".jsonl", ".ndjson")
_LOGS = (".log", ".out", ".err", ".txt")
_LOGGED = frozenset(("msg", "message", "log", "event", "level", "levelname", "severity"))


@dataclass(frozen=True, slots=True)
class BadRecord:
    """A line of a batch that is no report; the batch goes on and says so in its place."""

    id: str
    error: str


def read_input(path: str) -> Report:
    """Read one report from a file, or from standard input for "-".

    Raises InputError for what cannot be read, is empty, binary, or JSON that is no issue.
    """
    name, text, notes, gap = _read_text(path)
    report = _report(path, name, text, notes)
    return replace(report, gap=(gap.after, gap.lines)) if gap is not None else report


def _read_text(path: str) -> tuple[str, str, tuple[str, ...], Gap | None]:
    """Name, text, what could not be read of it, and what was left out."""
    raw, gap = read_bytes(path)
    name = "-" if path == "-" else printable(Path(path).name)
    text, notes = decode(raw, name)
    if gap is not None:
        notes.insert(0, gap.note)
    if not text.strip():
        raise InputError(
            f"{_shown(path)} is empty.", "Add the report text: what you ran and what it printed."
        )
    return name, text, tuple(notes), gap


def _report(path: str, name: str, text: str, notes: tuple[str, ...]) -> Report:
    suffix = Path(path).suffix.lower()
    json_expected = suffix in (".json", *_BATCHES) or (path == "-" and text.lstrip().startswith("{"))
    if json_expected and not is_json_log(text):
        return _from_json(text, name, notes)
    if json_expected or suffix in (".log", ".out", ".err"):
        return Report(name, "", text, is_log=True, notes=notes)
    if suffix in (".md", ".markdown") or "\n```" in text or text.startswith("# "):
        title, body = _split_title(text)
        return Report(name, title, body, notes=notes)
    return pasted_report(name, text, notes)


@dataclass(frozen=True, slots=True)
class Part:
    """One of several files read as one log."""

    name: str
    start: int
    """Line of the body that names the file; its own first line follows."""
    gap: Gap | None

    def place(self, line: int) -> str:
        """What the file itself calls a line of the body: "rank1.log:3"."""
        own = line - self.start
        left_out = self.gap.lines if self.gap and own > self.gap.after else 0
        return f"{self.name}:{own + left_out}"


@dataclass(frozen=True, slots=True)
class Input:
    """A report with where it came from."""

    report: Report
    paths: tuple[str, ...]
    parts: tuple[Part, ...] = ()

    def place(self, line: int) -> str:
        """What a person calls a line of the body: "line 12", or "rank1.log:3" of several files."""
        before = [part for part in self.parts if part.start < line]
        return before[-1].place(line) if before else f"line {line}"


def read_together(paths: Sequence[str]) -> Input:
    """Read several logs of one job, or those in a folder, as one report.

    A file's name tells whose log it is (rank3.log, node-1.out). Raises InputError as `read_input` does.
    """
    files = [file for path in paths for file in _logs_of(path)]
    parts, texts, notes, line = list[Part](), list[str](), list[str](), 1
    for file in files:
        name, text, said, gap = _read_text(file)
        parts.append(Part(name, line, gap))
        texts.append(f"==> {name} <==\n{text}")
        notes += [f"{name}: {one}" for one in said]
        line += text.count("\n") + 2
    names = [part.name for part in parts]
    notes.insert(
        0,
        f"{len(files)} files were read as one log, {', '.join(names)}; in JSON, line numbers count through all of it",
    )
    id = names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"
    report = Report(id, "", "\n".join(texts), is_log=True, notes=tuple(notes))
    return Input(report, tuple(paths), tuple(parts))


def _logs_of(path: str) -> list[str]:
    if not Path(path).is_dir():
        return [path]
    found = sorted(file for file in Path(path).iterdir() if file.suffix.lower() in _LOGS and file.is_file())
    if not found:
        raise InputError(f"{path} contains no log files.", f"Their names must end in {listed(_LOGS, 'or')}.")
    return [str(file) for file in found]


def is_batch(path: str) -> bool:
    """Whether the path names a batch: one JSON record a line, and no log of JSON lines."""
    if not path.lower().endswith(_BATCHES):
        return False
    try:
        with Path(path).open("rb") as file:
            return not is_json_log(file.readline(MAX_BATCH_LINE).decode("utf-8-sig", "replace"))
    except OSError:
        return True


def is_json_log(text: str) -> bool:
    """Whether a program printed it: lines of JSON with a message, or a dictionary and more lines after it."""
    first, _, rest = text.lstrip().partition("\n")
    try:
        row = json.loads(first)
    except (ValueError, RecursionError):
        # {'lr': 0.1} as Python prints it; a damaged issue begins with {"
        return first.startswith("{'") or (first.rstrip().endswith("}") and bool(rest.strip()))
    if not isinstance(row, dict) or {"title", "body", "issue"} & row.keys():
        return False
    return bool(_LOGGED & row.keys()) or bool(rest.strip())


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
        raise InputError(f"Can't read {printable(path)}: {reason(error)}.", "Check the path.") from error


def count_lines(path: str) -> int:
    """Number of lines of a file, for a progress bar."""
    with Path(path).open("rb") as file:
        return sum(1 for _ in file)


def _record(line: bytes, number: int) -> Report | BadRecord:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return BadRecord(f"line {number}", f"line {number} isn't valid JSON")
    if not isinstance(row, dict) or not ("body" in row or "title" in row):
        return BadRecord(f"line {number}", f'line {number} isn\'t a record {{"id", "title", "body"}}')
    id = printable(str(row.get("id") or f"line {number}"))
    return Report(id, _text(row.get("title")), _text(row.get("body")), opened=_day(row))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else json.dumps(value)


def _from_json(text: str, name: str, notes: tuple[str, ...]) -> Report:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"{name}, line {getattr(error, 'lineno', 1)}: not valid JSON.",
            "Use a GitHub issue as returned by the API.",
        ) from error
    if isinstance(value, dict) and isinstance(value.get("issue"), dict):
        value = value["issue"]
    if not isinstance(value, dict) or not isinstance(value.get("title"), str):
        raise InputError(
            f"{name} is JSON, but not a GitHub issue.",
            'It needs "title" and "body", as in a response from GitHub\'s API.',
        )
    body = value.get("body")
    if not isinstance(body, str | None):
        raise InputError(f"{name}: the issue's body is not text.", 'Make "body" a string or null.')
    return Report(
        printable(_issue_id(value) or name), value["title"], body or "", notes=notes, opened=_day(value)
    )


def _day(issue: dict[str, Any]) -> str:
    """The day an issue was opened, as GitHub's API or a record of ours gives it; "" where it doesn't."""
    day = str(issue.get("created_at") or issue.get("opened") or "")[:10]
    return day if _DAY.match(day) else ""


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
    return "Standard input" if path == "-" else printable(path)
