"""The job's machines, and what the launcher told this process: whether it fits itself."""

from __future__ import annotations

import json
import os
import re
import socket
import time

from knowledge.diagnostics.runtime.job import Answer, Facts, Job, NotApplicable

# The job's machines: their names, and which of them is this one.


def is_loopback(name: str) -> bool:
    """Whether a host name or address is this machine's own loopback."""
    return name.lower() in ("localhost", "::1", "ip6-localhost") or name.startswith("127.")


def job_hosts(job: Job) -> list[str]:
    """The job's other machines: --hosts, the host file, TF_CONFIG's cluster, MASTER_ADDR; at most 16,
    loopback left out."""
    names = [name.strip() for name in str(getattr(job.options, "hosts", "")).split(",")]
    names += [line.split()[0].split(":")[0] for line in hostfile_lines(job)]
    names.append(job.var("MASTER_ADDR"))
    names += [entry.rsplit(":", 1)[0] for entries in tf_cluster(job).values() for entry in entries]
    return [
        name for name in dict.fromkeys(names) if name and not is_loopback(name) and not name.startswith("-")
    ][:16]


def hostfile_lines(job: Job) -> list[str]:
    """Lines of the host file that the launcher would use, comments left out."""
    places = [
        job.var(name)
        for name in (
            "DLTS_HOSTFILE",
            "OMPI_MCA_orte_default_hostfile",
            "HYDRA_HOST_FILE",
            "DISTRIAGE_HOSTFILE",
        )
    ]
    for place in [*places, "/job/hostfile", os.path.join(os.getcwd(), "hostfile")]:
        text = job.read(place) if place else ""
        lines = [line.split("#")[0].strip() for line in text.splitlines()]
        if any(lines):
            return [line for line in lines if line][:256]
    return []


def tf_cluster(job: Job) -> dict[str, list[str]]:
    """The cluster part of TF_CONFIG: task type to addresses; empty when it is not set or cannot be read."""

    try:
        cluster = json.loads(job.var("TF_CONFIG") or "{}").get("cluster", {})
        return {
            str(kind): [str(one) for one in entries]
            for kind, entries in cluster.items()
            if isinstance(entries, list)
        }
    except (ValueError, AttributeError):
        return {}


def resolve(name: str) -> list[str]:
    """Addresses of a name, IPv4 first; raises OSError when there is none."""
    found = socket.getaddrinfo(name, None, 0, socket.SOCK_STREAM)
    return list(
        dict.fromkeys(
            str(entry[4][0]) for entry in sorted(found, key=lambda entry: entry[0] != socket.AF_INET)
        )
    )


def is_own_address(address: str) -> bool:
    """Whether an address belongs to this machine: only then can a socket be bound to it."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as one:
        try:
            one.bind((address, 0))
        except OSError:
            return False
    return True


def several_machines(job: Job) -> bool:
    """Whether the job spans machines, as far as its settings tell."""
    world, local = (
        job.world,
        job.number(("LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "HOROVOD_LOCAL_SIZE")),
    )
    nodes = job.number(("GROUP_WORLD_SIZE", "NNODES", "SLURM_NNODES", "SLURM_JOB_NUM_NODES"))
    return bool(
        (world and local and world > local)
        or (nodes and nodes > 1)
        or [h for h in job_hosts(job) if not own_host(h)]
    )


def own_host(name: str) -> bool:
    """Whether a name means this machine."""
    if name in (socket.gethostname(), socket.gethostname().split(".")[0]):
        return True
    try:
        return any(is_own_address(address) for address in resolve(name))
    except OSError:
        return False


def probe_master_resolves(job: Job) -> Answer:
    """Resolve MASTER_ADDR, and say when it takes long."""
    name = job.var("MASTER_ADDR")
    if not name:
        raise NotApplicable("MASTER_ADDR is not set")
    begun = time.time()
    try:
        addresses = resolve(name)
    except (OSError, UnicodeError):
        return "unresolvable", {"seconds": time.time() - begun}
    seconds = time.time() - begun
    facts: Facts = {
        "seconds": seconds,
        "addresses": len(addresses),
        "loopback": is_loopback(addresses[0]),
    }
    return ("slow" if seconds > 3 else "ok"), facts


def probe_own_name(job: Job) -> Answer:
    """Whether this machine's own name leads to an address that others can reach."""
    try:
        addresses = resolve(socket.gethostname())
    except (OSError, UnicodeError):
        return "unresolvable", {}
    loopback = is_loopback(addresses[0])
    facts: Facts = {"loopback": loopback, "several_machines": several_machines(job)}
    if not loopback and not any(is_own_address(address) for address in addresses):
        return "someone_else", facts
    return ("loopback_name" if loopback and facts["several_machines"] else "ok"), facts


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
