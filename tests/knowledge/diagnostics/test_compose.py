"""The script: one file for sh and Python 3.8+, chosen by information, the same for the same diagnosis."""

from __future__ import annotations

import ast
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from knowledge.diagnostics.compose import LARGEST, compose_script, script_of
from knowledge.diagnostics.probe import CAUSES, by_id, catalogue
from knowledge.diagnostics.result import parse_result
from knowledge.diagnostics.runtime import main
from knowledge.diagnostics.runtime.job import end_group

NETWORK = {"network_environment": 0.6, "communication_configuration": 0.3, "other": 0.1}
CHECKPOINT = {"wrapped_model_state": 0.7, "framework_defect": 0.2, "other": 0.1}
ALL = script_of([probe for probe in catalogue() if probe.scope != "between"])


def ids(script: str) -> list[str]:
    """Ids of the probes in a script."""
    names = [
        line.split('"' if '"' in line else "'")[1]
        for line in script.splitlines()
        if line.startswith("    Task(")
    ]
    return [name for name in names if name in by_id()]


def other_pythons() -> list[str]:
    """Pythons of at least 3.8 on this machine beside the one that runs the tests."""
    found = [shutil.which(f"python3.{minor}") for minor in (8, 9, 10, 12, 13, 14)]
    found += [str(path) for path in Path.home().glob(".pyenv/versions/3.*/bin/python3")]
    return sorted({path for path in found if path and works(path)})


def works(python: str) -> bool:
    """Whether it starts and is recent enough."""
    check = "import sys; sys.exit(sys.version_info < (3, 8))"
    return subprocess.run([python, "-c", check], capture_output=True).returncode == 0


def test_the_same_diagnosis_gives_the_same_script() -> None:
    first = compose_script(NETWORK, framework="pytorch", symptom="B.2")
    assert first == compose_script(dict(reversed(NETWORK.items())), framework="pytorch", symptom="B.2")


def test_another_diagnosis_gives_other_probes() -> None:
    network = ids(compose_script(NETWORK, framework="pytorch", symptom="B.2"))
    checkpoint = ids(compose_script(CHECKPOINT, framework="pytorch", symptom="D.1.6"))
    assert {"master_port", "interface_choice"} <= set(network)
    assert {"checkpoint_keys", "saving"} <= set(checkpoint)
    assert "checkpoint_keys" not in network


def test_a_probe_of_another_framework_is_left_out() -> None:
    assert "tf_config" not in ids(compose_script(NETWORK, framework="pytorch", symptom="B.1", largest=10**6))
    assert "tf_config" in ids(compose_script(NETWORK, framework="tensorflow", symptom="B.1", largest=10**6))


def test_the_next_round_asks_what_is_not_answered() -> None:
    first = ids(compose_script(NETWORK, framework="pytorch", symptom="B.2"))
    second = ids(compose_script(NETWORK, framework="pytorch", symptom="B.2", answered=first))
    asked = set(second) - set(first)
    assert asked
    # What a new probe follows has to run again before it.
    assert set(first) & set(second) <= {before for id in asked for before in by_id()[id].follows}


@pytest.mark.parametrize("cause", CAUSES)
def test_a_script_fits_a_comment(cause: str) -> None:
    script = compose_script({cause: 0.8, "other": 0.2}, framework="deepspeed", symptom=None)
    assert len(script) <= LARGEST
    assert len(ids(script)) >= 8


def test_a_smaller_budget_takes_fewer_seconds() -> None:
    few = ids(compose_script(NETWORK, framework="pytorch", symptom="B.2", budget_s=12, largest=10**6))
    many = ids(compose_script(NETWORK, framework="pytorch", symptom="B.2", budget_s=60, largest=10**6))
    assert sum(by_id()[id].expected_s for id in few) <= 2 * 12
    assert len(few) < len(many)


def test_an_unknown_diagnosis_still_gets_a_script() -> None:
    assert len(ids(compose_script({}, framework=None, symptom=None))) >= 10


def test_the_head_says_of_every_probe_what_it_reads() -> None:
    script = compose_script(NETWORK, framework="pytorch", symptom="B.2")
    flat = " ".join(line.lstrip("# ") for line in script.splitlines() if line.startswith("#"))
    for id in ids(script):
        assert by_id()[id].reads in flat


def test_it_holds_only_standard_modules() -> None:
    tree = ast.parse(ALL)
    names = {one.module or "" for one in ast.walk(tree) if isinstance(one, ast.ImportFrom)}
    names |= {alias.name for one in ast.walk(tree) if isinstance(one, ast.Import) for alias in one.names}
    assert {name.split(".")[0] for name in names} <= sys.stdlib_module_names


def test_its_grammar_is_that_of_python_3_8() -> None:
    ast.parse(ALL, feature_version=(3, 8))


def test_hosts_stand_in_the_script_as_data() -> None:
    script = compose_script(NETWORK, framework=None, symptom=None, hosts=["node-a", "x'; import os #"])
    names = {
        node.targets[0].id: node.value for node in ast.parse(script).body if isinstance(node, ast.Assign)
    }  # type: ignore[attr-defined]
    assert ast.literal_eval(names["HOSTS"]) == "node-a,x'; import os #"


@pytest.mark.parametrize("python", [sys.executable, *other_pythons()])
def test_every_probe_runs_with_nothing_to_find(python: str, tmp_path: Path) -> None:
    file = tmp_path / "diagnose.sh"
    file.write_text(ALL, encoding="utf-8")
    work = tmp_path / "work"
    work.mkdir()
    env = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "PYTHON": python}
    done = subprocess.run(["sh", str(file)], env=env, cwd=work, capture_output=True, text=True, timeout=90)
    assert done.returncode == 0, done.stderr
    (result,) = parse_result(done.stdout)
    outcomes = {answer.id: answer.outcome for answer in result.probes}
    assert set(outcomes) == {probe.id for probe in catalogue() if probe.scope != "between"}
    assert not {"crashed", "not_run"} & set(outcomes.values()), outcomes
    assert result.seconds < 60
    assert list(work.iterdir()) == []


def test_it_runs_from_standard_input(tmp_path: Path) -> None:
    script = script_of([by_id()["shm_size"], by_id()["clock"]])
    done = subprocess.run([sys.executable, "-"], input=script, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(parse_result(done.stdout)[0].probes) == 2


def test_sh_on_standard_input_says_what_to_do(tmp_path: Path) -> None:
    script = script_of([by_id()["clock"]])
    done = subprocess.run(["sh"], input=script, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 3
    assert "Save this as a file" in done.stderr


def test_without_python_sh_says_so(tmp_path: Path) -> None:
    file = tmp_path / "diagnose.sh"
    file.write_text(script_of([by_id()["clock"]]), encoding="utf-8")
    done = subprocess.run(["/bin/sh", str(file)], env={"PATH": str(tmp_path)}, capture_output=True, text=True)
    assert done.returncode == 3
    assert "No Python" in done.stderr


def test_the_list_option_runs_nothing(tmp_path: Path) -> None:
    file = tmp_path / "diagnose.sh"
    file.write_text(script_of([by_id()["clock"]]), encoding="utf-8")
    done = subprocess.run([sys.executable, str(file), "--list"], capture_output=True, text=True)
    assert done.stdout == "clock\n"


def test_told_to_end_it_leaves_nothing_behind(tmp_path: Path) -> None:
    file, tmp = tmp_path / "diagnose.sh", tmp_path / "tmp"
    file.write_text(script_of([by_id()["rehearsal"]]), encoding="utf-8")
    tmp.mkdir()
    job = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29877", "RANK": "0", "WORLD_SIZE": "2"}
    env = {"PATH": "/usr/bin:/bin", "TMPDIR": str(tmp), "PYTHON": sys.executable, **job}
    child = subprocess.Popen(["sh", str(file)], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until = time.monotonic() + 20
    while not list(tmp.iterdir()) and time.monotonic() < until:
        time.sleep(0.05)
    assert list(tmp.iterdir())
    child.terminate()
    assert child.wait(40) == 143
    assert list(tmp.iterdir()) == []


def test_told_to_end_while_a_child_starts_it_ends_that_child(monkeypatch: pytest.MonkeyPatch) -> None:
    closed = []

    class Started:
        """A task whose start is when the signal comes."""

        def __init__(self, *_: object) -> None:
            # To this thread: another one of the test's process would take a signal that this one holds back.
            signal.pthread_kill(threading.get_ident(), signal.SIGTERM)

        def close(self) -> None:
            closed.append(self)

    monkeypatch.setattr(main, "Running", Started)
    before = signal.signal(signal.SIGTERM, main.leave)
    hung_up = signal.getsignal(signal.SIGHUP)
    try:
        with pytest.raises(SystemExit):
            main.run_tasks([main.Task("one", lambda job: ("ok", {}), 1.0)], None, time.time() + 9, print)
    finally:
        signal.signal(signal.SIGTERM, before)
        signal.signal(signal.SIGHUP, hung_up)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, main.ENDS)
    assert len(closed) == 1


def test_a_child_without_a_group_of_its_own_ends_too() -> None:
    with subprocess.Popen(["sleep", "60"]) as child:
        end_group(child.pid)
        assert child.wait(10) == -signal.SIGKILL
