"""How an all-reduce ended is told apart: worked, failed, hung, never got there."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from knowledge.diagnostics.runtime import collectives
from knowledge.diagnostics.runtime.job import NotApplicable
from tests.knowledge.diagnostics.worlds import job


def process(code: str) -> subprocess.Popen[bytes]:
    """A stand-in for one process of an all-reduce."""
    return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE)


@pytest.mark.parametrize(
    ("code", "state"),
    [
        ("print('meets')", "ok"),
        ("import sys; sys.exit(7)", "missing"),
        ("raise RuntimeError('connection refused')", "fails"),
        ("raise RuntimeError('Timed out waiting for the store')", "hangs"),
        ("import time; print('meets', flush=True); time.sleep(60)", "hangs"),
        ("import time; time.sleep(60)", "slow"),
        ("import os, time; print('meets', flush=True); os.fork(); time.sleep(5)", "hangs"),
    ],
    ids=["ok", "missing", "fails", "own-time-out", "hangs", "slow", "forked-hangs"],
)
def test_how_it_ended(code: str, state: str) -> None:
    assert collectives.ended([process(code)], time.time() + 2)[0] == state


def test_the_last_line_of_the_error_is_kept() -> None:
    assert collectives.ended([process("raise ValueError('no interface')")], time.time() + 20)[1] == (
        "ValueError: no interface"
    )


def test_a_slow_import_is_no_finding() -> None:
    with pytest.raises(NotApplicable, match="takes too long"):
        collectives.judged("slow", "")


def test_gloo_is_not_tried_twice(tmp_path: Path) -> None:
    made = job(tmp_path)
    made.shared["gloo_world"] = {"outcome": "ok"}
    assert collectives.probe_gloo_pair(made) == ("ok", {"all_ranks": True})


def test_without_a_rehearsal_the_ranks_do_not_try(tmp_path: Path) -> None:
    with pytest.raises(NotApplicable, match="did not all meet"):
        collectives.probe_gloo_world(job(tmp_path, {"WORLD_SIZE": "2", "RANK": "0", "MASTER_PORT": "1"}))
