"""What the machine says of a job: its GPUs, network and kernel, and the scheduler that placed it there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import re2

from knowledge.evidence.lines import Line
from knowledge.evidence.tools.finding import Fact, ToolReading, versions_of

# `nvidia-smi`: the driver, and processes that share one GPU.

NVIDIA_SMI_MARKS = ("NVIDIA-SMI",)
_DRIVER = re2.compile(r"Driver Version: (\d{3}\.\d+(?:\.\d+)?)")
_GPU = re2.compile(r"^\|\s+(\d{1,2})\s+\S.*?\s(?:On|Off|N/A)\s+\|\s+[0-9A-Fa-f]{8}:")
_PROCESS = re2.compile(r"^\|\s+(\d{1,2})\s+(?:\S+\s+\S+\s+)?(\d+)\s+C\s+(\S.*?)\s+\d+MiB \|")


def read_nvidia_smi(lines: Sequence[Line]) -> ToolReading:
    """The driver's version; a sentence where one GPU holds several processes and others hold none."""
    drivers, gpus, users = list[tuple[str, str]](), set[int](), Counter[int]()
    first: int | None = None
    for line in lines:
        if (match := _DRIVER.search(line.text)) is not None:
            drivers.append(("driver", match.group(1)))
        elif (match := _GPU.match(line.text)) is not None:
            gpus.add(int(match.group(1)))
        elif (match := _PROCESS.match(line.text)) is not None:
            first = first or line.number
            users[int(match.group(1))] += 1
    crowded = [gpu for gpu, count in users.items() if count > 1]
    facts: tuple[Fact, ...] = ()
    empty = len(gpus) - len(users)
    if first is not None and len(crowded) == 1 and empty > 0:
        idle = "1 GPU has none" if empty == 1 else f"{empty} GPUs have none"
        facts = (Fact(first, f"{users[crowded[0]]} processes run on GPU {crowded[0]}; {idle}."),)
    return ToolReading(facts, versions_of(drivers))


# Xid lines of the NVIDIA driver in the kernel's log.

XID_MARKS = ("Xid (",)
_XID = re2.compile(r"Xid \((?:PCI:)?([0-9A-Fa-f:.]{4,16})\): (\d{1,3})\b")
_XID_MEANING = {
    13: "the program used a GPU address or instruction wrongly",
    31: "the program touched GPU memory that was not its own",
    43: "the GPU stopped the program after a fault of the program",
    45: "the program was ended while it used the GPU",
    48: "the GPU's memory has an uncorrectable error",
    61: "the GPU's firmware stopped",
    62: "the GPU's firmware stopped",
    63: "a page of the GPU's memory was retired or a row remapped",
    64: "a page of the GPU's memory could not be retired",
    74: "an NVLink connection failed",
    79: "the GPU fell off the bus",
    92: "the GPU's memory has many correctable errors",
    94: "an uncorrectable memory error was contained to one program",
    95: "an uncorrectable memory error was not contained",
    119: "the GPU's system processor does not answer",
    120: "the GPU's system processor failed",
}


def read_xid(lines: Sequence[Line]) -> ToolReading:
    """One sentence for each Xid and GPU."""
    seen: dict[tuple[str, int], Fact] = {}
    for line in lines:
        if (match := _XID.search(line.text)) is not None:
            gpu, code = match.group(1).lower(), int(match.group(2))
            meaning = f": {_XID_MEANING[code]}" if code in _XID_MEANING else ""
            text = f"The driver reports Xid {code} on GPU {gpu}{meaning}."
            seen.setdefault((gpu, code), Fact(line.number, text))
    return ToolReading(tuple(seen.values()))


# `ibstat` and `ibv_devinfo`: ports that are not up.

INFINIBAND_MARKS = ("Physical state:", "PORT_DOWN", "PORT_INIT")
_DEVICE = re2.compile(r"^\s*(?:CA '(\S+)'|hca_id:\s*(\S+))")
_PORT = re2.compile(r"^\s*(?:Port (\d+):|port:\s*(\d+))\s*$")
_PORT_STATE = re2.compile(r"^\s*(?:State:\s*(\w+)|state:\s*PORT_(\w+))")


def read_infiniband(lines: Sequence[Line]) -> ToolReading:
    """One sentence that names the ports that are not active."""
    device, port, first = "", "1", None
    down: list[str] = []
    for line in lines:
        if (match := _DEVICE.match(line.text)) is not None:
            device = match.group(1) or match.group(2)
        elif (match := _PORT.match(line.text)) is not None:
            port = match.group(1) or match.group(2)
        elif device and (match := _PORT_STATE.match(line.text)) is not None:
            state = (match.group(1) or match.group(2)).lower()
            if state != "active":
                first = first or line.number
                down.append(f"{device} port {port} ({state})")
    if first is None:
        return ToolReading()
    shown = ", ".join(down[:4]) + (f" and {len(down) - 4} more" if len(down) > 4 else "")
    return ToolReading((Fact(first, f"InfiniBand is not up on {shown}."),))


# The kernel's out-of-memory killer, in dmesg and the journal.

KERNEL_OOM_MARKS = ("ut of memory: Kill",)
_PROCESS_KILLED = re2.compile(r"(Memory cgroup o|O)ut of memory: Kill(?:ed)? process (\d+) \(([^)]{1,40})\)")


def read_kernel_oom(lines: Sequence[Line]) -> ToolReading:
    """One sentence for the first process that was killed."""
    for line in lines:
        if (match := _PROCESS_KILLED.search(line.text)) is not None:
            whose = (
                "its container reached its memory limit"
                if "cgroup" in match.group(1)
                else "the machine ran out of memory"
            )
            return ToolReading(
                (
                    Fact(
                        line.number,
                        f"The kernel killed process {match.group(2)} ({match.group(3)}): {whose}.",
                    ),
                )
            )
    return ToolReading()


# `kubectl describe pod` and its events.

KUBERNETES_MARKS = ("OOMKilled", "FailedScheduling", "Evicted")
_POD_KILLED = re2.compile(r"^\s*Reason:\s+OOMKilled")
_EXIT = re2.compile(r"^\s*Exit Code:\s+(\d+)")
_SHORT = re2.compile(r"FailedScheduling.*?(\d+)/(\d+) nodes are available.*?Insufficient ([\w./-]+)")
_EVICTED = re2.compile(r"Evicted.*?low on resource: ([\w-]+)")


def read_kubernetes(lines: Sequence[Line]) -> ToolReading:
    """Memory limit, scheduling and eviction, one sentence each."""
    facts: dict[str, Fact] = {}
    for index, line in enumerate(lines):
        if _POD_KILLED.match(line.text):
            code = next(
                (m.group(1) for below in lines[index : index + 3] if (m := _EXIT.match(below.text))), "137"
            )
            text = f"Kubernetes killed the container for exceeding its memory limit (OOMKilled, exit code {code})."
            facts.setdefault("memory", Fact(line.number, text))
        elif (match := _SHORT.search(line.text)) is not None:
            resource = match.group(3).rstrip(".")
            text = f"The pod cannot be scheduled: none of {match.group(2)} nodes has enough free {resource}."
            facts.setdefault("scheduling", Fact(line.number, text))
        elif (match := _EVICTED.search(line.text)) is not None:
            facts.setdefault(
                "evicted", Fact(line.number, f"The pod was evicted: its node ran low on {match.group(1)}.")
            )
    return ToolReading(tuple(facts.values()))


# `sacct` tables and slurmstepd's word on memory.

SLURM_MARKS = ("JobID", "oom_kill event")
_OOM = re2.compile(r"oom_kill events? in (?:StepId=|step )(\d+\.\w+)")
_JOB_STATE = re2.compile(r"\b(OUT_OF_ME\w*\+?|NODE_FAIL\w*|TIMEOUT|PREEMPTED|BOOT_FAIL)\b")
_JOB = re2.compile(r"^\s*(\d+(?:_\d+)?(?:\.\w+)?)[\s|]")
_STATE_MEANING = {
    "OUT": "for exceeding its memory limit",
    "NODE": "because a node failed",
    "TIME": "at its time limit",
    "PREE": "by preemption",
    "BOOT": "because a node did not boot",
}


def read_slurm(lines: Sequence[Line]) -> ToolReading:
    """How Slurm says that the job ended, one sentence."""
    in_table = False
    for line in lines:
        if (match := _OOM.search(line.text)) is not None:
            return ToolReading(
                (
                    Fact(
                        line.number,
                        f"Slurm killed a task of step {match.group(1)} for exceeding its memory limit.",
                    ),
                )
            )
        if "JobID" in line.text and "State" in line.text:
            in_table = True
        elif in_table and (job := _JOB.match(line.text)) and (state := _JOB_STATE.search(line.text)):
            why = next(text for start, text in _STATE_MEANING.items() if state.group(1).startswith(start))
            return ToolReading((Fact(line.number, f"Slurm ended job {job.group(1)} {why}."),))
    return ToolReading()
