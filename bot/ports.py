"""What every surface is handed: the time, and the engine; and what it tells `bot doctor`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol

from knowledge.errors import DistriageError
from knowledge.history.record import Post, Record
from knowledge.report import Report
from knowledge.triage import AxisName, Triage


class Clock(Protocol):
    """The time, with a zone."""

    def now(self) -> datetime:
        """Now, UTC."""


class Core(Protocol):
    """The pure core and its vocabulary."""

    def triage(self, report: Report, quick: bool = False) -> Triage:
        """The triage of one report; `quick`: without waiting for a second reader."""

    def ids(self, axis: AxisName) -> frozenset[str]:
        """Every id of an axis."""

    def name(self, axis: AxisName, id_: str) -> str:
        """An id's name in words ("Hang")."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """Records of reports (docs/history.md), and the hash of the model that made their vectors."""

    encoder: str
    records: tuple[Record, ...]


class Recorder(Protocol):
    """Makes records; in the service a process of its own, since it reads strangers' text."""

    def records(self, posts: Sequence[Post], triaged: bool = False) -> Recorded:
        """The records of the posts, in order. Raises `CoreFailed`.

        `triaged`: which known failures apply is known already and not looked up, which is most of the work.
        """


@dataclass(frozen=True, slots=True)
class Compared:
    """What an LLM said of earlier reports that it read beside a new one, and what that took."""

    model: str
    same: tuple[str, ...] = ()
    """Ids of those that show the same failure."""
    fault: str | None = None
    """Why there is no answer, in a word; None = there is one."""
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float = 0.0
    """US dollars."""
    seconds: float = 0.0


class Comparer(Protocol):
    """Reads a report and earlier ones side by side."""

    def compare(self, report: Report, earlier: Sequence[Report]) -> Compared:
        """Which of `earlier` show the same failure as `report`; without an answer none does. Raises nothing."""


class CoreFailed(DistriageError):
    """The core raised, crashed or hung over a report; says where, without text of the report."""


class CoreDown(CoreFailed):
    """The process did not load the core, or was ended before it had: no fault of the report's."""


# What `bot doctor` reports of one thing that it looked at.


@dataclass(frozen=True, slots=True)
class Checked:
    """One thing looked at; `remedy` says what to do, "" when nothing."""

    state: Literal["ok", "warning", "missing", "broken"]
    subject: str
    text: str
    remedy: str = ""
