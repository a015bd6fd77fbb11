"""What is asked for: what a report lacks and its fault calls for."""

from __future__ import annotations

import pytest

from knowledge.evidence import read_report
from knowledge.missing import MOST, ask_for
from knowledge.report import Report
from knowledge.signatures import SignatureTable
from knowledge.triage import Axis, Distributed, Ranked

TABLE = SignatureTable()


def asked(body: str, symptom: str, distributed: bool | None = None) -> list[str]:
    axes = {
        axis: Axis(ranking=[Ranked(id=id, p=0.9)], answer=[id], answer_set=[id])
        for axis, id in (("stage", symptom[0]), ("symptom", symptom))
    }
    told = Distributed(p=0.5 if distributed is None else float(distributed), answer=distributed)
    return [item.id for item in ask_for(read_report(Report("a/b#1", "It fails", body), TABLE), axes, told)]


@pytest.mark.parametrize(
    ("symptom", "first"), [("D.2.1", "stacks"), ("D.2.3", "throughput"), ("D.1.2", "log"), ("B.1", "log")]
)
def test_the_fault_tells_what_is_asked_first(symptom: str, first: str) -> None:
    wanted = asked("It fails with PyTorch.", symptom)
    assert wanted[0] == first
    assert len(wanted) <= MOST


@pytest.mark.parametrize(("distributed", "expected"), [(True, True), (None, True), (False, False)])
def test_nobody_is_asked_how_many_take_part_in_a_fault_of_one_device(
    distributed: bool | None, expected: bool
) -> None:
    assert ("world_size" in asked("Training fails.", "D.1.5", distributed)) is expected


def test_what_the_report_says_is_not_asked_again() -> None:
    said = (
        "torchrun --nnodes 2 --nproc_per_node 8 train.py\nPyTorch 2.3.0, CUDA 12.1, Python 3.11, NCCL 2.20.5"
    )
    assert {"versions", "command", "world_size"} & set(asked(said, "D.2.1", True)) == set()
