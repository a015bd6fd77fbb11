"""A probe: one check of the diagnostics script, with what each of its outcomes says about the causes."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

from knowledge.errors import DataError

CAUSES: tuple[str, ...] = (
    "dependency",
    "build_configuration",
    "framework_defect",
    "hardware",
    "communication_configuration",
    "network_environment",
    "inconsistent_processes",
    "device_placement",
    "distributed_api_misuse",
    "batch_or_partition",
    "divergent_ranks",
    "wrapped_model_state",
    "model_construction",
    "resource_limits",
    "other",
)
"""The causes told apart here: the crosswalk of study 1's fix patterns."""

NO_EVIDENCE: frozenset[str] = frozenset({"not_applicable", "timed_out", "crashed", "not_run"})
"""Outcomes that the runtime itself can give; they move nothing unless the probe's table lists them as a finding."""

Scope = Literal["rank", "host", "pair", "between"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """One thing a probe may find.

    A finding holds P(this outcome | cause) in `p` for the causes that it speaks for, and `otherwise` for all others. An
    outcome that is no finding has no figures: it is the healthy state, or `inconclusive`.
    """

    id: str
    says: str
    """One sentence of ours that is shown when this outcome is found; never holds text of the result."""
    why: str
    """Why the likelihoods are what they are."""
    p: Mapping[str, float] = field(default_factory=dict)
    otherwise: float = 0.0
    finding: bool = True
    """Whether it is something to look at."""
    inconclusive: bool = False
    """Neither a finding nor healthy: it moves nothing, as if the probe had not applied."""

    @property
    def healthy(self) -> bool:
        """Whether the probe looked and found nothing wrong."""
        return not (self.finding or self.inconclusive)


@dataclass(frozen=True, slots=True)
class Probe:
    """A check of the script, or (scope `between`) a comparison of several results."""

    id: str
    title: str
    reads: str
    """Plain words for the script's head: what is looked at on the reporter's machine."""
    outcomes: tuple[Outcome, ...]
    group: str
    """Probes of one group see the same fault from several sides: only their most telling finding counts."""
    cost_s: float = 0.2
    """Typical seconds where it applies; `limit_s` is where it is stopped."""
    limit_s: float = 5.0
    scope: Scope = "host"
    uses: tuple[str, ...] = ()
    """Collectors whose facts it shares with others."""
    after: tuple[str, ...] = ()
    """Probes that must be over before it starts, since both would touch the same port."""
    follows: tuple[str, ...] = ()
    """Probes whose outcome in the same run it builds on: it brings them along."""
    frameworks: tuple[str, ...] = ()
    """Frameworks it is of use for; empty = any."""
    symptoms: tuple[str, ...] = ()
    """Symptom ids (or their beginnings) it was made for; empty = any."""
    applies: float = 0.8
    """How often it applies where the job runs: a probe that seldom applies is seldom worth its place."""
    facts: tuple[str, ...] = ()
    """Facts that must agree between ranks; of a `between` probe: the "probe.fact" names that it compares."""

    def outcome(self, id: str) -> Outcome | None:
        """The outcome of that id, None when this probe has none such."""
        return next((one for one in self.outcomes if one.id == id), None)

    @property
    def expected_s(self) -> float:
        """Seconds it takes on average: next to nothing where it does not apply."""
        return self.cost_s * self.applies

    @property
    def function(self) -> str:
        """Name of the function in runtime/ that takes the measurement."""
        return f"probe_{self.id}"


@dataclass(frozen=True, slots=True)
class Collector:
    """A function of runtime/ whose facts later tasks find in `job.shared[name]`."""

    function: str
    limit_s: float
    reads: str


COLLECTORS: dict[str, Collector] = {
    "packages": Collector(
        "collect_packages", 10.0, "names and versions of installed Python packages of this field"
    ),
    "torch": Collector(
        "collect_torch", 25.0, "what an `import torch` in a process of its own says of versions and devices"
    ),
    "gpus": Collector("collect_gpus", 10.0, "nvidia-smi's list of GPUs"),
    "interfaces": Collector(
        "collect_interfaces", 3.0, "names, states, MTUs and speeds of the network interfaces"
    ),
    "sources": Collector("collect_sources", 6.0, "the *.py files of the current folder, parsed and not run"),
}


# The probes as they ship, in one compiled file; read from catalogue/*.toml, where a table that is not a proper set of
# likelihoods is refused.

COMPILED_PROBES = Path(__file__).parent / "probes.json"

REQUIRED = {"id", "title", "reads", "outcome"}
PLURAL = ("uses", "after", "follows", "frameworks", "symptoms", "facts")
OPTIONAL = {"group", "cost_s", "limit_s", "scope", "applies", *PLURAL}


@cache
def catalogue() -> tuple[Probe, ...]:
    """All shipped probes, ordered by file and place in it. DataError when the compiled file is damaged."""
    try:
        return tuple(_from_json(entry) for entry in json.loads(COMPILED_PROBES.read_text("utf-8")))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(
            f"Can't read {COMPILED_PROBES.name}: {error}.", "Run: python -m knowledge.findings.compile"
        ) from error


def _from_json(entry: Mapping[str, Any]) -> Probe:
    outcomes = tuple(Outcome(**one) for one in entry["outcomes"])
    return Probe(**{**entry, "outcomes": outcomes, **{name: tuple(entry[name]) for name in PLURAL}})


def compiled_probes(probes: Iterable[Probe]) -> str:
    """The text of probes.json: one probe a line."""
    return "[\n" + ",\n".join(json.dumps(asdict(probe), ensure_ascii=False) for probe in probes) + "\n]\n"


def read_probes() -> tuple[Probe, ...]:
    """The probes of the TOML files. DataError names the first entry that is wrong."""
    found: list[Probe] = []
    for path in sorted((Path(__file__).parent / "catalogue").glob("*.toml")):
        table = tomllib.loads(path.read_text("utf-8"))
        found += [read_probe(item, path.name) for item in table.get("probe", [])]
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
        raise DataError(f"{name} needs an outcome that isn't a finding.")
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
        raise DataError(f"{where}: a finding must point to at least one cause.")
    if not 0 < outcome.otherwise < 1:
        raise DataError(f"{where}: `otherwise` must be between 0 and 1.")
    if low := sorted(cause for cause, p in outcome.p.items() if p < outcome.otherwise):
        raise DataError(f"{where}: seen less often with {low} than elsewhere.")
    return outcome
