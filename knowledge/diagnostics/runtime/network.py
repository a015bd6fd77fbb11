"""Names, interfaces and paths between the job's machines."""

from __future__ import annotations

import os
import re
import socket
import struct
import time

from knowledge.diagnostics.runtime.job import Answer, Facts, Job, NotApplicable

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
    import json

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
    import resource

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
