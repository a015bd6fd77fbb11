"""Which results count: the newest of each process, measured by this report's script in the job's surroundings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from knowledge.diagnostics.compose import ANY_REPORT, script_name
from knowledge.diagnostics.probe import NO_EVIDENCE
from knowledge.diagnostics.result import ProbeResult

LAUNCH_S = 600
"""Blocks of one rank whose scripts began further apart than this belong to two launches, whatever their machines."""
TOGETHER_S = 60
"""Blocks of one host without a rank whose scripts began within this time belong to two processes of one launch."""
_NO_ANSWER = NO_EVIDENCE - {"not_applicable"}


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the report shows of its job, and a result must show too: a launcher, torch, any framework, a GPU."""

    launcher: bool = False
    torch: bool = False
    framework: bool = False
    gpu: bool = False


def latest(results: Sequence[ProbeResult]) -> tuple[ProbeResult, ...]:
    """One result for each process of the job: of every probe the newest answer, in the block that was started last.

    The same host and rank is the same process, and so is the same rank of another launch; without a rank, a later run
    on the same host. The order of `results`
    does not matter. A probe that did not come to an answer replaces none.
    """
    kept: list[ProbeResult] = []
    for newer in sorted(results, key=lambda one: (one.started, one.checksum)):
        older = next((one for one in kept if _same_process(one, newer)), None)
        if older is not None:
            kept.remove(older)
            newer = _over(older, newer)
        kept.append(newer)
    return tuple(sorted(kept, key=lambda one: (one.rank is None, one.rank or 0, one.host)))


def _same_process(older: ProbeResult, newer: ProbeResult) -> bool:
    if older.rank != newer.rank:
        return False
    apart = newer.started - older.started
    if newer.rank is None:  # processes of one launch that know no rank are told apart by starting together
        return older.host == newer.host and apart > TOGETHER_S
    return older.host == newer.host or apart > LAUNCH_S


def _over(older: ProbeResult, newer: ProbeResult) -> ProbeResult:
    answers = {one.id: one for one in older.probes}
    for one in newer.probes:
        if one.id not in answers or one.outcome not in _NO_ANSWER:
            answers[one.id] = one
    return newer.model_copy(update={"probes": list(answers.values())})


def in_job(result: ProbeResult) -> bool:
    """Whether the process had the job's environment: a launcher's rank or world size, or a TF_CONFIG."""
    if result.rank is not None or result.world_size is not None:
        return True
    told = [result.answer(probe) for probe in ("rendezvous_env", "tf_config")]
    return any(answer is not None and answer.outcome not in NO_EVIDENCE for answer in told)


def lacking(result: ProbeResult, job: Surroundings) -> list[str]:
    """What the report's job has and this process did not, in words."""
    packages, build = result.answer("package_versions"), result.answer("torch_build")
    bare = packages is not None and packages.outcome == "none_installed"
    no_torch = build is not None and build.facts.get("why") == "torch is not installed"
    driver = result.answer("gpu_driver")
    lacks = []
    if job.launcher and not in_job(result):
        lacks.append("RANK and MASTER_ADDR are not set")
    if job.torch and (bare or no_torch):
        lacks.append("torch is not installed")
    elif job.framework and bare:
        lacks.append("no framework is installed")
    if job.gpu and driver is not None and driver.outcome == "no_gpu":
        lacks.append("no GPU is seen")
    return lacks


def of_this_job(
    results: Sequence[ProbeResult], report: str, job: Surroundings
) -> tuple[tuple[ProbeResult, ...], tuple[str, ...]]:
    """The results that count for the report with the id `report`, and a sentence on each kind of those that do not."""
    known = {ANY_REPORT, script_name(report)}
    own = [one for one in results if one.script in known]
    counted, outside = [], Counter[str]()
    for one in latest(own):
        if lacks := lacking(one, job):
            outside[joined(lacks)] += 1
        else:
            counted.append(one)
    said = []
    if foreign := len(results) - len(own):
        said.append(
            f"{_these(foreign, len(results))} measured by the script of another report and moves nothing; "
            "run the script of this report."
        )
    said += [
        f"{_these(count, len(own))} run outside the job: {lacks}; run it the way the job runs."
        for lacks, count in outside.items()
    ]
    return tuple(counted), tuple(said)


def _these(count: int, of: int) -> str:
    """The subject of a sentence about so many of the results, with its verb."""
    if of == 1:
        return "This was"
    return f"{count} of {of} results was" if count == 1 else f"{count} of {of} results were"


def joined(parts: Sequence[str]) -> str:
    """Parts of a sentence as a list: "a, b and c"."""
    return " and ".join(filter(None, [", ".join(parts[:-1]), parts[-1] if parts else ""]))


def counted_noun(count: int, noun: str) -> str:
    """The count with its noun: "1 probe", "2 probes"."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
