"""Probes of code, data, checkpoints and packages, on files as they lie about."""

from __future__ import annotations

import io
import json
import pickle
import struct
import zipfile
from pathlib import Path

import pytest

from knowledge.diagnostics.runtime import data, packages, processes, sources
from knowledge.diagnostics.runtime.job import Answer, Job, NotApplicable
from tests.knowledge.diagnostics.worlds import job

SETUP = "import torch.distributed as dist\ndist.init_process_group('nccl')\nrank = dist.get_rank()\n"


def judged(folder: Path, monkeypatch: pytest.MonkeyPatch, code: str, probe: str) -> str:
    """What a code probe says of this code in the current folder."""
    work = folder / "work"
    work.mkdir(exist_ok=True)
    (work / "train.py").write_text(code, encoding="utf-8")
    monkeypatch.chdir(work)
    made = job(folder)
    made.shared["sources"] = sources.collect_sources(made)[1]
    answer: Answer = getattr(sources, f"probe_{probe}")(made)
    return answer[0]


@pytest.mark.parametrize(
    ("code", "outcome"),
    [
        ("if rank == 0:\n    dist.barrier()\n", "collective_in_branch"),
        ("if dist.get_rank() == 0:\n    engine.save_checkpoint('x')\n", "collective_in_branch"),
        ("if rank == 0:\n    dist.barrier()\nelse:\n    dist.barrier()\n", "ok"),
        ("if rank == 0:\n    print('x')\ndist.barrier()\n", "ok"),
        ("if rank == 0:\n    ' '.join([]) or set().gather()\n", "ok"),
    ],
)
def test_collectives_under_a_condition_on_the_rank(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, outcome: str
) -> None:
    assert judged(tmp_path, monkeypatch, SETUP + code, "rank_branches") == outcome


@pytest.mark.parametrize(
    ("code", "probe", "outcome"),
    [
        ("model.to('cuda:0')\n", "device_binding", "fixed_device"),
        ("model.cuda(0)\n", "device_binding", "fixed_device"),
        ("model.cuda()\n", "device_binding", "not_bound"),
        ("import os\ntorch.cuda.set_device(int(os.environ['LOCAL_RANK']))\n", "device_binding", "ok"),
        ("DataLoader(data, batch_size=4)\n", "sampling", "not_divided"),
        ("random_split(data, [2, 3])\nDataLoader(data)\n", "sampling", "own_split"),
        ("DataLoader(data, sampler=DistributedSampler(data))\n", "sampling", "no_set_epoch"),
        ("s = DistributedSampler(data)\nDataLoader(data, sampler=s)\ns.set_epoch(1)\n", "sampling", "ok"),
        ("m = DDP(net)\ntorch.save(m.state_dict(), 'x')\n", "saving", "wrapped"),
        ("m = DDP(net)\ntorch.save(m.module.state_dict(), 'x')\n", "saving", "ok"),
        ("mp.spawn(run, nprocs=2)\n", "api_use", "no_main_guard"),
        ("opt = hvd.DistributedOptimizer(opt)\n", "api_use", "no_broadcast"),
        ("opt = hvd.DistributedOptimizer(opt)\nhvd.broadcast_parameters(p, 0)\n", "api_use", "ok"),
    ],
)
def test_habits_of_training_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, probe: str, outcome: str
) -> None:
    assert judged(tmp_path, monkeypatch, SETUP + code, probe) == outcome


def test_code_that_trains_on_one_process_does_not_apply(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(NotApplicable):
        judged(tmp_path, monkeypatch, "print('x')\n", "rank_branches")


def test_a_file_that_is_no_python_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NotApplicable):
        judged(tmp_path, monkeypatch, "print 'python 2'\n", "rank_branches")


def torch_file(place: Path, names: list[str]) -> None:
    """A file as torch.save writes it: a zip with a pickle; nothing of it can be unpickled here."""
    with zipfile.ZipFile(place, "w") as archive:
        archive.writestr("model/data.pkl", pickle.dumps(dict.fromkeys(names, 0), protocol=2))


@pytest.mark.parametrize(
    ("names", "outcome"),
    [
        (["module.fc.weight", "module.fc.bias"], "wrapped"),
        (["_orig_mod.fc.weight"], "wrapped"),
        (["module.fc.weight", "head.weight"], "mixed"),
        (["fc.weight", "fc.bias"], "plain"),
    ],
)
def test_prefixes_of_a_torch_checkpoint(tmp_path: Path, names: list[str], outcome: str) -> None:
    torch_file(tmp_path / "c.pt", names)
    assert data.probe_checkpoint_keys(job(tmp_path, checkpoint=str(tmp_path / "c.pt")))[0] == outcome


class Bomb:
    """Would leave a trace if anything built it."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return open, ("/nonexistent/bomb",)


def test_a_checkpoint_is_read_and_never_unpickled(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "c.pt", "w") as archive:
        archive.writestr("m/data.pkl", pickle.dumps({"module.fc.weight": Bomb()}, protocol=2))
    assert data.probe_checkpoint_keys(job(tmp_path, checkpoint=str(tmp_path / "c.pt")))[0] == "wrapped"


def safetensors(size: int) -> bytes:
    """A safetensors file of one tensor whose data has this many bytes."""
    head = json.dumps({"module.fc.weight": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}).encode()
    return struct.pack("<Q", len(head)) + head + b"\0" * size


@pytest.mark.parametrize(("size", "outcome"), [(8, "wrapped"), (3, "unreadable")])
def test_a_safetensors_head_is_read_without_its_values(tmp_path: Path, size: int, outcome: str) -> None:
    (tmp_path / "c.safetensors").write_bytes(safetensors(size))
    assert data.probe_checkpoint_keys(job(tmp_path, checkpoint=str(tmp_path / "c.safetensors")))[0] == outcome


def test_a_cut_checkpoint_is_unreadable(tmp_path: Path) -> None:
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as archive:
        archive.writestr("m/data.pkl", b"x" * 1000)
    (tmp_path / "c.pt").write_bytes(whole.getvalue()[:500])
    assert data.probe_checkpoint_keys(job(tmp_path, checkpoint=str(tmp_path / "c.pt")))[0] == "unreadable"


@pytest.mark.parametrize(
    ("config", "world", "outcome"),
    [
        (
            {"train_batch_size": 64, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 2},
            "8",
            "ok",
        ),
        (
            {"train_batch_size": 64, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 2},
            "6",
            "does_not_divide",
        ),
        ({"train_batch_size": 64, "train_micro_batch_size_per_gpu": 4}, "8", "ok"),
        ({"train_batch_size": 64, "train_micro_batch_size_per_gpu": 5}, "8", "does_not_divide"),
        ({"train_batch_size": "auto", "train_micro_batch_size_per_gpu": 4}, "8", "undetermined"),
    ],
)
def test_deepspeed_batch_sizes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, config: dict[str, object], world: str, outcome: str
) -> None:
    (tmp_path / "ds.json").write_text(json.dumps(config), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    made = Job({"WORLD_SIZE": world}, job(tmp_path).options, str(tmp_path))
    assert data.probe_deepspeed_batch(made)[0] == outcome


def test_the_lengths_of_a_named_loader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    body = "    dataset = [1, 2, 3]\n    batch_size = 2\n    def __len__(self): return 2\n"
    code = f"class L:\n{body}def make(): return L()\n"
    (tmp_path / "mine.py").write_text(code, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    made = job(tmp_path, loader="mine:make")
    assert data.probe_lengths(made) == ("counted", {"batches": 2, "samples": 3, "batch_size": 2})
    assert data.probe_lengths(job(tmp_path, loader="mine:gone"))[0] == "fails"
    with pytest.raises(NotApplicable):
        data.probe_lengths(job(tmp_path, loader="os; x"))


@pytest.mark.parametrize(
    ("line", "installed", "is_met"),
    [
        ("numpy (>=1.17,<2)", {"numpy": "2.1.0"}, False),
        ("numpy>=1.17", {"numpy": "2.1.0"}, True),
        ("torch==2.5.1", {"torch": "2.5.1+cu121"}, True),
        ("torch==2.5.*", {"torch": "2.4.1"}, False),
        ("tokenizers~=0.19.1", {"tokenizers": "0.19.9"}, True),
        ("tokenizers~=0.19.1", {"tokenizers": "0.20.0"}, False),
        ("protobuf!=4.21.0", {"protobuf": "4.21.0"}, False),
        ('triton==3.1.0; platform_system == "Linux"', {"triton": "2.0"}, True),
        ('numpy<2; python_version < "3.0"', {"numpy": "2.1.0"}, True),
        ("deepspeed[mii]>=0.9 ; extra == 'x'", {"deepspeed": "0.1"}, True),
        ("absent>=1", {}, True),
        ("not ! a ! line", {"not": "1"}, True),
    ],
)
def test_demands_of_packages(line: str, installed: dict[str, str], is_met: bool) -> None:
    assert packages.met(line, installed) is is_met


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("ImportError: x.so: undefined symbol: _Z", "undefined_symbol"),
        ("ImportError: libcudart.so.11.0: cannot open shared object file", "missing_library"),
        ("version `GLIBC_2.32' not found", "old_system_library"),
        ("ModuleNotFoundError: No module named 'x'", "missing_module"),
        ("ImportError: cannot import name 'y' from 'z'", "missing_name"),
        ("RuntimeError: odd", "other"),
    ],
)
def test_kinds_of_import_errors(text: str, kind: str) -> None:
    assert packages.error_kind(text) == kind


def test_where_a_rank_stands_is_told_without_its_own_names() -> None:
    frames = [
        {
            "name": "all_reduce",
            "filename": "/x/site-packages/torch/distributed/distributed_c10d.py",
            "line": 1,
        },
        {"name": "secret_step", "filename": "/home/annalise/train.py", "line": 7},
    ]
    function, place = processes.innermost([{"thread_name": "MainThread", "frames": frames}])
    assert function == "all_reduce"
    assert processes.kind_of(function) == "waiting"
    assert len(place) == 8
