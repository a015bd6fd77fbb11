"""What is asked for: what a report lacks and its fault calls for."""

from __future__ import annotations

import pytest

from knowledge.engine import Knowledge, triage
from knowledge.evidence import read_report
from knowledge.missing import MOST, ask_for, holds
from knowledge.report import Report
from knowledge.signatures import SignatureTable
from knowledge.triage import Axis, Distributed, Ranked

TABLE = SignatureTable()


def judged(symptom: str, distributed: bool | None = None) -> tuple[dict[str, Axis], Distributed]:
    axes = {
        axis: Axis(ranking=[Ranked(id=id, p=0.9)], answer=[id], answer_set=[id])
        for axis, id in (("stage", symptom[0]), ("symptom", symptom))
    }
    return axes, Distributed(p=0.5 if distributed is None else float(distributed), answer=distributed)


def asked(body: str, symptom: str, distributed: bool | None = None) -> list[str]:
    axes, told = judged(symptom, distributed)
    return [item.id for item in ask_for(read_report(Report("a/b#1", "It fails", body), TABLE), axes, told)]


@pytest.mark.parametrize(
    ("symptom", "first"), [("D.2.1", "stacks"), ("D.2.3", "throughput"), ("D.1.2", "log"), ("B.1", "log")]
)
def test_the_fault_tells_what_is_asked_first(symptom: str, first: str) -> None:
    wanted = asked("It fails with PyTorch.", symptom)
    assert wanted[0] == first
    assert len(wanted) <= MOST


@pytest.mark.parametrize(("distributed", "expected"), [(True, True), (None, True), (False, False)])
def test_nobody_is_asked_for_the_launch_of_a_fault_of_one_device(
    distributed: bool | None, expected: bool
) -> None:
    assert ("command" in asked("The job never starts.", "B.2", distributed)) is expected


def test_of_a_build_that_fails_the_output_and_the_versions_are_asked_for() -> None:
    body = "pip install fails for me, on a machine with a GPU."
    axes, told = judged("A.1")
    items = ask_for(read_report(Report("horovod/horovod#1", "It does not build", body), TABLE), axes, told)
    assert [item.ask for item in items] == [
        "Please post the full output of `pip install`.",
        "Which Horovod, Python, and CUDA versions are you using?",
    ]
    pinned = read_report(Report("apache/mxnet#1", "pip install mxnet-cu102==1.6.0 error", ""), TABLE)
    assert "MXNet" not in ask_for(pinned, axes, told)[-1].ask
    compiled = read_report(Report("horovod/horovod#2", "g++ fails after pip install", ""), TABLE)
    assert ask_for(compiled, axes, told)[0].ask == "Please post the full build output."


def test_of_an_empty_form_nothing_is_asked() -> None:
    axes, told = judged("D.1.2")
    form = "Run cmd '....'\nSee error"
    assert ask_for(read_report(Report("r", "game#4", form), TABLE), axes, told) == []
    assert ask_for(read_report(Report("r", "Training crashes", form), TABLE), axes, told) != []


@pytest.mark.parametrize(
    ("body", "symptom"),
    [
        ("It hangs. py-spy dump of all ranks is below.", "D.2.1"),
        ("It hangs.\n```\nThread 0x7f (most recent call first):\n  File x\n```", "D.2.1"),
        ("It hangs.\n```\n#0  0x00007f1fc1fbdf3d in nanosleep () from /lib64/libpthread.so.0\n```", "D.2.1"),
        ('It hangs.\n```\nThread 46562 (idle): "MainThread"\n    get (ray/worker.py:1450)\n```', "D.2.1"),
        ("It hangs until I press Ctrl-C:\n```\n  File x\nKeyboardInterrupt\n```", "D.2.1"),
        ("It runs at 3.1 it/s on one GPU and 1.2 it/s on eight.", "D.2.3"),
        ("Memory keeps growing.", "D.2.3"),
        ("It fails with `ValueError: bad`.", "D.1.5"),
        ("It fails in line 137 of decoder.py.", "D.1.5"),
        ("The loss is 3 % higher than on one GPU.", "D.2.4"),
        ("mxnet 1.5, Python 3.7.\n```\nmake: *** [libx.so.0] Error 1\n```", "A.1"),
        ("It crashes.\n```\nKilled\nA\nB\n```", "D.1.7"),
    ],
)
def test_a_report_that_says_enough_is_asked_nothing(body: str, symptom: str) -> None:
    assert asked(body, symptom, True) == []


@pytest.mark.parametrize(
    ("body", "held"),
    [
        ('pip fails: error: x.\nFile "/usr/lib/python3.10/site-packages/x.py"', "Python"),
        ("pip fails: error: x. I have py3.9 here", "Python"),
        ("pip fails on the latest master: error: x", "Horovod"),
        ("pip fails on macOS without a GPU: error: x", "CUDA"),
        ("pip fails with torch 1.7.1+cu110 on a GPU: error: x", "CUDA"),
        ("x.cc:3: error: y with clang 12", "GCC"),
        ("pip said: Successfully installed horovod-0.19.0", "Horovod"),
        ("error: x in ~/.cache/horovod_master/setup.py", "Horovod"),
        ("horovod.version is 0.19.0, pip fails with error: x", "Horovod"),
        ("the Makefile at 2dbd143 finds nothing: error: x", "Horovod"),
        ("pip fails on a GPU machine. CUDA version: N/A", "CUDA"),
    ],
)
def test_a_version_that_is_said_in_any_form_is_not_asked_for(body: str, held: str) -> None:
    axes, told = judged("A.1")
    items = ask_for(read_report(Report("horovod/horovod#1", "It does not build", body), TABLE), axes, told)
    assert not any(held in item.ask for item in items)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("ncclSystemError: System call (socket, malloc) failed", True),
        ("ncclSystemError: failed. node:1:2 [0] NCCL INFO Bootstrap : Using eth0", False),
        ("RuntimeError: client socket has failed to connect to [gpu-01]:29500, so NCCL error", False),
        ("RuntimeError: Distributed package doesn't have NCCL built in, ncclSystemError", False),
        ("RuntimeError: gloo connect failed", False),
    ],
)
def test_nccl_s_log_is_asked_for_where_nccl_itself_failed(body: str, expected: bool) -> None:
    assert ("nccl_debug" in asked(body, "B.1", True)) is expected


@pytest.mark.parametrize("command", ["vllm serve m", "ray job submit -- python t.py", "python t.py --lr 1"])
def test_a_launch_command_in_any_form_is_not_asked_for(command: str) -> None:
    assert "command" not in asked(f"The job never starts: `{command}`", "B.2", True)


def test_an_unlikely_symptom_is_not_asked_after() -> None:
    ranking = [Ranked(id="A.1", p=0.2), Ranked(id="D.2.1", p=0.15)]
    axes = {"symptom": Axis(ranking=ranking, answer=[], answer_set=[])}
    body = "Some long account of what happens. " * 20
    reading = read_report(Report("a/b#1", "Odd", body), TABLE)
    assert ask_for(reading, axes, Distributed(p=0.5, answer=None)) == []
    short = read_report(Report("a/b#1", "Help", "See ![picture](x.png)"), TABLE)
    assert [item.ask for item in ask_for(short, axes, Distributed(p=0.5, answer=None))] == [
        "Please post the log from the first error onward, as text rather than a picture."
    ]
    strange = read_report(Report("a/b#1", "Odd range", "Actions are in [0, 13) instead of [0, 20)."), TABLE)
    assert ask_for(strange, axes, Distributed(p=0.5, answer=None)) == [], "nothing fails, so there is no log"


def test_a_likely_hang_is_asked_after_where_the_report_speaks_of_one() -> None:
    axes = {"symptom": Axis(ranking=[Ranked(id="D.2.1", p=0.6)], answer=[], answer_set=[])}
    apart = Distributed(p=0.5, answer=None)
    told = read_report(Report("a/b#1", "Training gets stuck after an epoch", "As the title says."), TABLE)
    assert [item.id for item in ask_for(told, axes, apart)] == ["stacks"]
    other = read_report(Report("a/b#1", "Too many workers are started", "As the title says."), TABLE)
    assert ask_for(other, axes, apart) == []


@pytest.mark.parametrize(
    ("link", "form"),
    [
        ("[train.log](https://github.com/user-attachments/files/1/train.log)", "as text rather than a file."),
        ("[train.log](https://github.com/acme/train/files/1/train.log)", "as text rather than a file."),
        ("![log](https://github.com/user-attachments/assets/1)", "as text rather than a picture."),
    ],
)
def test_a_log_that_cannot_be_read_is_asked_for_as_text(knowledge: Knowledge, link: str, form: str) -> None:
    value = triage(
        Report("a/b#1", "Distributed training crashes", f"Please help, it crashes. {link}"), knowledge
    )
    [log] = [item for item in value.missing if item.id == "log"]
    assert log.ask.endswith(form)


@pytest.mark.parametrize(
    ("item", "text", "expected"),
    [
        ("log", "RuntimeError: CUDA error", True),
        ("log", "It still crashes.", False),
        ("stacks", "Thread 4711 (active): MainThread", True),
        ("throughput", "410 img/s", True),
        ("command", "srun python train.py", True),
        ("nccl_debug", "node1:1:1 [0] NCCL INFO Bootstrap", True),
        ("versions", "Python 3.10", True),
        ("versions", "the newest", False),
        ("unknown", "RuntimeError", False),
    ],
)
def test_whether_a_text_has_what_was_asked_for(item: str, text: str, expected: bool) -> None:
    assert holds(item, text) is expected


@pytest.mark.parametrize("symptom", ["D.1.7", "D.1.3"])
def test_of_a_leak_no_log_is_asked_for(symptom: str) -> None:
    assert asked("Memory usage keeps growing until it fails, a leak I think.", symptom, True) == []


def test_a_log_posted_as_a_picture_and_as_a_file_is_asked_for_in_a_comment() -> None:
    file = "[train.log](https://github.com/user-attachments/files/1/train.log)"
    axes, told = judged("D.1.7")
    body = f"It crashes, see ![picture](x.png) and {file}"
    (log,) = ask_for(read_report(Report("a/b#1", "It fails", body), TABLE), axes, told)
    assert log.ask == "Please post the log from the first error onward, as text in a comment."
