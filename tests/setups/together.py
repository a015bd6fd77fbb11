"""Judge many set-ups beside each other: much of a set-up's time is waiting for ranks that do not come."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

from tests.setups.job_environment import byte_code
from tests.setups.judge import Priors, Verdict, judge
from tests.setups.model import Setup

AT_ONCE = (os.cpu_count() or 2) + 1


@contextmanager
def judged(setups: Sequence[Setup], priors: Priors) -> Iterator[Mapping[str, Future[Verdict]]]:
    """Set-up id to its coming verdict; those with a real job beside the script come one after the other."""
    byte_code()
    for one in setups:
        priors(one)
    with ThreadPoolExecutor(1) as jobs, ThreadPoolExecutor(AT_ONCE) as pool:
        futures = {one.id: (jobs if one.real_job else pool).submit(judge, one, priors) for one in setups}
        try:
            yield futures
        finally:
            for future in futures.values():
                future.cancel()
