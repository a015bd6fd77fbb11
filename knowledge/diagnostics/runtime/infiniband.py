"""InfiniBand and RoCE."""

from __future__ import annotations

import re
import resource

from knowledge.diagnostics.runtime.job import Answer, Facts, Job, NotApplicable


def probe_infiniband(job: Job) -> Answer:
    """State and rate of the InfiniBand or RoCE ports, and whether memory may be locked for them."""
    job.linux_only()
    ports = [
        (card, port)
        for card in job.names_in("/sys/class/infiniband")
        for port in job.names_in(f"/sys/class/infiniband/{card}/ports")
    ]
    if not ports:
        raise NotApplicable("no InfiniBand device")

    states = [
        job.read("/sys/class/infiniband/{}/ports/{}/state".format(*port)).split(":")[-1].strip()
        for port in ports
    ]
    rates = [
        job.read("/sys/class/infiniband/{}/ports/{}/rate".format(*port)).split("(")[0].strip()
        for port in ports
    ]
    locked = resource.getrlimit(resource.RLIMIT_MEMLOCK)[0]
    facts: Facts = {
        "ports": len(ports),
        "active": states.count("ACTIVE"),
        "rates": sorted(set(rates)),
        "memlock": locked,
    }
    if "ACTIVE" not in states:
        return ("unused" if job.var("NCCL_IB_DISABLE") == "1" else "down"), facts
    if locked != resource.RLIM_INFINITY and locked < 1 << 30:
        return "memlock_small", facts
    if not job.names_in("/dev/infiniband"):
        return "not_in_container", facts
    return ("some_down" if facts["active"] != len(ports) else "ok"), facts


def probe_gpu_direct(job: Job) -> Answer:
    """Whether the module that lets InfiniBand cards read GPU memory is loaded."""
    if not job.names_in("/sys/class/infiniband") or not job.names_in("/proc/driver/nvidia"):
        raise NotApplicable("no InfiniBand device or no GPU driver")
    loaded = re.search(r"^(nvidia_peermem|nv_peer_mem)\b", job.read("/proc/modules", 262144), re.M)
    return ("ok" if loaded else "not_loaded"), {}
