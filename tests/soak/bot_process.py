"""The bot as processes that tests may kill: `python -m tests.soak.bot_process web|worker`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import httpx2

from bot.clock import SystemClock
from bot.db.store import PostgresStore
from bot.github.app import App
from bot.github.ports import Ports
from bot.github_work import github_handler
from bot.jobs.worker import WorkerOptions
from bot.logs import configure_logs
from bot.service import Service, Work
from bot.serving import run_worker_process, serve
from bot.settings import load_settings
from tests.bot.fake_core import FakeCore

ROOT = Path(__file__).parents[2]
SECRET = "soak"
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
    import asyncio

    for _ in range(int(seconds * 10)):
        try:
            if (await client.get("/readyz")).status_code == 200:
                return
        except httpx2.TransportError:
            pass
        await asyncio.sleep(0.1)
    raise AssertionError("the web process did not start")


def _work(service: Service) -> Work:
    settings = service.settings
    key = settings.read_private_key()
    assert settings.github_app_id is not None
    assert key is not None
    app = App(settings.github_app_id, key, settings.github_api_url, seconds_between_writes=0)
    store = PostgresStore(service.threads)
    ports = Ports(app, store, SystemClock(), FakeCore(), settle_seconds=0.5)
    return Work({"github": github_handler(ports)}, wait=lambda attempts: 0.2)


def main(kind: str, *arguments: str) -> None:
    configure_logs("WARNING")
    settings = load_settings()
    if kind == "web":
        serve(settings, "127.0.0.1", int(arguments[0]), None)
    else:
        run_worker_process(settings, _work, options=QUICK)


if __name__ == "__main__":
    main(*sys.argv[1:])
