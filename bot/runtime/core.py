"""The pure core behind `bot.ports.Core`, and the time of the real world."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from bot.ports import Recorded
from bot.runtime.triage_pool import CanTriage
from bot.settings import Settings, load_settings
from knowledge.history.record import Post
from knowledge.report import Report
from knowledge.taxonomy import Taxonomy
from knowledge.triage import AxisName, Triage

if TYPE_CHECKING:
    from knowledge.engine import Knowledge


class SystemClock:
    """`bot.ports.Clock` by the machine's clock."""

    def now(self) -> datetime:
        """Now, UTC."""
        return datetime.now(UTC)


class KnownEngine:
    """The engine over what is loaded already; safe to call from several threads."""

    def __init__(self, knowledge: Knowledge) -> None:
        self._knowledge = knowledge

    def triage(self, report: Report) -> Triage:
        """The triage of one report."""
        from knowledge.engine import triage

        return triage(report, self._knowledge)

    def records(self, posts: Sequence[Post], triaged: bool = False) -> Recorded:
        """The records of posts for a repository's history; `triaged`: without the known failures."""
        from knowledge.engine import fingerprints

        made = fingerprints(posts, self._knowledge, with_failures=not triaged)
        return Recorded(self._knowledge.encoder.model_hash, tuple(made))


class EngineCore(KnownEngine):
    """The engine in this process, loaded by the settings."""

    def __init__(self, settings: Settings) -> None:
        from knowledge.engine import load_knowledge

        super().__init__(load_knowledge(settings.model_dir, settings.cache))


def engine_of_environment() -> EngineCore:
    """The engine by the settings of the environment; takes about half a second."""
    return EngineCore(load_settings())


class NamedCore:
    """A source of triages (the engine, or processes of it) with the taxonomy's vocabulary.

    `local` asks no second reader, where `source` does.
    """

    def __init__(self, source: CanTriage, taxonomy: Taxonomy, local: CanTriage | None = None) -> None:
        self._source = source
        self._local = local or source
        self._ids: dict[str, frozenset[str]] = {}
        self._names: dict[tuple[str, str], str] = {}
        for axis in ("type", "stage", "symptom", "cause", "fix"):
            entries = taxonomy.on_axis(axis)
            self._ids[axis] = frozenset(entry.id for entry in entries)
            self._names.update({(axis, entry.id): entry.name for entry in entries})

    def triage(self, report: Report, quick: bool = False) -> Triage:
        """The triage of one report; `quick`: without waiting for a second reader."""
        return (self._local if quick else self._source).triage(report)

    def ids(self, axis: AxisName) -> frozenset[str]:
        """Every id of an axis."""
        return self._ids[axis]

    def name(self, axis: AxisName, id_: str) -> str:
        """An id's name in words; the id itself where it is unknown."""
        return self._names.get((axis, id_), id_)
