"""Limits of the process, disks, the container and the kernel; memory and processors that they grant."""

from __future__ import annotations

import os
import platform
import re
import resource

from knowledge.diagnostics.runtime.job import Answer, Facts, Job, NotApplicable

# Memory and processors that the machine or its container grants.

MIB = 1 << 20


GIB = 1 << 30


NO_LIMIT = 1 << 60


def probe_shm_size(job: Job) -> Answer:
    """Size and free space of /dev/shm, which loader workers and NCCL pass data through."""
    job.linux_only()
    if not os.path.isdir(job.path("/dev/shm")):
        return "missing", {}
    state = os.statvfs(job.path("/dev/shm"))
    total, free = state.f_blocks * state.f_frsize, state.f_bavail * state.f_frsize
    facts: Facts = {"total_mib": total // MIB, "free_mib": free // MIB}
    if not os.access(job.path("/dev/shm"), os.W_OK):
        return "not_writable", facts
    if total < 256 * MIB:
        return "tiny", facts
    if free < min(256 * MIB, total // 10):
        return "full", facts
    return ("small" if total < GIB else "ok"), facts


def cgroup_file(job: Job, controller: str, old: str, new: str) -> str:
    """A value of this process's cgroup or the nearest one above that sets it: version 2's name, then
    version 1's."""
    places = []
    for line in job.read("/proc/self/cgroup").splitlines():
        _, controllers, place = ([*line.split(":", 2), "", ""])[:3]
        if controllers == "":
            places += [("/sys/fs/cgroup", place, new), ("/sys/fs/cgroup/unified", place, new)]
        elif controller in controllers.split(","):
            places.append(("/sys/fs/cgroup/" + controller, place, old))
    for base, place, name in [
        *places,
        ("/sys/fs/cgroup", "", new),
        ("/sys/fs/cgroup/" + controller, "", old),
    ]:
        while True:
            text = job.read(base + place + "/" + name).strip()
            if (
                text
                and not text.startswith("max")
                and text != "-1"
                and not (text.isdigit() and int(text) >= NO_LIMIT)
            ):
                return text
            if place in ("", "/"):
                break
            place = place.rsplit("/", 1)[0]
    return ""


def memory_total(job: Job) -> tuple[int, int]:
    """Memory of the machine and how much of it is available, in bytes; zeros when it cannot be read."""
    found = dict(re.findall(r"^(\w+):\s+(\d+) kB", job.read("/proc/meminfo"), re.M))
    return int(found.get("MemTotal", 0)) * 1024, int(found.get("MemAvailable", 0)) * 1024


def probe_cgroup_memory(job: Job) -> Answer:
    """The container's memory limit, how much of it is used, and whether the kernel has killed for it."""
    job.linux_only()
    limit = cgroup_file(job, "memory", "memory.limit_in_bytes", "memory.max")
    events = cgroup_file(job, "memory", "memory.oom_control", "memory.events")
    kills = re.search(r"^oom_kill (\d+)", events, re.M)
    killed = int(kills.group(1)) if kills else 0
    total, _ = memory_total(job)
    if not limit.isdigit() or (total and int(limit) >= total):
        return ("killed" if killed else "unlimited"), {"kills": killed}
    used = cgroup_file(job, "memory", "memory.usage_in_bytes", "memory.current")
    peak = cgroup_file(job, "memory", "memory.max_usage_in_bytes", "memory.peak")
    facts: Facts = {
        "limit_mib": int(limit) // MIB,
        "share": round(int(limit) / total, 3) if total else None,
        "kills": killed,
    }
    facts["used_mib"] = int(used) // MIB if used.isdigit() else None
    fails = cgroup_file(job, "memory", "memory.failcnt", "memory.failcnt")
    reached = (peak.isdigit() and int(peak) >= 0.97 * int(limit)) or (fails.isdigit() and int(fails) > 0)
    if killed or reached:
        return "killed" if killed else "reached", facts
    ranks = job.number(("LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE")) or 1
    if int(limit) < 2 * GIB * ranks:
        return "no_room", facts
    return ("tight" if int(limit) < 4 * GIB or (total and int(limit) < total / 16) else "ok"), facts


def probe_cgroup_cpu(job: Job) -> Answer:
    """Processors this process may use against those the machine shows, and the limit on processes."""
    job.linux_only()
    shown, allowed = os.cpu_count() or 1, float(len(os.sched_getaffinity(0)))
    quota = cgroup_file(job, "cpu", "cpu.cfs_quota_us", "cpu.max").split()
    period = quota[1:] or [cgroup_file(job, "cpu", "cpu.cfs_period_us", "cpu.max")]
    if quota and quota[0].isdigit() and period[0].isdigit() and int(period[0]):
        allowed = min(allowed, int(quota[0]) / int(period[0]))
    most = cgroup_file(job, "pids", "pids.max", "pids.max")
    now = cgroup_file(job, "pids", "pids.current", "pids.current")
    facts: Facts = {
        "shown": shown,
        "allowed": allowed,
        "pids_max": int(most) if most.isdigit() else None,
    }
    if most.isdigit() and now.isdigit() and int(now) > 0.9 * int(most):
        return "few_processes", facts
    local = job.number(("LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE")) or 1
    return ("starved" if allowed < 1 or allowed < local / 2 else "ok"), facts


def probe_host_memory(job: Job) -> Answer:
    """Memory that is available on the machine, and traces of kills for lack of it."""
    job.linux_only()
    total, available = memory_total(job)
    if not total:
        raise NotApplicable("the kernel does not tell")
    kills = re.search(r"^oom_kill (\d+)", job.read("/proc/vmstat"), re.M)
    facts: Facts = {
        "total_gib": round(total / GIB, 1),
        "available_gib": round(available / GIB, 1),
    }
    facts["kills_since_boot"] = int(kills.group(1)) if kills else None
    if available < min(2 * GIB, total // 20):
        return "low", facts
    return ("killed_before" if facts["kills_since_boot"] else "ok"), facts


def probe_threads(job: Job) -> Answer:
    """Threads that the ranks of this machine will start against its processors."""
    text = job.var("OMP_NUM_THREADS")
    local = job.number(("LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE")) or 1
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
    each = int(text) if text.isdigit() else processors
    facts: Facts = {
        "threads_each": each,
        "local_world_size": local,
        "processors": processors,
        "set": text.isdigit(),
    }
    if local > 1 and each * local > 2 * processors:
        return "too_many", facts
    return ("one_thread" if each == 1 and processors >= 8 * local else "ok"), facts


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
