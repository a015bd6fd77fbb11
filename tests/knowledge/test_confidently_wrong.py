"""Reports that were once answered confidently and wrongly: right now, or "cannot tell"."""

from __future__ import annotations

import gzip
import json
from itertools import islice
from pathlib import Path

import pytest

from knowledge.engine import Knowledge, triage
from knowledge.report import Report
from knowledge.triage import AXES, Triage

REPORTS = Path(__file__).parent / "reports"
HEADING = "# "


def of(name: str, knowledge: Knowledge) -> Triage:
    text = (REPORTS / name).read_text("utf-8")
    if name.endswith(".log"):
        return triage(Report(name, "", text, is_log=True), knowledge)
    title, _, body = text.partition("\n") if text.startswith(HEADING) else ("", "", text)
    return triage(Report(name, title.removeprefix(HEADING), body), knowledge)


@pytest.mark.parametrize(
    ("name", "cause", "fix"),
    [
        ("xid.log", "hardware", "hardware"),
        ("ecc.log", "hardware", "hardware"),
        ("hwfail.log", "hardware", "hardware"),
        ("nodefail.log", "hardware", "hardware"),
        ("disk.log", "resource_limits", "memory_or_core"),
        ("timelimit.log", "resource_limits", "other"),
        ("raytrain.md", "resource_limits", "memory_or_core"),
        ("slurm.log", "resource_limits", "memory_or_core"),
        ("oomkilled.md", "resource_limits", "memory_or_core"),
        ("shm.md", "resource_limits", "memory_or_core"),
        ("drvold.md", "dependency", "dependency_version"),
    ],
)
def test_a_line_that_leaves_no_doubt_decides(name: str, cause: str, fix: str, knowledge: Knowledge) -> None:
    found = of(name, knowledge)
    assert found.scope == "ours"
    assert found.cause.answer == [cause]
    assert found.fix.answer == [fix]
    assert fix == "other" or found.advice.fixes[0].id == fix


@pytest.mark.parametrize("name", ["raytrain.md", "slurm.log", "oomkilled.md"])
def test_a_kill_for_memory_is_a_memory_issue(name: str, knowledge: Knowledge) -> None:
    assert of(name, knowledge).symptom.answer == ["D.1.2"]


@pytest.mark.parametrize(
    ("name", "scope"),
    [
        ("zh_hang.md", "unreadable"),
        ("zh_oom.md", "unreadable"),
        ("ja.md", "unreadable"),
        ("es.md", "unreadable"),
        ("chinese_nolog.txt", "unreadable"),
        ("nodetail.txt", "too_little"),
        ("env_only.md", "too_little"),
        ("notours.md", "other_field"),
    ],
)
def test_what_cannot_be_judged_is_not_judged(name: str, scope: str, knowledge: Knowledge) -> None:
    found = of(name, knowledge)
    assert found.scope == scope
    assert not any(getattr(found, axis).answer for axis in AXES if axis != "type")
    assert found.distributed.answer is None
    assert found.advice.fixes == []
    assert found.script == ""


def test_of_foreign_prose_with_a_log_the_log_is_judged(knowledge: Knowledge) -> None:
    found = of("chinese.md", knowledge)
    assert found.scope == "ours"
    assert found.stage.top == "B"
    assert found.distributed.answer is not False


@pytest.mark.parametrize("name", ["fsdp2.md", "zero3.md"])
def test_a_fault_of_sharding_is_not_called_one_of_a_single_device(name: str, knowledge: Knowledge) -> None:
    assert of(name, knowledge).distributed.answer is not False


@pytest.mark.parametrize(
    "text",
    ["hello", "asdf", "Thanks, great project!", "The weather is nice today and we are going to the lake."],
)
def test_chat_gets_no_diagnosis(text: str, knowledge: Knowledge) -> None:
    found = triage(Report("-", "", text), knowledge)
    assert found.scope in ("other_field", "too_little")
    assert found.stage.answer == []
    assert found.advice.fixes == []


XID = "NVRM: Xid (PCI:0000:4e:00): 79, pid=91230, name=python, GPU has fallen off the bus."
CRASH = """[rank5]: Traceback (most recent call last):
[rank5]:   File "/workspace/train.py", line 88, in <module>
[rank5]:     loss.backward()
[rank5]: RuntimeError: CUDA error: unspecified launch failure"""
WATCHDOG = (
    "[rank0]:[E407 02:21:10.001 ProcessGroupNCCL.cpp:616] [Rank 0] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum=77123, OpType=ALLREDUCE, Timeout(ms)=600000) ran for 600013 milliseconds before timing out."
)


@pytest.mark.parametrize(
    ("title", "body"),
    [
        ("Training dies", XID),
        ("One node fails", f"dmesg:\n```\n[Tue Apr  7 02:11:09 2026] {XID}\n```\n\n```\n{CRASH}\n{WATCHDOG}\n```"),
        ("NCCL timeout on 4 nodes", f"```\nApr  7 02:11:09 node-7 kernel: {XID}\n{CRASH}\n{WATCHDOG}\n```"),
        ("Job crashed", f"```\n{CRASH}\n{WATCHDOG}\n[12345.678] {XID}\n```"),
        ("", f"{XID.partition(', pid')[0]}\n{WATCHDOG}"),
    ],
)  # fmt: skip
def test_a_lost_gpu_in_a_failing_job_is_said_unasked(title: str, body: str, knowledge: Knowledge) -> None:
    found = triage(Report("acme/train#1", title, body, is_log=not title), knowledge)
    assert [f.id for f in found.findings if f.sure] == ["gpu-fallen-off-bus-xid-79"]
    assert found.cause.answer == ["hardware"]


def test_what_only_denies_a_lost_gpu_brings_no_finding(knowledge: Knowledge) -> None:
    body = f"dmesg has no Xid, and does not say that the GPU has fallen off the bus.\n```\n{WATCHDOG}\n```"
    assert not any(f.sure for f in triage(Report("acme/train#1", "DDP hangs", body), knowledge).findings)


FLIGHT = """$ torchfrtrace --prefix trace_ /scratch/fr
loaded 32 files in 0.6s
Not all ranks joining collective 418 at entry 417
group info: 0:default_pg
collective: nccl:all_reduce
missing ranks: {19}
input sizes: [[4096]]
world size: 32
collective state: scheduled"""


@pytest.mark.parametrize("fence", ["", "```\n"])
def test_the_flight_recorder_names_a_hang_and_the_rank_that_stayed_away(
    fence: str, knowledge: Knowledge
) -> None:
    found = triage(Report("x", "Analysis of last night's dumps", f"{fence}{FLIGHT}\n{fence}"), knowledge)
    assert (found.symptom.answer, found.cause.answer) == (["D.2.1"], ["divergent_ranks"])
    assert [f.id for f in found.findings if f.sure] == ["flight-recorder-ranks-missing"]
    assert [line.text for line in found.findings[0].lines] == [
        "Not all ranks joining collective 418 at entry 417",
        "missing ranks: {19}",
    ]


def test_a_rank_that_stayed_away_for_want_of_memory_is_no_divergence(knowledge: Knowledge) -> None:
    oom = "[rank19]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."
    found = triage(Report("x", "Dumps of a hang", f"```\n{oom}\n{FLIGHT}\n```"), knowledge)
    assert found.cause.top != "divergent_ranks"


def test_a_pod_without_a_gpu_comes_before_those_that_wait_for_it(knowledge: Knowledge) -> None:
    body = """`kubectl describe pod trainer-worker-3`:
```
  Warning  FailedScheduling  7m (x9 over 15m)  scheduler  0/8 nodes are available: 8 Insufficient nvidia.com/gpu.
```
Log of the master:
```
torch.distributed.DistStoreError: Timed out after 601 seconds waiting for clients. 3/4 clients joined.
```"""
    found = triage(Report("x", "The master of a PyTorchJob waits for its workers", body), knowledge)
    assert found.cause.answer in ([], ["resource_limits"])
    assert [f.id for f in found.findings if f.sure] == ["k8s-gpu-device-plugin-missing"]
    assert found.evidence.lines[0].line == 3


@pytest.mark.parametrize(
    ("title", "quoted", "in_title"),
    [
        ("Progress bar counts too few steps with two validation loaders", "Progress bar counts", True),
        ("Bug", "The progress bar counts too few steps", False),
    ],
)
def test_no_claim_stands_without_the_words_it_rests_on(
    title: str, quoted: str, in_title: bool, knowledge: Knowledge
) -> None:
    body = (
        "The progress bar counts too few steps of the validation when the LightningModule returns several loaders. "
        "The total should be the sum of all of them. PyTorch Lightning 1.0.3."
    )
    found = triage(Report("Lightning-AI/pytorch-lightning#1", title, body), knowledge)
    assert found.symptom.answer or found.stage.answer, "this test needs a claim"
    (line,) = found.evidence.lines
    assert line.text.startswith(quoted)
    assert (line.in_title, line.role) == (in_title, "context")


@pytest.mark.shared
def test_no_real_report_gets_a_claim_without_a_line(shared: Path, knowledge: Knowledge) -> None:
    with gzip.open(shared / "real" / "reports.jsonl.gz", "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in islice(file, 0, None, 80)]
    for row in rows:
        found = triage(Report(row["id"], row.get("title") or "", row.get("body") or ""), knowledge)
        claims = found.stage.answer or found.symptom.answer or found.cause.answer
        assert found.evidence.lines or not claims, row["id"]
