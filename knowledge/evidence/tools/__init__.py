"""Readers of what diagnostic tools print: text in, versions and plain sentences out."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType

from knowledge.evidence.lines import Line
from knowledge.evidence.tools import (
    cuda_builds,
    flight_recorder,
    forms,
    horovod_build,
    infiniband,
    kernel_oom,
    kubernetes,
    nccl_ras,
    nccl_tests,
    nvidia_smi,
    open_mpi,
    pip_check,
    py_spy,
    session,
    slurm,
    watchdog,
    xid,
)
from knowledge.evidence.tools.finding import Fact, ToolReading

__all__ = ["MOST_FACTS", "Fact", "ToolReading", "read_tools"]

MOST_FACTS = 4
_MOST_LINES = 200_000

# What settles most first: the sentences of the first readers are shown. A reader's output holds one of its MARKS.
_READERS: tuple[ModuleType, ...] = (
    flight_recorder,
    nccl_ras,
    py_spy,
    watchdog,
    xid,
    kernel_oom,
    kubernetes,
    slurm,
    nvidia_smi,
    infiniband,
    nccl_tests,
    cuda_builds,
    horovod_build,
    open_mpi,
    pip_check,
    session,
    forms,
)


def read_tools(lines: Sequence[Line]) -> ToolReading:
    """What all readers say of a report: at most four sentences, and the versions that tools and forms hold."""
    lines = lines[:_MOST_LINES]
    text = "\n".join(line.text for line in lines)
    facts: dict[str, Fact] = {}
    versions: dict[str, str] = {}
    world_size: int | None = None
    for reader in _READERS:
        if not any(mark in text for mark in reader.MARKS):
            continue
        reading: ToolReading = reader.read(lines)
        for fact in reading.facts:
            facts.setdefault(fact.text, fact)
        for component, version in reading.versions.items():
            versions.setdefault(component, version)
        world_size = world_size or reading.world_size
    return ToolReading(tuple(facts.values())[:MOST_FACTS], versions, world_size)
