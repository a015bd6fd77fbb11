"""Load the probes from catalogue/*.toml and refuse a table that is not a proper set of likelihoods."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from knowledge.diagnostics.probe import CAUSES, Outcome, Probe
from knowledge.errors import DataError

REQUIRED = {"id", "title", "reads", "outcome"}
PLURAL = ("uses", "after", "follows", "frameworks", "symptoms", "facts")
OPTIONAL = {"group", "cost_s", "limit_s", "scope", "applies", *PLURAL}


@cache
def catalogue() -> tuple[Probe, ...]:
    """All probes, ordered by file and place in it. DataError names the first entry that is wrong."""
    found: list[Probe] = []
    for entry in sorted(files(__package__).joinpath("catalogue").iterdir(), key=lambda item: item.name):
        if entry.name.endswith(".toml"):
            table = tomllib.loads(entry.read_text(encoding="utf-8"))
            found += [read_probe(item, entry.name) for item in table.get("probe", [])]
    names = [probe.id for probe in found]
    if len(set(names)) != len(names):
        raise DataError(f"Duplicate probe id: {sorted({n for n in names if names.count(n) > 1})}")
    return tuple(found)


@cache
def by_id() -> Mapping[str, Probe]:
    """Probe id to probe."""
    return {probe.id: probe for probe in catalogue()}


def read_probe(item: Mapping[str, Any], source: str) -> Probe:
    """One table of a catalogue file as a checked Probe."""
    name = f"{source}: {item.get('id', '?')}"
    if missing := REQUIRED - set(item):
        raise DataError(f"{name} is missing {sorted(missing)}.")
    if unknown := set(item) - REQUIRED - OPTIONAL:
        raise DataError(f"{name} has unknown keys {sorted(unknown)}.")
    outcomes = tuple(read_outcome(one, name) for one in item["outcome"])
    if not any(one.healthy or one.inconclusive for one in outcomes):
        raise DataError(f"{name} needs an outcome that is not a finding.")
    for cause in CAUSES:
        if (total := sum(one.p.get(cause, one.otherwise) for one in outcomes if one.finding)) > 0.97:
            raise DataError(f"{name} leaves nothing for the healthy state given {cause} ({total:.2f}).")
    values = {key: value for key, value in item.items() if key != "outcome"}
    values.update({key: tuple(values[key]) for key in PLURAL if key in values})
    values.setdefault("group", item["id"])
    return Probe(outcomes=outcomes, **values)


def read_outcome(item: Mapping[str, Any], name: str) -> Outcome:
    """One outcome; only a finding carries likelihoods, and none speaks against a cause."""
    outcome = Outcome(**item)
    where = f"{name}, outcome {outcome.id}"
    if unknown := set(outcome.p) - set(CAUSES):
        raise DataError(f"{where}: unknown causes {sorted(unknown)}.")
    if not outcome.finding:
        if outcome.p or outcome.otherwise:
            raise DataError(f"{where}: only a finding has likelihoods.")
        return outcome
    if outcome.inconclusive or not outcome.p:
        raise DataError(f"{where}: a finding speaks for at least one cause.")
    if not 0 < outcome.otherwise < 1:
        raise DataError(f"{where}: `otherwise` must be above 0 and below 1.")
    if low := sorted(cause for cause, p in outcome.p.items() if p < outcome.otherwise):
        raise DataError(f"{where}: seen less often with {low} than elsewhere.")
    return outcome
