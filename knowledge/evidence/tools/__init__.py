"""Readers of what diagnostic tools print: text in, versions and plain sentences out."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from knowledge.evidence.lines import Line
from knowledge.evidence.tools import builds, forms, hangs, machines, nccl
from knowledge.evidence.tools.finding import Fact, ToolReading

__all__ = ["MOST_FACTS", "Fact", "ToolReading", "read_tools"]

MOST_FACTS = 4
_MOST_LINES = 200_000

# What settles most first: the sentences of the first readers are shown. What a reader reads holds one of its marks.
_READERS: tuple[tuple[tuple[str, ...], Callable[[Sequence[Line]], ToolReading]], ...] = (
    (hangs.FLIGHT_RECORDER_MARKS, hangs.read_flight_recorder),
    (nccl.NCCL_RAS_MARKS, nccl.read_nccl_ras),
    (hangs.PY_SPY_MARKS, hangs.read_py_spy),
    (hangs.WATCHDOG_MARKS, hangs.read_watchdog),
    (machines.XID_MARKS, machines.read_xid),
    (machines.KERNEL_OOM_MARKS, machines.read_kernel_oom),
    (machines.KUBERNETES_MARKS, machines.read_kubernetes),
    (machines.SLURM_MARKS, machines.read_slurm),
    (machines.NVIDIA_SMI_MARKS, machines.read_nvidia_smi),
    (machines.INFINIBAND_MARKS, machines.read_infiniband),
    (nccl.NCCL_TESTS_MARKS, nccl.read_nccl_tests),
    (builds.CUDA_BUILD_MARKS, builds.read_cuda_builds),
    (builds.HOROVOD_BUILD_MARKS, builds.read_horovod_build),
    (builds.OPEN_MPI_MARKS, builds.read_open_mpi),
    (builds.PIP_CHECK_MARKS, builds.read_pip_check),
    (forms.SESSION_MARKS, forms.read_session),
    (forms.FORM_MARKS, forms.read_forms),
)


def read_tools(lines: Sequence[Line]) -> ToolReading:
    """What all readers say of a report: at most four sentences, and the versions that tools and forms hold."""
    lines = lines[:_MOST_LINES]
    text = "\n".join(line.text for line in lines)
    facts: dict[str, Fact] = {}
    versions: dict[str, str] = {}
    world_size: int | None = None
    for marks, read in _READERS:
        if not any(mark in text for mark in marks):
            continue
        reading = read(lines)
        for fact in reading.facts:
            facts.setdefault(fact.text, fact)
        for component, version in reading.versions.items():
            versions.setdefault(component, version)
        world_size = world_size or reading.world_size
    return ToolReading(tuple(facts.values())[:MOST_FACTS], versions, world_size)
