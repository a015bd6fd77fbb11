"""Take a vague report's causes, run the script that they lead to on a broken set-up, and read the answer back."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from knowledge.diagnostics.compose import NO_LIMIT, compose_script, select_probes
from knowledge.diagnostics.result import ProbeResult, parse_result
from knowledge.diagnostics.update import Update, update
from knowledge.engine import Knowledge, triage
from knowledge.report import Report
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
CLEAR = 0.5
"""From this probability of a cause that has a name on, nobody runs the second script."""
ROUNDS = 2


class Priors:
    """The causes that the product itself gives for a vague report, before anything is measured."""

    def __init__(self, knowledge: Knowledge) -> None:
        self.knowledge = knowledge
        self.known: dict[tuple[str, str | None], tuple[dict[str, float], str | None]] = {}

    def __call__(self, one: Setup) -> tuple[dict[str, float], str | None]:
        """Cause id to probability, and the most probable symptom, for what the reporter of a set-up says."""
        key = (one.report, one.framework)
        if key not in self.known:
            report = Report(id="vague", title=one.report, body=one.report, framework=one.framework)
            found = triage(report, self.knowledge)
            self.known[key] = ({entry.id: entry.p for entry in found.cause.ranking}, found.symptom.top)
        return self.known[key]


@dataclass(frozen=True)
class Verdict:
    """What came of one set-up: with the whole script, and with the scripts that fit a comment."""

    setup: Setup
    cause_p: dict[str, float]
    whole: Update
    comment: Update
    rounds: int
    """Scripts that the comment's way took."""
    seconds: float
    """The slowest process's time, as it reports it."""

    @property
    def before(self) -> str:
        """The most probable cause by the report's words."""
        return top(self.cause_p)

    @property
    def after(self) -> str:
        """The most probable cause after the whole script."""
        return top(self.whole.posterior)

    @property
    def found(self) -> set[tuple[str, str]]:
        """Probes and outcomes of all findings."""
        return {(finding.probe, finding.outcome) for finding in self.whole.findings}

    @property
    def seen(self) -> bool:
        """Whether a probe found what is broken."""
        return bool(self.found & self.setup.finds)


def top(causes: dict[str, float]) -> str:
    """The most probable of them."""
    return max(causes, key=causes.__getitem__)


def judge(one: Setup, priors: Priors) -> Verdict:
    """Make the set-up, run in it the whole script that its vague report leads to, and move the causes by what it
    prints: by all of it, and by what the shorter scripts of a comment would have printed."""
    cause_p, symptom = priors(one)
    script = compose_script(cause_p, framework=one.framework, symptom=symptom, largest=NO_LIMIT)
    results = run_in(one, script)
    comment, rounds = in_a_comment(one, cause_p, symptom, results)
    slowest = max(result.seconds for result in results)
    return Verdict(one, cause_p, update(cause_p, results), comment, rounds, slowest)


def in_a_comment(
    one: Setup, cause_p: dict[str, float], symptom: str | None, results: Sequence[ProbeResult]
) -> tuple[Update, int]:
    """The causes after the scripts that fit a comment, and how many it took: a second one asks what the first left
    open, unless a cause has half the mass already."""
    asked: set[str] = set()
    moved, rounds = update(cause_p, ()), 0
    while rounds < ROUNDS and (not asked or clear(moved) < CLEAR):
        rounds += 1
        known = asked & answered(results)
        chosen = select_probes(moved.posterior, framework=one.framework, symptom=symptom, answered=known)
        asked |= {probe.id for probe in chosen}
        moved = update(cause_p, [only(result, asked) for result in results])
    return moved, rounds


def clear(moved: Update) -> float:
    """Probability of the most probable cause; 0 where that is the remainder."""
    cause = top(moved.posterior)
    return 0.0 if cause == "other" else moved.posterior[cause]


def only(result: ProbeResult, asked: Collection[str]) -> ProbeResult:
    """What a script with these probes would have answered; the all-reduce of all ranks needs their rehearsal."""
    alone = "gloo_world" in asked and "rehearsal" not in asked
    wanted = {id for id in asked if not (alone and id == "gloo_world")}
    return result.model_copy(update={"probes": [answer for answer in result.probes if answer.id in wanted]})


def answered(results: Sequence[ProbeResult]) -> set[str]:
    """Probes that were run, applicable or not."""
    return {answer.id for result in results for answer in result.probes if answer.outcome != "not_run"}


def run_in(one: Setup, script: str) -> tuple[ProbeResult, ...]:
    """Make the set-up and run a script in all its processes."""
    with tempfile.TemporaryDirectory(prefix="distriage-setup-") as name:
        folder = Path(name)
        file = folder / "diagnose.sh"
        file.write_text(script, encoding="utf-8")
        with one.make(folder) as runs:
            return parse_result("".join(run_all(runs, file, folder, apart(one, folder))))


def apart(one: Setup, folder: Path) -> list[str]:
    """What keeps a process of a set-up from seeing those of other set-ups (unless a job runs beside it), and the
    second MPI of the test machine (unless the set-up is about it)."""
    if os.geteuid() != 0:
        return []
    processes = [] if one.real_job else ["--pid", "--fork", "--mount-proc", "--kill-child"]
    if one.id == "two-mpis" or not shutil.which("mpirun.mpich"):
        return ["unshare", "--mount", *processes]
    nothing = folder / "nothing"
    nothing.touch(mode=0o644)
    hide = 'for f in /usr/bin/*.mpich /usr/bin/*.hydra; do mount --bind "$0" "$(readlink -f "$f")"; done; exec "$@"'
    return ["unshare", "--mount", *processes, "sh", "-c", hide, str(nothing)]


def run_all(runs: Sequence[Run], file: Path, folder: Path, before: Sequence[str]) -> list[str]:
    """Start the script in every process at once; what each printed."""
    empty = folder / "empty"
    empty.mkdir()
    children = [
        subprocess.Popen(
            [*before, *run.before, "sh", str(file), "--quiet", *run.arguments],
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
