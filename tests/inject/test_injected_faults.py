"""Jobs with injected faults, really run: they fail as the registry says, and the reader finds the root.

A part of the faults that the reader is developed on; all of them, and those held out: `make inject-logs`.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from knowledge.evidence import read_report
from knowledge.report import Report
from knowledge.signatures import SignatureTable
from tests.inject.registry import FAULTS
from tests.inject.runner import run_fault

TABLE = SignatureTable()
PART = {
    "collectives.raised_in_hook@torchrun:3": 1,
    "collectives.uneven_and_gone@torchrun:2": 0,
    "data.empty_shard@mpirun:3": 2,
    "data.no_file@deepspeed:2": 1,
    "data.ragged@accelerate:2": None,
    "checkpoints.full_disk@fsize:2": 0,
    "models.wrapped_attribute@spawn:2": None,
    "processes.killed@torchrun:3": 2,
    "processes.segfault@mpirun:2": 1,
    "setup.joins:port@port:2": None,
    "setup.joins:slots@slots:64": None,
    "software.missing_setting@elastic:2": None,
}
"""Id of a job to the rank that the reader must name; None where any will do."""


@pytest.fixture(scope="module")
def logs() -> Iterator[dict[str, Future[dict[str, Any]]]]:
    if shutil.which("mpirun") is None:
        pytest.skip("needs mpirun (apt-get install openmpi-bin)")
    pytest.importorskip("torch")
    os.environ["JOB_WAIT"] = "15"
    with ThreadPoolExecutor(3) as pool:
        jobs = {f"{fault.id}@{how}": (fault, how) for fault in FAULTS for how in fault.launch}
        yield {id: pool.submit(run_fault, *jobs[id], sys.executable) for id in PART}


@pytest.mark.parametrize("id", PART)
def test_the_root_of_an_injected_fault_is_found(id: str, logs: dict[str, Future[dict[str, Any]]]) -> None:
    record = logs[id].result()
    root = re.compile(record["truth"]["root"])
    lines = record["log"].split("\n")
    assert any(root.search(line) for line in lines), "the job did not fail as intended:\n" + record["log"]

    found = read_report(Report(id, "", record["log"], is_log=True), TABLE).decisive[0]

    assert root.search(lines[found.number - 1]), f"{found}\n{record['log']}"
    if PART[id] is not None:
        assert found.rank == PART[id]


def test_half_of_the_faults_are_held_out() -> None:
    held_out = sum(fault.held_out for fault in FAULTS)
    assert abs(held_out - len(FAULTS) / 2) <= 2
    assert len({fault.id for fault in FAULTS}) == len(FAULTS) >= 40
    assert not any(fault.held_out for fault in FAULTS if any(id.startswith(f"{fault.id}@") for id in PART))
