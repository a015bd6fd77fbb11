"""`bot diagnose --hosts` over a real sshd: another machine is asked, and what differs is told."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.setups.machines import Machine, cluster, process
from tests.setups.model import met

ROOT = Path(__file__).parents[2]
NEEDS = ("root", "ip", "ssh", "sshd", "ssh-keygen")


def keys(folder: Path, machine: Machine) -> Path:
    """Keys of a user and of the machine; a folder with an `ssh` that knows both."""
    for name in ("host", "user"):
        command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)]
        subprocess.run(command, check=True)
    kind, key = (folder / "host.pub").read_text(encoding="utf-8").split()[:2]
    (folder / "known").write_text(f"{machine.name} {kind} {key}\n", encoding="utf-8")
    place = folder / "bin" / "ssh"
    place.parent.mkdir()
    options = f"-i {folder}/user -o IdentitiesOnly=yes -o UserKnownHostsFile={folder}/known"
    place.write_text(f'#!/bin/sh\nexec /usr/bin/ssh {options} "$@"\n', encoding="utf-8")
    place.chmod(0o755)
    return place.parent


def test_another_machine_is_asked_over_ssh(tmp_path: Path) -> None:
    if missing := [need for need in NEEDS if not met(need)]:
        pytest.skip(f"needs {', '.join(missing)}")
    Path("/run/sshd").mkdir(exist_ok=True)
    with cluster(tmp_path) as machines:
        path = keys(tmp_path, machines[1])
        shared = [
            "-o",
            "StrictModes=no",
            "-o",
            "PidFile=none",
            "-o",
            f"AuthorizedKeysFile={tmp_path}/user.pub",
        ]
        small = ["sh", "-c", 'mount -t tmpfs -o size=64m shm /dev/shm; exec "$@"', "sh"]
        daemon = ["/usr/sbin/sshd", "-D", "-e", "-f", "/dev/null", "-h", f"{tmp_path}/host", *shared]
        with process([*machines[1].before, *small, *daemon], stderr=subprocess.PIPE) as sshd:
            assert sshd.stderr is not None
            sshd.stderr.readline()
            command = [sys.executable, "-m", "bot", "diagnose", "--json", "--budget", "30"]
            done = subprocess.run(
                [*machines[0].before, *command, "--python", sys.executable, "--hosts", "node1"],
                env={**os.environ, "PATH": f"{path}:{os.environ['PATH']}"},
                cwd=ROOT,
                capture_output=True,
                text=True,
                timeout=120,
            )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["silent"] == {}
    assert len({result["host"] for result in told["results"]}) == 2
    found = {finding["outcome"]: finding["who"] for finding in told["findings"]}
    (other,) = found["tiny"]
    assert told["machines"][other] == "node1"
    assert any("shm_size" in text for text in told["differences"])
