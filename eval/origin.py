"""What makes a result citable: when, by which version, commit and command, on which data; and results kept as parts.

A part is a measurement of its own (injected faults, duplicates): its command stores it in the report's folder, and
the page of `bot eval --report` shows every part that it finds there, each with its own origin.
"""

from __future__ import annotations

import hashlib
import json
import re
import shlex
import subprocess
from collections.abc import Iterable, Sequence
from datetime import datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from eval.protocol import CasePrediction, Origin, read_stored

_ROOT = Path(__file__).parents[1]
_ISSUE = re.compile(r"([\w.-]+/[\w.-]+)#(\d+)")
_PARTS = "part-*.json"


class Part(BaseModel):
    """One measurement as a table with notes; cells are plain text."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    title: str
    notes: list[str] = []
    head: list[str]
    rows: list[list[str]]
    origin: Origin | None = None
    """None: that of the page."""


def origin_of(arguments: Sequence[str], data: str, now: datetime) -> Origin:
    """The origin of what `bot` with these arguments measures `now` (a time in UTC)."""
    return Origin(
        made=f"{now:%Y-%m-%d %H:%M} UTC",
        version=_version(),
        commit=_commit(),
        command=shlex.join(["bot", *arguments]),
        data=data,
    )


def _version() -> str:
    try:
        return f"distriage {version('distriage')}"
    except PackageNotFoundError:
        return "distriage"


def _commit() -> str:
    """The checkout's commit; nothing of another repository that an installation lies in."""
    if not (_ROOT / ".git").exists():
        return ""
    command = ["git", "-C", str(_ROOT), "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def data_of(names: Sequence[str], cases: Iterable[CasePrediction]) -> str:
    """The data in words: its name, how many cases, and a digest of their ids and labels that tells other labels."""
    lines = sorted(json.dumps([case.id, case.labels], sort_keys=True) for case in cases)
    digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()
    name = ", ".join(names) or "the shipped benchmark"
    return f"{name}; {len(lines)} cases, SHA-256 of ids and labels {digest[:16]}"


def issue_url(id: str) -> str:
    """The address of an issue on GitHub, "" for an id of another kind."""
    found = _ISSUE.fullmatch(id)
    return f"https://github.com/{found[1]}/issues/{found[2]}" if found else ""


def keep_part(part: Part, name: str, folder: Path) -> None:
    """Store it in a report's folder, where the page finds it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / _PARTS.replace("*", name)).write_text(part.model_dump_json(indent=2) + "\n", "utf-8")


def read_parts(folder: Path) -> list[Part]:
    """All parts in the folder, by name. DataError when a file is none."""
    made_by = "bot eval duplicates FILE --report DIR"
    return [read_stored(Part, file, "holds no part", made_by) for file in sorted(folder.glob(_PARTS))]
