"""Reports of a regression, with a diagnosis of their own or of a project's tests get no answer unasked."""

from __future__ import annotations

import pytest

from knowledge.evidence import read_report
from knowledge.findings.unasked import knows_better
from knowledge.report import Report
from knowledge.signatures import SignatureTable
from tests.knowledge.findings.tiny import entry

TABLE = SignatureTable([])


@pytest.mark.parametrize(
    ("text", "knows"),
    [
        ("Since upgrading to 1.0.3 the job dies at start.", True),
        ("The same script works with 0.9.0.", True),
        ("This is a regression.", True),
        ("The error is caused by the hook that runs twice.", True),
        ("I think the bug is in `_reduce`; the fix would be to skip it.", True),
        ("See https://github.com/acme/train/blob/main/a.py#L3", True),
        ("Likely `self.eval()` moves the model to the CPU.", True),
        ("On closer inspection I realized that it's due to the optimizer's state.", True),
        ("The unit test of the sampler hangs in CI.", True),
        ("It dies at start and I don't know why. torch 2.3, two nodes.", False),
        ("RuntimeError: Address already in use", False),
        ("```\nRuntimeError: This error is caused by one of the following reasons\n```", False),
        ("It works on one GPU and fails on two.", False),
    ],
)
def test_who_knows_better(text: str, knows: bool) -> None:
    assert knows_better(entry("a"), read_report(Report("r", "It fails", text), TABLE)) is knows


@pytest.mark.parametrize(
    ("answer", "knows"),
    [
        ("As of PyTorch 2.0, the launcher passes `--local-rank`.", False),
        ("PyTorch 2.9 removed `torch.distributed.old`.", False),
        ("`max_pool` no longer takes lists.", False),
        ("The port is taken.", True),
        ("The tensor was moved to the CPU.", True),
    ],
)
def test_an_upgrade_that_broke_something_is_what_some_entries_are_about(answer: str, knows: bool) -> None:
    upgraded = read_report(Report("r", "It fails", "Since upgrading to torch 2.0 it dies."), TABLE)
    diagnosed = read_report(Report("r", "It fails", "Since upgrading it dies. The culprit is a name."), TABLE)
    one = entry("a", answer=answer)
    assert knows_better(one, upgraded) is knows
    assert knows_better(one, diagnosed)
