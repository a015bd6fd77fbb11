"""What the report does not say and a maintainer would ask for first."""

from __future__ import annotations

from collections.abc import Mapping

from knowledge.evidence import Reading
from knowledge.evidence.lines import Kind
from knowledge.triage import Axis, Distributed, MissingItem

MOST = 4
_NAMES = {
    "pytorch": "torch",
    "pytorch-lightning": "pytorch-lightning",
    "colossal-ai": "colossalai",
    "megatron-lm": "megatron",
}


def ask_for(reading: Reading, axes: Mapping[str, Axis], distributed: Distributed) -> list[MissingItem]:
    """At most four concrete requests, the most useful first; nothing is asked twice that the report says.

    Of a fault that surely shows on one device, nobody is asked how many take part.
    """
    stage = axes["stage"].top or "D"
    symptom = axes["symptom"].top or ""
    asks = [
        *_log(reading, symptom),
        *_versions(reading, stage, symptom),
        *_launch(reading, stage, symptom, several=distributed.answer is not False),
    ]
    return asks[:MOST]


def _log(reading: Reading, symptom: str) -> list[MissingItem]:
    logged = sum(line.kind is Kind.LOG for line in reading.lines)
    if symptom in ("D.2.1", "B.2", "C.4"):
        if not any("py-spy" in line.text or "gdb" in line.text for line in reading.lines):
            return [
                MissingItem(
                    id="stacks",
                    ask="The stack of every rank while it hangs: `py-spy dump --pid PID` for each process.",
                )
            ]
        return []
    if symptom in ("D.2.3",):
        return [
            MissingItem(
                id="throughput",
                ask="Throughput on one device and on all of them, and a profile of one slow step.",
            )
        ]
    if logged >= 3 or symptom in ("D.2.2", "D.2.4", "D.2.5"):
        return []
    return [
        MissingItem(
            id="log",
            ask="The full log from the first error on, of every rank, as text rather than a picture.",
        )
    ]


def _versions(reading: Reading, stage: str, symptom: str) -> list[MissingItem]:
    wanted = [_NAMES.get(reading.framework or "", reading.framework or "the framework"), "python", "cuda"]
    if stage in ("B", "C") or symptom in ("D.1.1", "D.2.1"):
        wanted.append("nccl")
    if reading.launcher in ("mpirun", "horovodrun") or reading.framework == "horovod":
        wanted.append("openmpi")
    if symptom == "A.1":
        wanted += ["gcc", "cmake"]
    lacking = [name for name in wanted if name not in reading.versions]
    if not lacking:
        return []
    shown = {"openmpi": "MPI", "cuda": "CUDA", "nccl": "NCCL", "python": "Python", "cmake": "CMake"}
    names = ", ".join(shown.get(name, name) for name in lacking)
    return [MissingItem(id="versions", ask=f"The versions of: {names}.")]


def _launch(reading: Reading, stage: str, symptom: str, *, several: bool) -> list[MissingItem]:
    out: list[MissingItem] = []
    if stage != "A" and reading.launcher is None:
        out.append(
            MissingItem(
                id="command",
                ask="The exact launch command with its options and the relevant environment variables.",
            )
        )
    if several and stage in ("B", "C", "D") and reading.world_size is None and symptom != "D.1.6":
        out.append(
            MissingItem(
                id="world_size",
                ask="How many nodes, processes and GPUs take part, and whether one process alone works.",
            )
        )
    if stage == "B" or symptom == "D.1.1":
        text = "\n".join(line.text for line in reading.lines)
        if "NCCL_DEBUG" not in text and "NCCL INFO" not in text and "nccl" in text.lower():
            out.append(
                MissingItem(
                    id="nccl_debug",
                    ask="The output with `NCCL_DEBUG=INFO` and `NCCL_DEBUG_SUBSYS=INIT,NET` set.",
                )
            )
    return out
