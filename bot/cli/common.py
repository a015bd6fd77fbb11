"""What the commands share: examples at the end of their help, and a sign of life while something takes long."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

# The examples at the end of a command's help.


def examples(*commands: str) -> str:
    """An epilog that shows these command lines; tests/bot/test_cli_manners.py checks that each parses."""
    return "\n".join(["Examples:" if len(commands) > 1 else "Example:", *commands])


# A sign of life on a terminal while something takes long.

PATIENCE_S = 2.0


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """Show `what` and the seconds so far on standard error once two have passed; only on a terminal."""
    if not sys.stderr.isatty():
        yield
        return
    done = threading.Event()
    thread = threading.Thread(target=_tick, args=(what, done), daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _tick(what: str, done: threading.Event) -> None:
    start = time.monotonic()
    if done.wait(PATIENCE_S):
        return
    from rich.console import Console
    from rich.status import Status

    with Status(what, console=Console(stderr=True)) as status:
        while not done.wait(1.0):
            status.update(f"{what} ({time.monotonic() - start:.0f} s)")
