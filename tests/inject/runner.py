"""Runs the faulty jobs and keeps what they print: `python -m tests.inject.runner OUT.jsonl [ID ...]`.

Each rank prints into a pipe of its own, so that the log tells which line is whose without changing a word of it. A
record: {id, log, voices, truth}; `voices` holds for each line the rank that printed it, null for the launcher.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import re
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from knowledge.training.records import read_jsonl
from tests.inject.registry import FAULTS, Fault

SCRIPTS = Path(__file__).parent / "faults"
LIMIT = 150.0
"""Seconds until a job that does not end is killed; none should need half of it on an idle machine."""
TORCHRUN = ("-m", "torch.distributed.run", "--nnodes=1")
QUIET = {"OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "", "TERM": "dumb", "PYTHONUNBUFFERED": "1"}
MPI = ("--allow-run-as-root", "--oversubscribe", "--mca", "btl", "tcp,self")


@dataclass(frozen=True, slots=True)
class Launch:
    """A command line; `{port}` and `{folder}` stand for a free port and the job's folder."""

    command: Sequence[str]
    env: Mapping[str, str] = field(default_factory=dict)
    before: str = ""
    """Shell run first in a mount namespace of the job's own."""
    each: int = 0
    """Without a launcher: as many processes, each with its rank in the environment."""
    take_port: bool = False


def _torchrun(ranks: int, *options: str) -> tuple[str, ...]:
    return ("{python}", *TORCHRUN, f"--nproc-per-node={ranks}", *options, "--master-port={port}")


def launch_of(how: str, fault: Fault) -> Launch:
    """The command of one form, such as "torchrun:2"."""
    name, _, count = how.partition(":")
    ranks, job = int(count), (f"{fault.script}.py", fault.function)
    rdzv = ("--rdzv-backend=c10d", "--rdzv-conf=join_timeout=8,read_timeout=8,timeout=8", "--rdzv-id=run7")
    two = ("{python}", "-m", "torch.distributed.run", "--nnodes=2", f"--nproc-per-node={ranks}", *rdzv)
    world = base64.urlsafe_b64encode(json.dumps({"localhost": list(range(ranks))}).encode()).decode()
    forms: dict[str, Callable[[], Launch]] = {
        "torchrun": lambda: Launch((*_torchrun(ranks), *job)),
        "elastic": lambda: Launch((*_torchrun(ranks, "--max-restarts=1", "--monitor-interval=1"), *job)),
        "detail": lambda: Launch((*_torchrun(ranks), *job), {"TORCH_DISTRIBUTED_DEBUG": "DETAIL"}),
        "port": lambda: Launch((*_torchrun(ranks), *job), take_port=True),
        "short": lambda: Launch((*two, "--rdzv-endpoint=127.0.0.1:{port}", *job)),
        "address": lambda: Launch((*two, "--rdzv-endpoint=no-such-host:{port}", *job)),
        "noscript": lambda: Launch((*_torchrun(ranks), "training/pretrain.py")),
        "env": lambda: Launch(("{python}", *job), {"WORLD_SIZE": str(ranks)}, each=ranks),
        "spawn": lambda: Launch(("{python}", "spawned.py", *job, count)),
        "spawn-lambda": lambda: Launch(("{python}", "spawned.py", *job, count, "lambda")),
        "spawn-lock": lambda: Launch(("{python}", "spawned.py", *job, count, "lock")),
        "unguarded": lambda: Launch(("{python}", "unguarded.py")),
        "mpirun": lambda: Launch(("mpirun", *MPI, "-np", count, "{python}", *job)),
        "slots": lambda: Launch(("mpirun", "--allow-run-as-root", "-np", count, "{python}", *job)),
        "noprogram": lambda: Launch(("mpirun", *MPI, "-np", count, "/opt/train/bin/pretrain", *job)),
        "accelerate": lambda: Launch(
            (
                *(
                    "{python}",
                    "-m",
                    "accelerate.commands.accelerate_cli",
                    "launch",
                    "--multi_gpu",
                    "--num_machines=1",
                ),
                *(f"--num_processes={ranks}", "--main_process_port={port}", "--mixed_precision=no"),
                *("--dynamo_backend=no", *job),
            )
        ),
        "deepspeed": lambda: Launch(
            (
                *("{python}", "-m", "deepspeed.launcher.launch", f"--world_info={world}"),
                *("--master_addr=127.0.0.1", "--master_port={port}", *job),
            ),
            {"DS_ACCELERATOR": "cpu"},
        ),
        "files": lambda: Launch((*_torchrun(ranks), *job), before="ulimit -n 256"),
        "memory": lambda: Launch((*_torchrun(ranks), *job), before="ulimit -v 14000000"),
        "fsize": lambda: Launch((*_torchrun(ranks), *job), before="ulimit -f 4000; trap '' XFSZ"),
        "shm": lambda: Launch((*_torchrun(ranks), *job), before="mount -t tmpfs -o size=4m tmpfs /dev/shm"),
        "disk": lambda: Launch((*_torchrun(ranks), *job), before=_SMALL_DISK),
    }
    return forms[name]()


_SMALL_DISK = "mkdir -p checkpoints && mount -t tmpfs -o size=2m tmpfs checkpoints"


def run_fault(fault: Fault, how: str, python: str) -> dict[str, Any]:
    """Run one job to its end; its record."""
    launch = launch_of(how, fault)
    with tempfile.TemporaryDirectory(prefix="inject-") as name, _port(launch.take_port) as port:
        folder = Path(name)
        shutil.copytree(SCRIPTS, folder / "train", ignore=shutil.ignore_patterns("__pycache__"))
        lines = _listen(folder, launch, port, python)
    clean = [(rank, _anonymous(text, name, python)) for rank, text in lines]
    return {
        "id": f"{fault.id}@{how}",
        "fault": fault.id,
        "held_out": fault.held_out,
        "log": "\n".join(text for _, text in clean) + "\n",
        "voices": [rank for rank, _ in clean],
        "truth": truth_of(fault),
    }


def truth_of(fault: Fault) -> dict[str, Any]:
    """The truth as a record holds it."""
    lists = {"ranks": fault.ranks, "symptom": fault.symptom, "cause": fault.cause}
    return {"root": fault.root, **{name: list(values) for name, values in lists.items()}}


def _listen(folder: Path, launch: Launch, port: int, python: str) -> list[tuple[int | None, str]]:
    """The lines of a job in the order in which they came, each with the rank that printed it."""
    voices = folder / "voices"
    voices.mkdir()
    selector = selectors.DefaultSelector()
    for rank in range(8):
        os.mkfifo(voices / f"rank{rank}")
        # Opened for writing too, so that it does not end when a rank does.
        pipe = os.open(voices / f"rank{rank}", os.O_RDWR | os.O_NONBLOCK)
        selector.register(pipe, selectors.EVENT_READ, rank)
    jobs = list(_started(folder, launch, port, python))
    for process in jobs:
        assert process.stdout is not None
        os.set_blocking(process.stdout.fileno(), False)
        selector.register(process.stdout.fileno(), selectors.EVENT_READ, None)
    lines: list[tuple[int | None, str]] = []
    rest: dict[int, bytes] = {}
    until, ended = time.monotonic() + LIMIT, False
    while True:
        ready = selector.select(0.3)
        for key, _ in ready:
            data = _read(key.fd)
            if not data and key.data is None:
                selector.unregister(key.fd)
            *whole, rest[key.fd] = (rest.get(key.fd, b"") + data).split(b"\n")
            lines += [(key.data, line.decode("utf-8", "replace")) for line in whole]
        if ended and not any(key.data is not None for key, _ in ready):
            break
        ended = all(process.poll() is not None for process in jobs)
        if not ended and time.monotonic() > until:
            for process in jobs:
                _end(process)
    for key in list(selector.get_map().values()):
        if key.data is not None:
            os.close(key.fd)
    _end_all(jobs)
    return lines


def _started(folder: Path, launch: Launch, port: int, python: str) -> Iterator[subprocess.Popen[bytes]]:
    places = {"{python}": python, "{port}": str(port)}
    command = [_filled(part, places) for part in launch.command]
    if launch.before:
        command = ["unshare", "-m", "bash", "-c", f'{launch.before}; exec "$@"', "job", *command]
    env = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ} | QUIET
    env |= {"JOB_VOICES": str(folder / "voices"), "JOB_FOLDER": str(folder / "train")}
    env |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), **launch.env}
    for rank in range(launch.each or 1):
        own = {"RANK": str(rank), "LOCAL_RANK": str(rank)} if launch.each else {}
        yield subprocess.Popen(
            command,
            cwd=folder / "train",
            env=env | own,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def _filled(part: str, places: Mapping[str, str]) -> str:
    for name, value in places.items():
        part = part.replace(name, value)
    return part


def _read(pipe: int) -> bytes:
    try:
        return os.read(pipe, 65536)
    except BlockingIOError:
        return b""


def _end(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _end_all(jobs: Sequence[subprocess.Popen[bytes]]) -> None:
    """Leave nothing behind: ranks that are stopped or sleep on, in sessions of their own or not."""
    for process in jobs:
        _end(process)
        process.wait()
        if process.stdout is not None:
            process.stdout.close()
    mine = {str(one.pid) for one in jobs}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and _session(entry) in mine:
            try:
                os.kill(int(entry.name), signal.SIGKILL)
            except ProcessLookupError:
                continue


def _session(process: Path) -> str:
    try:
        return (process / "stat").read_text().rpartition(")")[2].split()[3]
    except (FileNotFoundError, ProcessLookupError):
        return ""


@contextmanager
def _port(taken: bool) -> Iterator[int]:
    """A free port, or one that somebody listens on."""
    with socket.socket() as one:
        one.bind(("0.0.0.0", 0))
        port = int(one.getsockname()[1])
        if taken:
            one.listen()
            yield port
            return
    yield port


def _anonymous(text: str, folder: str, python: str) -> str:
    """Paths of this machine, as they would be on a cluster."""
    prefix = str(Path(python).parent.parent)
    text = text.replace(folder, "/workspace").replace(prefix, "/opt/venv")
    text = re.sub(r"/\S*/lib/python3\.(\d+)/(?!site-packages)", r"/usr/lib/python3.\1/", text)
    return text.replace(socket.gethostname(), "node-1")


def main() -> None:
    """Run all faults, or those whose ids are given; records that the file has are kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("ids", nargs="*", help="parts of ids; default: all")
    parser.add_argument("--python", default=sys.executable, help="an interpreter with torch")
    parser.add_argument("--at-once", type=int, default=os.cpu_count() or 2)
    given = parser.parse_args()
    records = read_records(given.out)
    truths = {fault.id: truth_of(fault) for fault in FAULTS}
    kept = {r["id"]: {**r, "truth": truths[r["fault"]]} for r in records if r["fault"] in truths}
    todo = [
        (fault, how)
        for fault in FAULTS
        for how in fault.launch
        if (not given.ids and f"{fault.id}@{how}" not in kept) or any(part in fault.id for part in given.ids)
    ]
    _write(given.out, kept)
    with ThreadPoolExecutor(given.at_once) as pool:
        for record in pool.map(lambda one: run_fault(*one, given.python), todo):
            kept[record["id"]] = record
            _write(given.out, kept)
            print(record["id"], len(record["voices"]), "lines", flush=True)


def read_records(out: Path) -> list[dict[str, Any]]:
    """The records that an earlier run wrote; none where there was no run."""
    return list(read_jsonl(out)) if out.exists() else []


def _write(out: Path, kept: Mapping[str, Any]) -> None:
    order = [f"{fault.id}@{how}" for fault in FAULTS for how in fault.launch]
    lines = (json.dumps(kept[id], ensure_ascii=False) + "\n" for id in order if id in kept)
    out.write_text("".join(lines), "utf-8")


if __name__ == "__main__":
    main()
