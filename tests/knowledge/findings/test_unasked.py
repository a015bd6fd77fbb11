"""What sure matches are not said unasked."""

from __future__ import annotations

from dataclasses import replace

import pytest

from knowledge.evidence import Reading, read_report
from knowledge.findings.failure import Failure, load_catalogue
from knowledge.findings.fitting import fit
from knowledge.findings.matcher import Match
from knowledge.findings.tried import Tried, remedies
from knowledge.findings.unasked import (
    _anywhere,
    denied,
    is_the_librarys,
    objection,
    of_another_field,
    own_folders,
    raised_inside,
    rests_on_consequences,
    solved,
)
from knowledge.report import Report
from tests.knowledge.findings.tiny import TABLE, entry, report


def of(text: str, id: str = "horovod/horovod#1", title: str = "It fails") -> Reading:
    return read_report(Report(id, title, text), TABLE)


P2P = entry(
    "p2p",
    answer="Peer-to-peer is broken here. Set `NCCL_P2P_DISABLE=1`. If that helps, update the driver.",
)
BATCH = entry("batch", answer="The batch is too small for that. Raise `--global-batch-size`.")
ADAM = entry(
    "adam", answer="Only some optimizers work. Use `HybridAdam(model.parameters(), weight_decay=0.01)`."
)
STALL = entry("horovod-stalled-missing-ranks")
LOGGED = entry("logged", answer="It differs. Log it with `self.log(loss, on_epoch=True, sync_dist=True)`.")
PORT = entry("port", answer="The port is in use. Give every job its own `--master_port`.")
BLOCKING = entry(
    "blocking", answer="An index is too large. Find it with `CUDA_LAUNCH_BLOCKING=1 python x.py`."
)
SHM = entry("shm", answer="Shared memory is full. Start the container with `--shm-size=16g`.")


@pytest.mark.parametrize(
    ("one", "text", "tried"),
    [
        (P2P, "I run `export NCCL_P2P_DISABLE=1` on both nodes.", True),
        (P2P, "Disabling p2p didn't help.", True),
        (P2P, "It hangs on two nodes.", False),
        # A line of the log suggests it; nobody did it.
        (P2P, "```\nRuntimeError: try NCCL_P2P_DISABLE=1\n```", False),
        (SHM, "```\ndocker run --shm-size=16g img\n```", True),
        (SHM, "Even with more shared memory it dies.", True),
        (SHM, "I tried another image.", False),
        # An option that is to be raised is in the report because it's too low there.
        (BATCH, "```\npython train.py --global-batch-size 48\n```", False),
        (BATCH, "I tried a larger --global-batch-size, same error.", True),
        (ADAM, "```\nopt = torch.optim.AdamW(model.parameters(), weight_decay=0.01)\n```", False),
        (ADAM, "```\nopt = HybridAdam(model.parameters(), weight_decay=0.01)\n```", True),
        (P2P, "I tried NCCL_P2P_DISABLE as well.", True),
        (LOGGED, "```python\nself.log('val_loss', loss, on_epoch=True)\n```", False),
        (LOGGED, "```python\nself.log('val_loss', loss, on_epoch=True, sync_dist=True)\n```", True),
        (PORT, "With one --master_port for both jobs it says Address already in use", False),
        (PORT, "I already use another --master_port", True),
        (BLOCKING, "I run it with CUDA_LAUNCH_BLOCKING=1.", False),
        (SHM, "## What have you tried?\n\n- a larger shm\n- another image", True),
    ],
)
def test_what_was_tried(one: Failure, text: str, tried: bool) -> None:
    assert Tried.of(of(text)).holds(remedies(one.answer)) is tried


INSIDE = """```
Traceback (most recent call last):
  File "train.py", line 3, in <module>
    hvd.init()
  File "/usr/lib/python3/site-packages/{package}/common/basics.py", line 10, in init
    {code}
{error}
```
"""


@pytest.mark.parametrize(
    ("package", "code", "error", "id", "inside"),
    [
        (
            "horovod",
            "x = self.y.z",
            "AttributeError: 'NoneType' object has no attribute 'z'",
            "horovod/horovod#1",
            True,
        ),
        # Another library's, one that nobody tracks here, a deliberate error.
        (
            "torch",
            "x = self.y.z",
            "AttributeError: 'NoneType' object has no attribute 'z'",
            "horovod/horovod#1",
            False,
        ),
        (
            "horovod",
            "x = self.y.z",
            "AttributeError: 'NoneType' object has no attribute 'z'",
            "acme/train#1",
            False,
        ),
        ("horovod", "raise TypeError(m)", "TypeError: name must be a string", "horovod/horovod#1", False),
        ("horovod", "self.lib.init()", "RuntimeError: Address already in use", "horovod/horovod#1", False),
    ],
)
def test_an_accident_inside_the_trackers_own_library(
    package: str, code: str, error: str, id: str, inside: bool
) -> None:
    assert raised_inside(of(INSIDE.format(package=package, code=code, error=error), id)) is inside


CALLED = """```
Traceback (most recent call last):
  File "{caller}", line 30, in step
    dist.all_gather(out, x)
  File "/usr/lib/python3/site-packages/torch/distributed/distributed_c10d.py", line 10, in all_gather
    work = group.allgather([out], [x])
RuntimeError: Tensors must be CUDA and dense
```
"""
LIBRARY = "/usr/lib/python3/site-packages/pytorch_lightning/trainer/trainer.py"
MISUSE = entry("misuse", frameworks=("pytorch",), cause=("device_placement",))
MEMORY = entry("memory", frameworks=("pytorch",), cause=("resource_limits",))


@pytest.mark.parametrize(
    ("one", "caller", "id", "librarys"),
    [
        (MISUSE, LIBRARY, "Lightning-AI/pytorch-lightning#1", True),
        (MISUSE, "train.py", "Lightning-AI/pytorch-lightning#1", False),
        (MISUSE, LIBRARY, "acme/train#1", False),
        # What the code runs on is the reporter's, whoever made the call.
        (MEMORY, LIBRARY, "Lightning-AI/pytorch-lightning#1", False),
    ],
)
def test_a_mistake_that_the_trackers_library_made(one: Failure, caller: str, id: str, librarys: bool) -> None:
    assert is_the_librarys(one, of(CALLED.format(caller=caller), id)) is librarys


def test_without_a_traceback_a_library_that_hides_torch_made_the_call() -> None:
    assert is_the_librarys(MISUSE, of("Tensors must be CUDA and dense", "Lightning-AI/pytorch-lightning#1"))
    assert not is_the_librarys(MISUSE, of("Tensors must be CUDA and dense", "pytorch/pytorch#1"))


def test_a_tracker_knows_its_own_library_whatever_its_owner_is_called() -> None:
    assert own_folders("PyTorchLightning/pytorch-lightning") == own_folders("Lightning-AI/pytorch-lightning")
    assert own_folders("Lightning-AI/pytorch-lightning") == (
        "pytorch_lightning",
        "lightning",
        "lightning_fabric",
    )
    assert own_folders("acme/train") == ()


@pytest.mark.parametrize(
    ("line", "only"),
    [
        ("WARNING: the node is over 95% full", True),
        ("(raylet) heartbeat was missed", True),
        ("W0304 10:00:00 worker.cc:10] Address already in use", True),
        ("RuntimeError: Address already in use", False),
        # Kubernetes has no other word for an event that is not routine.
        ("Warning  FailedScheduling  4m (x12 over 20m)  default-scheduler  0/6 nodes are available", False),
        ("4m21s  Warning  FailedScheduling  pod/worker-2  0/6 nodes are available", False),
        ("Warning: 0/6 nodes are available", True),
    ],
)
def test_a_warning_is_no_failure(line: str, only: bool) -> None:
    assert rests_on_consequences(SHM, (2,), of(f"```\n{line}\n```")) is only


def test_a_failure_that_a_program_only_warns_of() -> None:
    stalled = of("```\n[2021-05-11 14:02:31.501212: W stall_inspector.cc:105] Some ranks are stalled\n```")
    assert rests_on_consequences(SHM, (2,), stalled)
    assert not rests_on_consequences(STALL, (2,), stalled)


def test_what_belongs_to_the_root_error_tells_as_much() -> None:
    message = (
        "RuntimeError: Error(s) in loading state_dict for Net:\nsize mismatch for 0.weight: torch.Size([0])"
    )
    assert not rests_on_consequences(SHM, (3,), of(f"```\n{message}\n```"))
    frames = '  File "a.py", line 3, in f\n    g()\n' * 2
    again = "During handling of the above exception, another exception occurred:"
    chained = (
        f"KeyError: 'RANK'\n\n{again}\n\nTraceback (most recent call last):\n{frames}ValueError: no rank"
    )
    assert not rests_on_consequences(SHM, (11,), of(f"```\n{chained}\n```"))
    apart = f"KeyError: 'RANK'\nstep 1\nstep 2\nstep 3\nTraceback (most recent call last):\n{frames}ValueError: no rank"
    assert rests_on_consequences(SHM, (11,), of(f"```\n{apart}\n```"))


def test_a_warning_before_the_error_is_not_the_failure() -> None:
    log = "UserWarning: CUDA initialization: Found no NVIDIA driver on your system.\nloading\nRuntimeError: no GPU"
    assert not rests_on_consequences(SHM, (4,), of(f"```\n{log}\n```"))


def test_source_below_a_frame_is_part_of_the_traceback() -> None:
    frame = '  File "/lib/popen_fork.py", line 66, in _launch'
    assert not rests_on_consequences(SHM, (3,), of(f"```\n{frame}\n    self.pid = os.fork()\n```"))
    assert rests_on_consequences(SHM, (2,), of("```python\npid = os.fork()\n```"))


@pytest.mark.parametrize(
    ("text", "no"),
    [
        ("dmesg has no Xid, and does not say that the GPU has fallen off the bus.", True),
        ("The kernel log doesn't mention that the GPU has fallen off the bus.", True),
        ("It isn't the cable. The GPU has fallen off the bus.", False),
        ("The GPU has fallen off the bus, no idea why.", False),
        ("```\n[  12.1] NVRM: not recovered, GPU has fallen off the bus.\n```", False),
    ],
)
def test_a_sentence_that_denies_the_failure(text: str, no: bool) -> None:
    lost = entry("lost", patterns=("GPU has fallen off the bus",))
    read = of(text)
    (number,) = [line.number for line in read.lines if "fallen" in line.text]
    assert denied(lost, (number,), read) is no


def test_what_an_entry_names_as_something_else() -> None:
    empty = entry("empty", patterns=("empty parameter list",), unless=(r"(?i)\bfit\b.{0,20}\bworks\b",))
    error = "```\nValueError: optimizer got an empty parameter list\n```"
    assert denied(empty, (2,), of(f"{error}\nlr_find fails like this, while fit works."))
    assert not denied(empty, (2,), of(error))


def test_a_line_of_a_log_whose_failure_is_another_one() -> None:
    log = of("```\nopen of the cache: file is locked, trying again\nKeyError: 'labels'\n```")
    assert rests_on_consequences(SHM, (2,), log)
    assert not rests_on_consequences(SHM, (3,), log)


def test_what_another_rank_failed_with_later_is_not_what_is_said() -> None:
    first = "[rank7]: 2026-05-03 10:02:31 ERROR trainer: KeyError: 'lm_head.weight' while loading shard 7"
    later = "[rank0]: 2026-05-03 10:12:40 ERROR trainer: ValueError: optimizer got an empty parameter list"
    together = later.replace("10:12:40", "10:02:31")
    untimed = "[rank0]: ValueError: optimizer got an empty parameter list"
    assert rests_on_consequences(SHM, (2,), of(f"```\n{later}\n{first}\n```"))
    assert not rests_on_consequences(SHM, (3,), of(f"```\n{later}\n{first}\n```"))
    assert not rests_on_consequences(SHM, (2,), of(f"```\n{together}\n{first}\n```"))
    assert not rests_on_consequences(SHM, (2,), of(f"```\n{untimed}\n{first}\n```"))


def test_a_release_that_has_the_fix() -> None:
    one = entry("a", fixed_in="DeepSpeed 0.14.1 (PR #1)")
    assert solved(one, of("deepspeed==0.15.0"))
    assert not solved(one, of("deepspeed==0.14.0"))
    assert not solved(one, of("It fails."))
    assert not solved(entry("b"), of("deepspeed==0.15.0"))


def test_objections_name_their_reason() -> None:
    def against(one: Failure, text: str, title: str = "It fails") -> str | None:
        reading = of(text, title=title)
        return objection(Match(one, 0.99, (0,), (), True), fit(one, reading), reading, Tried.of(reading))

    assert against(P2P, "It hangs.") is None
    assert against(P2P, "It is a regression.") == "expert"
    assert against(P2P, "I tried NCCL_P2P_DISABLE=1.") == "tried"
    assert against(P2P, "It hangs.", title="Warning: heartbeat") == "consequence"
    late = entry(
        "late", answer="Ranks differ. Since torch 2.6 use `torch.compile` and nothing else, everywhere."
    )
    assert against(late, "torch==1.7.0") == "release"


def test_objections_of_who_the_entry_is_for() -> None:
    def against(one: Failure, reading: Reading, lines: tuple[int, ...] = (0,)) -> str | None:
        return objection(Match(one, 0.99, lines, (), True), fit(one, reading), reading, Tried.of(reading))

    misuse = entry("misuse", frameworks=("pytorch",), cause=("device_placement",), answer="It is so. Do.")
    keras = of("It fails with tensorflow 2.4.", "keras-team/keras#1")
    assert against(misuse, keras) == "framework"
    lost = entry("lost", patterns=("GPU has fallen off the bus",))
    healthy = of("dmesg does not say that the GPU has fallen off the bus.")
    assert against(lost, healthy, (1,)) == "denied"
    assert against(entry("old", fixed_in="DeepSpeed 0.14.1"), of("deepspeed==0.15.0")) == "solved"
    inside = of(CALLED.format(caller=LIBRARY), "Lightning-AI/pytorch-lightning#1")
    assert against(misuse, inside) == "defect"
    assert against(replace(misuse, cause=("framework_defect", "device_placement")), inside) is None


def test_an_accident_in_what_the_trackers_library_calls_is_its_own() -> None:
    error = "RuntimeError: Tensors must be CUDA and dense"
    called = CALLED.format(caller=LIBRARY).replace(error, "TypeError: allgather(): incompatible arguments")
    assert is_the_librarys(MEMORY, of(called, "Lightning-AI/pytorch-lightning#1"))


def test_lines_of_our_field_alone_are_said_on_any_post() -> None:
    post = report("The web shop is down.")
    assert of_another_field(load_catalogue()["k8s-memory-emptydir-oom"], post)
    assert not of_another_field(entry("nccl-watchdog-collective-timeout"), post)


def test_what_any_program_prints_names_entries_that_exist() -> None:
    entries, _ = _anywhere()
    assert entries <= set(load_catalogue())
