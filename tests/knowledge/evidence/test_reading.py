"""What is read out of a report."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from knowledge.evidence import read_report
from knowledge.evidence.ranks import split_rank
from knowledge.report import Report
from knowledge.signatures import SignatureTable

TABLE = SignatureTable()
EXAMPLE = Path(__file__).parents[3] / "examples" / "hang.md"


def test_the_example_gives_up_its_facts() -> None:
    title, _, body = EXAMPLE.read_text("utf-8").partition("\n")
    reading = read_report(Report("hang.md", title.removeprefix("# "), body), TABLE)
    assert reading.framework == "horovod"
    assert reading.launcher == "mpirun"
    assert reading.world_size == 8
    assert reading.ranks == (0, 4)
    expected = {
        "torch": "1.13.1+cu117",
        "horovod": "0.26.1",
        "nccl": "2.14.3",
        "python": "3.8.16",
        "cuda": "11.7",
    }
    assert expected.items() <= reading.versions.items()
    assert "hf_" not in reading.report.body
    assert "jdoe" not in reading.report.body


def test_the_first_cause_stands_before_the_cascade() -> None:
    log = "\n".join(
        [
            "[1,2]<stderr>:Traceback (most recent call last):",
            '[1,2]<stderr>:  File "train.py", line 8, in <module>',
            "[1,2]<stderr>:RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB",
            "[1,0]<stderr>:horovod.common.exceptions.HorovodInternalError: Horovod has been shut down.",
            "Primary job  terminated normally, but 1 process returned",
            "a non-zero exit code. Per user-direction, the job has been aborted.",
        ]
    )
    reading = read_report(Report("x", "", log, is_log=True), TABLE)
    first = reading.decisive[0]
    assert "out of memory" in first.text
    assert (first.role, first.rank, first.number) == ("root", 2, 3)
    assert all(
        d.role == "consequence" for d in reading.decisive if "aborted" in d.text or "shut down" in d.text
    )


def test_of_chained_exceptions_the_inner_one_is_the_cause() -> None:
    log = (
        "Traceback (most recent call last):\n  File \"a.py\", line 1, in f\nKeyError: 'MASTER_ADDR'\n\n"
        "During handling of the above exception, another exception occurred:\n\n"
        'Traceback (most recent call last):\n  File "a.py", line 9, in g\nValueError: cannot start\n'
    )
    reading = read_report(Report("x", "", log, is_log=True), TABLE)
    assert reading.decisive[0].text.startswith("KeyError")


@pytest.mark.parametrize(
    ("line", "rank", "rest"),
    [
        ("[1,3]<stderr>:boom", 3, "boom"),
        ("[rank7]: boom", 7, "boom"),
        ("12: boom", 12, "boom"),
        ("plain text", None, "plain text"),
        ("2020-01-01 10:00:00 INFO x", None, "2020-01-01 10:00:00 INFO x"),
    ],
)
def test_rank_prefixes(line: str, rank: int | None, rest: str) -> None:
    assert split_rank(line) == (rank, rest)


def test_the_forms_example_is_not_the_reporters_version() -> None:
    body = "- OS (e.g., Linux Ubuntu 16.04): Ubuntu 20.04\n- TensorFlow version (e.g. 1.0): 2.3.0\n"
    versions = read_report(Report("x", "", body), TABLE).versions
    assert versions["os"] == "Ubuntu 20.04"
    assert versions["tensorflow"] == "2.3.0"


def test_reading_takes_time_linear_in_length() -> None:
    line = "[1,0]<stderr>:RuntimeError: NCCL error in: ProcessGroupNCCL.cpp:825, unhandled system error ((((aaaa\n"

    def seconds(count: int) -> float:
        start = time.perf_counter()
        read_report(Report("x", "", line * count, is_log=True), TABLE)
        return time.perf_counter() - start

    seconds(200)
    small, large = min(seconds(1000) for _ in range(3)), seconds(10_000)
    assert large < 30 * small
