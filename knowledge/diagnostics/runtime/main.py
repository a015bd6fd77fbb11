"""The script's own course: read the options, run the probes beside each other within their time, print one block."""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import select
import shutil
import signal
import sys
import time
from collections.abc import Callable, Sequence
from types import SimpleNamespace

from knowledge.diagnostics.runtime.job import Answer, Facts, Job, NotApplicable, end_group
from knowledge.diagnostics.runtime.redact import own_names, redact_facts

# Run probes beside each other, each in a forked child with its own time limit, so that none can hang or crash the
# script.

BESIDE = 4
LARGEST = 262144


class Task:
    """One function to run: a probe, or a collector whose facts several probes share."""

    def __init__(
        self,
        id: str,
        run: Callable[[Job], Answer],
        limit_s: float,
        per_host: bool = False,
        uses: Sequence[str] = (),
        collector: bool = False,
    ) -> None:
        self.id, self.run, self.limit_s = id, run, limit_s
        self.per_host, self.uses, self.collector = per_host, tuple(uses), collector


class Done:
    """A finished task."""

    def __init__(self, task: Task, outcome: str, facts: Facts, seconds: float) -> None:
        self.task, self.outcome, self.facts, self.seconds = task, outcome, facts, seconds


class Running:
    """A task in its child process, with the pipe it answers on."""

    def __init__(self, task: Task, job: Job, deadline: float) -> None:
        self.task = task
        self.begun = time.time()
        self.until = min(self.begun + task.limit_s, deadline)
        self.said = b""
        self.pipe, answer = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            # Held while it was forked; what it starts inherits the mask.
            signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDS)
            os.close(self.pipe)
            child(task, job, answer)
        os.close(answer)

    def close(self) -> Done:
        """End the child with all it started and read its answer."""
        late = time.time() >= self.until
        end_group(self.pid)
        os.close(self.pipe)
        os.waitpid(self.pid, 0)
        seconds = time.time() - self.begun
        try:
            outcome, facts = json.loads(self.said)
        except ValueError:
            return Done(self.task, "timed_out" if late else "crashed", {}, seconds)
        return Done(self.task, outcome, facts, seconds)


def child(task: Task, job: Job, answer: int) -> None:
    """Run one task in the child, with no way to the terminal; never returns."""
    code = 1
    try:
        os.setsid()
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nowhere, stream)
        said = json.dumps(measured(task, job), default=str).encode()[:LARGEST]
        while said:
            said = said[os.write(answer, said) :]
        code = 0
    finally:
        os._exit(code)


def measured(task: Task, job: Job) -> Answer:
    """The task's outcome; a probe that has nothing to measure or stumbles is not applicable, and says why."""
    if task.per_host and job.local_rank:
        return "not_applicable", {"why": "local rank 0 does this for the machine"}
    try:
        return task.run(job)
    except NotApplicable as error:
        return "not_applicable", {"why": str(error)}
    except (
        OSError,
        ValueError,
        LookupError,
        TypeError,
        AttributeError,
        ArithmeticError,
        ImportError,
    ) as error:
        return "not_applicable", {"why": "could not be measured: " + type(error).__name__}


def run_tasks(tasks: Sequence[Task], job: Job, deadline: float, tell: Callable[[Done], None]) -> None:
    """Run all tasks, a few beside each other; what does not fit before the deadline (Unix time) is told
    as not_run."""
    waiting = list(tasks)
    running: list[Running] = []
    try:
        while waiting or running:
            if time.time() >= deadline:
                for task in waiting:
                    tell(Done(task, "not_run", {}, 0.0))
                waiting = []
            free = [task for task in waiting if ready(task, waiting, running)] or ([] if running else waiting)
            for task in free[: BESIDE - len(running)]:
                waiting.remove(task)
                # A child that nobody knows of would outlive us.
                signal.pthread_sigmask(signal.SIG_BLOCK, ENDS)
                running.append(Running(task, job, deadline))
                signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDS)
            for one in finished(running):
                running.remove(one)
                done = one.close()
                job.shared[one.task.id] = dict(done.facts, outcome=done.outcome)
                tell(done)
    finally:
        for one in running:
            one.close()


def ready(task: Task, waiting: Sequence[Task], running: Sequence[Running]) -> bool:
    """Whether everything that the task uses has been collected."""
    open_ids = {other.id for other in waiting if other is not task} | {one.task.id for one in running}
    return not any(name in open_ids for name in task.uses)


def finished(running: Sequence[Running]) -> list[Running]:
    """Children that have answered in full, died or run out of time; waits a moment for the next to do so."""
    if not running:
        return []
    wait = max(0.0, min(one.until for one in running) - time.time())
    readable, _, _ = select.select([one.pipe for one in running], [], [], min(wait, 0.5))
    over = []
    for one in running:
        if one.pipe in readable:
            part = os.read(one.pipe, 65536)
            one.said += part
            if not part:
                over.append(one)
                continue
        if time.time() >= one.until:
            over.append(one)
    return over


SCHEMA = "distriage-result/1"
ENDS = (signal.SIGTERM, signal.SIGHUP)


def parse_options(argv: Sequence[str]) -> SimpleNamespace:
    """The command line; every option is optional."""
    parser = argparse.ArgumentParser(
        description="Read-only checks of a distributed training set-up; prints one block to paste."
    )
    parser.add_argument("--hosts", default="", help="the job's other hosts, separated by commas")
    parser.add_argument(
        "--checkpoint",
        default="",
        help="a checkpoint whose key names and shapes may be read (never its values)",
    )
    parser.add_argument(
        "--loader",
        default="",
        help="MODULE:FUNCTION of yours that returns this rank's data loader; only its lengths are read",
    )
    parser.add_argument("--list", action="store_true", help="only name the checks")
    parser.add_argument("--events", action="store_true", help="progress on standard error as JSON lines")
    parser.add_argument("--quiet", action="store_true", help="no progress on standard error")
    known, _ = parser.parse_known_args(argv)
    return SimpleNamespace(**vars(known))


def own_folder() -> str:
    """A folder for us alone; the tempfile module would first try its luck with a file outside of it."""
    base = os.environ.get("TMPDIR") or "/tmp"
    name = f"distriage-{os.getpid()}-{os.urandom(4).hex()}"
    place = os.path.join(base if os.access(base, os.W_OK) else os.getcwd(), name)
    os.mkdir(place, 0o700)
    return place


def leave(number: int, frame: object) -> None:
    """Told to end (a scheduler, a lost connection): remove the folder on the way out."""
    del frame
    for end in ENDS:
        signal.signal(end, signal.SIG_IGN)
    sys.exit(128 + number)


def host_label(job: Job) -> str:
    """Six digits that tell this job's machines apart without naming them."""
    key = [job.var(name) for name in ("MASTER_ADDR", "SLURM_JOB_ID", "TORCHELASTIC_RUN_ID", "DISTRIAGE_JOB")]
    machine = os.uname().nodename + job.read("/etc/machine-id", 64).strip()
    return "host-" + hashlib.sha256("|".join([machine, *key]).encode()).hexdigest()[:6]


def checksum(result: dict[str, object]) -> str:
    """SHA-256 over the canonical JSON of everything but the checksum: shows a paste that was cut or
    changed."""
    rest = {key: value for key, value in result.items() if key != "checksum"}
    return hashlib.sha256(
        json.dumps(rest, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode()
    ).hexdigest()


def block(result: dict[str, object]) -> str:
    """The result as one fenced block, a probe a line."""
    head = {key: value for key, value in result.items() if key not in ("probes", "checksum")}
    lines = [json.dumps(head, ensure_ascii=True)[:-1] + ', "probes": [']
    probes = result["probes"]
    if isinstance(probes, list):
        lines.append(",\n".join(json.dumps(probe, ensure_ascii=True) for probe in probes))
    lines.append('], "checksum": "{}"}}'.format(result["checksum"]))
    return "\n```distriage-result\n" + "\n".join(lines) + "\n```\n"


def describe(done: Done, names: list[str]) -> dict[str, object]:
    """One probe's part of the result."""
    return {
        "id": done.task.id,
        "outcome": done.outcome,
        "seconds": round(done.seconds, 2),
        "facts": redact_facts(done.facts, names),
    }


def main(argv: Sequence[str], tasks: Sequence[Task], script: str, budget_s: float) -> int:
    """Run the tasks and print the block; 0 whenever a block was printed."""
    options = parse_options(argv)
    if options.list:
        print("\n".join(task.id for task in tasks if not task.collector))
        return 0
    sys.dont_write_bytecode = True
    started = time.time()
    for end in ENDS:
        signal.signal(end, leave)
    signal.pthread_sigmask(signal.SIG_BLOCK, ENDS)
    tmp = own_folder()
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDS)
        job = Job(dict(os.environ), options, tmp)
        names = own_names()
        count = sum(not task.collector for task in tasks)
        done: list[Done] = []

        def tell(one: Done) -> None:
            if not one.task.collector:
                done.append(one)
                say(options, one, len(done), count)

        run_tasks(tasks, job, started + budget_s, tell)
    finally:
        shutil.rmtree(tmp, ignore_errors=True)
    order = {task.id: place for place, task in enumerate(tasks)}
    result: dict[str, object] = {
        "schema": SCHEMA,
        "script": script,
        "host": host_label(job),
        "rank": job.rank,
        "world_size": job.world,
        "platform": sys.platform,
        "python": platform.python_version(),
        "started": int(started),
        "seconds": round(time.time() - started, 2),
        "probes": [describe(one, names) for one in sorted(done, key=lambda one: order[one.task.id])],
    }
    result["checksum"] = checksum(result)
    # One write a process, so that ranks that share a terminal do not mix their blocks.
    sys.stdout.write(block(result))
    sys.stdout.flush()
    return 0


def say(options: SimpleNamespace, done: Done, place: int, count: int) -> None:
    """One progress line on standard error."""
    if options.events:
        print(
            json.dumps({"done": place, "of": count, "id": done.task.id, "outcome": done.outcome}),
            file=sys.stderr,
            flush=True,
        )
    elif not options.quiet:
        print(f"[{place}/{count}] {done.task.id}: {done.outcome}", file=sys.stderr, flush=True)
