"""What torch says of itself, asked in a process of its own."""

from __future__ import annotations

import json
import re
import sys

from knowledge.diagnostics.runtime.job import Answer, Facts, Job, NotApplicable

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
