"""What a probe is worth: the expected fall of the entropy over the causes still in play."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from knowledge.diagnostics.catalogue import catalogue
from knowledge.diagnostics.model import model_of
from knowledge.diagnostics.probe import CAUSES, Probe

OFF_SYMPTOM = 0.25
"""What a probe keeps of its worth where the symptom is not one that it was made for."""
SEVERAL = 0.35
"""How often more than one result comes back, so that they can be compared."""
OTHER_FRAMEWORK = 0.4
"""A probe of certain frameworks, where the report does not tell which it is."""


@dataclass(frozen=True, slots=True)
class Tables:
    """Readings of many probes stacked: what `expected_bits` needs, as arrays over (reading, cause)."""

    owner: npt.NDArray[np.int64]
    """Which probe a reading belongs to."""
    ratios: npt.NDArray[np.float64]
    elsewhere: npt.NDArray[np.float64]
    """P(reading) where the fault is elsewhere."""


def tables_of(probes: Sequence[Probe]) -> Tables:
    """Stack what each probe, run alone, can read: its findings, or nothing."""
    owner, rows, chances = [], [], []
    for number, probe in enumerate(probes):
        model = model_of([probe])
        for group, place in model.places.items():
            for sign, chance in place.elsewhere().items():
                ratios = model.likelihood({group: sign})
                owner.append(number)
                rows.append([ratios[cause] for cause in CAUSES])
                chances.append(chance)
    return Tables(
        np.array(owner, np.int64), np.array(rows).reshape(-1, len(CAUSES)), np.array(chances, np.float64)
    )


@cache
def _shipped() -> Tables:
    return tables_of(catalogue())


def expected_bits(cause_p: Mapping[str, float], probes: Sequence[Probe]) -> list[float]:
    """Expected fall of the entropy over the causes when each probe is run alone, in bits."""
    tables = _shipped() if probes is catalogue() else tables_of(probes)
    p = np.array([cause_p.get(cause, 0.0) for cause in CAUSES])
    chance = tables.elsewhere * (tables.ratios @ p)
    after = p * tables.ratios
    fall = _entropy(p) - _entropy(after / after.sum(axis=1, keepdims=True))
    gain = np.bincount(tables.owner, chance * fall, minlength=len(probes))
    return [max(0.0, float(bits)) * probe.applies for bits, probe in zip(gain, probes, strict=True)]


def _entropy(p: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Entropy in bits over the last axis."""
    return np.asarray(-(p * np.log2(np.where(p > 0, p, 1.0))).sum(axis=-1))


def fits(probe: Probe, framework: str | None) -> bool:
    """Whether a probe is of use for this framework; an unknown framework excludes none."""
    if not probe.frameworks or not framework:
        return True
    name = framework.lower().replace("-", "").replace("_", "")
    return any(known in name or name in known for known in probe.frameworks)


def worth(
    probes: Sequence[Probe], cause_p: Mapping[str, float], framework: str | None, symptom: str | None
) -> dict[str, float]:
    """Expected bits of every probe that is of use here, by its id."""
    total = sum(cause_p.values()) or 1.0
    causes = {cause: p / total for cause, p in cause_p.items()}
    alone = expected_bits(causes, probes)
    compared = by_comparison(probes, alone)
    bits = {}
    for probe, own in zip(probes, alone, strict=True):
        if probe.scope == "between" or not fits(probe, framework):
            continue
        bits[probe.id] = own + compared.get(probe.id, 0.0) * probe.applies
        if probe.symptoms and symptom and not symptom.startswith(probe.symptoms):
            bits[probe.id] *= OFF_SYMPTOM
        if probe.frameworks and not framework:
            bits[probe.id] *= OTHER_FRAMEWORK
    return bits


def by_comparison(probes: Sequence[Probe], alone: Sequence[float]) -> dict[str, float]:
    """Bits that a comparison of several results adds to the probes whose facts it compares, shared
    between them."""
    added: dict[str, float] = {}
    for probe, bits in zip(probes, alone, strict=True):
        if probe.scope == "between":
            sources = {name.partition(".")[0] for name in probe.facts}
            for id in sources:
                added[id] = added.get(id, 0.0) + SEVERAL * bits / len(sources)
    return added
