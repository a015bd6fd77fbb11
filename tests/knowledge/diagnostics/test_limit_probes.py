"""Probes of memory, processors and containers, on files as kernels write them."""

from __future__ import annotations

from pathlib import Path

import pytest

from knowledge.diagnostics.runtime import limits
from knowledge.diagnostics.runtime.job import NotApplicable
from tests.knowledge.diagnostics.worlds import job

MEMINFO = "MemTotal:       65536000 kB\nMemFree: 100 kB\nMemAvailable:   {available} kB\n"
V2 = {"/proc/self/cgroup": "0::/pod/c1\n", "/proc/meminfo": MEMINFO.format(available=60000000)}
V1 = {
    "/proc/self/cgroup": "4:memory:/docker/abc\n3:cpu,cpuacct:/docker/abc\n",
    "/proc/meminfo": MEMINFO.format(available=60000000),
}


def test_a_version_2_limit_above_the_process_counts(tmp_path: Path) -> None:
    files = {**V2, "/sys/fs/cgroup/pod/memory.max": str(1 << 30), "/sys/fs/cgroup/pod/c1/memory.max": "max"}
    outcome, facts = limits.probe_cgroup_memory(job(tmp_path, files=files))
    assert (outcome, facts["limit_mib"]) == ("no_room", 1024)


def test_a_limit_is_shared_by_the_ranks_of_the_machine(tmp_path: Path) -> None:
    files = {**V2, "/sys/fs/cgroup/pod/c1/memory.max": str(6 << 30)}
    assert limits.probe_cgroup_memory(job(tmp_path, files=files))[0] == "ok"
    four = job(tmp_path, {"LOCAL_WORLD_SIZE": "4"}, files)
    assert limits.probe_cgroup_memory(four)[0] == "no_room"


def test_a_version_2_kill_is_found(tmp_path: Path) -> None:
    base = "/sys/fs/cgroup/pod/c1/memory."
    files = {
        **V2,
        base + "max": str(8 << 30),
        base + "events": "low 0\noom 2\noom_kill 2\n",
        base + "current": "1",
    }
    assert limits.probe_cgroup_memory(job(tmp_path, files=files)) == (
        "killed",
        {"limit_mib": 8192, "share": 0.128, "kills": 2, "used_mib": 0},
    )


def test_a_version_1_limit_that_was_reached_is_found(tmp_path: Path) -> None:
    base = "/sys/fs/cgroup/memory/docker/abc/memory."
    files = {
        **V1,
        base + "limit_in_bytes": str(8 << 30),
        base + "failcnt": "7",
        base + "oom_control": "oom_kill 0\n",
    }
    assert limits.probe_cgroup_memory(job(tmp_path, files=files))[0] == "reached"


def test_the_huge_number_of_version_1_is_no_limit(tmp_path: Path) -> None:
    files = {**V1, "/sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes": "9223372036854771712"}
    assert limits.probe_cgroup_memory(job(tmp_path, files=files))[0] == "unlimited"


def test_a_quota_below_one_processor_starves(tmp_path: Path) -> None:
    files = {**V2, "/sys/fs/cgroup/pod/c1/cpu.max": "50000 100000"}
    outcome, facts = limits.probe_cgroup_cpu(job(tmp_path, files=files))
    assert (outcome, facts["allowed"]) == ("starved", 0.5)


def test_nearly_used_up_processes_are_found(tmp_path: Path) -> None:
    base = "/sys/fs/cgroup/pod/c1/pids."
    files = {**V2, base + "max": "100", base + "current": "95", "/sys/fs/cgroup/pod/c1/cpu.max": "max 100000"}
    assert limits.probe_cgroup_cpu(job(tmp_path, files=files))[0] == "few_processes"


@pytest.mark.parametrize(
    ("available", "kills", "outcome"),
    [(1_000_000, 0, "low"), (60_000_000, 3, "killed_before"), (60_000_000, 0, "ok")],
)
def test_memory_of_the_machine(tmp_path: Path, available: int, kills: int, outcome: str) -> None:
    files = {
        "/proc/meminfo": MEMINFO.format(available=available),
        "/proc/vmstat": f"nr_free 1\noom_kill {kills}\n",
    }
    assert limits.probe_host_memory(job(tmp_path, files=files))[0] == outcome


def test_a_missing_shm_is_found(tmp_path: Path) -> None:
    assert limits.probe_shm_size(job(tmp_path))[0] == "missing"


def test_on_macos_the_linux_probes_do_not_apply(tmp_path: Path) -> None:
    mac = job(tmp_path)
    mac.platform = "darwin"
    with pytest.raises(NotApplicable):
        limits.probe_shm_size(mac)


@pytest.mark.parametrize(
    ("files", "outcome"),
    [
        ({"/proc/version": "Linux version 5.15-microsoft-standard-WSL2"}, "wsl"),
        ({"/.dockerenv": "", "/sys/class/infiniband/mlx5_0/x": ""}, "no_devices"),
        ({"/proc/1/cgroup": "0::/kubepods/pod1"}, "container"),
        ({"/proc/1/cgroup": "0::/init.scope"}, "plain"),
    ],
)
def test_containers_are_told_apart(tmp_path: Path, files: dict[str, str], outcome: str) -> None:
    assert limits.probe_container(job(tmp_path, files=files))[0] == outcome


def test_a_folder_that_a_setting_names_must_exist(tmp_path: Path) -> None:
    assert limits.probe_tmp_usable(job(tmp_path, {"TMPDIR": "/gone/away"}))[0] == "unusable"
    assert limits.probe_tmp_usable(job(tmp_path, {"TMPDIR": str(tmp_path)}))[0] == "ok"


def test_more_threads_than_processors(tmp_path: Path) -> None:
    env = {"OMP_NUM_THREADS": "64", "LOCAL_WORLD_SIZE": "8"}
    assert limits.probe_threads(job(tmp_path, env))[0] == "too_many"
