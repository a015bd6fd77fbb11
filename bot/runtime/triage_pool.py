"""Triages in a process of their own, below normal priority: a busy core never keeps a webhook waiting.

Measured at 200 webhooks a second: with the core in threads beside the event loop 99 % were answered within
40-250 ms, without it within 12-28 ms. A report that hangs or crashes the core costs one process, soon replaced.
Reports go in and triages come out as JSON, one a line; the child ends when its parent is gone.
"""

from __future__ import annotations

import base64
import importlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import datetime
from typing import Any, Literal, Protocol

import numpy as np

from bot.ports import Compared, Comparer, CoreDown, CoreFailed, Recorded, Recorder
from knowledge.history.record import Post, Record
from knowledge.report import Report
from knowledge.triage import Triage

ENGINE = "bot.runtime.core:engine_of_environment"
"""The factory of the core by the settings."""
NICENESS = 5
TIMEOUT = 60.0
"""Seconds after which a triage counts as hung; an ordinary one takes 0.05."""


START_TIMEOUT = 900.0
"""Seconds a process may take to load the core; the first one of all builds its index."""


_PASSED_ON = frozenset(
    {"PATH", "HOME", "USER", "LANG", "TZ", "TMPDIR", "VIRTUAL_ENV", "LD_LIBRARY_PATH"}
    | {"DISTRIAGE_DATA_DIR", "DISTRIAGE_CACHE_DIR", "DISTRIAGE_MODEL_DIR", "DISTRIAGE_LOG_LEVEL"}
)


CoreState = Literal["loading", "ready", "failed"]
"""failed: no process of the pool could load the core, or all have died; the next triage tries again."""


class CanTriage(Protocol):
    """What the child needs of the core."""

    def triage(self, report: Report) -> Triage:
        """The triage of one report."""


def environment(also: tuple[str, ...] = ()) -> dict[str, str]:
    """What a process that parses strangers' text gets to see: what it needs to run, and no secret.

    `also`: beginnings of further names that the work of this one needs.
    """
    begins = ("LC_", "PYTHON", "OMP_", "XDG_", *also)
    return {
        name: value for name, value in os.environ.items() if name in _PASSED_ON or name.startswith(begins)
    }


class TriagePool:
    """`size` processes that load while others go on; `factory` ("module:function") makes the core in them.

    They see the variables of `environment(also)`.
    """

    def __init__(
        self, factory: str, size: int = 1, timeout: float = TIMEOUT, also: tuple[str, ...] = ()
    ) -> None:
        self._closed = False
        self._free: queue.LifoQueue[_Child] = queue.LifoQueue()
        self._children = [_Child(factory, timeout, also) for _ in range(size)]
        for child in self._children:
            child.start()
            self._free.put(child)

    def triage(self, report: Report) -> Triage:
        """The triage of one report; waits for a free process. Raises `CoreFailed`."""
        with self._one() as child:
            return child.triage(report)

    def records(self, posts: Sequence[Post], triaged: bool = False) -> Recorded:
        """The records of posts for a repository's history; waits for a free process. Raises `CoreFailed`."""
        with self._one() as child:
            return child.records(posts, triaged)

    def compare(self, report: Report, earlier: Sequence[Report]) -> Compared:
        """What an LLM says of earlier reports beside a new one; waits for a free process. Raises `CoreFailed`."""
        with self._one() as child:
            return child.compare(report, earlier)

    def state(self) -> CoreState:
        """Whether the core has loaded: ready as soon as one process can triage."""
        states = {child.state() for child in self._children}
        return "ready" if "ready" in states else "loading" if "loading" in states else "failed"

    def close(self) -> None:
        """End the processes; a triage that runs, and every later one, fails with `CoreFailed`."""
        self._closed = True
        for child in self._children:
            child.close()

    @contextmanager
    def _one(self) -> Iterator[_Child]:
        child = self._free.get()
        try:
            if self._closed:
                raise CoreDown("the triage processes have been ended")
            yield child
        finally:
            self._free.put(child)


class _Child:
    def __init__(self, factory: str, timeout: float, also: tuple[str, ...]) -> None:
        self._factory = factory
        self._also = also
        self._timeout = timeout
        self._process: subprocess.Popen[bytes] | None = None
        self._loader = threading.Thread()
        self._loaded = False

    def triage(self, report: Report) -> Triage:
        return Triage.model_validate(self._ask_for("triage", asdict(report)))

    def records(self, posts: Sequence[Post], triaged: bool) -> Recorded:
        sent = [{**asdict(p), "opened": p.opened.isoformat() if p.opened else None} for p in posts]
        found = self._ask_for("records", {"posts": sent, "triaged": triaged})
        return Recorded(found["encoder"], tuple(map(_record_of, found["records"])))

    def compare(self, report: Report, earlier: Sequence[Report]) -> Compared:
        found = self._ask_for("compare", [asdict(report), *map(asdict, earlier)])
        return Compared(**{**found, "same": tuple(found["same"])})

    def _ask_for(self, what: str, value: Any) -> Any:
        if self._process is None or self._process.poll() is not None:
            self.close()
            self.start()
        self._loader.join()
        answer = json.loads(self._answer(json.dumps({what: value}).encode()))
        if "failed" in answer:
            raise CoreFailed(answer["failed"])
        return answer[what]

    def start(self) -> None:
        """Start the process, without waiting until it has loaded the core."""
        self._loaded = False
        self._process = subprocess.Popen(
            [sys.executable, "-m", "bot.runtime.triage_pool", self._factory],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # Ctrl-C is for the parent, which ends this one.
            process_group=0,
            env=environment(self._also),
        )
        self._loader = threading.Thread(target=self._load, args=[self._process], daemon=True)
        self._loader.start()

    def state(self) -> CoreState:
        """Whether this process can triage."""
        if self._loader.is_alive():
            return "loading"
        alive = self._process is not None and self._process.poll() is None
        return "ready" if self._loaded and alive else "failed"

    def _load(self, process: subprocess.Popen[bytes]) -> None:
        self._loaded = self._within(process, START_TIMEOUT, None) != b""

    def _answer(self, line: bytes) -> bytes:
        process = self._process
        if process is None or not self._loaded:
            self.close()
            raise CoreDown("the triage process did not load")
        answer = self._within(process, self._timeout, line)
        if not answer:
            self.close()
            raise CoreFailed("the triage process died or hung")
        return answer

    def _within(self, process: subprocess.Popen[bytes], seconds: float, line: bytes | None) -> bytes:
        """Send the line (if any) and return the next one that the process writes, or put an end to it."""
        guard = threading.Timer(seconds, process.kill)
        guard.start()
        try:
            return self._ask(process, line)
        finally:
            guard.cancel()

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        self._loader.join()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                stream.close()

    @staticmethod
    def _ask(process: subprocess.Popen[bytes], line: bytes | None) -> bytes:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            if line is not None:
                process.stdin.write(line + b"\n")
                process.stdin.flush()
            return process.stdout.readline()
        except OSError:
            return b""


def _serve(factory: str) -> None:
    """The child: answer reports until standard input ends."""
    os.nice(NICENESS)
    # Ctrl-C and a supervisor's SIGTERM reach the whole group; the parent ends this process when it is done.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a library prints must not stand between the answers
    module, _, function = factory.partition(":")
    make: Callable[[], CanTriage] = getattr(importlib.import_module(module), function)
    core = make()
    out.write(b'{"loaded": true}\n')
    out.flush()
    for line in sys.stdin.buffer:
        out.write(json.dumps(_answer(core, line)).encode() + b"\n")
        out.flush()


def _answer(core: CanTriage, line: bytes) -> dict[str, Any]:
    from bot.jobs.runner import where

    asked = json.loads(line)
    try:
        if "records" in asked:
            return {"records": _recorded(core, asked["records"])}
        if "compare" in asked:
            return {"compare": _compared(core, asked["compare"])}
        return {"triage": core.triage(_report_of(asked["triage"])).model_dump(mode="json")}
    except Exception as error:  # noqa: BLE001 - the process's edge: whatever a report does, the next one is read
        return {"failed": f"{type(error).__name__} in the core\n{where(error)}"}


def _report_of(value: dict[str, Any]) -> Report:
    return Report(**{**value, "notes": tuple(value["notes"])})


def _compared(core: Any, asked: list[dict[str, Any]]) -> dict[str, Any]:
    comparer: Comparer = core
    report, *earlier = map(_report_of, asked)
    return asdict(comparer.compare(report, earlier))


def _recorded(core: Any, asked: dict[str, Any]) -> dict[str, Any]:
    recorder: Recorder = core
    posts = [_post_of(post) for post in asked["posts"]]
    made = recorder.records(posts, triaged=asked["triaged"])
    records = [
        {"record": r.to_json(), "vectors": _packed(r.vectors), "small": base64.b64encode(r.small).decode()}
        for r in made.records
    ]
    return {"encoder": made.encoder, "records": records}


def _post_of(value: dict[str, Any]) -> Post:
    opened = value["opened"]
    return Post(**{**value, "opened": datetime.fromisoformat(opened) if opened else None})


def _packed(vectors: np.ndarray[Any, Any]) -> str:
    return base64.b64encode(np.asarray(vectors, "<f4").tobytes()).decode()


def _record_of(value: dict[str, Any]) -> Record:
    vectors = np.frombuffer(base64.b64decode(value["vectors"]), "<f4").reshape(2, -1)
    return Record.from_json(value["record"], vectors.astype(np.float32), base64.b64decode(value["small"]))


if __name__ == "__main__":
    _serve(sys.argv[1])
