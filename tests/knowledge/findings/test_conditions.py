"""Conditions in an entry's head: what a report meets, and what it contradicts."""

from __future__ import annotations

from typing import Any

import pytest

from knowledge.concluding import findings_of
from knowledge.evidence import Reading, read_report
from knowledge.findings.conditions import contradicted, held_by
from knowledge.findings.fitting import fit
from knowledge.findings.matcher import Match
from knowledge.findings.tried import Tried
from knowledge.findings.unasked import objection
from knowledge.report import Report
from tests.knowledge.findings.tiny import TABLE, entry


def of(text: str) -> Reading:
    return read_report(Report("pytorch/pytorch#1", "It fails", text), TABLE)


@pytest.mark.parametrize(
    ("needs", "text", "against", "held"),
    [
        ({"launchers": ("srun",)}, "```\ntorchrun --nproc_per_node=2 a.py\n```", True, ()),
        # srun started torchrun: both are named, so nothing is contradicted.
        ({"launchers": ("srun",)}, "```\nsrun torchrun a.py\n```", False, ("launched by srun",)),
        ({"launchers": ("mpirun", "srun")}, "```\nsrun torchrun a.py\n```", False, ("launched by srun",)),
        ({"launchers": ("srun",)}, "It fails.", False, ()),
        ({"platforms": ("windows",)}, "OS: Ubuntu 22.04", True, ()),
        ({"platforms": ("windows",)}, "It fails on Windows.", False, ("windows",)),
        ({"platforms": ("windows",)}, "It fails.", False, ()),
        ({"world_size": ">=64"}, "```\nmpirun -np 8 python a.py\n```", True, ()),
        ({"world_size": ">=64"}, "```\nmpirun -np 128 python a.py\n```", False, ("128 processes",)),
        ({"world_size": ">=64"}, "It fails.", False, ()),
    ],
)
def test_launcher_platform_and_number_of_processes(
    needs: dict[str, Any], text: str, against: bool, held: tuple[str, ...]
) -> None:
    one = entry("one", **needs)
    assert contradicted(one, of(text)) is against
    assert held_by(one, of(text)) == held


def test_what_is_contradicted_is_not_said_unasked_and_shown_only_with_a_line() -> None:
    one = entry("one", launchers=("srun",))
    reading = of("It fails:\n\n```\ntorchrun a.py\nRuntimeError: no\n```")
    told = Match(one, 0.9, (5,), (), sure=True)
    assert objection(told, fit(one, reading), reading, Tried.of(reading)) == "condition"
    (finding,) = findings_of([told], reading)
    assert not finding.sure
    assert findings_of([Match(one, 0.9, (), (), sure=False)], reading) == []
