"""The conditions in an entry's head: framework, versions, launcher, platform, number of processes."""

from __future__ import annotations

from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

from knowledge.evidence import Reading
from knowledge.evidence.launch_found import named_launchers
from knowledge.evidence.lines import Kind
from knowledge.findings.failure import Failure
from knowledge.findings.fitting import platforms_in
from knowledge.findings.releases import released, written
from knowledge.frameworks import frameworks

# Libraries that entries are about but no tracker of ours; and before Keras 3, what Keras ran on was TensorFlow.
_OTHERS = {"accelerate": "pytorch", "transformers": "pytorch", "vllm": "pytorch", "keras": "tensorflow"}
_PARENTS = {one.id: one.built_on for one in frameworks() if one.built_on} | _OTHERS

# Each says 1: the condition is met; -1: the report shows something else; 0: there is none, or the report is silent.


def of_framework(entry: Failure, reading: Reading) -> int:
    """Whether the entry is about the report's framework."""
    said = reading.framework
    if not said or not entry.frameworks:
        return 0
    family = {said, _PARENTS.get(said, "")} - {""}
    if family & set(entry.frameworks):
        return 1
    below = {f for f, parent in _PARENTS.items() if parent == said}
    return 0 if below & set(entry.frameworks) else -1


def of_version(entry: Failure, reading: Reading) -> int:
    """Whether a stated version is affected; -1 also if the affected ones weren't out yet."""
    verdicts = [
        _affected(wanted, reading.versions[component])
        for component, wanted in entry.versions.items()
        if component in reading.versions
    ]
    known = [v for v in verdicts if v is not None]
    if known:
        return 1 if any(known) else -1
    return -1 if any(_not_out_yet(c, wanted, reading) for c, wanted in entry.versions.items()) else 0


def of_launcher(entry: Failure, reading: Reading) -> int:
    """Whether the report names a launcher under which it happens; srun may well have started torchrun."""
    if not entry.launchers or reading.launcher is None:
        return 0
    return 1 if _launchers(entry, reading) else -1


def of_platform(entry: Failure, reading: Reading) -> int:
    """Whether the report names a platform on which it happens; another one counts only if it states its system."""
    if not entry.platforms:
        return 0
    if set(entry.platforms) & platforms_in(reading):
        return 1
    return -1 if "os" in reading.versions else 0


def of_world_size(entry: Failure, reading: Reading) -> int:
    """Whether the job has as many processes as it takes."""
    if not entry.world_size or reading.world_size is None:
        return 0
    return 1 if SpecifierSet(entry.world_size).contains(str(reading.world_size)) else -1


def contradicted(entry: Failure, reading: Reading) -> bool:
    """Whether the report shows another launcher, platform or number of processes than the entry needs."""
    return any(told(entry, reading) < 0 for told in (of_launcher, of_platform, of_world_size))


def held_by(entry: Failure, reading: Reading) -> tuple[str, ...]:
    """The conditions that the report meets, in words."""
    held = []
    if of_version(entry, reading) > 0:
        held += [f"{c} {reading.versions[c]}" for c in entry.versions if c in reading.versions]
    if of_framework(entry, reading) > 0:
        held.append(str(reading.framework))
    if of_launcher(entry, reading) > 0:
        held.append(f"launched by {' or '.join(_launchers(entry, reading))}")
    if of_platform(entry, reading) > 0:
        held += sorted(set(entry.platforms) & platforms_in(reading))
    if of_world_size(entry, reading) > 0:
        held.append(f"{reading.world_size} processes")
    return tuple(held)


def _launchers(entry: Failure, reading: Reading) -> list[str]:
    """Those under which the entry happens and that the report names."""
    texts = (line.text for line in reading.lines if line.kind not in (Kind.BLANK, Kind.NOISE))
    named = {reading.launcher, *named_launchers([reading.report.title, *texts])}
    return [one for one in entry.launchers if one in named]


def _not_out_yet(component: str, wanted: str, reading: Reading) -> bool:
    """Whether the first affected release came out after the report was written."""
    first = [Version(s.version) for s in SpecifierSet(wanted) if s.operator in (">=", ">", "==")]
    month = released(component, min(first)) if first else None
    latest = written(reading)
    return month is not None and latest is not None and month > latest


def _affected(wanted: str, stated: str) -> bool | None:
    try:
        return SpecifierSet(wanted).contains(Version(stated).public, prereleases=True)
    except InvalidVersion:
        return None
