"""Take a vague report's causes, run the script that they lead to on a broken set-up, and read the answer
back."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from knowledge.diagnostics import ProbeResult, Update, compose_script, parse_result, update
from tests.setups import (
    heldout_setups,
    launch_setups,
    limit_setups,
    network_setups,
    software_setups,
    training_setups,
)
from tests.setups.model import SETUPS, Run, Setup

__all__ = ["SETUPS", "Priors", "Verdict", "judge"]
MODULES = (network_setups, launch_setups, software_setups, limit_setups, training_setups, heldout_setups)
NO_ROOM_LIMIT = 1_000_000
"""Characters: the script that the command line writes; a comment has room for fewer probes."""
CLEAR = 0.5


class Priors:
    """The causes that the product itself gives for a vague report, before anything is measured."""

    def __init__(self, cache: Path) -> None:
        from knowledge.engine import load_knowledge

        self.knowledge = load_knowledge(None, cache)
        self.known: dict[tuple[str, str | None], tuple[dict[str, float], str | None]] = {}

    def __call__(self, one: Setup) -> tuple[dict[str, float], str | None]:
        """Cause id to probability, and the most probable symptom, for what the reporter of a set-up says."""
        from knowledge.engine import triage
        from knowledge.report import Report

        key = (one.report, one.framework)
        if key not in self.known:
            report = Report(id="vague", title=one.report, body=one.report, framework=one.framework)
            found = triage(report, self.knowledge)
            self.known[key] = ({entry.id: entry.p for entry in found.cause.ranking}, found.symptom.top)
        return self.known[key]


@dataclass(frozen=True)
class Verdict:
    """What came of one set-up."""

    setup: Setup
    before: str
    after: str
    p_after: float
    found: frozenset[tuple[str, str]]
    results: tuple[ProbeResult, ...]
    update: Update
    seconds: float
    """The slowest process's time, as it reports it."""

    @property
    def right(self) -> bool:
        """Whether the most probable cause is the true one."""
        return self.after == self.setup.cause

    @property
    def seen(self) -> bool:
        """Whether a probe found what is broken."""
        return bool(self.found & self.setup.finds)


def judge(one: Setup, priors: Priors, largest: int = NO_ROOM_LIMIT, rounds: int = 1) -> Verdict:
    """Make the set-up and run the script that its vague report leads to in it; parse what it prints, move
    the causes.

    With several rounds, the next script asks what the last result left open, until a cause has half the mass.
    """
    cause_p, symptom = priors(one)
    results: tuple[ProbeResult, ...] = ()
    moved = update(cause_p, results)
    for _ in range(rounds):
        script = compose_script(
            moved.posterior,
            framework=one.framework,
            symptom=symptom,
            largest=largest,
            answered=answered(results),
        )
        results += run_in(one, script)
        moved = update(cause_p, results)
        if max(moved.posterior.values()) >= CLEAR:
            break
    found = {(finding.probe, finding.outcome) for finding in moved.findings}
    top = max(moved.posterior, key=moved.posterior.__getitem__)
    before = max(cause_p, key=cause_p.__getitem__)
    slowest = max(result.seconds for result in results)
    return Verdict(one, before, top, moved.posterior[top], frozenset(found), results, moved, slowest)


def answered(results: Sequence[ProbeResult]) -> set[str]:
    """Probes that every process has answered, applicable or not."""
    return {answer.id for result in results for answer in result.probes if answer.outcome != "not_run"}


def run_in(one: Setup, script: str) -> tuple[ProbeResult, ...]:
    """Make the set-up and run a script in all its processes."""
    with tempfile.TemporaryDirectory(prefix="distriage-setup-") as name:
        folder = Path(name)
        file = folder / "diagnose.sh"
        file.write_text(script, encoding="utf-8")
        with one.make(folder) as runs:
            return parse_result("".join(run_all(runs, file, folder, one_mpi(one, folder))))


def one_mpi(one: Setup, folder: Path) -> list[str]:
    """What hides the second MPI of the test machine from every set-up but the one that is about it."""
    if one.id == "two-mpis" or os.geteuid() != 0 or not shutil.which("mpirun.mpich"):
        return []
    nothing = folder / "nothing"
    nothing.touch(mode=0o644)
    hide = 'for f in /usr/bin/*.mpich /usr/bin/*.hydra; do mount --bind "$0" "$(readlink -f "$f")"; done; exec "$@"'
    return ["unshare", "--mount", "sh", "-c", hide, str(nothing)]


def run_all(runs: Sequence[Run], file: Path, folder: Path, hide: Sequence[str]) -> list[str]:
    """Start the script in every process at once; what each printed."""
    empty = folder / "empty"
    empty.mkdir()
    children = [
        subprocess.Popen(
            [*hide, *run.before, "sh", str(file), "--quiet", *run.arguments],
            env=run.environment(),
            cwd=run.cwd or empty,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for run in runs
    ]
    until = time.monotonic() + 75
    said = []
    for child in children:
        out, err = child.communicate(timeout=max(1.0, until - time.monotonic()))
        assert child.returncode == 0, err
        said.append(out)
    return said
