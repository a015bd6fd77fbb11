"""Read pasted result blocks: untrusted text, checked before anything of it is believed."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import re2
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from knowledge.diagnostics.compose import ANY_REPORT, script_name
from knowledge.diagnostics.probe import NO_EVIDENCE
from knowledge.errors import InputError
from knowledge.report import FENCE
from knowledge.text.words import listed

SCHEMA = "distriage-result/1"
LARGEST_TEXT = 4 << 20
"""Characters of a paste: 512 ranks at 8 KiB each; a GitHub comment holds 65,536."""
MOST_BLOCKS = 1024
LARGEST_BLOCK = 128 << 10
# torchrun --tee, mpirun --tag-output, kubectl and quoting put something before each line.
PREFIX = re2.compile(r"^(?:[>\s|]*)(?:\[[^\]\n]{1,60}\](?:<\w{1,10}>)?:? ?|[\w.-]{1,60}: )?")

Name = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,47}$")]
Short = Annotated[str, StringConstraints(max_length=200)]
Number = Annotated[int, Field(ge=-(2**63), le=2**64)]
Value = (
    bool
    | Number
    | float
    | None
    | Short
    | Annotated[list[Short | bool | Number | float], Field(max_length=32)]
)


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class ProbeAnswer(_Part):
    """One probe's outcome and the facts that it reports."""

    id: Name
    outcome: Name
    seconds: float = Field(ge=0, le=3600)
    facts: Annotated[dict[Name, Value], Field(max_length=32)]


class ProbeResult(_Part):
    """One block: what one process of the job measured."""

    schema_: Literal["distriage-result/1"] = Field(alias="schema")
    script: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{12}$")]
    host: Annotated[str, StringConstraints(pattern=r"^host-[0-9a-f]{6}$")]
    rank: int | None = Field(ge=0, lt=10**7)
    world_size: int | None = Field(ge=0, lt=10**7)
    platform: Annotated[str, StringConstraints(pattern=r"^[a-z0-9]{1,16}$")]
    python: Annotated[str, StringConstraints(pattern=r"^[0-9.]{3,12}$")]
    started: int = Field(ge=0, lt=2**40)
    seconds: float = Field(ge=0, le=86400)
    probes: Annotated[list[ProbeAnswer], Field(max_length=256)]
    checksum: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]

    def answer(self, probe: str) -> ProbeAnswer | None:
        """This process's answer to one probe."""
        return next((one for one in self.probes if one.id == probe), None)

    @property
    def who(self) -> str:
        """How this block is named to a reader."""
        return f"rank {self.rank}" if self.rank is not None else self.host


_OURS = frozenset([*ProbeResult.model_fields, *ProbeAnswer.model_fields, "schema"])


def parse_result(text: str) -> tuple[ProbeResult, ...]:
    """Every result block of a pasted text, one a rank or machine, in their order; a block pasted twice counts once.

    The checksum shows a block that was cut or changed on its way; it proves nothing about who made it. InputError when
    the text is too large, holds no block, or holds one that does not fit the schema or its checksum.
    """
    if len(text) > LARGEST_TEXT:
        raise InputError(
            f"The text is larger than {LARGEST_TEXT >> 20} MiB.", "Paste only the distriage-result blocks."
        )
    blocks = split_blocks(text)
    if not blocks:
        raise InputError(
            "No distriage-result block was found.",
            "Paste everything that the script printed, from the line ```distriage-result to the closing ```.",
        )
    if len(blocks) > MOST_BLOCKS:
        raise InputError(
            f"The text contains more than {MOST_BLOCKS} blocks.", "Paste the blocks from fewer ranks."
        )
    found = {one.checksum: one for one in (read_block(body, place) for place, body in enumerate(blocks, 1))}
    return tuple(found.values())


def join_blocks(bodies: Iterable[str]) -> str:
    """Bodies as fenced blocks again."""
    return "\n".join(f"{FENCE}\n{body}\n```" for body in bodies)


def split_blocks(text: str) -> list[str]:
    """The bodies of the fenced blocks, prefixes that a launcher or a quote put before the lines taken off."""
    bodies: list[str] = []
    current: list[str] | None = None
    for raw in text.replace("\r\n", "\n").split("\n"):
        line = raw if raw.startswith(("{", "]", "```")) else PREFIX.sub("", raw, count=1)
        if FENCE in raw:
            if current:
                bodies.append("\n".join(current))
            current = []
        elif current is not None and line.startswith("```"):
            bodies.append("\n".join(current))
            current = None
        elif current is not None:
            current.append(line)
    if current:
        bodies.append("\n".join(current))
    return bodies


def read_block(body: str, place: int) -> ProbeResult:
    """One block's body as a checked value; `place` (from 1) names it in errors."""
    again = "Run the script again and paste its whole block unchanged."
    if len(body) > LARGEST_BLOCK:
        raise InputError(f"Result block {place} is larger than {LARGEST_BLOCK >> 10} KiB.", again)
    try:
        data = json.loads(body, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise InputError(f"Result block {place} is incomplete: it isn't valid JSON.", again) from error
    if (
        isinstance(data, dict)
        and data.get("schema") != SCHEMA
        and str(data.get("schema", "")).startswith("distriage-result/")
    ):
        raise InputError(
            f"Result block {place} has a different schema version.",
            "Triage the report again and use the new script.",
        )
    if not isinstance(data, dict) or data.get("checksum") != checksum(data):
        raise InputError(
            f"Result block {place} doesn't match its checksum: it was cut off or changed.", again
        )
    try:
        return ProbeResult.model_validate(data)
    except ValidationError as error:
        # Keys of the paste are in the location too: only names of ours are repeated.
        where = ".".join(
            str(part) for part in error.errors()[0]["loc"][:4] if part in _OURS or isinstance(part, int)
        )
        raise InputError(
            f"Result block {place} doesn't match the schema at {where or 'the top level'}.", again
        ) from error


def checksum(data: dict[str, object]) -> str:
    """SHA-256 over the canonical JSON of everything but the checksum, as the script computes it."""
    rest = {key: value for key, value in data.items() if key != "checksum"}
    return hashlib.sha256(
        json.dumps(rest, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode()
    ).hexdigest()


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not allowed")


def shown(value: object) -> str:
    """A fact of a paste, to be shown as code: only harmless characters, no backtick among them, at most 40 of them."""
    if isinstance(value, list):
        text = ", ".join(str(item) for item in value[:6])
    else:
        text = "none" if value is None else str(value)
    harmless = "".join(
        char if char.isascii() and (char.isalnum() or char in "_.:+-/ ,%()=") else "?" for char in text[:40]
    )
    return " ".join(harmless.split()) or "empty"


# Which results count: the newest of each process, measured by this report's script in the job's surroundings.

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
            outside[listed(lacks)] += 1
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


def counted_noun(count: int, noun: str) -> str:
    """The count with its noun: "1 probe", "2 probes"."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
