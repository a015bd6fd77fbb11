"""Probes of GPUs, on answers as nvidia-smi and torch give them (there is no GPU where the tests run)."""

from __future__ import annotations

from pathlib import Path

import pytest

from knowledge.diagnostics.runtime import collectives, gpus
from knowledge.diagnostics.runtime.job import Job, NotApplicable
from tests.knowledge.diagnostics.worlds import job, smi

A100 = "{}, NVIDIA A100-SXM4-80GB, 535.104.05, 81920, {}, Default"
TORCH = {
    "outcome": "ok",
    "version": "2.5.1",
    "cuda": "12.1",
    "distributed": True,
    "available": True,
    "count": 2,
    "archs": ["sm_80", "sm_90"],
    "capabilities": ["80", "80"],
    "backends": ["nccl", "gloo"],
    "no_peer": 0,
}


def machine(
    folder: Path,
    *rows: str,
    env: dict[str, str] | None = None,
    torch: dict[str, object] | None = None,
    **answers: str,
) -> Job:
    """A job on a machine with these GPUs."""
    made = job(folder, env, commands={"nvidia-smi": smi(*rows, **answers)})
    outcome, facts = gpus.collect_gpus(made)
    made.shared = {"gpus": {**facts, "outcome": outcome}, "torch": {**TORCH, **(torch or {})}}
    return made


TWO = (A100.format(0, 10), A100.format(1, 10))


def test_without_nvidia_smi_there_is_no_gpu(tmp_path: Path) -> None:
    made = job(tmp_path)
    made.env = {"PATH": str(tmp_path)}
    outcome, facts = gpus.collect_gpus(made)
    made.shared = {"gpus": {**facts, "outcome": outcome}}
    assert gpus.probe_gpu_driver(made)[0] == "no_gpu"
    with pytest.raises(NotApplicable):
        gpus.probe_gpu_use(made)


@pytest.mark.parametrize(
    ("script", "outcome"),
    [
        ("echo 'Failed to initialize NVML: Driver/library version mismatch'; exit 18", "library_mismatch"),
        ("echo 'No devices were found'; exit 6", "no_gpu"),
        (
            'echo "NVIDIA-SMI has failed because it couldn\'t communicate with the NVIDIA driver."; exit 9',
            "broken",
        ),
    ],
)
def test_a_driver_that_does_not_work(tmp_path: Path, script: str, outcome: str) -> None:
    made = job(tmp_path, commands={"nvidia-smi": script})
    state, facts = gpus.collect_gpus(made)
    made.shared = {"gpus": {**facts, "outcome": state}}
    assert gpus.probe_gpu_driver(made)[0] == outcome


def test_gpus_of_two_models(tmp_path: Path) -> None:
    mixed = machine(tmp_path, TWO[0], "1, Tesla V100-PCIE-16GB, 535.104.05, 16384, 3, Default")
    assert gpus.probe_gpu_driver(mixed)[0] == "models_differ"
    assert gpus.probe_gpu_driver(machine(tmp_path, *TWO)) == (
        "ok",
        {"driver": "535.104.05", "gpus": 2, "models": ["NVIDIA A100-SXM4-80GB"]},
    )


@pytest.mark.parametrize(
    ("env", "outcome"),
    [
        ({"CUDA_VISIBLE_DEVICES": "0,1,2,3", "LOCAL_WORLD_SIZE": "4"}, "no_such_gpu"),
        ({"CUDA_VISIBLE_DEVICES": ""}, "hidden"),
        ({"CUDA_VISIBLE_DEVICES": "-1"}, "hidden"),
        ({"CUDA_VISIBLE_DEVICES": "0", "LOCAL_WORLD_SIZE": "2"}, "one_each"),
        ({"LOCAL_WORLD_SIZE": "8"}, "fewer_than_ranks"),
        ({"LOCAL_WORLD_SIZE": "2"}, "ok"),
        ({"CUDA_VISIBLE_DEVICES": "GPU-8f1c,GPU-77aa", "LOCAL_WORLD_SIZE": "2"}, "ok"),
    ],
)
def test_visible_gpus_against_ranks(tmp_path: Path, env: dict[str, str], outcome: str) -> None:
    assert gpus.probe_gpu_visibility(machine(tmp_path, *TWO, env=env))[0] == outcome


@pytest.mark.parametrize(
    ("torch", "outcome"),
    [
        ({"outcome": "fails", "error": "ImportError", "all": "undefined symbol: x"}, "import_fails"),
        ({"outcome": "crashes"}, "import_crashes"),
        ({"distributed": False}, "no_distributed"),
        ({"cuda": None}, "cpu_build"),
        ({"available": False}, "gpus_not_seen"),
        ({"capabilities": ["120"]}, "no_kernels"),
        ({"capabilities": ["37"]}, "no_kernels"),
        ({"capabilities": ["86"]}, "ok"),
        ({}, "ok"),
    ],
)
def test_torch_against_the_gpus(tmp_path: Path, torch: dict[str, object], outcome: str) -> None:
    assert gpus.probe_torch_build(machine(tmp_path, *TWO, torch=torch))[0] == outcome


def test_torch_that_is_not_installed_does_not_apply(tmp_path: Path) -> None:
    with pytest.raises(NotApplicable):
        gpus.probe_torch_build(machine(tmp_path, *TWO, torch={"outcome": "missing"}))


@pytest.mark.parametrize(
    ("rows", "mig", "outcome"),
    [
        ((A100.format(0, 70000), A100.format(1, 10)), "Disabled", "some_busy"),
        ((A100.format(0, 70000), A100.format(1, 70000)), "Disabled", "all_busy"),
        (TWO, "Enabled", "mig"),
        ((TWO[0].replace("Default", "Exclusive_Process"),), "Disabled", "exclusive"),
        (TWO, "[N/A]", "free"),
    ],
)
def test_use_of_the_gpus(tmp_path: Path, rows: tuple[str, ...], mig: str, outcome: str) -> None:
    assert gpus.probe_gpu_use(machine(tmp_path, *rows, mig=mig))[0] == outcome


@pytest.mark.parametrize(
    ("health", "outcome"),
    [
        ("3, Not Active, Not Active", "memory_errors"),
        ("0, Active, Not Active", "throttled"),
        ("[N/A], Not Active, Not Active", "ok"),
    ],
)
def test_health_of_the_gpus(tmp_path: Path, health: str, outcome: str) -> None:
    assert gpus.probe_gpu_health(machine(tmp_path, *TWO, health=health))[0] == outcome


TOPOLOGY = "\\tGPU0\\tGPU1\\tCPU Affinity\\nGPU0\\t X \\t{0}\\t0-15\\nGPU1\\t{0}\\t X \\t0-15\\n"


@pytest.mark.parametrize(
    ("link", "no_peer", "outcome"),
    [("SYS", 2, "no_peer_access"), ("SYS", 0, "across_sockets"), ("NV12", 0, "ok"), ("PHB", 0, "ok")],
)
def test_links_between_the_gpus(tmp_path: Path, link: str, no_peer: int, outcome: str) -> None:
    made = machine(tmp_path, *TWO, topology=TOPOLOGY.format(link), torch={"no_peer": no_peer})
    assert gpus.probe_gpu_links(made)[0] == outcome


@pytest.mark.parametrize(
    ("env", "outcome"),
    [
        ({"NCCL_P2P_DISABLE": "1", "NCCL_SHM_DISABLE": "1"}, "local_ways_off"),
        ({"NCCL_ALGO": "Tree"}, "forced"),
        ({"NCCL_BLOCKING_WAIT": "1"}, "old_names"),
        ({"NCCL_IB_DISABLE": "1"}, "some_off"),
        ({"NCCL_DEBUG": "INFO"}, "set"),
        ({}, "unset"),
    ],
)
def test_settings_of_the_communication_libraries(tmp_path: Path, env: dict[str, str], outcome: str) -> None:
    assert collectives.probe_collective_env(job(tmp_path, env))[0] == outcome


def test_values_of_settings_leave_only_as_a_digest(tmp_path: Path) -> None:
    _, facts = collectives.probe_collective_env(job(tmp_path, {"NCCL_DEBUG_FILE": "/home/annalise/log"}))
    assert facts["names"] == ["NCCL_DEBUG_FILE"]
    assert "annalise" not in str(facts)


def test_this_machine_can_talk_to_itself(tmp_path: Path) -> None:
    assert collectives.probe_loopback(job(tmp_path))[0] == "ok"
