"""The bot as processes that tests may kill: `python -m tests.soak.bot_process web|worker|engine-worker|serve|whole`."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import httpx2

from bot.github.app import App
from bot.github.ports import Ports
from bot.github.store.postgres import PostgresStore
from bot.jobs.queue import WorkerOptions
from bot.ports import Core
from bot.runtime.core import NamedCore, SystemClock
from bot.runtime.logs import configure_logs
from bot.runtime.resources import Service, Work
from bot.runtime.triage_pool import ENGINE, TriagePool
from bot.serve.compose import github_handler, make_app, work_of
from bot.serve.processes import run_worker_process, serve
from bot.settings import load_settings
from knowledge.report import Report
from knowledge.taxonomy import load_taxonomy
from knowledge.triage import Triage
from tests.bot.fake_core import FakeCore, a_triage

ROOT = Path(__file__).parents[2]
SECRET = "soak"
WORKS = {"serve": "spinning_work", "whole": "whole_work"}
QUICK = WorkerOptions(concurrency=4, heartbeat=0.5, stalled=3.0, poll=0.2, grace=5.0)


def start(kind: str, *arguments: str, database: str, **environment: str) -> subprocess.Popen[bytes]:
    """Start a process; `environment` without the prefix DISTRIAGE_."""
    named = {f"DISTRIAGE_{name.upper()}": value for name, value in environment.items()}
    named |= {"DISTRIAGE_DATABASE_URL": database, "DISTRIAGE_GITHUB_WEBHOOK_SECRET": SECRET}
    return subprocess.Popen(
        [sys.executable, "-m", "tests.soak.bot_process", kind, *arguments], cwd=ROOT, env=os.environ | named
    )


async def until_ready(client: httpx2.AsyncClient, seconds: float = 20) -> None:
    """Wait until the web process answers."""
    for _ in range(int(seconds * 10)):
        try:
            if (await client.get("/readyz")).status_code == 200:
                return
        except httpx2.TransportError:
            pass
        await asyncio.sleep(0.1)
    raise AssertionError("the web process did not start")


def _engine_work(service: Service) -> Work:
    """With the shipped engine in a process of its own."""
    pool = TriagePool(ENGINE)
    return replace(_work(service, NamedCore(pool, load_taxonomy())), state=pool.state, close=pool.close)


def _work(service: Service, core: Core | None = None) -> Work:
    settings = service.settings
    key = settings.read_private_key()
    assert settings.github_app_id is not None
    assert key is not None
    app = App(settings.github_app_id, key, settings.github_api_url, seconds_between_writes=0)
    store = PostgresStore(service.threads)
    ports = Ports(app, store, SystemClock(), core or FakeCore(), settle_seconds=0.5)
    return Work({"github": github_handler(ports)}, wait=lambda attempts: 0.2)


class SpinningCore:
    """Takes 40 ms of CPU for a triage, as the engine does."""

    def triage(self, report: Report) -> Triage:
        end = time.thread_time() + 0.04
        while time.thread_time() < end:
            sum(range(500))
        return a_triage(report)


def spinning_core() -> SpinningCore:
    return SpinningCore()


def spinning_work(service: Service) -> Work:
    return work_of(service, None, TriagePool("tests.soak.bot_process:spinning_core"))


class QuotingCore:
    """Quotes the report, so that a comment shows which text it was made of."""

    def triage(self, report: Report) -> Triage:
        return a_triage(report)


def quoting_core() -> QuotingCore:
    return QuotingCore()


def whole_work(service: Service) -> Work:
    """All that a worker has: GitHub, its sweeps, and triage processes of their own."""
    work = work_of(
        service, make_app(service.settings), pool := TriagePool("tests.soak.bot_process:quoting_core")
    )
    return replace(work, state=pool.state, close=pool.close)


async def _bare(port: int) -> None:
    """A server that reads what it is sent and says 202: what the machine itself needs."""

    async def say(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).lower()
                length = next(line for line in head.split(b"\r\n") if line.startswith(b"content-length:"))
                await reader.readexactly(int(length.partition(b":")[2]))
                writer.write(b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n")

    await (await asyncio.start_server(say, "127.0.0.1", port)).serve_forever()


def main(kind: str, *arguments: str) -> None:
    configure_logs("WARNING")
    settings = load_settings()
    if kind == "web":
        serve(settings, "127.0.0.1", int(arguments[0]), None)
    elif kind in WORKS:
        serve(settings, "127.0.0.1", int(arguments[0]), f"tests.soak.bot_process:{WORKS[kind]}")
    elif kind == "bare":
        asyncio.run(_bare(int(arguments[0])))
    elif kind == "engine-worker":
        run_worker_process(settings, _engine_work, options=QUICK)
    else:
        run_worker_process(settings, _work, options=QUICK)


if __name__ == "__main__":
    main(*sys.argv[1:])
