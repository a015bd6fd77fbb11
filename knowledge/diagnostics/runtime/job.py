"""The job as a probe sees it: its variables, its rank, bounded reading and bounded commands."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Dict, Tuple

RANK_NAMES = ("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "HOROVOD_RANK", "SLURM_PROCID")
WORLD_NAMES = ("WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "HOROVOD_SIZE", "SLURM_NTASKS")
LOCAL_NAMES = (
    "LOCAL_RANK",
    "OMPI_COMM_WORLD_LOCAL_RANK",
    "MPI_LOCALRANKID",
    "HOROVOD_LOCAL_RANK",
    "SLURM_LOCALID",
)


Facts = Dict[str, object]
Answer = Tuple[str, Facts]


class NotApplicable(Exception):
    """This probe has nothing to measure here; the text says why."""


class Ran:
    """What a command did: its exit code (None = it ran out of time) and the start of what it said."""

    def __init__(self, code: int | None, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err


class Job:
    """What the probes may look at; `root` is the file system's root, so that a test can lend another."""

    def __init__(self, env: Mapping[str, str], options: SimpleNamespace, tmp: str, root: str = "/") -> None:
        self.env, self.options, self.tmp, self.root = env, options, tmp, root
        self.shared: dict[str, dict[str, object]] = {}
        self.platform = sys.platform

    def var(self, name: str) -> str:
        """A variable of the environment, stripped; empty when it is not set."""
        return self.env.get(name, "").strip()[:4096]

    def number(self, names: Sequence[str]) -> int | None:
        """The first of these variables that holds a number."""
        for name in names:
            text = self.var(name)
            if text.isdigit() and len(text) < 10:
                return int(text)
        return None

    @property
    def rank(self) -> int | None:
        """This process's rank, whichever launcher set it."""
        return self.number(RANK_NAMES)

    @property
    def world(self) -> int | None:
        """How many processes the launcher announced."""
        return self.number(WORLD_NAMES)

    @property
    def local_rank(self) -> int | None:
        """This process's rank on its own machine."""
        return self.number(LOCAL_NAMES)

    def path(self, name: str) -> str:
        """An absolute path under the root."""
        return os.path.join(self.root, name.lstrip("/"))

    def read(self, name: str, limit: int = 65536) -> str:
        """The start of a file under the root; empty when it cannot be read."""
        try:
            with open(self.path(name), "rb") as file:
                return file.read(limit).decode("utf-8", "replace")
        except OSError:
            return ""

    def names_in(self, folder: str) -> list[str]:
        """Sorted names in a folder under the root; empty when there is none."""
        try:
            return sorted(os.listdir(self.path(folder)))
        except OSError:
            return []

    def linux_only(self) -> None:
        """Leave the probe on systems without /proc and /sys."""
        if not self.platform.startswith("linux"):
            raise NotApplicable("only on Linux")

    def which(self, command: str) -> str | None:
        """Where a command lies on the job's PATH."""
        return shutil.which(command, path=self.env.get("PATH", os.defpath))

    def need(self, command: str) -> str:
        """The command's place, or leave the probe when it is not installed."""
        found = self.which(command)
        if found is None:
            raise NotApplicable(command + " is not installed")
        return found

    def run(self, argv: Sequence[str], timeout: float, env: Mapping[str, str] | None = None) -> Ran:
        """Run a command without a shell in its own process group; at most `timeout` seconds and 256 KiB
        of each stream."""
        settings = dict(self.env)
        settings.update(quiet_settings(self.tmp))
        settings.update(env or {})
        try:
            child = subprocess.Popen(
                list(argv),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=settings,
            )
        except OSError as error:
            return Ran(127, "", type(error).__name__)
        code: int | None = None
        try:
            out, err = child.communicate(timeout=timeout)
            code = child.returncode
        except subprocess.TimeoutExpired:
            out, err = stop(child)
        return Ran(code, out[:262144].decode("utf-8", "replace"), err[:262144].decode("utf-8", "replace"))


def stop(child: subprocess.Popen[bytes]) -> tuple[bytes, bytes]:
    """End a command of ours, politely first (mpirun then ends its own children), and take what it had
    said."""
    for end in (child.terminate, child.kill):
        end()
        try:
            return child.communicate(timeout=1)
        except subprocess.TimeoutExpired:
            continue
    # A child of its own still holds the other ends.
    for stream in (child.stdout, child.stderr):
        if stream:
            stream.close()
    return b"", b""


def quiet_settings(tmp: str) -> dict[str, str]:
    """Settings that keep what we start from writing anywhere but into our temporary folder."""
    names = (
        "TMPDIR",
        "XDG_CACHE_HOME",
        "MPLCONFIGDIR",
        "TRITON_CACHE_DIR",
        "TORCHINDUCTOR_CACHE_DIR",
        "CUDA_CACHE_PATH",
        "NUMBA_CACHE_DIR",
    )
    settings = dict.fromkeys(names, tmp)
    settings.update(
        {"PYTHONDONTWRITEBYTECODE": "1", "TF_CPP_MIN_LOG_LEVEL": "3", "LC_ALL": "C", "HF_HUB_OFFLINE": "1"}
    )
    return settings


def end_group(pid: int) -> None:
    """End a process that we started ourselves, with its group once it has one."""
    for end in (os.kill, os.killpg):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            end(pid, signal.SIGKILL)
