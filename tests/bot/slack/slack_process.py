"""The Slack app as processes that tests may kill: `python -m tests.bot.slack.slack_process web|worker|serve`."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx2

from bot.jobs.queue import WorkerOptions
from bot.runtime.logs import configure_logs
from bot.runtime.resources import Service, Work
from bot.serve.compose import with_slack
from bot.serve.processes import run_worker_process, serve
from bot.settings import load_settings
from knowledge.report import Report
from knowledge.triage import Triage
from tests.bot.fake_core import a_triage
from tests.bot.slack.bench import KEY, SECRET
from tests.bot.slack.fake_slack import TOKEN, FakeSlack

ROOT = Path(__file__).parents[3]
QUICK = WorkerOptions(concurrency=4, heartbeat=0.3, stalled=1.5, poll=0.1, grace=5.0)
SLOW = "slow:"
"""A text that begins so is triaged for seconds."""


class BusyCore:
    """Takes 40 ms of CPU for a triage, as the engine does."""

    def triage(self, report: Report) -> Triage:
        end = time.thread_time() + 0.04
        while time.thread_time() < end:
            sum(range(500))
        if report.body.startswith(SLOW):
            time.sleep(4)
        return a_triage(report)


def busy_work(service: Service) -> Work:
    return with_slack(service, Work({}, wait=lambda attempts: 0.2), BusyCore())


@contextmanager
def running(kind: str, *arguments: str, database: str, fake: FakeSlack) -> Iterator[subprocess.Popen[bytes]]:
    """A process of the app on the fake; killed at the end when it still runs."""
    values = {
        "DATABASE_URL": database,
        "SLACK_SIGNING_SECRET": SECRET,
        "SLACK_BOT_TOKEN": TOKEN,
        "SLACK_TOKEN_KEY": KEY,
        "SLACK_API_URL": f"{fake.url}/api/",
        "SLACK_RATE_LIMIT": "1000",
    }
    environment = os.environ | {f"DISTRIAGE_{name}": value for name, value in values.items()}
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.bot.slack.slack_process", kind, *arguments], cwd=ROOT, env=environment
    )
    try:
        yield process
    finally:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(20)
        process.kill()
        process.wait()


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def until_answering(port: int, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        with suppress(httpx2.TransportError):
            httpx2.get(f"http://127.0.0.1:{port}/healthz")
            return
        time.sleep(0.1)
    raise AssertionError("the web process did not start")


def main(kind: str, *arguments: str) -> None:
    configure_logs("WARNING")
    settings = load_settings()
    if kind == "worker":
        run_worker_process(settings, busy_work, options=QUICK)
    else:
        factory = "tests.bot.slack.slack_process:busy_work" if kind == "serve" else None
        serve(settings, "127.0.0.1", int(arguments[0]), factory)


if __name__ == "__main__":
    main(*sys.argv[1:])
