"""Run probes beside each other, each in a forked child with its own time limit, so that none can hang or
crash the script."""

from __future__ import annotations

import json
import os
import select
import time
from collections.abc import Callable, Sequence

from knowledge.diagnostics.runtime.job import Answer, Facts, Job, NotApplicable, end_group

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
                running.append(Running(task, job, deadline))
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
