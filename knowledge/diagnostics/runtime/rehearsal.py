"""A rehearsal of the ranks' meeting at the master."""

from __future__ import annotations

import json
import re
import socket
import time

from knowledge.diagnostics.runtime.job import Answer, Facts, Job, NotApplicable
from knowledge.diagnostics.runtime.launch import is_own_address
from knowledge.diagnostics.runtime.paths import held_by_job, master

LARGE = 48 * 1024


GREETING = b"distriage rehearsal\n"


PATIENCE_S = 12.0


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
