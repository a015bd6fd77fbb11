"""The taxonomy as one immutable value: entries, closed sets, look-ups, counts and priors."""

from __future__ import annotations

import difflib
import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import re2

from knowledge.errors import DataError, UserError
from knowledge.text.words import listed

# The things a taxonomy is made of, one frozen value each.

Provenance = Literal["P", "S", "Q", "2nd", "ours"]
"""P: stated in study 1's paper; S: computed from its sheet; Q: abstract or page text of a paper;
2nd: second-hand, unverified; ours: decided in this project."""

TopicAxis = Literal["type", "stage", "symptom", "cause", "fix", "topic"]
ALL_AXES: tuple[TopicAxis, ...] = ("type", "stage", "symptom", "cause", "fix", "topic")


@dataclass(frozen=True, slots=True)
class Entry:
    """One id of the taxonomy and what it means: `definition` is two sentences of ours."""

    id: str
    name: str
    definition: str
    provenance: Provenance

    @property
    def axis(self) -> str:
        """The axis it stands on: type, stage, symptom, cause, fix or topic."""
        return type(self).__name__.removesuffix("Entry").lower()


@dataclass(frozen=True, slots=True)
class Counted(Entry):
    """An entry with its number of faults (how-tos for a topic) in study 1."""

    count: int = 0
    distributed: int = 0
    """Of them, specific to distributed training; 0 where the study does not tell (topics)."""


@dataclass(frozen=True, slots=True)
class TypeEntry(Entry):
    """A kind of post: fault, howto, feature, internal."""


@dataclass(frozen=True, slots=True)
class StageEntry(Counted):
    """A stage (A to D), or one of D's two halves, which carry their `parent`."""

    parent: str | None = None


@dataclass(frozen=True, slots=True)
class SymptomEntry(Counted):
    """A leaf, or the merged D.other (then `merged_from` names what it stands for)."""

    guide_name: str = ""
    """The leaf's name in the annotation guide; empty for rest classes."""
    merged_from: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FixEntry(Counted):
    """A fix pattern; its counts are faults for which it is one of the patterns."""

    cause: str = "other"
    """The cause that this fix tells of (crosswalk, ours)."""


@dataclass(frozen=True, slots=True)
class CauseEntry(Entry):
    """A root cause; `fixes` are the patterns that tell of it."""

    fixes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TopicEntry(Counted):
    """What a how-to is about; `subtopics` maps each sub-topic to its number of how-tos."""

    subtopics: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Fact:
    """A single statement known of a study, with where it is known from."""

    text: str
    provenance: Provenance


@dataclass(frozen=True, slots=True)
class OpenSlot:
    """A study whose ids are not at hand: what is known of it, and nothing invented."""

    id: str
    source: str
    note: str
    facts: tuple[Fact, ...]


_GITHUB = re2.compile(r"^https://github\.com/([\w.-]+/[\w.-]+)/(?:issues|pull|discussions)/(\d+)/?$")
_STACKOVERFLOW = re2.compile(r"^https://stackoverflow\.com/questions/(\d+)(?:/.*)?$")


def case_id(url: str) -> str:
    """ "https://github.com/o/r/issues/7" -> "o/r#7"; a Stack Overflow question -> "stackoverflow#7".

    DataError when it is neither.
    """
    github, question = _GITHUB.match(url), _STACKOVERFLOW.match(url)
    if github:
        return f"{github.group(1)}#{github.group(2)}"
    if question:
        return f"stackoverflow#{question.group(1)}"
    raise DataError(f"{url!r} isn't a link to an issue or question.", "Copy the link from the browser.")


PRIOR_STRENGTH = 4.0
"""Pseudo-faults that each broader level lends to the next narrower one; fixed beforehand, not tuned."""


@dataclass(frozen=True)
class Taxonomy:
    """Study 1's taxonomy with our causes and types; `open_slots` and `additional` hold other studies."""

    types: tuple[TypeEntry, ...]
    stages: tuple[StageEntry, ...]
    inner_stages: tuple[StageEntry, ...]
    symptoms: tuple[SymptomEntry, ...]
    fixes: tuple[FixEntry, ...]
    causes: tuple[CauseEntry, ...]
    topics: tuple[TopicEntry, ...]
    fixes_by_scope: Mapping[str, Mapping[str, int]]
    """Leaf, inner stage, stage or "all" -> fix id -> distributed-specific faults that have this pattern
    among theirs ("any" count of study 1, tables 1.3 and 1.4)."""
    faults_by_scope: Mapping[str, int]
    """The same scopes -> number of distributed-specific faults."""
    single_fixes_by_stage: Mapping[str, Mapping[str, int]]
    """Stage or "all" -> fix id -> distributed-specific faults whose only pattern it is ("single" count of
    table 1.3, the one the paper's percentages are made of)."""
    open_slots: tuple[OpenSlot, ...] = ()
    additional: tuple[Entry, ...] = ()
    """Entries of additional taxonomy files, ids prefixed with their study ("study2:...")."""

    def on_axis(self, axis: str) -> tuple[Entry, ...]:
        """All entries of an axis in their fixed order. UserError for an unknown axis."""
        by_axis: dict[str, tuple[Entry, ...]] = {
            "type": self.types,
            "stage": self.stages,
            "symptom": self.symptoms,
            "cause": self.causes,
            "fix": self.fixes,
            "topic": self.topics,
        }
        if axis not in by_axis:
            raise UserError(f"Unknown axis {axis!r}.", f"Use one of: {', '.join(ALL_AXES)}.")
        return by_axis[axis]

    def ids(self, axis: str) -> tuple[str, ...]:
        """The closed set of ids of an axis in its fixed order; symptoms are the 30 leaves, then D.other."""
        return tuple(entry.id for entry in self.on_axis(axis))

    def symptom(self, symptom_id: str) -> SymptomEntry:
        """The symptom of this id. UserError with near matches when there is none."""
        for entry in self.symptoms:
            if entry.id == symptom_id:
                return entry
        raise self._unknown(symptom_id, self.ids("symptom"))

    def entries(self, any_id: str) -> tuple[Entry, ...]:
        """Every entry of this id: a few words ("hardware", "other") name both a fix and a cause.

        "axis:id" asks for one axis; capitals do not matter. UserError with near matches when nothing has this id.
        """
        axis, _, bare = any_id.rpartition(":")
        axes = (axis,) if axis in ALL_AXES else ALL_AXES
        wanted = (bare if axis in ALL_AXES else any_id).casefold()
        found = [e for a in axes for e in self.on_axis(a) if e.id.casefold() == wanted]
        found += [e for e in (*self.inner_stages, *self.additional) if e.id.casefold() == any_id.casefold()]
        if not found:
            raise self._unknown(any_id, self._all_ids())
        return tuple(found)

    def entry(self, any_id: str) -> Entry:
        """The first entry of this id in the order type, stage, symptom, cause, fix, topic; see `entries`."""
        return self.entries(any_id)[0]

    def stage_of(self, symptom_id: str) -> str:
        """The stage of a symptom or inner stage: "D.1.6" -> "D". UserError for an unknown id."""
        if symptom_id not in {s.id for s in self.stages + self.inner_stages}:
            self.symptom(symptom_id)
        return symptom_id.partition(".")[0]

    def scopes_of(self, symptom_id: str | None) -> tuple[str, ...]:
        """From narrow to broad: "D.1.6" -> ("D.1.6", "D.1", "D", "all"); None -> ("all",)."""
        if symptom_id is None:
            return ("all",)
        stage = self.stage_of(symptom_id)
        inner = [s.id for s in self.inner_stages if symptom_id.startswith(s.id + ".")]
        return tuple(dict.fromkeys([symptom_id, *inner, stage, "all"]))

    def cause_of_fix(self, fix_id: str) -> str:
        """The cause that a fix pattern tells of (crosswalk, ours). UserError for an unknown fix."""
        for entry in self.fixes:
            if entry.id == fix_id:
                return entry.cause
        raise self._unknown(fix_id, self.ids("fix"))

    def fix_counts(self, symptom_id: str) -> Mapping[str, int]:
        """Fix id -> distributed-specific faults of this symptom (or stage, or "all") resolved by it."""
        if symptom_id != "all":
            self.stage_of(symptom_id)
        return self.fixes_by_scope.get(symptom_id, MappingProxyType({}))

    def fix_prior(
        self, symptom_id: str | None = None, strength: float = PRIOR_STRENGTH
    ) -> Mapping[str, float]:
        """Probability of each fix given the symptom: counts, smoothed by stage and then by all faults.

        Sums to 1 over `ids("fix")`, never 0; None asks for no symptom known.
        """
        fixes = self.ids("fix")
        prior = {fix: 1.0 / len(fixes) for fix in fixes}
        for scope in reversed(self.scopes_of(symptom_id)):
            counts = self.fixes_by_scope.get(scope, {})
            total = sum(counts.values()) + strength
            prior = {fix: (counts.get(fix, 0) + strength * prior[fix]) / total for fix in fixes}
        return MappingProxyType(prior)

    def _all_ids(self) -> list[str]:
        on_axes = [i for axis in ALL_AXES for i in self.ids(axis)]
        return [*on_axes, *(e.id for e in (*self.inner_stages, *self.additional))]

    @staticmethod
    def _unknown(given: str, known: tuple[str, ...] | list[str]) -> UserError:
        near = difflib.get_close_matches(given, known, n=3, cutoff=0.5)
        hint = f"Did you mean {listed(near, 'or')}?" if near else "`bot taxonomy` lists all IDs."
        return UserError(f"{given!r} isn't in the taxonomy.", hint)


# Data files beside this module -> one cached Taxonomy.

HERE = Path(__file__).parent
COUNTS_FILE = HERE / "study1_counts.json"
Row = dict[str, Any]


@cache
def load_taxonomy(additional: Path | None = None) -> Taxonomy:
    """The shipped taxonomy, with `additional` (a TOML file of another study's entries) beside it if given.

    An additional file holds `id`, `source` and `[[entry]]` tables with id, name, definition, provenance.
    Raises DataError when a file cannot be read or an entry lacks a field.
    """
    rows = _read_toml(HERE / "entries.toml")
    counts: Row = json.loads(COUNTS_FILE.read_text("utf-8"))
    base = _build(rows, counts, (_open_slot(HERE / "study2.toml"),))
    if additional is None:
        return base
    return Taxonomy(**{**base.__dict__, "additional": _additional(additional)})


def _build(rows: Row, counts: Row, open_slots: tuple[OpenSlot, ...]) -> Taxonomy:
    fixes = tuple(FixEntry(**row, **_counted(counts["fixes"], row["id"])) for row in rows["fix"])
    return Taxonomy(
        types=tuple(TypeEntry(**row) for row in rows["type"]),
        stages=tuple(StageEntry(**row, **_counted(counts["scopes"], row["id"])) for row in rows["stage"]),
        inner_stages=tuple(_inner_stage(row, counts) for row in rows["inner_stage"]),
        symptoms=tuple(_symptom(row, counts) for row in rows["symptom"]),
        fixes=fixes,
        causes=tuple(_cause(row, fixes) for row in rows["cause"]),
        topics=tuple(_topic(row, counts["topics"]) for row in rows["topic"]),
        fixes_by_scope=_nested(counts["fixes_by_scope"]),
        single_fixes_by_stage=_nested(counts["single_fixes_by_stage"]),
        faults_by_scope=MappingProxyType({scope: c["distributed"] for scope, c in counts["scopes"].items()}),
        open_slots=open_slots,
    )


def _counted(table: Row, key: str) -> Row:
    found = table.get(key, {})
    return {"count": found.get("faults", 0), "distributed": found.get("distributed", 0)}


def _inner_stage(row: Row, counts: Row) -> StageEntry:
    rest = {k: v for k, v in row.items() if k != "stage"}
    return StageEntry(**rest, parent=row["stage"], **_counted(counts["scopes"], row["id"]))


def _symptom(row: Row, counts: Row) -> SymptomEntry:
    rest = {k: v for k, v in row.items() if k != "merged_from"}
    merged = tuple(row.get("merged_from", ()))
    return SymptomEntry(**rest, merged_from=merged, **_counted(counts["scopes"], row["id"]))


def _cause(row: Row, fixes: tuple[FixEntry, ...]) -> CauseEntry:
    return CauseEntry(**row, fixes=tuple(fix.id for fix in fixes if fix.cause == row["id"]))


def _topic(row: Row, topics: Row) -> TopicEntry:
    counted = topics.get(row["id"], {"howtos": 0, "subtopics": {}})
    subtopics = tuple((name, counted["subtopics"].get(name, 0)) for name in row["subtopics"])
    rest = {k: v for k, v in row.items() if k != "subtopics"}
    return TopicEntry(**rest, count=counted["howtos"], subtopics=subtopics)


def _nested(table: Row) -> Mapping[str, Mapping[str, int]]:
    return MappingProxyType({scope: MappingProxyType(dict(by_fix)) for scope, by_fix in table.items()})


def _open_slot(path: Path) -> OpenSlot:
    row = _read_toml(path)
    return OpenSlot(row["id"], row["source"], row["note"], tuple(Fact(**fact) for fact in row["fact"]))


def _additional(path: Path) -> tuple[Entry, ...]:
    row = _read_toml(path)
    try:
        return tuple(Entry(**{**entry, "id": f"{row['id']}:{entry['id']}"}) for entry in row["entry"])
    except (KeyError, TypeError) as error:
        raise DataError(
            f"{path} isn't a taxonomy file: {error}.",
            "It needs `id`, `source`, and [[entry]] tables with id, name, definition, and provenance.",
        ) from error


def _read_toml(path: Path) -> Row:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise DataError(f"Can't read {path}: {error}.", "Use a TOML file in UTF-8.") from error
