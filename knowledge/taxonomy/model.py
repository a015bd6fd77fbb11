"""The taxonomy as one immutable value: closed sets, look-ups, counts and priors."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from knowledge.errors import UserError
from knowledge.taxonomy.entries import (
    ALL_AXES,
    CauseEntry,
    Entry,
    FixEntry,
    OpenSlot,
    StageEntry,
    SymptomEntry,
    TopicEntry,
    TypeEntry,
)

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
        hint = f"Near it: {', '.join(dict.fromkeys(near))}." if near else "`bot taxonomy` lists all ids."
        return UserError(f"The taxonomy has no id {given!r}.", hint)
