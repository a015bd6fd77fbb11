"""What the root line of a bare log speaks for."""

from __future__ import annotations

import pytest

from knowledge.engine import Knowledge, triage
from knowledge.evidence import read_report
from knowledge.judging.settle import LIKELY, SpokenFor, ruling_of, spoken_for
from knowledge.report import Report
from knowledge.signatures import SignatureTable

TABLE = SignatureTable()
STEP = "2026-05-03 10:02:31,008 INFO train: epoch 0 step 2 loss 0.41\n"
LOST = (
    "[rank0]: Traceback (most recent call last):\n"
    '[rank0]:   File "/workspace/train.py", line 40, in <module>\n'
    "[rank0]: RuntimeError: [/x/gloo/transport/tcp/pair.cc:553] Connection closed by peer [10.0.0.7]:35992\n"
)


def raised(error: str, *frames: str, rank: int = 1) -> str:
    shown = "".join(
        f'[rank{rank}]:   File "{frame}\n' for frame in ('/workspace/train.py", line 31, in main', *frames)
    )
    return f"[rank{rank}]: Traceback (most recent call last):\n{shown}[rank{rank}]: {error}\n"


def said(log: str) -> SpokenFor | None:
    return spoken_for(read_report(Report("x", "", log, is_log=True), TABLE))


@pytest.mark.parametrize(
    ("log", "symptom", "cause"),
    [
        (raised("KeyError: 'label'") + LOST, "D.other", "other"),
        (raised("KeyError: 'label'", '/v/torch/utils/data/_utils/fetch.py", line 52, in fetch'), "C.6", "other"),
        (raised("DataStarved: no shard left for this rank"), "D.other", "other"),
        (raised("NameError: name 'best' is not defined"), "D.1.8", "other"),
        (raised("RuntimeError: mat1 and mat2 shapes cannot be multiplied (8x12 and 16x32)") + LOST, "D.1.5", "model_construction"),
        (raised("ValueError: x", '/v/torch/distributed/distributed_c10d.py", line 3, in init_process_group'), "B.1", "communication_configuration"),
        (raised("AttributeError: module 'fastpack' has no attribute 'pack'") + LOST, "D.1.8", "inconsistent_processes"),
        (raised("AttributeError: module 'fastpack' has no attribute 'pack'"), "D.1.8", "dependency"),
        (LOST, "D.1.1", "divergent_ranks"),
        ("train.py: error: unrecognized arguments: --learning_rate 3e-4\n", "B.1", "other"),
    ],
)  # fmt: skip
def test_the_root_line_speaks_by_signature_place_or_class(log: str, symptom: str, cause: str) -> None:
    found = said(log)
    assert found is not None
    assert (found.symptom.replace("D.1.other", "D.other"), found.cause) == (symptom, cause)


def test_a_message_that_goes_on_below_its_first_line_is_read_to_its_end() -> None:
    log = raised("RuntimeError: Error(s) in loading state_dict for Sequential:")
    tail = '[rank1]: \tMissing key(s) in state_dict: "module.0.weight", "module.0.bias". \n'
    found = said(log + tail)
    assert found is not None and found.cause == "wrapped_model_state"


def test_the_stage_that_the_log_had_reached_chooses_among_symptoms() -> None:
    error = raised("RuntimeError: unable to write to file </torch_1520_2891435>")
    before, after = said(error), said(STEP + error)
    assert before is not None and after is not None
    assert (before.symptom, after.symptom) == ("C.2", "D.1.2")


def test_a_log_beside_an_account_is_left_to_the_judge() -> None:
    log = raised("KeyError: 'label'")
    told = "Since I moved from one node to two, the loss of rank 1 stops and a worker raises this error after some steps."
    short = ruling_of(read_report(Report("x", "Training fails", f"```\n{log}```\n"), TABLE))
    assert short is not None and (short.symptom, short.p, short.claimed) == ("D.other", LIKELY, False)
    assert ruling_of(read_report(Report("x", "Training fails", f"{told}\n\n```\n{log}```\n"), TABLE)) is None


def test_a_known_failure_that_is_only_an_echo_settles_nothing(knowledge: Knowledge) -> None:
    found = triage(
        Report("x", "", STEP + raised("ZeroDivisionError: float division by zero") + LOST, is_log=True),
        knowledge,
    )
    assert found.cause.top == "other"
    assert not any(one.sure for one in found.findings)
    alone = triage(Report("x", "", STEP + LOST, is_log=True), knowledge)
    assert alone.cause.top == "divergent_ranks"
