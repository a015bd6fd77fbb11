"""Network interfaces: which there are, which are named, which leads to the master; InfiniBand and RoCE."""

from __future__ import annotations

import re
import resource
import socket
import struct

from knowledge.diagnostics.runtime.job import Answer, Facts, Job, NotApplicable
from knowledge.diagnostics.runtime.launch import job_hosts, resolve, several_machines

# InfiniBand and RoCE.


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


VIRTUAL = (
    "docker",
    "veth",
    "br-",
    "virbr",
    "cni",
    "flannel",
    "cali",
    "tun",
    "tap",
    "podman",
    "lxc",
    "utun",
    "awdl",
    "llw",
    "bridge",
)


IFNAME_VARS = (
    "NCCL_SOCKET_IFNAME",
    "GLOO_SOCKET_IFNAME",
    "TP_SOCKET_IFNAME",
    "HOROVOD_GLOO_IFACE",
    "OMPI_MCA_btl_tcp_if_include",
)


def interface_address(name: str) -> str:
    """An interface's IPv4 address (Linux), empty when it has none."""
    import fcntl

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        try:
            answer = fcntl.ioctl(one.fileno(), 0x8915, struct.pack("256s", name.encode()[:15]))
        except OSError:
            return ""
    return socket.inet_ntoa(answer[20:24])


def collect_interfaces(job: Job) -> Answer:
    """Every interface: whether it is up, its MTU, its speed, whether it has an IPv4 address."""
    found: dict[str, object] = {}
    for _, name in socket.if_nameindex():
        base = f"/sys/class/net/{name}/"
        flags = int(job.read(base + "flags").strip() or "0x1", 16)
        found[name] = {
            "up": bool(flags & 1)
            and job.read(base + "operstate").strip() not in ("down", "lowerlayerdown", "notpresent"),
            "mtu": int(job.read(base + "mtu").strip() or 0),
            "speed": int(job.read(base + "speed").strip() or 0),
            "address": interface_address(name) if job.platform.startswith("linux") else "?",
            "virtual": name.startswith(VIRTUAL),
            "loopback": name.startswith("lo"),
        }
    return "ok", {"interfaces": found}


def interfaces_of(job: Job) -> dict[str, dict[str, object]]:
    """What the collector found, or leave the probe."""
    found = job.shared.get("interfaces", {}).get("interfaces")
    if not isinstance(found, dict) or not found:
        raise NotApplicable("the interfaces could not be read")
    return found


def chosen_interfaces(setting: str, names: list[str]) -> list[str]:
    """Interfaces that NCCL's syntax names: prefixes by default, `=` for exact names, `^` to leave out."""
    exclude, exact = setting.startswith("^"), setting.lstrip("^").startswith("=")
    wanted = [part.strip().split(":")[0] for part in setting.lstrip("^=").split(",") if part.strip()]
    hit = [name for name in names if any(name == one if exact else name.startswith(one) for one in wanted)]
    return [name for name in names if name not in hit] if exclude else hit


def probe_interface_choice(job: Job) -> Answer:
    """Whether the interfaces that the settings name exist, are up and can reach others."""
    found = interfaces_of(job)
    settings = {name: job.var(name) for name in IFNAME_VARS if job.var(name)}
    several = several_machines(job)
    facts: Facts = {"settings": sorted(settings), "several_machines": several}
    for name in sorted(settings):
        if settings[name][:1].isdigit():
            continue
        chosen = chosen_interfaces(settings[name], list(found))
        if not settings[name].startswith("^"):
            # Gloo takes exact names only, and one that does not exist ends in an error or in another
            # interface.
            exact = settings[name].lstrip("=").split(",") if name == "GLOO_SOCKET_IFNAME" else []
            if not chosen or any(one.strip() not in found for one in exact):
                return "no_such_interface", dict(facts, setting=name)
        if chosen and not any(found[one]["up"] for one in chosen):
            return "down", dict(facts, setting=name)
        if chosen and not any(found[one]["address"] for one in chosen):
            return "no_address", dict(facts, setting=name)
        if several and chosen and all(found[one]["loopback"] for one in chosen):
            return "loopback_only", dict(facts, setting=name)
    usable = [name for name, one in found.items() if one["up"] and one["address"] and not one["loopback"]]
    facts["candidates"] = len(usable)
    facts["virtual"] = sum(bool(found[name]["virtual"]) for name in usable)
    if several and not settings and len(usable) > 1:
        return "ambiguous", facts
    return ("chosen" if settings else "unset"), facts


def route_interface(job: Job, target: str) -> str:
    """The interface that leads to an address: a connected datagram socket sends nothing but knows its own
    address."""
    address = resolve(target)[0]
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as one:
        one.connect((address, 9))
        own = one.getsockname()[0]
    return next((name for name, entry in interfaces_of(job).items() if entry["address"] == own), "")


def probe_route(job: Job) -> Answer:
    """Whether the way to the master leaves through the interface that the settings name; its MTU and
    speed."""
    master = job.var("MASTER_ADDR") or next(iter(job_hosts(job)), "")
    if not master:
        raise NotApplicable("no other machine is known")
    try:
        way = route_interface(job, master)
    except OSError as error:
        if isinstance(error, socket.gaierror):
            raise NotApplicable("its name does not resolve") from error
        return "no_route", {}
    found = interfaces_of(job)
    facts: Facts = {
        "mtu": found.get(way, {}).get("mtu"),
        "speed_mbit": found.get(way, {}).get("speed"),
    }
    if found.get(way, {}).get("loopback"):
        return "own_machine", facts
    for name in IFNAME_VARS:
        chosen = chosen_interfaces(job.var(name), list(found)) if job.var(name)[:1].isalpha() else []
        if chosen and way and way not in chosen:
            return "other_interface", dict(facts, setting=name)
    speed = facts["speed_mbit"]
    return ("slow_link" if isinstance(speed, int) and 0 < speed <= 1000 else "ok"), facts
