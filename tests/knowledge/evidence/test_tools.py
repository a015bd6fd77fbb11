"""Readers of what diagnostic tools print; the outputs are of our own making, after the tools' formats."""

from __future__ import annotations

import json
import time

import pytest

from knowledge.evidence import Reading, read_report
from knowledge.evidence.layout import lay_out
from knowledge.evidence.reading import summarise
from knowledge.evidence.tools import MOST_FACTS, read_tools
from knowledge.report import Report
from knowledge.signatures import SignatureTable

TABLE = SignatureTable()


def reading(body: str, *, is_log: bool = True) -> Reading:
    return read_report(Report("x", "", body, is_log=is_log), TABLE)


def facts(body: str) -> list[str]:
    return [fact.text for fact in reading(body).facts]


def stack(rank: int, frame: str) -> str:
    return (
        f"Process {100 + rank}: python train.py --local_rank={rank}\nPython v3.10.12 (/usr/bin/python3.10)\n\n"
        f'Thread {100 + rank} (active): "MainThread"\n    {frame}\n    main (train.py:90)\n    <module> (train.py:120)\n'
    )


FLIGHT = (
    "Not all ranks joining collective, sequence number: 1041\ninternal record id: 1040\ngroup info: 0:default_pg\n"
    "collective: nccl:all_reduce\nmissing ranks: {11}\ninput sizes: [[1048576]]\nworld size: 16\n"
)


def test_the_flight_recorder_names_the_rank_that_never_came() -> None:
    assert facts(FLIGHT) == ["Rank 11 never entered collective 1041 (all_reduce); all others did."]
    assert reading(FLIGHT).world_size == 16
    older = (
        "Not all ranks joining collective 5 at entry 4\ncollective: nccl:all_reduce\nmissing ranks: {1, 3}\n"
    )
    assert facts(older) == ["Ranks 1 and 3 never entered collective 5 (all_reduce); the others did."]
    summary = {
        "collectives": [{"collective_seq_id": 7, "profiling_name": "nccl:broadcast", "missing_ranks": [2]}]
    }
    assert facts(json.dumps(summary)) == ["Rank 2 never entered collective 7 (broadcast); all others did."]
    assert facts(json.dumps(summary, indent=2)) == facts(json.dumps(summary))
    assert facts('"missing_ranks": [') == []


def test_ncclras_names_the_rank_behind() -> None:
    text = (
        "#0-0 (27a079b828ff1a75) MISMATCH\n  Communicator ranks have different AllReduce operation counts\n"
        "  7 ranks have launched up to operation 412\n"
        "  Rank 5 has launched up to operation 411 -- GPU 5 managed by process 77 on node 10.0.0.2\n\n"
    )
    assert facts(text) == ["Rank 5 has launched AllReduce 411; 7 ranks are at 412."]


def test_ncclras_names_ranks_that_do_not_answer() -> None:
    text = (
        "have launched up to operation 1\n#0-0 (27a079b828ff1a75) INCOMPLETE\n  Missing communicator data from 2 ranks\n"
        "  The missing ranks:\n  Rank 4 -- GPU 4 managed by process 9 on node b\n  Rank 6 -- GPU 6 managed by process 9 on node b\n"
    )
    assert facts(text) == ["NCCL gets no answer from ranks 4 and 6."]


def test_ncclras_names_dead_processes() -> None:
    text = "Job summary\nErrors\n\nDEAD\n  1 process is considered dead\n  Process 77 on node 10.0.0.2 managing GPU 5\n"
    assert facts(text) == ["NCCL considers process 77 on 10.0.0.2 dead."]


def test_ncclras_in_json() -> None:
    ranks = [{"rank": r, "collective_counts": {"AllReduce": 9 if r == 2 else 10}} for r in range(4)]
    job = {
        "nccl_version": "2.28.3",
        "communicators": [{"ranks": ranks, "missing_ranks": [], "missing_ranks_count": 0}],
    }
    text = json.dumps(job, indent=2)
    assert facts(text) == ["Rank 2 has launched AllReduce 9; 3 ranks are at 10."]
    assert reading(text).versions["nccl"] == "2.28.3"


def test_py_spy_names_the_rank_that_is_elsewhere() -> None:
    waiting = "all_reduce (torch/distributed/distributed_c10d.py:2500)"
    text = "\n".join(stack(rank, "__next__ (data.py:41)" if rank == 3 else waiting) for rank in range(4))
    assert facts(text) == [
        "Rank 3 is in `__next__` (data.py:41); the other 3 are in `all_reduce` (train.py:90)."
    ]
    assert reading(text).versions == {"python": "3.10.12"}


def test_py_spy_says_nothing_where_all_are_at_one_place_or_one_speaks() -> None:
    assert facts("\n".join(stack(rank, "wait (queue.py:3)") for rank in range(3))) == []
    assert facts(stack(0, "wait (queue.py:3)")) == []


def test_the_watchdog_tells_who_is_behind() -> None:
    line = "[rank{r}]:[E ProcessGroupNCCL.cpp:1] [PG ID 0 PG GUID 0 Rank {r}] Timeout at NCCL work: {n}, last enqueued NCCL work: {n}, last completed NCCL work: 9."
    text = "\n".join(line.format(r=r, n=10 if r == 2 else 12) for r in range(4))
    assert facts(text) == ["Rank 2 has enqueued 10 collectives, the other ranks 12."]
    assert facts(line.format(r=0, n=12)) == []


def test_the_watchdog_compares_ranks_of_one_process_group_only() -> None:
    line = "[rank{r}]:[E ProcessGroupNCCL.cpp:1] [PG ID {r} PG GUID {r}(tp) Rank 0] Timeout at NCCL work: {n}, last enqueued NCCL work: {n}, last completed NCCL work: 9."
    assert facts(line.format(r=1, n=10) + "\n" + line.format(r=2, n=12)) == []


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus.", "The driver reports Xid 79 on GPU 0000:3b:00: the GPU fell off the bus."),
        ("[ 12.3] Out of memory: Killed process 4123 (python) total-vm:1kB", "The kernel killed process 4123 (python): the machine ran out of memory."),
        ("Memory cgroup out of memory: Killed process 7 (pt_main_thread)", "The kernel killed process 7 (pt_main_thread): its container reached its memory limit."),
        ("    Last State:  Terminated\n      Reason:    OOMKilled\n      Exit Code: 137", "Kubernetes killed the container for exceeding its memory limit (OOMKilled, exit code 137)."),
        ("Warning  FailedScheduling  5s  default-scheduler  0/6 nodes are available: 6 Insufficient nvidia.com/gpu.", "The pod cannot be scheduled: none of 6 nodes has enough free nvidia.com/gpu."),
        ("Warning  Evicted  3s  kubelet  The node was low on resource: ephemeral-storage. Threshold", "The pod was evicted: its node ran low on ephemeral-storage."),
        ("JobID        JobName      State ExitCode\n------\n88123.0       train OUT_OF_ME+ 0:125", "Slurm ended job 88123.0 for exceeding its memory limit."),
        ("JobID        JobName      State ExitCode\n------\n88123         train TIMEOUT 0:0", "Slurm ended job 88123 at its time limit."),
        ("slurmstepd: error: Detected 1 oom_kill event in StepId=88123.0. Some of the step tasks", "Slurm killed a task of step 88123.0 for exceeding its memory limit."),
        ("CA 'mlx5_1'\n\tPort 1:\n\t\tState: Down\n\t\tPhysical state: Disabled", "InfiniBand is not up on mlx5_1 port 1 (down)."),
        ("# Out of bounds values : 12 FAILED\n# Avg bus bandwidth    : 1.5", "nccl-tests got 12 wrong values: data was corrupted in transit."),
        ("#  Rank  0 Group  0 Pid 1\n#  Rank  1 Group  0 Pid 2\n# Avg bus bandwidth    : 1.5", "nccl-tests measured 1.5 GB/s of bus bandwidth over 2 ranks."),
        ("torch cuda version ............... 12.1\nnvcc version ..................... 11.8", "The CUDA toolkit is 11.8, PyTorch is built for CUDA 12.1."),
        ("System CUDA version: 11.3\nCUDA version required by PyTorch: 11.7", "The CUDA toolkit is 11.3, PyTorch is built for CUDA 11.7."),
        ("Horovod v0.28.1:\n\nAvailable Frameworks:\n    [ ] TensorFlow\n    [X] PyTorch\nAvailable Tensor Operations:\n    [ ] NCCL\n    [X] MPI", "Horovod is built without TensorFlow and NCCL."),
        ("mca:mpi:base:param:mpi_built_with_cuda_support:value:false", "This Open MPI is built without CUDA support."),
        ("torchvision 0.4.2 has requirement torch==1.3.1, but you'll have torch 1.4.0 which is incompatible.", "pip: torchvision 0.4.2 requires torch==1.3.1, and torch 1.4.0 is installed."),
        ("vllm 0.5.0 requires xformers, which is not installed.", "pip: vllm 0.5.0 requires xformers, which is not installed."),
    ],
)  # fmt: skip
def test_a_tool_s_output_becomes_a_sentence(text: str, fact: str) -> None:
    assert facts(text)[:1] == [fact]


SMI = """\
| NVIDIA-SMI 535.104.05   Driver Version: 535.104.05   CUDA Version: 12.2 |
|   0  NVIDIA A100-SXM4-40GB  On   | 00000000:07:00.0 Off |                    0 |
|   1  NVIDIA A100-SXM4-40GB  On   | 00000000:0B:00.0 Off |                    0 |
|    0   N/A  N/A      1234      C   python                 1000MiB |
|    0   N/A  N/A      1235      C   python                 1000MiB |
"""


def test_nvidia_smi_shows_processes_that_share_a_gpu() -> None:
    assert facts(SMI) == ["2 processes run on GPU 0; 1 GPU has none."]
    assert reading(SMI).versions == {"driver": "535.104.05"}


@pytest.mark.parametrize(
    ("text", "versions"),
    [
        ("### TensorFlow version\n\n2.16.1\n\n### Python version\n\n3.11\n\n### CUDA/cuDNN version\n\n12.3/8.9\n", {"tensorflow": "2.16.1", "cuda": "12.3", "cudnn": "8.9", "python": "3.11"}),
        ("```\n#- PyTorch Lightning Version (e.g., 2.4.0): 2.3.3\n#- PyTorch Version (e.g., 2.4): 2.3.1\n#- CUDA/cuDNN version: 12.1\n```", {"torch": "2.3.1", "pytorch-lightning": "2.3.3", "cuda": "12.1"}),
        ("* CUDA:\n\t- GPU:\n\t\t- A100\n\t- available:         True\n\t- version:           12.1\n* Packages:\n\t- pyTorch_version:   1.6.0\n\t- pytorch-lightning: 0.8.5\n", {"torch": "1.6.0", "pytorch-lightning": "0.8.5", "cuda": "12.1"}),
        ("Framework: (TensorFlow, Keras, PyTorch, MXNet) TensorFlow\nFramework version: 1.15.0\nHorovod version: 0.20.3\nMPI version: 4.0.0\n", {"tensorflow": "1.15.0", "horovod": "0.20.3", "openmpi": "4.0.0"}),
        ("1. Framework: (TensorFlow, Keras, PyTorch, MXNet) PyTorch\n2. Framework version: 1.7.1\n3. Horovod version: 0.21.3\n", {"torch": "1.7.1", "horovod": "0.21.3"}),
        ("Framework: (TensorFlow)\nFramework version: 1.14\n", {"tensorflow": "1.14"}),
        ("Ray version and other system information (Python version, TensorFlow version, OS): 1.1dev, Ubuntu 18.04", {"ray": "1.1dev", "os": "Ubuntu 18.04"}),
        ("----------Python Info----------\nVersion      : 3.6.4\nCompiler     : GCC 7.2.1\n------------Pip Info-----------\nVersion      : 9.0.1\n----------MXNet Info-----------\nVersion      : 1.1.0\n", {"mxnet": "1.1.0", "python": "3.6.4"}),
        ("```\n>>> import torch\n>>> torch.__version__\n'2.1.0+cu118'\n>>> torch.backends.cudnn.version()\n8902\n>>> torch.cuda.nccl.version()\n(2, 18, 1)\n```", {"torch": "2.1.0+cu118", "cuda": "11.8", "cudnn": "8.9.2", "nccl": "2.18.1"}),
        ("torch version .................... 2.1.2+cu121\ndeepspeed info ................... 0.12.6, unknown, unknown\ntorch cuda version ............... 12.1\nnvcc version ..................... 11.8\n", {"torch": "2.1.2+cu121", "deepspeed": "0.12.6", "cuda": "12.1"}),
        ("- `transformers` version: 4.44.0\n- Accelerate version: 0.33.0\n- PyTorch version (GPU?): 2.4.0+cpu (True)\n- Python version: 3.10.12\n- `Accelerate` version: 0.33.0\n", {"torch": "2.4.0+cpu", "accelerate": "0.33.0", "transformers": "4.44.0", "python": "3.10.12"}),
        ("#### Installation Report ####\nColossal-AI version: 0.3.4\nPyTorch version: 2.0.0\nSystem CUDA version: 11.7\nCUDA version required by PyTorch: 11.7\n", {"torch": "2.0.0", "colossalai": "0.3.4", "cuda": "11.7"}),
        ("  Package: Open MPI build Distribution\n  Open MPI: 4.1.4\n  Open MPI repo revision: v4.1.4\n", {"openmpi": "4.1.4"}),
        ("# Name                    Version                   Build  Channel\npython                    3.6.11          h4d41432_2_cpython    conda-forge\ncudatoolkit               10.1.243             h6bb024c_0\nnccl                      2.7.8.1             h51cf6c1_0\nkeras-applications        1.0.8                    pypi_0    pypi\n", {"cuda": "10.1.243", "python": "3.6.11"}),
        ("### TensorFlow version\n\ntflite-support 0.1.0a1\n\n### Python version\n\nPython 3.8\n", {"python": "3.8"}),
        ("### What version are you seeing the problem on?\n\nv2.3\n", {"pytorch-lightning": "2.3"}),
    ],
)  # fmt: skip
def test_a_form_gives_its_versions(text: str, versions: dict[str, str]) -> None:
    assert reading(text, is_log=False).versions == versions


def test_at_most_four_facts_are_shown_with_their_lines() -> None:
    xids = "\n".join(f"NVRM: Xid (PCI:0000:{i:02d}:00): 79, lost" for i in range(9))
    shown = summarise(reading(xids)).facts
    assert [fact.line for fact in shown] == list(range(1, MOST_FACTS + 1))


@pytest.mark.parametrize(
    "line",
    ["Xid (PCI:0000:3b:00): 79", "Process 1: x", 'Thread 1 (active): "MainThread"', "  Rank 5 -- GPU", '"nccl_version": {', '"missing_ranks": [' * 20, "ranks have different A operation counts", "torch.__version__", "a 1 has requirement b, but you have b 2"],
)  # fmt: skip
def test_a_hostile_log_costs_no_more_than_its_length(line: str) -> None:
    lines = lay_out("\n".join([line] * (1_000_000 // (len(line) + 1))), is_log=True)
    start = time.process_time()
    read_tools(lines)
    assert time.process_time() - start < 3.0
