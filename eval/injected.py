"""How well logs of injected faults are read: root line and rank, symptom and cause, against what was injected.

A record, one JSON object a line: {"id", "fault", "held_out", "log", "voices", "truth": {"root": regular expression,
"ranks": [...], "symptom": [...], "cause": [...]}}; "voices" holds for each line the rank that printed it, or null.
tests/inject makes them.
"""

from __future__ import annotations

import json
import random
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from eval.metrics import Estimate, share_of
from eval.origin import Part
from eval.protocol import Origin
from knowledge.errors import DataError
from knowledge.report import Report
from knowledge.training.records import read_jsonl
from knowledge.triage import Triage

# A log as launchers and collectors would have printed it: each line behind a prefix, ranks mixed as they come.

Voiced = Sequence[tuple[int | None, str]]
"""Lines in the order in which they came, each with the rank that printed it; None for the launcher."""
JITTER = 6.0
"""Lines by which one rank's output can fall behind another's: pipes are read in turn."""
_START = datetime(2026, 5, 3, 10, 2, 31)
_RANK_PREFIX = re.compile(r"\[rank\d+\]:")


@dataclass(frozen=True, slots=True)
class _Printed:
    """One line, and what a prefix can tell of it."""

    rank: int | None
    text: str
    time: datetime
    width: int
    """Digits of the largest rank, to which srun pads."""

    @property
    def level(self) -> str:
        """What a logger would call it."""
        return "ERROR" if "Error" in self.text or "raceback" in self.text else "INFO"


def _python_logging(line: _Printed) -> str:
    stamp = f"{line.time:%Y-%m-%d %H:%M:%S},{line.time.microsecond // 1000:03d}"
    return f"{stamp} - trainer - {line.level} - {line.text}"


def _torchrun(line: _Printed) -> str:
    if line.rank is None or _RANK_PREFIX.match(line.text):
        return line.text
    return f"[rank{line.rank}]: {line.text}"


def _srun(line: _Printed) -> str:
    return f"{line.rank or 0:>{line.width}}: {line.text}"


def _mpirun(line: _Printed) -> str:
    return line.text if line.rank is None else f"[1,{line.rank}]<stderr>:{line.text}"


def _kubernetes(line: _Printed) -> str:
    return f"{line.time:%Y-%m-%dT%H:%M:%S.%f}000Z stderr F {line.text}"


def _compose(line: _Printed) -> str:
    return f"worker-{line.rank or 0}  | {line.text}"


def _syslog(line: _Printed) -> str:
    rank = line.rank or 0
    return f"{line.time:%b %d %H:%M:%S} node-{rank + 1} python[{8120 + rank}]: {line.text}"


def _deepspeed(line: _Printed) -> str:
    return f"worker-{(line.rank or 0) + 1}: {line.text}"


def _ray(line: _Printed) -> str:
    rank = line.rank or 0
    return f"(RayTrainWorker pid={41200 + rank}, ip=10.0.0.{rank + 11}) {line.text}"


STYLES: Mapping[str, Callable[[_Printed], str]] = {
    "Python logging": _python_logging,
    "torchrun": _torchrun,
    "srun -l": _srun,
    "mpirun --tag-output": _mpirun,
    "Kubernetes": _kubernetes,
    "docker compose": _compose,
    "syslog": _syslog,
    "DeepSpeed": _deepspeed,
    "Ray": _ray,
}
"""Name of a prefix to what it makes of a line."""
TELL_RANK = frozenset({"torchrun", "srun -l", "mpirun --tag-output"})
"""Those that name the rank of each line that a rank prints."""


def behind(style: str, lines: Voiced, seed: int = 0) -> list[str]:
    """The lines behind one kind of prefix (a key of `STYLES`), ranks interleaved; the same seed gives the same log."""
    draw = random.Random(f"{style} {seed}")
    width = max(2, len(str(max((rank for rank, _ in lines if rank is not None), default=0))))
    time, out = _START, []
    for rank, text in interleaved(lines, draw):
        time += timedelta(milliseconds=draw.randrange(1, 40))
        out.append(STYLES[style](_Printed(rank, text, time, width)).rstrip())
    return out


def interleaved(lines: Voiced, draw: random.Random) -> list[tuple[int | None, str]]:
    """Lines of ranks that print at the same time, mixed; those of each rank, and the launcher's, keep their order."""
    last: dict[int | None, float] = {}
    order: list[tuple[float, int]] = []
    for index, (rank, _) in enumerate(lines):
        late = 0.0 if rank is None else draw.uniform(0, JITTER)
        last[rank] = max(last.get(rank, 0.0), index + late)
        order.append((last[rank], index))
    return [lines[index] for _, index in sorted(order)]


FIGURES = ("root line", "root rank", "symptom", "cause")
PLAIN = "as printed"
_FIRST = re.compile(
    r"^[^\w\n]{0,4}(?:\[rank\d+\]: ?)?(?:[A-Za-z_][\w.]*\.)?[A-Z]\w*(?:Error|Exception|Exit|Interrupt)\b"
)
_OWN_RANK = re.compile(r"^\[(?:rank|default)(\d+)\]:")


class Truth(BaseModel):
    """What is wrong by construction; any of the ids is right, and any line that `root` matches."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    root: str
    ranks: tuple[int, ...]
    """Empty = every rank that prints a root line."""
    symptom: tuple[str, ...]
    cause: tuple[str, ...]


class Injected(BaseModel):
    """A log of a job with an injected fault."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    fault: str
    held_out: bool
    log: str
    voices: tuple[int | None, ...]
    truth: Truth


@dataclass(frozen=True, slots=True)
class Row:
    """One log as read; a figure is None where it is not scored."""

    id: str
    fault: str
    held_out: bool
    style: str
    hits: Mapping[str, bool | None]
    first_exception: bool
    """Whether the first exception in the log would have been right."""
    told: str
    """What was said, for whoever reads the failures."""


def read_injected(path: Path) -> list[Injected]:
    """The records of a file (.jsonl, .jsonl.gz), or of all such files of a folder. DataError when one is no record."""
    files = sorted([*path.glob("*.jsonl"), *path.glob("*.jsonl.gz")]) if path.is_dir() else [path]
    try:
        records = [Injected.model_validate(row) for file in files for row in read_jsonl(file)]
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise DataError(
            f"{path} doesn't contain injected faults: {where}: {first['msg']}.",
            "Create them with: make inject-logs",
        ) from error
    if not records:
        raise DataError(f"{path} contains no records.", "Create them with: make inject-logs")
    return records


def score_injected(
    records: Sequence[Injected],
    triage: Callable[[Report], Triage],
    *,
    styles: Sequence[str] = (PLAIN, *STYLES),
    progress: Callable[[int], None] = lambda _: None,
) -> list[Row]:
    """Triage each log as printed and behind each kind of prefix."""
    rows = []
    for record in records:
        for style in styles:
            rows.append(_score(record, style, triage))
            progress(1)
    return rows


def _score(record: Injected, style: str, triage: Callable[[Report], Triage]) -> Row:
    printed = record.log.rstrip("\n").split("\n")
    if style == PLAIN:
        lines = printed
    else:
        voiced = list(zip(record.voices, printed, strict=False))
        lines = behind(style, voiced, zlib.crc32(record.id.encode()))
    found = triage(Report(record.id, "", "\n".join(lines), is_log=True))
    root = re.compile(record.truth.root)
    quoted = found.evidence.lines[0] if found.evidence.lines else None
    text = lines[quoted.line - 1] if quoted and quoted.line <= len(lines) else ""
    allowed = _ranks(record, root, style)
    ranked = quoted is not None and quoted.rank in allowed
    symptom, cause = found.symptom.top, found.cause.top
    first = next((line for line in printed if _FIRST.match(line)), "")
    return Row(
        record.id,
        record.fault,
        record.held_out,
        style,
        {
            "root line": bool(root.search(text)),
            "root rank": ranked if allowed else None,
            "symptom": symptom in record.truth.symptom,
            "cause": cause in record.truth.cause,
        },
        bool(root.search(first)),
        f"{quoted.line if quoted else '-'} rank {quoted.rank if quoted else '-'} {symptom} {cause}: {text[:160]}",
    )


def _ranks(record: Injected, root: re.Pattern[str], style: str) -> set[int]:
    """The ranks that are right, as far as the prefix of a root line tells one."""
    printed = record.log.rstrip("\n").split("\n")
    told: set[int] = set()
    for rank, text in zip(record.voices, printed, strict=False):
        if not root.search(text):
            continue
        own = _OWN_RANK.match(text)
        if own:
            told.add(int(own.group(1)))
        elif style in TELL_RANK and rank is not None:
            told.add(rank)
    return (told & set(record.truth.ranks)) if record.truth.ranks else told


def figure(rows: Iterable[Row], name: str) -> Estimate:
    """A share with its 95 % bootstrap interval over faults; rows that are not scored do not count."""
    scored = [(row.fault, row.hits[name]) for row in rows if row.hits[name] is not None]
    return _share([fault for fault, _ in scored], [bool(hit) for _, hit in scored])


def _share(faults: Sequence[str], hits: Sequence[bool]) -> Estimate:
    place = {fault: index for index, fault in enumerate(dict.fromkeys(faults))}
    return share_of(hits, [place[fault] for fault in faults])


def table(rows: Sequence[Row]) -> str:
    """The figures of both halves, as printed and behind each kind of prefix, in Markdown."""
    out = []
    for note, lines in _halves(rows):
        out.append(f"Injected faults, {note}\n")
        out.append(f"| log | {' | '.join(FIGURES)} |\n|---{'|---' * len(FIGURES)}|")
        out += [f"| {' | '.join(line)} |" for line in lines]
        out.append("")
    return "\n".join(out)


def injected_part(rows: Sequence[Row], origin: Origin) -> Part:
    """The same figures as a table of the report's page."""
    halves = list(_halves(rows))
    return Part(
        title="Injected faults",
        notes=[note[0].upper() + note[1:] + "." for note, _ in halves],
        head=["half", "log", *FIGURES],
        rows=[[note.partition(" (")[0], *line] for note, lines in halves for line in lines],
        origin=origin,
    )


def _halves(rows: Sequence[Row]) -> Iterator[tuple[str, list[list[str]]]]:
    """Each half in words, and its lines: the kind of prefix with the figures."""
    for held_out, what in ((False, "developed on"), (True, "held out")):
        half = [row for row in rows if row.held_out is held_out]
        if not half:
            continue
        plain = [row for row in half if row.style == PLAIN] or half
        baseline = _share([row.fault for row in plain], [row.first_exception for row in plain])
        count = f"{len({row.fault for row in half})} faults, {len(plain)} logs"
        lines = [
            _line(style, [row for row in half if row.style == style])
            for style in dict.fromkeys(row.style for row in half)
        ]
        behind_prefixes = [row for row in half if row.style != PLAIN]
        if behind_prefixes and len(behind_prefixes) < len(half):
            lines.append(_line("behind prefixes, all", behind_prefixes))
        yield f"{what} ({count}; the first exception is the root in {baseline})", lines


def _line(name: str, rows: Sequence[Row]) -> list[str]:
    return [name, *(str(figure(rows, what)) for what in FIGURES)]


def failures(rows: Iterable[Row]) -> str:
    """What was read wrongly, a line each; of the half that is developed on alone."""
    return "".join(
        json.dumps({"id": row.id, "style": row.style, "wrong": wrong, "told": row.told}) + "\n"
        for row in rows
        if not row.held_out and (wrong := [name for name in FIGURES if row.hits[name] is False])
    )
