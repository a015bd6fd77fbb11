"""Collectors: measurements that several probes share, taken once (importing a framework takes seconds)."""

from __future__ import annotations

from dataclasses import dataclass


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
