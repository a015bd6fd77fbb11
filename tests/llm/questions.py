"""Readings, cases and replies to start from."""

from __future__ import annotations

import json
from typing import Any

from knowledge.diagnostics.runtime.main import block
from knowledge.evidence import Reading, read_report
from knowledge.report import Report
from knowledge.signatures import SignatureTable
from knowledge.triage import CaseLabels, Neighbour
from llm.duties import Question
from llm.prompts import ShownLines
from tests.results import result

BODY = """Training on 2 nodes with 8 GPUs each stands still after the first epoch, PyTorch 2.3.0 and NCCL 2.20.5.

```
[rank3]: step 100 loss 1.2
[rank3]: Watchdog caught collective operation timeout: WorkNCCL(OpType=ALLREDUCE) ran for 600000 milliseconds
[rank0]: torch.distributed.DistBackendError: NCCL communicator was aborted
```
"""
REPORT = Report("acme/train#1", "Hang in all-reduce after one epoch", BODY)


def a_reading(report: Report = REPORT) -> Reading:
    return read_report(report, SignatureTable())


def a_case(number: int = 1006, title: str = "Training hangs") -> Neighbour:
    id_ = f"horovod/horovod#{number}"
    return Neighbour(
        id=id_,
        url=f"https://github.com/horovod/horovod/issues/{number}",
        title=title,
        score=0.8,
        labels=CaseLabels(type="fault", symptom=["D.2.1"], cause=["network_environment"]),
        label_source="study 1",
        resolution="named the right interface",
    )


def a_question(**changes: Any) -> Question:
    values: dict[str, Any] = {
        "candidates": {
            "type": [("fault", 0.9), ("howto", 0.1)],
            "stage": [("D", 0.8), ("B", 0.2)],
            "symptom": [("D.2.1", 0.6), ("B.2", 0.3), ("D.1.1", 0.1)],
            "cause": [("network_environment", 0.6), ("dependency", 0.4)],
            "fix": [("network", 0.5), ("dependency_version", 0.5)],
        },
        "neighbours": (a_case(),),
        "shown": ShownLines({0: "Hang", 1: "It hangs.", 5: "Watchdog caught timeout"}),
    }
    return Question(**{**values, **changes})


def an_account(**changes: Any) -> dict[str, Any]:
    return {
        "account": "A run on two nodes stands still in an all-reduce; the watchdog ends it.",
        "lines": [5],
        "versions": [{"component": "NCCL", "version": "2.20.5"}],
        **changes,
    }


def a_verdict(**changes: Any) -> dict[str, Any]:
    return {
        "type": ["fault"],
        "stage": ["D"],
        "symptom": ["B.2", "D.2.1"],
        "cause": ["network_environment"],
        "fix": ["network"],
        "reason": "The watchdog ends a collective that never completed (line 5).",
        "lines": [5],
        "cases": ["horovod/horovod#1006"],
        **changes,
    }


def a_result() -> str:
    """A diagnostics result as it is pasted."""
    return block(result())


def without_token(body: dict[str, Any]) -> str:
    """A request's body as text, its random delimiter replaced."""
    text = json.dumps(body, sort_keys=True)
    token = text.partition("<<<REPORT ")[2].partition(">>>")[0]
    return text.replace(token, "TOKEN")
