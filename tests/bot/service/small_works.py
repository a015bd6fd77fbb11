"""Works that a worker process of the tests makes by name."""

from __future__ import annotations

import os
import time

from bot.db.deliveries import StoredDelivery
from bot.jobs.runner import Ended
from bot.runtime.resources import Service, Work


def _handle(delivery: StoredDelivery) -> Ended:
    number = delivery.payload["issue"]["number"]
    if number == 2 and delivery.attempts == 1:
        os._exit(7)
    if number == 3:
        time.sleep(1.0)
    return Ended("written", f"by {os.getpid()}")


def small_work(service: Service) -> Work:
    """Issue 2 kills the worker once, issue 3 takes a second."""
    return Work({"github": _handle}, state=lambda: "loading")


def no_work(service: Service) -> Work:
    raise RuntimeError("cannot be made")
