"""Machines and containers that grant too little."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.setups.model import Run, ranks, setup
from tests.setups.network_setups import free_port

LIMITS = "resource_limits"


@setup(
    "shm-small",
    "a container with the default 64 MiB of shared memory",
    LIMITS,
    ["shm_size:tiny"],
    needs=("root",),
)
def shm_small(folder: Path) -> Iterator[list[Run]]:
    before = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs -o size=64m shm /dev/shm; exec "$@"', "sh"]
    yield [Run(run.env, before) for run in ranks(2, free_port())]


@contextmanager
def memory_group(name: str, limit: int) -> Iterator[Path]:
    """A memory control group (version 1)."""
    group = Path("/sys/fs/cgroup/memory") / name
    group.mkdir()
    try:
        (group / "memory.limit_in_bytes").write_text(str(limit), encoding="ascii")
        yield group
    finally:
        group.rmdir()


JOIN = 'echo $$ > "$1/cgroup.procs"; shift; exec "$@"'


@setup(
    "memory-killed",
    "a container of 1 GiB in which the kernel has killed a rank",
    LIMITS,
    ["cgroup_memory:killed"],
    needs=("root", "cgroup-memory"),
    report="It hangs during training.",
)
def memory_killed(folder: Path) -> Iterator[list[Run]]:
    with memory_group("distriage-killed", 1 << 30) as group:
        before = ["sh", "-c", JOIN, "sh", str(group)]
        killed = subprocess.run([*before, sys.executable, "-c", "bytearray(2 << 30)"], check=False)
        assert killed.returncode == -9
        yield [Run(run.env, before) for run in ranks(2, free_port())]


@setup(
    "memory-tight",
    "a container that may use 1 GiB of the machine's memory",
    LIMITS,
    ["cgroup_memory:no_room", "cgroup_memory:reached"],
    needs=("root", "cgroup-memory"),
)
def memory_tight(folder: Path) -> Iterator[list[Run]]:
    with memory_group("distriage-tight", 1 << 30) as group:
        yield [Run(run.env, ["sh", "-c", JOIN, "sh", str(group)]) for run in ranks(2, free_port())]


@setup("few-files", "ulimit -n 128", LIMITS, ["ulimits:few_files"])
def few_files(folder: Path) -> Iterator[list[Run]]:
    yield [Run(run.env, ["sh", "-c", 'ulimit -n 128; exec "$@"', "sh"]) for run in ranks(2, free_port())]


@setup("address-space", "ulimit -v of 16 GiB, as some login nodes set it", LIMITS, ["ulimits:address_space"])
def address_space(folder: Path) -> Iterator[list[Run]]:
    yield [Run(run.env, ["sh", "-c", 'ulimit -v 16777216; exec "$@"', "sh"]) for run in ranks(2, free_port())]
