"""What the launcher told this process, and whether it fits itself."""

from __future__ import annotations

import json
import re

from knowledge.diagnostics.runtime.hosts import hostfile_lines, is_loopback
from knowledge.diagnostics.runtime.job import Answer, Facts, Job, NotApplicable

TORCH_VARS = ("MASTER_ADDR", "MASTER_PORT", "RANK", "WORLD_SIZE")


def probe_rendezvous_env(job: Job) -> Answer:
    """Whether the launcher's variables are complete and agree with each other."""
    missing = [name for name in TORCH_VARS if not job.var(name)]
    if len(missing) == len(TORCH_VARS):
        raise NotApplicable("no launcher variables are set: run it as the job is run")
    rank, world = job.rank, job.world
    local, local_world = job.local_rank, job.number(("LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE"))
    facts: Facts = {"missing": missing, "world_size": world, "local_world_size": local_world}
    numbers = [
        name
        for name in ("RANK", "WORLD_SIZE", "MASTER_PORT", "LOCAL_RANK")
        if job.var(name) and not job.var(name).isdigit()
    ]
    port = job.number(("MASTER_PORT",))
    if numbers or (port is not None and not 0 < port < 65536):
        return "not_numbers", dict(facts, variables=numbers or ["MASTER_PORT"])
    if rank is not None and world is not None and rank >= world:
        return "rank_beyond_world", dict(facts, rank=rank)
    if local is not None and local_world is not None and local >= local_world:
        return "rank_beyond_world", dict(facts, local_rank=local)
    if missing and set(missing) != {"RANK", "WORLD_SIZE"}:
        return "incomplete", facts
    tasks = job.number(("SLURM_NTASKS", "OMPI_COMM_WORLD_SIZE"))
    if tasks is not None and world is not None and tasks > 1 and tasks != world:
        return "launchers_disagree", dict(facts, tasks=tasks)
    if world and local_world and world > local_world and is_loopback(job.var("MASTER_ADDR")):
        return "loopback_master", facts
    return "ok", facts


def probe_tf_config(job: Job) -> Answer:
    """Whether TF_CONFIG is JSON, names this task inside its cluster and no address twice."""
    text = job.var("TF_CONFIG")
    if not text:
        raise NotApplicable("TF_CONFIG is not set")
    try:
        config = json.loads(text)
        cluster, task = config["cluster"], config["task"]
        addresses = [str(one) for entries in cluster.values() for one in entries]
        size = len(cluster[task["type"]])
        index = int(task["index"])
    except (ValueError, KeyError, TypeError, AttributeError):
        return "unreadable", {}
    facts: Facts = {"tasks": len(addresses), "index": index, "of": size}
    if not 0 <= index < size:
        return "index_outside", facts
    if len(set(addresses)) != len(addresses):
        return "address_twice", facts
    if any(not re.match(r"^\[?[\w.:-]+\]?:\d{1,5}$", one) for one in addresses):
        return "port_missing", facts
    own = str(cluster[task["type"]][index])
    if len({one.rsplit(":", 1)[0] for one in addresses}) > 1 and is_loopback(own.rsplit(":", 1)[0]):
        return "loopback_task", facts
    return "ok", facts


def probe_hostfile(job: Job) -> Answer:
    """Whether the host file can be read as one, names no machine twice and has as many slots as ranks are
    asked for."""
    lines = hostfile_lines(job)
    if not lines:
        raise NotApplicable("no host file is known")
    names = [line.split()[0].split(":")[0] for line in lines]
    slots = [re.search(r"(?:slots|max_slots|max-slots)\s*=\s*(\d{1,5})|:(\d{1,5})$", line) for line in lines]
    total = sum(int(found.group(1) or found.group(2)) if found else 1 for found in slots)
    facts: Facts = {"machines": len(set(names)), "slots": total, "world_size": job.world}
    if any(not re.match(r"^[\w.-]+$", name) for name in names):
        return "malformed", facts
    if len(set(names)) != len(names):
        return "machine_twice", facts
    return ("too_few_slots" if job.world and total < job.world else "ok"), facts
