"""What a person wrote is read as words, what a program printed as a log."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.reports.files import LONGEST_TITLE, pasted_report, read_input
from knowledge.engine import Knowledge, triage


@pytest.mark.parametrize(
    ("text", "title"),
    [
        (
            "training hangs after the first epoch\n[rank3] NCCL WARN timeout",
            "training hangs after the first epoch",
        ),
        ("\n\n  why is my run slower with eight GPUs?  ", "why is my run slower with eight GPUs?"),
        ("any idea what this is\n```\nRuntimeError: x\n```", "any idea what this is"),
    ],
)
def test_a_sentence_in_front_is_the_title(text: str, title: str) -> None:
    report = pasted_report("slack:1", text, ("a note",))
    assert (report.id, report.title, report.is_log, report.notes) == ("slack:1", title, False, ("a note",))
    assert title not in report.body
    assert report.body.count("\n") == text.count("\n"), "line numbers stay"


@pytest.mark.parametrize(
    "text",
    [
        "RuntimeError: NCCL error in a call that was made by somebody",
        "[rank3]: Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1174) ran for 600021 milliseconds",
        "2024-05-01 10:00:00 the job was started on four nodes",
        'Traceback (most recent call last):\n  File "a.py", line 1',
        "torchrun --nproc_per_node 8 train.py",
        "OOM again",
        "word " * LONGEST_TITLE,
        "",
    ],
)
def test_anything_else_is_a_log_as_printed(text: str) -> None:
    report = pasted_report("slack:1", text)
    assert (report.title, report.body, report.is_log) == ("", text, True)


def test_a_fence_makes_it_markdown() -> None:
    assert not pasted_report("slack:1", "RuntimeError: x\n```\nlog\n```").is_log
    assert pasted_report("slack:1", "RuntimeError: x\n```distriage-result\n{}\n```").is_log


@given(st.text(max_size=400))
def test_no_word_of_any_text_is_lost(text: str) -> None:
    report = pasted_report("slack:1", text)
    assert sorted((report.title + report.body).split()) == sorted(text.split())


@pytest.mark.parametrize(
    ("text", "symptom"),
    [
        ("training hangs after the first epoch on 4 nodes with torchrun, no error at all", "D.2.1"),
        ("why is my 8 gpu run slower than 1 gpu? throughput 120 img/s against 300", "D.2.3"),
        ("RuntimeError: DataLoader worker (pid 4242) is killed by signal: Bus error.", "D.1.2"),
    ],
)
def test_a_question_in_words_is_understood_as_an_issue_would_be(
    knowledge: Knowledge, text: str, symptom: str
) -> None:
    assert triage(pasted_report("slack:1", text), knowledge).symptom.top == symptom


@pytest.mark.parametrize(("name", "is_log"), [("question.txt", False), ("train.log", True)])
def test_a_file_is_read_like_a_paste_unless_it_is_called_a_log(
    tmp_path: Path, name: str, is_log: bool
) -> None:
    (tmp_path / name).write_text(
        "Why does training stop after one epoch?\nIt worked with one worker.\n", "utf-8"
    )
    report = read_input(str(tmp_path / name))
    assert report.is_log is is_log
    assert bool(report.title) is not is_log
