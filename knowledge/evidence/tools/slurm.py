"""`sacct` tables and slurmstepd's word on memory."""

from __future__ import annotations

from collections.abc import Sequence

import re2

from knowledge.evidence.lines import Line
from knowledge.evidence.tools.finding import Fact, ToolReading

MARKS = ("JobID", "oom_kill event")
_OOM = re2.compile(r"oom_kill events? in (?:StepId=|step )(\d+\.\w+)")
_STATE = re2.compile(r"\b(OUT_OF_ME\w*\+?|NODE_FAIL\w*|TIMEOUT|PREEMPTED|BOOT_FAIL)\b")
_JOB = re2.compile(r"^\s*(\d+(?:_\d+)?(?:\.\w+)?)[\s|]")
_MEANING = {
    "OUT": "for exceeding its memory limit",
    "NODE": "because a node failed",
    "TIME": "at its time limit",
    "PREE": "by preemption",
    "BOOT": "because a node did not boot",
}


def read(lines: Sequence[Line]) -> ToolReading:
    """How Slurm says that the job ended, one sentence."""
    in_table = False
    for line in lines:
        if (match := _OOM.search(line.text)) is not None:
            return ToolReading(
                (
                    Fact(
                        line.number,
                        f"Slurm killed a task of step {match.group(1)} for exceeding its memory limit.",
                    ),
                )
            )
        if "JobID" in line.text and "State" in line.text:
            in_table = True
        elif in_table and (job := _JOB.match(line.text)) and (state := _STATE.search(line.text)):
            why = next(text for start, text in _MEANING.items() if state.group(1).startswith(start))
            return ToolReading((Fact(line.number, f"Slurm ended job {job.group(1)} {why}."),))
    return ToolReading()
