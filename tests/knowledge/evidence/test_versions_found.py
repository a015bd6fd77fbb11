"""Versions, in the forms in which people and tools write them."""

from __future__ import annotations

import time

import pytest

from knowledge.evidence import Reading, read_report
from knowledge.evidence.layout import lay_out
from knowledge.evidence.reading import summarise
from knowledge.evidence.versions_found import Sure, find_versions
from knowledge.report import Report
from knowledge.signatures import SignatureTable

TABLE = SignatureTable()


def reading(body: str, title: str = "") -> Reading:
    return read_report(Report("x", title, body), TABLE)


def versions(body: str, title: str = "") -> dict[str, str]:
    return reading(body, title).versions


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[pip3] nvidia-nccl-cu12==2.21.5", {"nccl": "2.21.5"}),
        ("CMake version: version 3.31.1", {"cmake": "3.31.1"}),
        ("OS: CentOS Linux release 7.9.2009 (Core) (x86_64)", {"os": "CentOS 7.9.2009"}),
        ("ROCm 6.1 with PyTorch 2.4.0+rocm6.1", {"rocm": "6.1", "torch": "2.4.0+rocm6.1"}),
        ("GCC version: (Debian 6.3.0-18+deb9u1) 6.3.0 20170516", {"gcc": "6.3.0"}),
        ("gcc (Ubuntu 11.4.0-1ubuntu1~22.04) 11.4.0", {"gcc": "11.4.0"}),
        ("Python 3.12.3 (main, Feb  4 2025, 14:48:35) [GCC 13.3.0] on linux", {"python": "3.12.3"}),
        ("NCCL version 2.18.3+cuda12.1", {"nccl": "2.18.3"}),
        ("torch 2.3.1+cu118 is what I have", {"torch": "2.3.1+cu118", "cuda": "11.8"}),
        ("ray 0.8.6, python 3.6.8, tf 2.2, os rhel 7.6", {"ray": "0.8.6", "python": "3.6.8", "tensorflow": "2.2", "os": "RHEL 7.6"}),
        ("OS: MacOS catalina, version: 10.15.6(19G73)", {"os": "macOS 10.15.6"}),
        ("PyTorch Version (e.g., 1.0): 1.7.1", {"torch": "1.7.1"}),
        ("TensorFlow version (use command below): v2.15.0-rc1-8-g6887368d6d4 2.15.0", {"tensorflow": "2.15.0"}),
        ("Installed ray-1.1.0.dev0-cp38-cp38-manylinux1_x86_64.whl", {"ray": "1.1.0.dev0"}),
        ('  File "/opt/conda/lib/python3.10/site-packages/torch/x.py", line 3', {"python": "3.10"}),
        ("Cuda compilation tools, release 10.0, V10.0.130", {"cuda": "10.0"}),
        ("| NVIDIA-SMI 550.54.15  Driver Version: 550.54.15  CUDA Version: 12.4 |", {"driver": "550.54.15"}),
        ("numpy version ‘1.14.3’", {"numpy": "1.14.3"}),
        ("mpirun (Open MPI) 4.1.4", {"openmpi": "4.1.4"}),
        ("Platform: Linux-4.4.0-100-generic-x86_64-with-Ubuntu-16.04-xenial", {"os": "Ubuntu 16.04"}),
        ("megatron-core 0.12.1, transformer-engine 2.2", {"megatron": "0.12.1", "transformer-engine": "2.2"}),
        ("vllm 0.8.5 and jax 0.4.35", {"vllm": "0.8.5", "jax": "0.4.35"}),
        ("PyTorch version: 1.6.0.dev20200403", {"torch": "1.6.0.dev20200403"}),
        ("cudnn version：cudnn-9.2-linux-x64-v7.1", {"cudnn": "7.1"}),
        ("Python version：3.7.4", {"python": "3.7.4"}),
    ],
)  # fmt: skip
def test_a_version_is_read(text: str, expected: dict[str, str]) -> None:
    assert versions(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Expected all tensors on one device, but found cuda:7 and cuda:0",
        "We use CUDA: 8 devices",
        "CUDA arch 8.6, and TORCH_CUDA_ARCH_LIST is 8.0",
        "I log in as ubuntu@54.214.124.193",
        "mpi4py 3.0.3",
        "Intel MPI 2021.9, MPI 3.1 standard",
        "version: #1 SMP Debian 4.19.67-2 (2019-08-28)",
        "install_requires: torch>=1.13",
        "It works with PyTorch 1.12.",
        "The problem does not appear on Ray 1.0.",
        "PyTorch 1.12 works fine.",
        "DeepSpeed requires torch 2.1 or newer",
        "Support for CUDA 10.2 was dropped",
        "cuda driver version: 12.4",
        "torch 1.5 hours per epoch",
        "tf 0.001 and keras 2.05",
        '    "Compiler     : GCC 7.2.0"',
        '# e.g. "tensorflow/tensorflow:1.5.0-py3"',
        "nvcr.io/nvidia/pytorch:23.05-py3",
        "it fails since torch 2020-07-10",
        "I couldn't reproduce it on a bigger machine with ubuntu 18.04",
    ],
)
def test_what_is_no_version_of_theirs_is_not_read(text: str) -> None:
    assert versions(text) == {}


def test_a_bare_version_is_the_trackers_own() -> None:
    def of(id: str, body: str) -> dict[str, str]:
        return read_report(Report(id, "It stops", body), TABLE).versions

    assert of("PyTorchLightning/pytorch-lightning#1", "Version [0.7.1]") == {"pytorch-lightning": "0.7.1"}
    assert of("ray-project/ray#1", "**Version**: 1.0.1.post1") == {"ray": "1.0.1.post1"}
    assert of("ray-project/ray#1", "CUDA:\nversion: 1.0") == {}, "what it is of stands above"
    assert of("somebody/else#1", "Version: 1.0.1") == {}
    assert of("ray-project/ray#1", "ray 1.1.0\nVersion: 0.9") == {"ray": "1.1.0"}, "a named one is surer"


def test_of_an_upgrade_the_version_that_fails_counts() -> None:
    assert versions("It works with torch 1.12 but fails with torch 1.13.1.")["torch"] == "1.13.1"
    assert versions("It does not work with torch 1.13.1.")["torch"] == "1.13.1"


def test_the_form_wins_over_the_title() -> None:
    found = versions("- PyTorch version: 1.5.1", "error on pip install for PyTorch 1.5")
    assert found["torch"] == "1.5.1"


def test_a_path_is_less_sure_than_a_statement_and_no_ground_for_a_conflict() -> None:
    body = 'File "/usr/lib/python3.12/site-packages/x.py", line 1\nPyTorch version: 2.1.0'
    assert versions(body)["python"] == "3.12"
    assert "python" not in reading(body).sure
    assert summarise(reading(body)).conflicts == []
    stated = summarise(reading("Python version: 3.12\nPyTorch version: 2.1.0")).conflicts
    assert [conflict.id for conflict in stated] == ["python-torch-2.1"]


def test_devices_make_no_conflict() -> None:
    assert summarise(reading("CUDA: 8 devices, PyTorch 1.13.1")).conflicts == []


def test_a_conflict_names_the_error_line_that_it_explains() -> None:
    body = (
        "Python version: 3.10\nPyTorch version: 2.1.2+cu121\nnvcc: Cuda compilation tools, release 11.8, V11.8.89\n\n"
        '```\nTraceback (most recent call last):\n  File "setup.py", line 3, in <module>\n'
        "RuntimeError: The detected CUDA version (11.8) mismatches the version that was used to compile PyTorch (12.1).\n```\n"
    )
    conflicts = summarise(reading(body)).conflicts
    assert [(c.id, c.explains_line) for c in conflicts] == [("toolkit-torch-cuda-12", 8)]
    quiet = summarise(
        reading("nvcc: Cuda compilation tools, release 11.8, V11.8.89\nPyTorch 2.1.2+cu121")
    ).conflicts
    assert [(c.id, c.explains_line) for c in quiet] == [("toolkit-torch-cuda-12", None)]


@pytest.mark.parametrize(
    "line",
    ["torch  1.2.3", "[rank1]: torch/c10d.py:7 cuda:1 tensor 0.25 python nccl ray worker", "cuda " * 200],
)
def test_a_long_log_is_read_in_linear_time(line: str) -> None:
    lines = lay_out("\n".join(f"{line} {i % 1000}" for i in range(2_000_000 // (len(line) + 4))), is_log=True)
    start = time.process_time()
    find_versions("", lines)
    assert time.process_time() - start < 2.0


def test_how_surely_a_version_was_read() -> None:
    lines = lay_out("- PyTorch version: 2.1.0\n\nIt fails under Python 3.11 here.\n", is_log=False)
    found = find_versions("", lines)
    assert (found["torch"].sure, found["python"].sure) == (Sure.FORM, Sure.STATED)
