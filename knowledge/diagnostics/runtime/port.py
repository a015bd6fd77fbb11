"""The master's port: who holds it, who can reach it."""

from __future__ import annotations

import os
import re
import socket

from knowledge.diagnostics.runtime.hosts import is_own_address, resolve
from knowledge.diagnostics.runtime.job import Answer, Facts, Job, NotApplicable
from knowledge.diagnostics.runtime.paths import try_connect


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
