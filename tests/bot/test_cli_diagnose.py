"""`bot diagnose` as a user runs it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import re2

from bot.cli.diagnose import find_python, legend, machines, rows
from knowledge.diagnostics.result import ProbeResult, parse_result
from knowledge.diagnostics.runtime.main import block, checksum
from knowledge.diagnostics.update import update
from knowledge.errors import InputError

ROOT = Path(__file__).parents[2]


def bot(*args: str, path: Path | None = None, **env: str) -> subprocess.CompletedProcess[str]:
    """Run the command with these variables; `path` comes first on PATH."""
    variables = {**os.environ, "COLUMNS": "120", **env}
    if path:
        variables["PATH"] = f"{path}:{variables['PATH']}"
    command = [sys.executable, "-m", "bot", "diagnose", *args]
    return subprocess.run(
        command, capture_output=True, text=True, env=variables, cwd=ROOT, check=False, timeout=150
    )


def test_a_readable_table_and_what_was_found() -> None:
    done = bot("--budget", "30", MASTER_ADDR="master.invalid", MASTER_PORT="29500", RANK="0", WORLD_SIZE="2")
    assert done.returncode == 0, done.stderr
    assert "doesn't resolve on this machine" in done.stdout
    assert "The launcher's variables" in done.stdout
    assert "network_environment" in done.stdout


def test_json_holds_results_causes_and_findings() -> None:
    done = bot("--json", MASTER_PORT="seven", MASTER_ADDR="127.0.0.1", RANK="0", WORLD_SIZE="1")
    value = json.loads(done.stdout)
    assert sum(value["causes"].values()) == pytest.approx(1.0)
    assert "not_numbers" in {finding["outcome"] for finding in value["findings"]}
    assert value["results"][0]["schema"] == "distriage-result/1"
    assert value["silent"] == {}


def test_another_machine_is_asked_over_ssh(tmp_path: Path) -> None:
    ssh = tmp_path / "ssh"
    ssh.write_text(
        '#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done\nshift 2\nexec sh -c "$*"\n', encoding="utf-8"
    )
    ssh.chmod(0o755)
    value = json.loads(bot("--json", "--hosts", "node-b", path=tmp_path).stdout)
    assert len(value["results"]) == 2
    assert value["silent"] == {}


def test_a_machine_that_does_not_answer_is_named(tmp_path: Path) -> None:
    ssh = tmp_path / "ssh"
    ssh.write_text("#!/bin/sh\necho 'Permission denied (publickey).' >&2\nexit 255\n", encoding="utf-8")
    ssh.chmod(0o755)
    value = json.loads(bot("--json", "--hosts", "node-b", path=tmp_path).stdout)
    assert value["silent"] == {"node-b": "Permission denied (publickey)."}


@pytest.mark.parametrize("hosts", ["-oProxyCommand=x", "a b", "x;y", "$(x)", "a,-b"])
def test_what_is_no_host_name_never_reaches_ssh(hosts: str) -> None:
    with pytest.raises(InputError, match="isn't a valid host name"):
        machines(hosts)


def test_host_names_users_and_addresses_are_accepted() -> None:
    assert machines("node-1, me@node_2.example,10.0.0.3,fe80::1") == [
        "node-1",
        "me@node_2.example",
        "10.0.0.3",
        "fe80::1",
    ]


def test_arguments_for_another_machine_are_quoted() -> None:
    assert "--checkpoint 'a b;c'" in find_python("", ["--checkpoint", "a b;c"])


def test_the_named_python_runs_the_probes(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n', encoding="utf-8")
    python.chmod(0o755)
    value = json.loads(bot("--json", "--budget", "5", "--python", str(python)).stdout)
    assert len(value["results"]) == 1


def test_a_python_that_is_none_is_said() -> None:
    done = bot("--python", "/nonexistent/python")
    assert done.returncode != 0
    assert "no Python 3.8 or newer" in done.stderr


def answers(*pairs: tuple[str, str]) -> tuple[ProbeResult, ...]:
    """The result of one machine with these outcomes."""
    made: dict[str, object] = {
        "schema": "distriage-result/1",
        "script": "0" * 12,
        "host": "host-aaaaaa",
        "rank": None,
        "world_size": None,
        "platform": "linux",
        "python": "3.11.2",
        "started": 0,
        "seconds": 1.0,
        "probes": [{"id": id, "outcome": outcome, "seconds": 0.0, "facts": {}} for id, outcome in pairs],
    }
    made["checksum"] = checksum(made)
    return parse_result(block(made))


def test_a_probe_that_applied_nowhere_has_no_row() -> None:
    assert rows(answers(("ssh", "not_applicable"), ("shm_size", "tiny"))) == [
        ["Shared memory", "[red]tiny[/]"]
    ]


def test_the_legend_explains_outcomes_that_are_no_faults_and_counts_what_did_not_apply() -> None:
    results = answers(("gpu_driver", "no_gpu"), ("clock", "unsynchronised"), ("ssh", "not_applicable"))
    lines = legend(results, update({}, results))
    assert "  no_gpu: No GPU was found here." in lines
    assert "  unsynchronised: This machine's clock isn't synchronized with a time server." in lines
    assert lines[-1] == "1 probe did not apply there: ssh."


def test_a_probe_that_was_stopped_is_explained() -> None:
    results = answers(("shm_size", "ok"), ("ssh", "timed_out"))
    assert any("timed out" in line for line in legend(results, update({}, results)))


def test_the_legend_stands_below_the_table() -> None:
    done = bot("--budget", "20")
    assert "Red: something to look at." in done.stdout
    assert re2.search(r"\d+ probes? did not apply there: ", done.stdout)
