"""Broken networks, on machines made of namespaces."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.setups.machines import Machine, cluster, process, sshd
from tests.setups.model import PYTHON, Run, ranks, setup

NETWORK = "network_environment"
# Study 1 files wrong interface settings with the communication configuration (horovod 146, 584, 666).
SETTING = "communication_configuration"
LISTEN = """
import socket, sys, time
door = socket.create_server(("", int(sys.argv[1])))
print("up", flush=True)
time.sleep(300)
"""


def free_port() -> int:
    """A port that nobody holds just now."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def over(machines: list[Machine], port: int = 29500, **more: str) -> list[Run]:
    """One rank on each machine, the first being the master."""
    world = str(len(machines))
    common = {
        "MASTER_ADDR": machines[0].name,
        "MASTER_PORT": str(port),
        "WORLD_SIZE": world,
        "LOCAL_WORLD_SIZE": "1",
    }
    return [
        Run({**common, "RANK": str(rank), "LOCAL_RANK": "0", **more}, machine.before)
        for rank, machine in enumerate(machines)
    ]


@setup("port-held", "another process listens on MASTER_PORT", NETWORK, ["master_port:held"])
def port_held(folder: Path) -> Iterator[list[Run]]:
    port = free_port()
    with process([sys.executable, "-c", LISTEN, str(port)], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        yield ranks(2, port)


@setup(
    "master-unresolvable",
    "MASTER_ADDR is a name that does not resolve",
    NETWORK,
    ["master_resolves:unresolvable"],
)
def master_unresolvable(folder: Path) -> Iterator[list[Run]]:
    yield ranks(2, free_port(), "trainer-0.cluster.invalid")


@setup(
    "interface-unknown",
    "NCCL_ and GLOO_SOCKET_IFNAME name an interface of another machine",
    SETTING,
    ["interface_choice:no_such_interface"],
)
def interface_unknown(folder: Path) -> Iterator[list[Run]]:
    yield ranks(2, free_port(), NCCL_SOCKET_IFNAME="enp175s0f1", GLOO_SOCKET_IFNAME="enp175s0f1")


@setup(
    "interface-loopback",
    "the interface named for NCCL and Gloo over two machines is lo",
    SETTING,
    ["interface_choice:loopback_only"],
    needs=("root", "ip"),
)
def interface_loopback(folder: Path) -> Iterator[list[Run]]:
    with cluster(folder) as machines:
        yield over(machines, NCCL_SOCKET_IFNAME="lo", GLOO_SOCKET_IFNAME="lo", NNODES="2")


@setup(
    "mtu-mismatch",
    "two machines with MTU 9000 on a switch whose second port passes 1500",
    NETWORK,
    ["rehearsal:large_lost", "path_mtu:large_lost"],
    needs=("root", "ip", "ping"),
)
def mtu_mismatch(folder: Path) -> Iterator[list[Run]]:
    with cluster(folder, mtu=9000, middle=1500) as machines:
        yield over(machines)


@setup(
    "port-dropped",
    "the master's firewall drops packets to MASTER_PORT",
    NETWORK,
    ["rehearsal:blocked", "master_port:blocked"],
    needs=("root", "ip", "nft"),
)
def port_dropped(folder: Path) -> Iterator[list[Run]]:
    with cluster(folder) as machines:
        chain = "add table inet t; add chain inet t in { type filter hook input priority 0; }; "
        rules = chain + "add rule inet t in tcp dport 29500 drop"
        machines[0].run("nft", rules)
        yield over(machines)


@setup(
    "no-route",
    "the second machine has no route to the master's network",
    NETWORK,
    ["route:no_route", "master_port:no_route", "rehearsal:no_route"],
    needs=("root", "ip"),
)
def no_route(folder: Path) -> Iterator[list[Run]]:
    with cluster(folder) as machines:
        machines[1].run("ip", "addr", "flush", "dev", "eth0")
        machines[1].run("ip", "addr", "add", "192.168.9.2/24", "dev", "eth0")
        yield over(machines)


@setup(
    "own-name-loopback",
    "each machine's hosts file gives its own name 127.0.1.1",
    NETWORK,
    ["own_name:loopback_name"],
    needs=("root", "ip"),
)
def own_name_loopback(folder: Path) -> Iterator[list[Run]]:
    with cluster(folder) as machines:
        for machine in machines:
            listed = machine.hosts.read_text(encoding="utf-8")
            machine.hosts.write_text(
                listed.replace("localhost", f"localhost\n127.0.1.1 {machine.name}", 1), encoding="utf-8"
            )
        runs = over(machines)
        yield [Run({**run.env, "MASTER_ADDR": machines[0].address}, run.before) for run in runs]


@setup(
    "ssh-refused",
    "horovodrun's ssh to the second machine is refused for want of a key",
    NETWORK,
    ["ssh:denied"],
    framework="horovod",
    needs=("root", "ip", "ssh", "sshd", "ssh-keygen"),
)
def ssh_refused(folder: Path) -> Iterator[list[Run]]:
    with cluster(folder) as machines, sshd(machines[1], folder, "-o", "PasswordAuthentication=no"):
        kind, key = (folder / "host.pub").read_text(encoding="utf-8").split()[:2]
        client = folder / "bin"
        client.mkdir()
        known = folder / "known_hosts"
        known.write_text(f"{machines[1].name} {kind} {key}\n", encoding="utf-8")
        wrapper = client / "ssh"
        wrapper.write_text(
            f'#!/bin/sh\nexec /usr/bin/ssh -o UserKnownHostsFile={known} "$@"\n', encoding="utf-8"
        )
        wrapper.chmod(0o755)
        path = f"{client}:{Path(PYTHON).parent}:/usr/bin:/bin"
        yield [Run({"PATH": path}, machines[0].before, arguments=("--hosts", "node0,node1"))]


@setup(
    "proxy-in-the-way",
    "a proxy is set for gRPC and no_proxy leaves the workers out",
    NETWORK,
    ["proxy:in_the_way"],
    framework="tensorflow",
)
def proxy_in_the_way(folder: Path) -> Iterator[list[Run]]:
    cluster = '{"worker": ["10.20.0.4:2222", "10.20.0.5:2222"]}'
    config = f'{{"cluster": {cluster}, "task": {{"type": "worker", "index": 0}}}}'
    proxies = {
        "http_proxy": "http://proxy.invalid:3128",
        "https_proxy": "http://proxy.invalid:3128",
        "no_proxy": "localhost",
    }
    yield [Run({"TF_CONFIG": config, **proxies})]
