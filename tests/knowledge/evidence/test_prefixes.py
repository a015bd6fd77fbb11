"""What stands before a message is cut, and told."""

from __future__ import annotations

import time

import pytest

from knowledge.evidence.lines import read_stamp, seconds_between
from knowledge.evidence.prefixes import split_prefix

BARE = "KeyError: 'lm_head.weight'"


@pytest.mark.parametrize(
    ("line", "rank", "host", "level"),
    [
        (f"2026-05-03 10:02:31 ERROR trainer: {BARE}", None, None, "E"),
        (f"2026-05-03 10:02:31,008 - trainer - ERROR - {BARE}", None, None, "E"),
        (f"2026-05-03 10:02:31,008 [rank9]: {BARE}", 9, None, None),
        (f"2026-05-03 10:02:31.008 | ERROR    | __main__:train:88 - {BARE}", None, None, "E"),
        (f"[2026-05-03 10:02:31,008][trainer][ERROR] - {BARE}", None, None, "E"),
        (f"05/03/2026 10:02:31 - ERROR - __main__ - {BARE}", None, None, "E"),
        (f"[INFO|trainer.py:88] 2026-05-03 10:02:31,008 >> {BARE}", None, None, "I"),
        (f"ERROR:trainer:{BARE}", None, None, "E"),
        (f"E0503 10:02:31.000000 91230 trainer.py:88] {BARE}", None, None, "E"),
        (f"E0503 10:02:31.000000   570   772 trainer.cc:88]  {BARE}", None, None, "E"),
        (f"2026-05-03 10:02:31.008123: E tensorflow/core/x.cc:12] {BARE}", None, None, "E"),
        (f"[10:02:31] src/engine/x.cc:123: {BARE}", None, None, None),
        (f"May 03 10:02:31 node-7 python[8123]: {BARE}", None, "node-7", None),
        (f"[Tue Apr  7 02:11:09 2026] {BARE}", None, None, None),
        (f"2026-05-03T10:02:31.008Z stderr F {BARE}", None, None, None),
        (f"[pod/llama-worker-3/pytorch] {BARE}", None, "llama-worker-3", None),
        (f"pod/llama-worker-3/pytorch {BARE}", None, "llama-worker-3", None),
        (f"trainer-1-1  | {BARE}", None, "trainer-1-1", None),
        (f" 9: {BARE}", 9, None, None),
        (f"12: {BARE}", 12, None, None),
        (f"node-7: {BARE}", None, "node-7", None),
        (f"worker-1: [2026-05-03 10:02:31,007] [ERROR] [engine.py:123:step] {BARE}", None, "worker-1", "E"),
        (f"[node-7:3] {BARE}", 3, "node-7", None),
        (f"[node-7:04711] {BARE}", None, "node-7", None),
        (f"[1,3]<stderr>:{BARE}", 3, None, None),
        (f"[prterun-node-7-81@1,3]<stderr>: {BARE}", 3, None, None),
        (f"[default3]:[rank3]: {BARE}", 3, None, None),
        (
            f"[rank0]:[E912 08:24:40.113 ProcessGroupNCCL.cpp:17] [PG ID 0 PG GUID 0 Rank 0] {BARE}",
            0,
            None,
            "E",
        ),
        (f"(TrainWorker pid=91230, ip=10.0.0.3) {BARE}", None, "10.0.0.3", None),
        (f"(pid=91230) {BARE}", None, None, None),
        (f"1714730551.123456 {BARE}", None, None, None),
        (f'{{"time": "2026-05-03T10:02:31Z", "level": "error", "rank": 2, "msg": "{BARE}"}}', 2, None, "E"),
        (f'{{"log": "[rank5]: {BARE}\\n", "stream": "stderr"}}', 5, None, None),
        (
            f"2026-05-03T10:02:31.1Z stderr F worker-3: [rank25]: 2026-05-03 10:02:31,100 ERROR x: {BARE}",
            25,
            "worker-3",
            "E",
        ),
        (f"plain text, then {BARE}", None, None, None),
    ],
)
def test_the_message_and_who_printed_it(
    line: str, rank: int | None, host: str | None, level: str | None
) -> None:
    found = split_prefix(line)
    assert found.text == (line if line.startswith("plain") else BARE) or found.text.strip() == BARE
    assert (found.rank, found.host, found.level) == (rank, host, level)


@pytest.mark.parametrize(
    "line",
    [
        "train.py: error: unrecognized arguments",
        "layer-norm: off",
        "srun: error: node-03: task 21: Out Of Memory",
        "torch.cuda.OutOfMemoryError: CUDA out of memory",
        "2026-05-03 10:02:31 ERROR socket.gaierror: [Errno -2] Name or service not known",
        '    File "a.py", line 3',
        "{'lr': 0.1}",
    ],
)
def test_a_message_is_no_prefix(line: str) -> None:
    assert split_prefix(line).text == line.removeprefix("2026-05-03 10:02:31 ERROR ")


def test_the_device_of_an_nccl_line_is_no_rank() -> None:
    found = split_prefix("node-b:1877:1951 [3] NCCL WARN Call to connect returned Connection refused")
    assert (found.rank, found.host, found.pid) == (None, "node-b", 1877)
    assert found.text.startswith("NCCL WARN")


def test_a_host_in_prose_is_left_alone() -> None:
    assert split_prefix("worker-1: it hangs there", in_log=False).text == "worker-1: it hangs there"


def test_times_are_ordered_by_as_much_of_the_date_as_both_tell() -> None:
    dated, clock = read_stamp("2026-05-03 10:02:31,500"), read_stamp("10:02:40")
    glog, later = read_stamp("0503 10:02:41.000"), read_stamp("2026-05-04T00:02:31")
    assert dated and clock and glog and later
    assert seconds_between(dated, clock) == pytest.approx(8.5)
    assert seconds_between(dated, glog) == pytest.approx(9.5)
    assert seconds_between(dated, later) == pytest.approx(50_399.5)
    assert read_stamp("99:99 text") is None


def test_prefixes_are_cut_in_linear_time() -> None:
    def seconds(count: int) -> float:
        line = "[a" * count + "1:" * count
        start = time.process_time()
        split_prefix(line)
        return time.process_time() - start

    seconds(10)
    assert seconds(200_000) < 0.2
