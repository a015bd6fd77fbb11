"""GPUs: what the driver shows, how they are shared and joined, and what torch says of itself."""

from __future__ import annotations

import json
import os
import re
import sys

from knowledge.diagnostics.runtime.job import Answer, Facts, Job, NotApplicable

QUERY = "index,name,driver_version,memory.total,memory.used,compute_mode"


def collect_gpus(job: Job) -> Answer:
    """The GPUs that nvidia-smi lists."""
    if not job.which("nvidia-smi"):
        return "none", {
            "gpus": [],
            "device_files": len([n for n in job.names_in("/dev") if re.match(r"nvidia\d+$", n)]),
        }
    ran = job.run(["nvidia-smi", "--query-gpu=" + QUERY, "--format=csv,noheader,nounits"], 8)
    rows = [[part.strip() for part in line.split(",")] for line in ran.out.splitlines()]
    gpus = [dict(zip(QUERY.split(","), row)) for row in rows if len(row) == 6 and row[0].isdigit()]
    if ran.code is None:
        return "hangs", {"gpus": []}
    said = (ran.out + ran.err).lower()
    state = (
        "ok"
        if gpus
        else "mismatch"
        if "mismatch" in said
        else "no_devices"
        if "no devices" in said
        else "broken"
    )
    return state, {"gpus": gpus}


def gpus_of(job: Job) -> list[dict[str, str]]:
    """The GPUs found, or leave the probe when there are none."""
    found = job.shared.get("gpus", {}).get("gpus")
    if not isinstance(found, list) or not found:
        raise NotApplicable("no GPU is seen")
    return found


def probe_gpu_driver(job: Job) -> Answer:
    """Whether the driver answers and shows GPUs."""
    found = job.shared.get("gpus", {})
    state, gpus = str(found.get("outcome")), found.get("gpus")
    if state == "none":
        return ("not_in_container" if found.get("device_files") else "no_gpu"), {}
    facts: Facts = {}
    if isinstance(gpus, list) and gpus:
        facts = {
            "driver": gpus[0]["driver_version"],
            "gpus": len(gpus),
            "models": sorted({gpu["name"] for gpu in gpus}),
        }
        return ("models_differ" if len({gpu["name"] for gpu in gpus}) > 1 else "ok"), facts
    return {"mismatch": "library_mismatch", "hangs": "hangs", "no_devices": "no_gpu"}.get(
        state, "broken"
    ), facts


def probe_gpu_visibility(job: Job) -> Answer:
    """GPUs that the ranks of this machine may use, against the number of these ranks."""
    gpus = gpus_of(job)
    setting = job.env.get("CUDA_VISIBLE_DEVICES")
    named = [part.strip() for part in (setting or "").split(",") if part.strip()]
    bad = [part for part in named if (part.isdigit() and int(part) >= len(gpus)) or part.startswith("-")]
    seen = len(gpus) if setting is None else len(named) - len(bad)
    local = job.number(("LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE"))
    facts: Facts = {"gpus": len(gpus), "visible": seen, "set": setting is not None, "local_world_size": local}
    if bad and not part_negative(named):
        return "no_such_gpu", facts
    if setting is not None and seen == 0:
        return "hidden", facts
    if local and local > 1 and seen == 1 and setting is not None:
        return "one_each", facts
    return ("fewer_than_ranks" if local and local > seen else "ok"), facts


def part_negative(named: list[str]) -> bool:
    """Whether -1, the usual way to hide all GPUs, stands first."""
    return bool(named) and named[0].startswith("-")


def probe_gpu_use(job: Job) -> Answer:
    """Memory in use on the GPUs, and modes in which only one process may use one."""
    gpus = gpus_of(job)
    used = [
        int(gpu["memory.used"]) / max(1, int(gpu["memory.total"]))
        for gpu in gpus
        if gpu["memory.total"].isdigit()
    ]
    modes = sorted({gpu["compute_mode"] for gpu in gpus})
    facts: Facts = {"used": [round(one, 2) for one in used], "modes": modes}
    facts["total_mib"] = sorted({gpu["memory.total"] for gpu in gpus})
    if any("Exclusive" in mode or "Prohibited" in mode for mode in modes):
        return "exclusive", facts
    mig = job.run(["nvidia-smi", "--query-gpu=mig.mode.current", "--format=csv,noheader"], 5).out
    if "Enabled" in mig:
        return "mig", facts
    busy = [one for one in used if one > 0.3]
    return ("some_busy" if busy and len(busy) < len(used) else "all_busy" if busy else "free"), facts


def probe_gpu_health(job: Job) -> Answer:
    """Memory errors and throttling that the driver reports."""
    gpus_of(job)
    slow_names = ["clocks_throttle_reasons." + name for name in ("hw_slowdown", "sw_thermal_slowdown")]
    query = ",".join(["ecc.errors.uncorrected.volatile.total", *slow_names])
    ran = job.run(["nvidia-smi", "--query-gpu=" + query, "--format=csv,noheader,nounits"], 6)
    if ran.code != 0:
        raise NotApplicable("the driver does not tell")
    rows = [[part.strip() for part in line.split(",")] for line in ran.out.splitlines()]
    errors = sum(int(row[0]) for row in rows if row and row[0].isdigit())
    slow = sum("Active" in row[1:] for row in rows)
    facts: Facts = {"uncorrected": errors, "throttled": slow}
    return ("memory_errors" if errors else "throttled" if slow else "ok"), facts


def probe_gpu_links(job: Job) -> Answer:
    """How the GPUs are joined, and whether they may read each other's memory."""
    if len(gpus_of(job)) < 2:
        raise NotApplicable("fewer than two GPUs")
    out = job.run(["nvidia-smi", "topo", "-m"], 8).out
    cells = [
        cell for line in out.splitlines() if re.match(r"\x1b?\S*GPU\d", line) for cell in line.split()[1:]
    ]
    kinds = sorted(
        {re.sub(r"\d+$", "", cell) for cell in cells if re.match(r"(NV\d+|PIX|PXB|PHB|NODE|SYS)$", cell)}
    )
    torch = job.shared.get("torch", {})
    facts: Facts = {"links": kinds, "pairs_without_peer_access": torch.get("no_peer")}
    if torch.get("no_peer") and "NV" not in kinds:
        return "no_peer_access", facts
    return ("across_sockets" if "SYS" in kinds and "NV" not in kinds else "ok"), facts


def probe_own_device(job: Job) -> Answer:
    """Which GPU this rank would take by its local rank, to be compared between the ranks of a machine."""
    visible = job.env.get("CUDA_VISIBLE_DEVICES")
    if job.local_rank is None or (visible is None and not job.names_in("/proc/driver/nvidia")):
        raise NotApplicable("no local rank or no GPU")
    named = (visible or "").split(",")
    facts: Facts = {
        "local_rank": job.local_rank,
        "visible": len(named) if visible else -1,
        "pid_hidden": os.getpid() < 10,
    }
    return (
        "ok" if visible is None or job.local_rank < len(named) or len(named) == 1 else "beyond_visible"
    ), facts


# What torch says of itself, asked in a process of its own.

TORCH_FACTS = """
import json, torch
c, d, v = torch.cuda, torch.distributed, torch.version
f = {"version": torch.__version__, "cuda": v.cuda, "hip": getattr(v, "hip", None)}
f["distributed"] = d.is_available()
has = lambda b: getattr(d, "is_%s_available" % b, lambda: b == "gloo")()
f["backends"] = [b for b in ("nccl", "gloo", "mpi") if f["distributed"] and has(b)]
f["available"] = c.is_available()
f["count"] = n = c.device_count() if f["available"] else 0
f["archs"] = list(c.get_arch_list()) if n and hasattr(c, "get_arch_list") else []
f["capabilities"] = ["%d%d" % c.get_device_capability(i) for i in range(n)]
n = min(n, 8) if hasattr(c, "can_device_access_peer") else 0
f["no_peer"] = sum(not c.can_device_access_peer(i, j) for i in range(n) for j in range(n) if i != j)
try: f["nccl"] = ".".join(map(str, c.nccl.version()))
except Exception: f["nccl"] = None
print("facts " + json.dumps(f))
"""


def collect_torch(job: Job) -> Answer:
    """What torch says of itself, asked in a process of its own."""
    import importlib.util

    if importlib.util.find_spec("torch") is None:
        return "missing", {}
    ran = job.run([sys.executable, "-c", TORCH_FACTS], 22)
    if ran.code is None:
        return "slow", {}
    found = re.search(r"^facts (\{.*\})$", ran.out, re.M)
    if found:
        return "ok", dict(json.loads(found.group(1)))
    last = ran.err.strip().splitlines()[-1:] or [""]
    return ("crashes" if ran.code < 0 else "fails"), {"error": last[0][-120:], "all": ran.err[-3000:]}


def torch_of(job: Job) -> Facts:
    """Torch's facts, or leave the probe when torch is not there or does not import."""
    found = job.shared.get("torch", {})
    if found.get("outcome") != "ok":
        raise NotApplicable("torch is not installed or does not import")
    return found


def probe_torch_build(job: Job) -> Answer:
    """Whether torch imports, sees the GPUs that the driver shows, and was built for them."""
    found = job.shared.get("torch", {})
    state = str(found.get("outcome"))
    if state == "missing":
        raise NotApplicable("torch is not installed")
    if state in ("fails", "crashes", "slow"):
        return ("import_" + state), {
            "error": str(found.get("error", "")),
            "kind": error_mark(str(found.get("all", ""))),
        }
    gpus = job.shared.get("gpus", {}).get("gpus")
    facts: Facts = {name: found.get(name) for name in ("version", "cuda", "hip", "nccl", "backends", "count")}
    if not found.get("distributed"):
        return "no_distributed", facts
    if gpus and not found.get("cuda") and not found.get("hip"):
        return "cpu_build", facts
    if gpus and not found.get("available"):
        return "gpus_not_seen", facts
    archs, capabilities = found.get("archs"), found.get("capabilities")
    if isinstance(archs, list) and archs and isinstance(capabilities, list):
        newest = max(int(re.sub(r"\D", "", str(arch)) or 0) for arch in archs)
        facts["archs"], facts["capabilities"] = archs, sorted(set(capabilities))
        if any("sm_" + str(one) not in archs and int(one) > newest for one in capabilities):
            return "no_kernels", facts
        if any("sm_" + str(one) not in archs and int(one) < min_arch(archs) for one in capabilities):
            return "no_kernels", facts
    return "ok", facts


def min_arch(archs: list[object]) -> int:
    """The oldest GPU generation that torch carries code for."""
    return min(int(re.sub(r"\D", "", str(arch)) or 999) for arch in archs)


def error_mark(text: str) -> str:
    """A known mark in an import's error text."""
    marks = (
        "undefined symbol",
        "cannot open shared object",
        "GLIBC",
        "No module named",
        "numpy",
        "libcudart",
        "libnccl",
        "iJIT",
    )
    return next((mark for mark in marks if mark in text), "")
