"""What is read out of a report."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from knowledge.evidence import read_report
from knowledge.evidence.reading import summarise
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


def test_the_forms_example_is_not_the_reporters_version() -> None:
    body = "- OS (e.g., Linux Ubuntu 16.04): Ubuntu 20.04\n- TensorFlow version (e.g. 1.0): 2.3.0\n"
    versions = read_report(Report("x", "", body), TABLE).versions
    assert versions["os"] == "Ubuntu 20.04"
    assert versions["tensorflow"] == "2.3.0"


def test_reading_takes_time_linear_in_length() -> None:
    line = "[1,0]<stderr>:RuntimeError: NCCL error in: ProcessGroupNCCL.cpp:825, unhandled system error ((((aaaa\n"

    def seconds(count: int) -> float:
        start = time.process_time()
        read_report(Report("x", "", line * count, is_log=True), TABLE)
        return time.process_time() - start

    seconds(200)
    small, large = min(seconds(1000) for _ in range(3)), seconds(10_000)
    assert large < 30 * small


def test_reading_a_noisy_log_takes_time_linear_in_length() -> None:
    def log(count: int) -> str:
        return "".join(
            f"2026-05-03 10:{i // 60 % 60:02d}:{i % 60:02d},{i % 1000:03d} [rank{i % 8}]: "
            f"INFO trainer: step {i} loss {i / 7:.4f}\n"
            f"node-{i % 4}:{i}:{i + 1} [{i % 8}] NCCL INFO Channel {i % 16:02d} : {i % 64}[0] -> 3[0] via NET/IB/0\n"
            f"data: could not read sample {i}, retrying\n"
            for i in range(count)
        )

    def seconds(text: str) -> float:
        start = time.process_time()
        read_report(Report("x", "", text, is_log=True), TABLE)
        return time.process_time() - start

    seconds(log(200))
    small, large = min(seconds(log(1000)) for _ in range(3)), seconds(log(10_000))
    assert large < 20 * small


def test_a_long_line_is_cut_around_its_error_at_the_ends_of_words() -> None:
    line = "value " * 150 + "RuntimeError: shards differ " + "detail " * 100
    found = read_report(Report("x", "", line, is_log=True), TABLE).decisive[0]
    assert "RuntimeError: shards differ" in found.text
    assert found.text.startswith("…value")
    assert found.text.endswith("detail…")
    assert len(found.text) <= 400


@pytest.mark.parametrize("before", [20, 40, 55])
def test_where_there_is_less_room_the_error_stays_in_the_quote(before: int) -> None:
    line = "value " * before + "RuntimeError: shards differ in their sizes"
    reading = read_report(Report("x", "", line, is_log=True), TABLE)
    [quote] = summarise(reading).lines
    assert "RuntimeError: shards differ" in quote.text and len(quote.text) <= 300


def test_politeness_is_no_evidence() -> None:
    body = "Training stops on rank 2.\nSorry if this is the wrong place.\nAny help with this broken thing is welcome."
    found = read_report(Report("x", "", body), TABLE).decisive
    assert [line.number for line in found] == [1] or not found


@pytest.mark.parametrize(
    ("title", "body", "framework"),
    [
        # The form of a project asks for its own version first.
        ("It hangs", "```\n#- PyTorch Lightning Version: 2.3\n#- PyTorch Version: 2.3\n```", "pytorch-lightning"),
        ("DDP hangs", "```\n#- PyTorch Version (e.g., 2.4): 2.3.1\n#- PyTorch Lightning Version: none\n```", "pytorch"),
        # A list of packages is no form.
        ("DDP hangs", "```\n[pip3] pytorch-lightning==2.3.3\n[pip3] torch==2.3.1\n```", "pytorch"),
        ("ZeRO-3: size mismatch of an empty tensor", "torch 2.3.1, `torchrun train.py`", "deepspeed"),
    ],
)  # fmt: skip
def test_the_framework_of_a_form_and_of_a_technique(title: str, body: str, framework: str) -> None:
    assert read_report(Report("x", title, body), SignatureTable()).framework == framework
