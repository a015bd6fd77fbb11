"""The meeting of the ranks: its settings, its port, and a rehearsal of it."""

from __future__ import annotations

import json
import os
import re
import socket
import time

from knowledge.diagnostics.runtime.job import Answer, Facts, Job, NotApplicable
from knowledge.diagnostics.runtime.network import (
    hostfile_lines,
    is_loopback,
    is_own_address,
    resolve,
    try_connect,
)

TORCH_VARS = ("MASTER_ADDR", "MASTER_PORT", "RANK", "WORLD_SIZE")
LARGE = 48 * 1024
GREETING = b"distriage rehearsal\n"
PATIENCE_S = 12.0


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


def master(job: Job) -> tuple[str, int]:
    """MASTER_ADDR's first address and MASTER_PORT, or leave the probe."""
    name, port = job.var("MASTER_ADDR"), job.number(("MASTER_PORT",))
    if not name or port is None or not 0 < port < 65536:
        raise NotApplicable("MASTER_ADDR and MASTER_PORT are not set")
    try:
        return resolve(name)[0], port
    except (OSError, UnicodeError):
        raise NotApplicable("MASTER_ADDR does not resolve") from None


def held_by_job(job: Job, port: int) -> bool | None:
    """Whether the process that listens on a port is one of this job's own; None when that cannot be seen."""
    inodes = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in job.read(table, 1 << 20).splitlines()[1:]:
            parts = line.split()
            if len(parts) > 9 and parts[3] == "0A" and int(parts[1].rsplit(":", 1)[1], 16) == port:
                inodes.add(f"socket:[{parts[9]}]")
    for pid in [name for name in job.names_in("/proc") if name.isdigit()]:
        for handle in job.names_in(f"/proc/{pid}/fd"):
            try:
                target = os.readlink(job.path(f"/proc/{pid}/fd/{handle}"))
            except OSError:
                continue
            if target in inodes:
                env = job.read(f"/proc/{pid}/environ", 262144).split("\0")
                command = job.read(f"/proc/{pid}/cmdline")
                return f"MASTER_PORT={port}" in env or bool(
                    re.search(r"torchrun|torch\.distributed|deepspeed|horovodrun", command)
                )
    return None


def probe_master_port(job: Job) -> Answer:
    """On the master: whether its port is free; elsewhere: whether it can be reached."""
    address, port = master(job)
    if not is_own_address(address):
        met = try_connect(address, port, 5.0)
        return ("reached" if met == "reached" else met), {"on_master": False}
    facts: Facts = {"on_master": True, "below_1024": port < 1024}
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            one.bind((address, port))
            one.listen(1)
        except PermissionError:
            return "not_permitted", facts
        except OSError:
            if job.var("TORCHELASTIC_USE_AGENT_STORE") == "True" or held_by_job(job, port):
                return "held_by_job", facts
            return "held", facts
    return "free", facts


def probe_rehearsal(job: Job) -> Answer:
    """The ranks meet at the master: rank 0 counts who comes, the others send their number, a large
    message and their clock."""
    address, port = master(job)
    rank, world = job.rank, job.world
    if rank is None or world is None or world < 2:
        raise NotApplicable("one process only: run it with the job's launcher")
    if job.var("TORCHELASTIC_USE_AGENT_STORE") == "True":
        port += 1 if port < 65535 else -1
    answer = greet(address, port, world) if rank == 0 else visit(address, port, rank)
    if answer[0] == "someone_else" and is_own_address(address) and held_by_job(job, port):
        raise NotApplicable("the job itself still runs there")
    return answer


def greet(address: str, port: int, world: int) -> Answer:
    """Rank 0's side of the rehearsal: hear the guests out, then tell all of them whether everybody came."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    until = time.time() + PATIENCE_S
    came: list[int] = []
    cut = 0
    guests: list[socket.socket] = []
    with socket.socket(family, socket.SOCK_STREAM) as door:
        door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if not listen(door, address, port):
            raise NotApplicable("the port cannot be listened on")
        while len(set(came)) < world - 1 and time.time() < until:
            guest = accepted(door, until)
            if guest is None:
                break
            guests.append(guest)
            said = hear(guest)
            cut += said is None
            if said is not None and said >= 0:
                came.append(said)
        missing = sorted(set(range(1, world)) - set(came))
        for guest in guests:
            tell_all(guest, not missing)
    facts: Facts = {"came": len(set(came)) + 1, "world_size": world, "missing": missing[:16], "cut": cut}
    if cut and missing:
        return "large_lost", facts
    if len(set(came)) != len(came) or 0 in came:
        return "rank_twice", facts
    return ("ranks_missing" if missing else "met"), dict(facts, all=not missing)


def accepted(door: socket.socket, until: float) -> socket.socket | None:
    """The next guest, None when nobody comes in time."""
    door.settimeout(max(0.1, until - time.time()))
    try:
        return door.accept()[0]
    except OSError:
        return None


def tell_all(guest: socket.socket, everybody: bool) -> None:
    """The last word to a guest, who may be gone."""
    with guest:
        try:
            guest.sendall(b"all\n" if everybody else b"missing\n")
        except OSError:
            pass


def listen(door: socket.socket, address: str, port: int) -> bool:
    """Listen, with a second's patience for another rank's look at the same port."""
    for _ in range(10):
        if bound(door, address, port):
            door.listen(256)
            return True
        time.sleep(0.1)
    return False


def bound(door: socket.socket, address: str, port: int) -> bool:
    """Bind a socket; False when the port is taken or may not be had."""
    try:
        door.bind((address, port))
    except OSError:
        return False
    return True


def hear(guest: socket.socket) -> int | None:
    """A guest's rank after its whole message came; None when it was cut; -1 for a stranger."""
    guest.settimeout(4.0)
    said = b""
    try:
        guest.sendall(GREETING)
        while len(said) < LARGE:
            part = guest.recv(65536)
            if not part:
                break
            said += part
        guest.sendall(json.dumps({"clock": time.time()}).encode() + b"\n")
    except OSError:
        pass
    found = re.match(rb"distriage (\d{1,7})\n", said)
    if not found:
        return -1
    return int(found.group(1)) if len(said) >= LARGE else None


def visit(address: str, port: int, rank: int) -> Answer:
    """Another rank's side: come, send, and compare clocks."""
    until = time.time() + PATIENCE_S
    last = "not_listening"
    while time.time() < until:
        try:
            door = socket.create_connection((address, port), timeout=4.0)
        except ConnectionRefusedError:
            last = "not_listening"
        except (socket.timeout, TimeoutError):
            last = "blocked"
        except OSError:
            last = "no_route"
        else:
            with door:
                return meet(door, rank)
        time.sleep(0.3)
    return last, {}


def meet(door: socket.socket, rank: int) -> Answer:
    """Send the rank and a large message over an open connection, compare clocks, and hear whether all
    came."""
    heard = door.makefile("rb")
    try:
        door.settimeout(PATIENCE_S)
        if heard.readline(64) != GREETING:
            return "someone_else", {}
    except OSError:
        return "someone_else", {}
    begun = time.time()
    try:
        door.settimeout(6.0)
        door.sendall(b"distriage %d\n" % rank + b"." * LARGE)
        clock = float(json.loads(heard.readline(4096))["clock"])
    except (OSError, ValueError, KeyError, TypeError):
        return "large_lost", {}
    skew = abs(clock - (begun + time.time()) / 2)
    try:
        door.settimeout(PATIENCE_S)
        everybody = heard.readline(64) == b"all\n"
    except OSError:
        everybody = False
    return ("clock_skew" if skew > 5 else "met"), {"skew_s": round(skew), "all": everybody}
