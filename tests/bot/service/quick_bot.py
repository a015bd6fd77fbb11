"""`bot serve` and `bot worker` with a work that takes a moment: `python -m ... serve|worker PORT`."""

from __future__ import annotations

import sys
import time

from bot.db.deliveries import StoredDelivery
from bot.jobs.queue import WorkerOptions
from bot.jobs.runner import Ended
from bot.runtime.logs import configure_logs
from bot.runtime.resources import Service, Work
from bot.serve.processes import run_worker_process, serve
from bot.settings import load_settings

QUICK = WorkerOptions(heartbeat=0.5, stalled=3.0, poll=0.2, grace=5.0)


def _handle(delivery: StoredDelivery) -> Ended:
    time.sleep(0.02)
    return Ended("written", "created")


def quick_work(service: Service) -> Work:
    """Ends every delivery after 20 ms."""
    return Work({"github": _handle}, wait=lambda attempts: 0.2)


def main(kind: str, port: str) -> None:
    settings = load_settings()
    configure_logs(settings.log_level)
    if kind == "serve":
        serve(settings, "127.0.0.1", int(port), "tests.bot.service.quick_bot:quick_work")
    else:
        run_worker_process(settings, quick_work, int(port), QUICK)


if __name__ == "__main__":
    main(*sys.argv[1:])
