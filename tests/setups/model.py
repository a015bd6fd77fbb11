"""A broken set-up: what is broken, which cause that is, and the commands that stand for the ranks of the
job."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from tests.setups.job_environment import byte_code, job_python

PYTHON = job_python()
"""The job's Python; with torch (CPU) in it where DISTRIAGE_TORCH_PYTHON names one that has it."""
BASE_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True)
class Run:
    """One process of the job that runs the script: what stands before it, its variables, where it runs."""

    env: Mapping[str, str] = field(default_factory=dict)
    before: Sequence[str] = ()
    cwd: Path | None = None
    python: str = PYTHON
    arguments: Sequence[str] = ()

    def environment(self) -> dict[str, str]:
        """The variables that the process sees: a plain path and home, and its own."""
        path = f"{Path(self.python).parent}:{BASE_PATH}"
        as_root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        return {
            "PATH": path,
            "HOME": "/nonexistent",
            "LANG": "C.UTF-8",
            "PYTHON": self.python,
            "PYTHONPYCACHEPREFIX": byte_code(),
            **as_root,
            **self.env,
        }


Make = Callable[[Path], AbstractContextManager[list[Run]]]


@dataclass(frozen=True)
class Setup:
    """A broken set-up with its true cause, and the probe outcomes of which one must be found."""

    id: str
    text: str
    cause: str
    finds: frozenset[tuple[str, str]]
    make: Make
    framework: str | None = "pytorch"
    needs: tuple[str, ...] = ()
    """Commands, or `root`, `torch` (DISTRIAGE_TORCH_PYTHON), `py-spy` (DISTRIAGE_PYSPY: its folder),
    `cgroup-memory`."""
    report: str = "It hangs at start."
    """All that the reporter says."""
    held_out: bool = False
    """Written after the likelihoods were fixed."""
    real_job: bool = False
    """Processes of a job run beside the script, so no other job may run on the machine meanwhile."""

    def missing(self) -> list[str]:
        """Needs that this machine does not meet."""
        return [need for need in self.needs if not met(need)]


def met(need: str) -> bool:
    """Whether one need is met here."""
    if need == "root":
        return os.geteuid() == 0
    if need == "torch":
        return "DISTRIAGE_TORCH_PYTHON" in os.environ
    if need == "py-spy":
        return "DISTRIAGE_PYSPY" in os.environ
    if need == "cgroup-memory":
        return os.access("/sys/fs/cgroup/memory", os.W_OK)
    return shutil.which(need, path=f"{BASE_PATH}:{os.environ['PATH']}") is not None


SETUPS: list[Setup] = []


def setup(
    id: str,
    text: str,
    cause: str,
    finds: Sequence[str],
    *,
    framework: str | None = "pytorch",
    needs: tuple[str, ...] = (),
    report: str = "It hangs at start.",
    held_out: bool = False,
    real_job: bool = False,
) -> Callable[[Callable[[Path], Iterator[list[Run]]]], Make]:
    """Register a generator function `(folder) -> yields runs` as a set-up; `finds` holds "probe:outcome"
    names."""

    def register(function: Callable[[Path], Iterator[list[Run]]]) -> Make:
        make = contextmanager(function)
        pairs = frozenset((probe, outcome) for probe, _, outcome in (name.partition(":") for name in finds))
        SETUPS.append(Setup(id, text, cause, pairs, make, framework, needs, report, held_out, real_job))
        return make

    return register


heldout = partial(setup, held_out=True)


def ranks(world: int, port: int, address: str = "127.0.0.1", **more: str) -> list[Run]:
    """The processes of a one-machine job as torchrun's variables would describe them."""
    common = {
        "MASTER_ADDR": address,
        "MASTER_PORT": str(port),
        "WORLD_SIZE": str(world),
        "LOCAL_WORLD_SIZE": str(world),
    }
    return [Run({**common, "RANK": str(rank), "LOCAL_RANK": str(rank), **more}) for rank in range(world)]
