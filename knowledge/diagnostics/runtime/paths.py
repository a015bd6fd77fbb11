"""The ways between the job's machines: packets, ports, ssh, proxies, firewalls, clocks."""

from __future__ import annotations

import os
import re
import socket
import time

from knowledge.diagnostics.runtime.interfaces import interfaces_of, route_interface
from knowledge.diagnostics.runtime.job import Answer, Facts, Job, NotApplicable
from knowledge.diagnostics.runtime.launch import is_own_address, job_hosts, own_host, resolve


def probe_path_mtu(job: Job) -> Answer:
    """Whether full-size packets arrive at the job's other machines when small ones do."""
    ping = job.need("ping")
    job.linux_only()
    others = [name for name in job_hosts(job) if not own_host(name)][:3]
    if not others:
        raise NotApplicable("no other machine is known")
    answered = 0
    for name in others:
        mtu = interfaces_of(job).get(route_interface(job, name), {}).get("mtu")
        if not isinstance(mtu, int) or mtu < 576:
            continue
        small = job.run([ping, "-c", "1", "-W", "2", "-s", "56", "--", name], 4)
        if small.code != 0:
            continue
        answered += 1
        large = [
            job.run([ping, "-M", "do", "-c", "1", "-W", "2", "-s", str(mtu - 28), "--", name], 4).code
            for _ in range(2)
        ]
        if all(code != 0 for code in large):
            return "large_lost", {"mtu": mtu}
    if not answered:
        raise NotApplicable("no machine answers a ping")
    return "ok", {"machines": answered}


def try_connect(address: str, port: int, seconds: float) -> str:
    """Open and close a TCP connection: reached, refused, blocked (no answer), no_route or unresolvable."""
    try:
        with socket.create_connection((address, port), timeout=seconds):
            return "reached"
    except socket.gaierror:
        return "unresolvable"
    except (socket.timeout, TimeoutError):
        return "blocked"
    except ConnectionRefusedError:
        return "refused"
    except OSError:
        return "no_route"


def probe_peers(job: Job) -> Answer:
    """Whether the job's other machines resolve and answer at all (TCP port 22, the one that launchers
    use)."""
    others = [name for name in job_hosts(job) if not own_host(name)][:8]
    if not others:
        raise NotApplicable("no other machine is known")
    met = [try_connect(name, 22, 2.0) for name in others]
    facts: Facts = {"machines": len(others), "answers": sorted(met)}
    for outcome in ("unresolvable", "no_route", "blocked"):
        if outcome in met:
            return outcome, facts
    return "ok", facts


def probe_ssh(job: Job) -> Answer:
    """Whether ssh to the job's other machines works without a password, and how far their clocks are off."""
    ssh = job.need("ssh")
    others = [name for name in job_hosts(job) if not own_host(name)][:4]
    if not others:
        raise NotApplicable("no other machine is known")
    options = [
        "-o",
        "BatchMode=yes",
        "-o",
        "ConnectTimeout=4",
        "-o",
        "StrictHostKeyChecking=yes",
        "-o",
        "UpdateHostKeys=no",
    ]
    skew = 0.0
    for name in others:
        begun = time.time()
        ran = job.run([ssh, *options, "--", name, "date", "+%s"], 7)
        middle = (begun + time.time()) / 2
        if ran.code == 0 and ran.out.strip().isdigit():
            skew = max(skew, abs(int(ran.out.strip()) + 0.5 - middle))
            continue
        said = ran.err.lower()
        if "host key" in said or "key verification" in said:
            return "unknown_host_key", {}
        if "permission denied" in said or "password" in said:
            return "denied", {}
        return "no_answer", {}
    return ("clock_skew" if skew > 5 else "ok"), {"machines": len(others), "skew_s": round(skew)}


def probe_clock(job: Job) -> Answer:
    """Whether the kernel knows its clock to be kept by a time server."""
    job.linux_only()
    import ctypes

    state = (ctypes.c_long * 64)()
    code = ctypes.CDLL(None).adjtimex(ctypes.byref(state))
    if code < 0:
        raise NotApplicable("the kernel does not tell")
    return ("unsynchronised" if code == 5 else "ok"), {"state": int(code)}


def probe_proxy(job: Job) -> Answer:
    """Whether a proxy stands between the job's own machines (gRPC obeys these variables)."""
    proxies = [
        name
        for name in ("http_proxy", "https_proxy", "grpc_proxy", "all_proxy")
        if job.var(name) or job.var(name.upper())
    ]
    if not proxies:
        return "none", {}
    spared = (job.var("no_proxy") or job.var("NO_PROXY")).split(",")
    spared = [entry.strip().lstrip("*.") for entry in spared if entry.strip()]
    others = job_hosts(job)
    bare = [
        name
        for name in others
        if not any(name == entry or name.endswith("." + entry) or entry == "" for entry in spared)
    ]
    return ("in_the_way" if bare else "spared"), {"variables": proxies, "machines_not_spared": len(bare)}


def probe_firewall(job: Job) -> Answer:
    """Whether a firewall service is active (its rules need root and are not read)."""
    systemctl = job.need("systemctl")
    active = [
        name
        for name in ("firewalld", "ufw", "nftables")
        if job.run([systemctl, "is-active", name], 2).out.strip() == "active"
    ]
    return ("active" if active else "none"), {"services": active}


# The master's port: who holds it, who can reach it.


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
