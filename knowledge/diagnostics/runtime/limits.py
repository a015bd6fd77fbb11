"""Limits of the process, disks, the container and the kernel."""

from __future__ import annotations

import os
import platform
import re
import resource

from knowledge.diagnostics.runtime.job import Answer, Facts, Job, NotApplicable
from knowledge.diagnostics.runtime.memory import GIB, MIB


def probe_ulimits(job: Job) -> Answer:
    """Limits on open files, processes, locked memory and address space."""
    names = {
        "nofile": "RLIMIT_NOFILE",
        "nproc": "RLIMIT_NPROC",
        "memlock": "RLIMIT_MEMLOCK",
        "address_space": "RLIMIT_AS",
    }
    soft = {
        name: resource.getrlimit(getattr(resource, code))[0]
        for name, code in names.items()
        if hasattr(resource, code)
    }
    facts: Facts = {
        name: (-1 if value in (resource.RLIM_INFINITY, -1) else value) for name, value in soft.items()
    }
    if 0 <= int(str(facts.get("address_space", -1))) < 64 * GIB:
        return "address_space", facts
    usual = 1024 if job.platform.startswith("linux") else 256
    if 0 <= int(str(facts.get("nofile", -1))) < usual:
        return "few_files", facts
    if 0 <= int(str(facts.get("nproc", -1))) < 512:
        return "few_processes", facts
    return "ok", facts


def probe_disk_space(job: Job) -> Answer:
    """Free space and free files where the job writes: here, its temporary folder, its caches."""
    places = {"here": os.getcwd(), "tmp": job.var("TMPDIR") or "/tmp"}
    places["cache"] = job.var("HF_HOME") or job.var("XDG_CACHE_HOME") or os.path.expanduser("~")
    facts: Facts = {}
    full = False
    for name, place in places.items():
        try:
            state = os.statvfs(place)
        except OSError:
            continue
        free = state.f_bavail * state.f_frsize
        facts[name + "_free_mib"] = free // MIB
        full = full or free < 512 * MIB or (state.f_files > 0 and state.f_favail < 1000)
    return ("full" if full else "ok"), facts


def probe_tmp_usable(job: Job) -> Answer:
    """Whether the folders that the settings name exist and may be written to (their rights are read,
    nothing is written)."""
    names = (
        "TMPDIR",
        "HF_HOME",
        "TORCH_HOME",
        "TORCH_EXTENSIONS_DIR",
        "XDG_CACHE_HOME",
        "TRITON_CACHE_DIR",
        "NCCL_DEBUG_FILE",
    )
    bad = []
    for name in names:
        place = job.var(name)
        if name == "NCCL_DEBUG_FILE":
            place = os.path.dirname(place)
        if (place and os.path.exists(place) and not os.access(place, os.W_OK)) or (
            place and not os.path.exists(place) and name in ("TMPDIR", "NCCL_DEBUG_FILE")
        ):
            bad.append(name)
    if not os.access(job.var("TMPDIR") or "/tmp", os.W_OK):
        bad.append("tmp")
    return ("unusable" if bad else "ok"), {"variables": bad}


def probe_container(job: Job) -> Answer:
    """Whether this is a container or WSL, and which rights it lacks that training may want."""
    job.linux_only()
    wsl = "microsoft" in job.read("/proc/version").lower()
    inside = os.path.exists(job.path("/.dockerenv")) or os.path.exists(job.path("/run/.containerenv"))
    inside = inside or bool(re.search(r"docker|kubepods|containerd|lxc|libpod", job.read("/proc/1/cgroup")))
    rights = re.search(r"^CapEff:\s*([0-9a-f]+)", job.read("/proc/self/status"), re.M)
    mask = int(rights.group(1), 16) if rights else 0
    facts: Facts = {
        "container": inside,
        "wsl": wsl,
        "ptrace": bool(mask >> 19 & 1),
        "ipc_lock": bool(mask >> 14 & 1),
    }
    if wsl:
        return "wsl", facts
    if inside and job.names_in("/sys/class/infiniband") and not job.names_in("/dev/infiniband"):
        return "no_devices", facts
    return ("container" if inside else "plain"), facts


def probe_kernel(job: Job) -> Answer:
    """Version of the kernel and of the C library."""
    job.linux_only()
    found = re.match(r"(\d+)\.(\d+)", os.uname().release)
    if not found:
        raise NotApplicable("the version cannot be read")

    version = (int(found.group(1)), int(found.group(2)))
    libc = platform.libc_ver()
    facts: Facts = {
        "kernel": f"{version[0]}.{version[1]}",
        "libc": " ".join(libc),
        "machine": os.uname().machine,
    }
    parts = [int(part) for part in libc[1].split(".") if part.isdigit()]
    if libc[0] == "glibc" and parts and parts < [2, 28]:
        return "old_libc", facts
    return ("old_kernel" if version < (5, 5) else "ok"), facts
