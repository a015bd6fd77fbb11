"""Launcher and number of processes."""

from __future__ import annotations

import base64
import json

import pytest

from knowledge.evidence import Reading, read_report
from knowledge.report import Report
from knowledge.signatures import SignatureTable

TABLE = SignatureTable()
WORLD_INFO = base64.urlsafe_b64encode(json.dumps({"a": [0, 1, 2, 3], "b": [0, 1, 2, 3]}).encode()).decode()


def reading(body: str) -> Reading:
    return read_report(Report("x", "", body), TABLE)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("torchrun --nnodes 4 --nproc_per_node 8 train.py", 32),
        ("torchrun --nnodes=2 --nproc-per-node=8 train.py", 16),
        ("torchrun --nnodes 1:4 --nproc_per_node 2 train.py", 8),
        ("torchrun --nproc_per_node 4 \\\n  --nnodes 2 \\\n  train.py", 8),
        ("python -m torch.distributed.launch --nproc_per_node=4 train.py", 4),
        ("accelerate launch --num_processes 16 --num_machines 2 train.py", 16),
        ("deepspeed --num_nodes 2 --num_gpus 8 train.py", 16),
        (f"python -m deepspeed.launcher.launch --world_info={WORLD_INFO} --master_port=1 t.py", 8),
        ("mpirun -np 8 -H a:4,b:4 python train.py", 8),
        ("mpiexec -n 6 python train.py", 6),
        ("horovodrun --verbose -np 2 -H a:1,b:1 python train.py", 2),
        ("srun -N 2 --ntasks-per-node=4 python train.py", 8),
        ("#SBATCH --nodes=4\n#SBATCH --ntasks-per-node=8\nsrun python train.py", 32),
        ("#SBATCH --nodes=4\n#SBATCH --ntasks-per-node=1\ntorchrun --nnodes $SLURM_NNODES --nproc_per_node 8 t.py", 32),
        ("I train on 2 nodes with 8 GPUs each.", 16),
        ("We use four machines, each with 8 A100 GPUs", 32),
        ("initializing ddp: GLOBAL_RANK: 0, MEMBER: 1/4", 4),
        ("node-a:12:34 [0] NCCL INFO comm 0x1 rank 0 nranks 16 cudaDev 0", 16),
        ("INFO launch: dist_world_size=8", 8),
        ("AssertionError: train_batch_size is not equal to micro_batch_per_gpu * gradient_acc_step * world_size 256 != 4 * 8 * 4", 4),
        ("torchrun --nproc_per_node 8 train.py\nDataLoader with 4 workers", 8),
        ("torchrun --nproc_per_node 1 works, torchrun --nproc_per_node 2 hangs\ntorchrun --nproc_per_node 2 t.py", 2),
    ],
)  # fmt: skip
def test_the_number_of_processes_is_read(text: str, size: int) -> None:
    assert reading(text).world_size == size


@pytest.mark.parametrize(
    "text",
    [
        "DataLoader with 4 workers",
        "1 Workers (tasks / actors) killed due to memory pressure (OOM)",
        "INFO: 1713 processes: 1713 processwrapper-sandbox.",
        "torchrun --nnodes $NNODES --nproc_per_node 8 train.py",
        "torchrun --nproc_per_node $GPUS train.py",
        "init_process_group(backend, world_size=world_size)",
        "I start it with torchrun.",
        "srun -N 2 python train.py -n 5",
        "tensor-model-parallel world size 2",
        "deepspeed --world_info=bm90IGpzb24gYXQgYWxs train.py",
    ],
)
def test_what_does_not_say_how_many_is_no_number(text: str) -> None:
    assert reading(text).world_size is None


@pytest.mark.parametrize(
    ("text", "launcher"),
    [
        (
            'torchrun train.py\n  File "/x/torch/distributed/elastic/multiprocessing/api.py", line 3',
            "torchrun",
        ),
        ('  File "/x/torch/distributed/elastic/multiprocessing/api.py", line 3', "torchrun"),
        ("I do not use mpirun; I start with python -m torch.distributed.run", "torchrun"),
        ("python -m torch.distributed.launch t.py\nThe module is deprecated, use torchrun", "torch-launch"),
        ("`vllm serve some/model --tensor-parallel-size 8`", "vllm"),
        ("ray job submit -- python t.py", "ray-job"),
        ("I start it without horovodrun.", None),
    ],
)
def test_the_launcher_is_the_one_that_was_used(text: str, launcher: str | None) -> None:
    assert reading(text).launcher == launcher


def test_a_report_can_not_exhaust_the_stack() -> None:
    deep = base64.urlsafe_b64encode(b"[" * 1400).decode()
    assert reading(f"python -m deepspeed.launcher.launch --world_info={deep}").world_size is None
    assert reading('```\n{"msg": "x", "a": ' + "[" * 1900 + "}\n```").world_size is None
