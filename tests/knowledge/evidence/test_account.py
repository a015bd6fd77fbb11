"""What a person's own sentences say failed, where no log shows it."""

from __future__ import annotations

import pytest

from knowledge.evidence import read_report
from knowledge.report import Report
from knowledge.signatures import SignatureTable

TABLE = SignatureTable()


@pytest.mark.parametrize(
    ("sentence", "role"),
    [
        ("It crashes with a failed assertion.", "root"),
        ("I get KeyError: 'labels' on the second node.", "root"),
        ("Then every rank prints: Watchdog caught collective operation timeout.", "root"),
        ("`KeyError: 'labels'`", "root"),
        # Something is wrong, and the sentence does not say what.
        ("The job hangs on two nodes.", "context"),
        (
            "It prints Your compiler (c++) is not compatible with the compiler Pytorch was built with.",
            "context",
        ),
        # What follows from a failure, whoever says it.
        ("The launcher says ChildFailedError: train.py FAILED", "consequence"),
        ("In the end it prints NCCL communicator was aborted on rank 3.", "consequence"),
        ("The pod prints Exit Code:    137 in the end.", "consequence"),
        ("The other process exited with code 1 and failed.", "consequence"),
        # Manners, and what is no failure.
        ("Thanks for any help with this crash.", None),
        ("We use two nodes with eight GPUs each.", None),
        ("It is ok", None),
        ("No.", None),
    ],
)
def test_what_a_sentence_says_of_a_failure(sentence: str, role: str | None) -> None:
    found = read_report(Report("x", "", sentence), TABLE).decisive
    assert [one.role for one in found] == ([role] if role else [])


def test_what_a_form_asks_and_an_environment_lists_is_no_failure() -> None:
    body = """The loss stops falling after an epoch.

If we cannot run what you post here, we cannot look into the issue.

CMake version: Could not collect
```
cuDNN version: Could not collect
```
"""
    found = read_report(Report("x", "Loss", body), TABLE).decisive
    assert not [d.text for d in found if d.role == "root"]
