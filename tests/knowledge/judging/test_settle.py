"""Lines that leave no doubt settle cause and fix."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from knowledge.errors import DataError
from knowledge.evidence import read_report
from knowledge.judging.axes import JUDGED, Judged, axis_ids
from knowledge.judging.judge import Judgement
from knowledge.judging.settle import CERTAIN, Ruling, ruling_of, settle, spoken_for
from knowledge.report import Report
from knowledge.signatures import SignatureTable
from knowledge.signatures.signature import read_signatures
from knowledge.taxonomy import load_taxonomy

TABLE = SignatureTable()
TAXONOMY = load_taxonomy()
XID = "NVRM: Xid (PCI:0000:4e:00): 79, pid=91230, name=python, GPU has fallen off the bus."
DISK = "OSError: [Errno 28] No space left on device: '/checkpoints/model.pt'"


def ruled(title: str, body: str) -> str | None:
    ruling = ruling_of(read_report(Report("a/b#1", title, body), TABLE))
    return ruling.cause if ruling else None


def flat() -> dict[Judged, Judgement]:
    out: dict[Judged, Judgement] = {}
    for axis in JUDGED:
        ids = axis_ids(TAXONOMY, axis)
        p = np.arange(1.0, len(ids) + 1)
        out[axis] = Judgement(ids, p / p.sum(), 1.01, 0.9)
    return out


def log(*lines: str) -> str:
    return "\n".join(["```", *lines, "```"])


def test_a_line_of_a_log_decides() -> None:
    assert ruled("Training dies", log(XID)) == "hardware"


def test_a_plain_sentence_decides() -> None:
    assert (
        ruled("The job fails", "Saving stops with no space left on device on the second node.")
        == "resource_limits"
    )


@pytest.mark.parametrize(
    "sentence",
    [
        "dmesg does not say that the GPU has fallen off the bus.",
        "There was no Xid and no uncorrectable ECC error.",
        "Could it be that there is no space left on device?",
        "Last week we had no space left on device, which is fixed.",
        "Usually this is an uncorrectable ECC error.",
    ],
)
def test_what_is_denied_asked_or_past_does_not(sentence: str) -> None:
    assert ruled("Training hangs", sentence) is None


@pytest.mark.parametrize(
    "line",
    [
        "There are some potential root causes. (1) The process is OOM Killed due to high memory usage.",
        '    "OOMKilled": false,',
        "0 Workers (tasks / actors) killed due to memory pressure (OOM), 1 Workers crashed due to other reasons",
    ],
)
def test_advice_and_counts_of_none_in_a_log_do_not(line: str) -> None:
    assert ruled("Actor died", log(line)) is None


@pytest.mark.parametrize(
    "account",
    ["Host memory grows by 2 GB an epoch: a memory leak?", "RSS grows from step to step until it is killed."],
)
def test_a_kill_after_a_leak_leaves_the_cause_open(account: str) -> None:
    killed = "Out of memory: Killed process 48123 (python3)"
    assert ruled("Rank 3 dies", log(killed)) == "resource_limits"
    assert ruled("Rank 3 dies", f"{account}\n\n{log(killed)}") is None


def test_a_time_limit_after_a_hang_leaves_the_cause_open() -> None:
    limit = (
        "slurmstepd: error: *** JOB 88123 ON node-01 CANCELLED AT 2026-05-03T10:00:12 DUE TO TIME LIMIT ***"
    )
    assert ruled("Job ends", log(limit)) == "resource_limits"
    assert ruled("Training hangs in epoch 2", log(limit)) is None


def test_the_first_of_two_lines_of_a_log_wins() -> None:
    assert ruled("", log(XID, DISK)) == "hardware"
    assert ruled("", log(DISK, XID)) == "resource_limits"


def test_sentences_that_disagree_decide_nothing() -> None:
    assert ruled("The GPU has fallen off the bus", "We also saw no space left on device.") is None


def test_a_ruling_is_claimed_and_the_rest_keeps_its_order() -> None:
    before = flat()
    after = settle(before, Ruling("hardware", "hardware", CERTAIN, "gpu-lost"), TAXONOMY)
    assert after["cause"].answer == ["hardware"]
    assert after["fix"].ranking[0] == ("hardware", pytest.approx(CERTAIN))
    assert after["cause"].p.sum() == pytest.approx(1)
    others = [id for id, _ in after["cause"].ranking[1:]]
    assert others == [id for id, _ in before["cause"].ranking if id != "hardware"]
    assert after["symptom"] is before["symptom"]


def test_a_ruled_symptom_brings_its_stage() -> None:
    after = settle(
        flat(), Ruling("resource_limits", "memory_or_core", CERTAIN, "oom-killed", "D.1.2"), TAXONOMY
    )
    assert after["symptom"].answer == ["D.1.2"]
    assert after["stage"].answer == ["D"]


def test_without_a_ruling_nothing_moves() -> None:
    before = flat()
    assert settle(before, None, TAXONOMY) == before


def test_a_signature_with_two_causes_cannot_decide(tmp_path: Path) -> None:
    entry = (
        '[[signature]]\nid = "x"\nrole = "root"\npattern = "abc"\nsample = "abc"\nmeaning = "m"\nsymptom = ["B.1"]\n'
        'cause = ["hardware", "dependency"]\nfix = ["hardware"]\ndecides = true\n'
    )
    (tmp_path / "x.toml").write_text(entry, "utf-8")
    with pytest.raises(DataError, match="decides"):
        read_signatures(tmp_path)


def bare(*lines: str) -> tuple[str, str] | None:
    """The symptom that the root line of a bare log speaks for, and by what."""
    said = spoken_for(read_report(Report("a/b#1", "", "\n".join(lines), is_log=True), TABLE))
    return said and (said.symptom, said.by)


def test_a_launchers_last_words_speak_for_nothing() -> None:
    head = "Traceback (most recent call last):"
    assert bare(head, "torch.distributed.elastic.multiprocessing.errors.ChildFailedError:") == (
        "D.other",
        "elastic-child-failed",
    )


def test_a_message_that_goes_on_below_is_read_on_in_the_lines_of_its_own_rank() -> None:
    head = "[rank0]: RuntimeError: Error(s) in loading state_dict for Net:"
    told = "  size mismatch for a.weight: copying a param"
    assert bare(head, f"[rank0]: {told}") == ("C.1", "sd-size-mismatch")
    assert bare(head, told) == ("C.1", "sd-size-mismatch")
    assert bare(head, f"[rank1]: {told}") != ("C.1", "sd-size-mismatch")
