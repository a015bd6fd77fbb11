"""Logs outside of fences, behind wrappers, and what of a stack is no root."""

from __future__ import annotations

import pytest

from knowledge.evidence import Reading, read_report
from knowledge.evidence.layout import is_printed
from knowledge.evidence.lines import Kind
from knowledge.report import Report
from knowledge.signatures import SignatureTable

TABLE = SignatureTable()
LOG = """\
2026-05-03 10:02:31,008 INFO train: epoch 0 step 0 loss 0.41
[rank1]: Traceback (most recent call last):
[rank1]:   File "/workspace/train.py", line 31, in <module>
[rank1]:     main()
[rank1]: KeyError: 'label'
[rank0]: Traceback (most recent call last):
[rank0]:   File "/workspace/train.py", line 31, in <module>
[rank0]:     main()
[rank0]: RuntimeError: [/x/gloo/transport/tcp/pair.cc:553] Connection closed by peer [10.0.0.7]:3599
torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
============================================================
train.py FAILED
------------------------------------------------------------
"""


def read(body: str, title: str = "", *, is_log: bool = False) -> Reading:
    return read_report(Report("x", title, body, is_log=is_log), TABLE)


def test_a_log_that_is_a_body_without_a_fence_is_read_as_one() -> None:
    reading = read(LOG)
    assert reading.report.is_log
    root = reading.decisive[0]
    assert (root.number, root.rank, root.role) == (5, 1, "root")


@pytest.mark.parametrize(
    "body",
    [
        "Training fails since I use two machines.\n\n" + LOG,
        "## What happened\n\n" + LOG,
        "Environment:\nFramework: PyTorch\nFramework version: 2.6\n\n" + LOG,
        "import torch\n\n\ndef main():\n    loss = model(x)\n    loss.backward()\n    return loss\n",
        "KeyError: 'label'\n",
    ],
)
def test_what_a_person_wrote_is_no_printed_log(body: str) -> None:
    assert not is_printed(body)


def test_a_row_of_equals_signs_makes_no_heading_of_the_log_above_it() -> None:
    reading = read("It fails with\n\n" + LOG)
    assert {line.kind for line in reading.lines if line.text.startswith(("KeyError", "RuntimeError"))} == {
        Kind.LOG
    }
    assert reading.decisive[0].rank == 1


def test_a_single_line_over_a_rule_stays_a_heading() -> None:
    reading = read("Steps\n-----\nRun it on two machines, and it stops with an error.\n")
    assert reading.lines[0].kind is Kind.HEADING


@pytest.mark.parametrize("level", ["INFO", "ERROR"])
def test_the_level_that_a_wrapper_gives_to_every_line_says_nothing(level: str) -> None:
    wrapped = "\n".join(
        f"2026-05-03 10:02:{second:02d},008 - trainer - {level} - {line}"
        for second, line in enumerate(LOG.splitlines())
    )
    root = read(wrapped, is_log=True).decisive[0]
    assert (root.number, root.rank) == (5, 1)


def test_heads_and_frames_of_a_stack_are_never_the_root() -> None:
    log = """\
[E1122 20:11:46.998058204 socket.cpp:1028] [c10d] The client socket has timed out after 20000ms while trying to connect
Exception raised from throwTimeoutError at /pytorch/torch/csrc/distributed/c10d/socket.cpp:1030 (most recent call first):
frame #0: c10::Error::Error(c10::SourceLocation, std::string) + 0x9d (0x7f06 in /opt/venv/lib/libc10.so)
frame #1: c10::DistError::DistError(c10::SourceLocation, std::string) + 0x72 (0x7f06 in /opt/venv/lib/libc10.so)
Traceback (most recent call last):
  File "/workspace/train.py", line 12, in <module>
    dist.init_process_group("gloo", timeout=timedelta(seconds=20))
"""
    reading = read(log, is_log=True)
    assert [d.number for d in reading.decisive if d.role == "root"] == [1]


def test_vain_waiting_ends_in_its_exception_not_in_the_warning_before_it() -> None:
    log = """\
[W1122 19:51:15.576091913 socket.cpp:469] [c10d] waitForInput: poll for socket SocketImpl(fd=4) returned 0
Traceback (most recent call last):
  File "/workspace/train.py", line 12, in <module>
    dist.init_process_group("gloo")
torch.distributed.DistStoreError: Timed out after 21 seconds waiting for clients. 1/2 clients joined.
"""
    assert read(log, is_log=True).decisive[0].number == 5


def test_deepspeed_names_the_rank_that_a_signal_ended() -> None:
    log = """\
[2026-11-22 20:16:34,644] [INFO] [launch.py:158:main] nnodes=1, num_local_procs=2, node_rank=0
[2026-11-22 20:16:53,901] [ERROR] [launch.py:259:sigkill_handler] ['/usr/bin/python', '-u', 'train.py', '--local_rank=1'] exits with return code = -9
"""
    root = read(log, is_log=True).decisive[0]
    assert (root.number, root.rank) == (2, 1)
    assert read(log.replace("nnodes=1", "nnodes=2"), is_log=True).decisive[0].rank is None
