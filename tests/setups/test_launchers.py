"""Under real launchers every rank prints its own block, and the blocks fit together."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from knowledge.diagnostics.compose import script_of
from knowledge.diagnostics.probe import by_id
from knowledge.diagnostics.result import parse_result
from knowledge.diagnostics.update import update
from tests.setups.model import PYTHON, Run, met

PROBES = ("rendezvous_env", "rehearsal", "shm_size", "collective_env")
TORCHRUN = (PYTHON, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-port", "29717")
OPENMPI = ("mpirun.openmpi", "--oversubscribe", "-np", "2")
COMMANDS: dict[str, tuple[str, ...]] = {
    "torchrun": (*TORCHRUN, "diagnose.sh"),
    "torchrun-tee": (*TORCHRUN, "--tee", "3", "diagnose.sh"),
    "openmpi": (*OPENMPI, "sh", "diagnose.sh"),
    "openmpi-tagged": (*OPENMPI, "--tag-output", "sh", "diagnose.sh"),
    "mpich": ("mpirun.mpich", "-np", "2", "sh", "diagnose.sh"),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_rank_prints_a_block(name: str, tmp_path: Path) -> None:
    command = COMMANDS[name]
    if not met("torch") or not shutil.which(command[0]):
        pytest.skip(f"needs {command[0]} and torch")
    (tmp_path / "diagnose.sh").write_text(script_of([by_id()[id] for id in PROBES]), encoding="utf-8")
    done = subprocess.run(
        [*command, "--quiet"],
        env=Run().environment(),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=90,
    )
    assert done.returncode == 0, done.stderr
    results = parse_result(done.stdout)
    assert sorted(result.rank for result in results if result.rank is not None) == [0, 1]
    assert {result.world_size for result in results} == {2}
    assert len({result.host for result in results}) == 1
    assert update({}, results).findings == ()
    shared_memory = [result.answer("shm_size") for result in results]
    assert sorted(one.outcome == "not_applicable" for one in shared_memory if one) == [False, True]
    if name.startswith("torchrun"):
        assert {result.answer("rehearsal").outcome for result in results} == {"met"}  # type: ignore[union-attr]
