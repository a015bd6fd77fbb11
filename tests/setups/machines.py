"""Machines made of namespaces: each has its own network, host name, hosts file and, if asked, its own
/dev/shm."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import count as counter
from pathlib import Path

START = 'hostname "$1"; mount --bind "$2" /etc/hosts; shift 2; exec "$@"'


CLUSTERS = counter()


@dataclass(frozen=True)
class Machine:
    """A machine with an address on the switch that joins it with the others."""

    space: str
    name: str
    address: str
    hosts: Path

    @property
    def before(self) -> list[str]:
        """What stands before a command to run it on this machine."""
        inside = ["unshare", "--mount", "--uts", "sh", "-c", START, "sh", self.name, str(self.hosts)]
        return ["ip", "netns", "exec", self.space, *inside]

    def run(self, *argv: str) -> None:
        """Run a command on this machine; CalledProcessError when it fails."""
        call(*self.before, *argv)


def call(*argv: str) -> None:
    """Run a command; CalledProcessError when it fails."""
    subprocess.run(argv, check=True, capture_output=True)


@contextmanager
def cluster(folder: Path, count: int = 2, mtu: int = 1500, middle: int = 1500) -> Iterator[list[Machine]]:
    """`count` machines on a switch; `mtu` is the machines' own, `middle` that of the switch's ports
    beyond the first."""
    tag = f"dt{os.getpid()}c{next(CLUSTERS)}"
    switch = f"{tag}s"
    spaces = [f"{tag}m{place}" for place in range(count)]
    addresses = [f"10.77.0.{place + 1}" for place in range(count)]
    names = [f"node{place}" for place in range(count)]
    listed = "127.0.0.1 localhost\n" + "".join(f"{a} {n}\n" for a, n in zip(addresses, names, strict=True))
    machines = []
    try:
        for space in [switch, *spaces]:
            call("ip", "netns", "add", space)
            call("ip", "-n", space, "link", "set", "lo", "up")
        call("ip", "-n", switch, "link", "add", "br0", "type", "bridge")
        call("ip", "-n", switch, "link", "set", "br0", "up")
        for place, space in enumerate(spaces):
            port_mtu = mtu if place == 0 else middle
            join(switch, space, place, addresses[place], mtu, port_mtu)
            hosts = folder / f"hosts{place}"
            hosts.write_text(listed, encoding="utf-8")
            machines.append(Machine(space, names[place], addresses[place], hosts))
        yield machines
    finally:
        for space in [switch, *spaces]:
            subprocess.run(["ip", "netns", "del", space], capture_output=True)


def join(switch: str, space: str, place: int, address: str, mtu: int, port_mtu: int) -> None:
    """Plug a machine's eth0 into the switch."""
    call(
        "ip", "-n", switch, "link", "add", f"p{place}", "type", "veth", "peer", "name", "eth0", "netns", space
    )
    call("ip", "-n", switch, "link", "set", f"p{place}", "mtu", str(port_mtu), "master", "br0", "up")
    call("ip", "-n", space, "link", "set", "eth0", "mtu", str(mtu), "up")
    call("ip", "-n", space, "addr", "add", f"{address}/24", "dev", "eth0")


@contextmanager
def sshd(machine: Machine, folder: Path, *options: str) -> Iterator[None]:
    """An SSH server on the machine, with a host key of its own in `folder` (`host`, `host.pub`)."""
    key = folder / "host"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    Path("/run/sshd").mkdir(exist_ok=True)
    argv = ["/usr/sbin/sshd", "-D", "-e", "-f", "/dev/null", "-h", str(key), "-o", "PidFile=none", *options]
    with process([*machine.before, *argv], stderr=subprocess.PIPE) as daemon:
        assert daemon.stderr is not None
        daemon.stderr.readline()
        yield


@contextmanager
def process(argv: Sequence[str], **options: object) -> Iterator[subprocess.Popen[bytes]]:
    """A process that lives as long as the block; its whole group is ended afterwards."""
    child = subprocess.Popen(argv, start_new_session=True, **options)  # type: ignore[call-overload]
    try:
        yield child
    finally:
        with suppress(ProcessLookupError):
            os.killpg(child.pid, 9)
        child.wait()
        for stream in (child.stdout, child.stderr):
            if stream is not None:
                stream.close()
