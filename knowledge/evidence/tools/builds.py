"""Tools that say how something was built or installed, and what does not fit together."""

from __future__ import annotations

from collections.abc import Sequence

import re2

from knowledge.evidence.lines import Line
from knowledge.evidence.tools.finding import Fact, ToolReading, component_named, versions_of
from knowledge.text.words import listed

# `ds_report` and `colossalai check -i`: the compiler's CUDA against the CUDA of PyTorch.

CUDA_BUILD_MARKS = ("torch cuda version .", "CUDA version required by PyTorch")
_TORCH = re2.compile(r"(?:torch cuda version \.{3,}|CUDA version required by PyTorch:)\s*(\d+\.\d+)")
_SYSTEM = re2.compile(r"(?:nvcc version \.{3,}|System CUDA version:)\s*(\d+\.\d+)")
_PAIRS = (
    ("torch", re2.compile(r"^\s*torch version \.{3,}\s*(\S+)")),
    ("deepspeed", re2.compile(r"^\s*deepspeed info \.{3,}\s*([^\s,]+)")),
    ("colossalai", re2.compile(r"^\s*Colossal-AI version:\s*(\S+)")),
    ("torch", re2.compile(r"^\s*PyTorch version:\s*(\S+)")),
    ("rocm", re2.compile(r"^\s*torch hip version \.{3,}\s*(\d\S*)")),
)


def read_cuda_builds(lines: Sequence[Line]) -> ToolReading:
    """Versions, and a sentence where nvcc and PyTorch differ in CUDA."""
    pairs: list[tuple[str, str]] = []
    torch = system = None
    at = 0
    for line in lines:
        if (match := _TORCH.search(line.text)) is not None:
            torch = match.group(1)
            pairs.append(("cuda", torch))
        if (match := _SYSTEM.search(line.text)) is not None:
            system, at = match.group(1), line.number
        for component, pattern in _PAIRS:
            if (match := pattern.match(line.text)) is not None:
                pairs.append((component, match.group(1)))
    facts: tuple[Fact, ...] = ()
    if torch and system and torch != system:
        facts = (Fact(at, f"The CUDA toolkit is {system}, PyTorch is built for CUDA {torch}."),)
    return ToolReading(facts, versions_of(pairs))


# `horovodrun --check-build`: what Horovod was built without.

HOROVOD_BUILD_MARKS = ("Available Tensor Operations", "Available Frameworks")
_HOROVOD_VERSION = re2.compile(r"Horovod v(\d+\.\d+\.\d+\w*)")
_BOX = re2.compile(r"^\s*\[( |X)\] (TensorFlow|PyTorch|MXNet|MPI|Gloo|NCCL|DDL|CCL)\b")
_ASKED_FOR = ("TensorFlow", "PyTorch", "MXNet", "NCCL", "MPI")


def read_horovod_build(lines: Sequence[Line]) -> ToolReading:
    """One sentence that names the frameworks and NCCL that are not built in."""
    at: int | None = None
    absent: list[str] = []
    built: set[str] = set()
    versions: list[tuple[str, str]] = []
    for line in lines:
        if (match := _HOROVOD_VERSION.search(line.text)) is not None:
            versions.append(("horovod", match.group(1)))
        elif (match := _BOX.match(line.text)) is not None:
            at = at or line.number
            name = match.group(2)
            (built.add if match.group(1) == "X" else absent.append)(name)
    left = [name for name in _ASKED_FOR if name in absent and name not in built]
    if at is None or not left:
        return ToolReading(versions=versions_of(versions))
    return ToolReading((Fact(at, f"Horovod is built without {listed(left)}."),), versions_of(versions))


# `ompi_info`: Open MPI's version and whether it is built with CUDA.

OPEN_MPI_MARKS = ("Open RTE:", "Open MPI repo revision", "mpi_built_with_cuda_support")
_OPEN_MPI_VERSION = re2.compile(r"^\s*(?:Open MPI|Open RTE):\s*v?(\d\.\d+\.\d+\w*)")
_CUDA = re2.compile(r"mpi_built_with_cuda_support:value:(true|false)")


def read_open_mpi(lines: Sequence[Line]) -> ToolReading:
    """The version, and a sentence where CUDA buffers are not supported."""
    versions: list[tuple[str, str]] = []
    facts: list[Fact] = []
    for line in lines:
        if (match := _OPEN_MPI_VERSION.match(line.text)) is not None:
            versions.append(("openmpi", match.group(1)))
        elif (match := _CUDA.search(line.text)) is not None and match.group(1) == "false":
            facts.append(Fact(line.number, "This Open MPI is built without CUDA support."))
    return ToolReading(tuple(facts[:1]), versions_of(versions))


# `pip check` and the resolver's complaints: packages that do not fit each other.

PIP_CHECK_MARKS = (" has requirement ", ", but you have ", ", but you'll have ", " which is not installed")
_CONFLICT = re2.compile(
    r"(?:^|\s)([\w.-]+) (\d[\w.+]*) (?:has requirement|requires) ([\w.\[\]-]+[^,]{0,60}(?:,[<>=!~][^,\s]+)*), but you(?:'ll)? have ([\w.-]+) (\d[\w.+]*)"
)
_ABSENT = re2.compile(r"(?:^|\s)([\w.-]+) (\d[\w.+]*) requires ([\w.-]+)\S*, which is not installed")


def read_pip_check(lines: Sequence[Line]) -> ToolReading:
    """One sentence a conflict, those first that name a component of the field."""
    facts: list[tuple[bool, Fact]] = []
    for line in lines:
        if (match := _CONFLICT.search(line.text)) is not None:
            package, version, wanted, other, have = match.groups()
            text = f"pip: {package} {version} requires {wanted.strip()}, and {other} {have} is installed."
            facts.append(
                (component_named(package) is None and component_named(other) is None, Fact(line.number, text))
            )
        elif (match := _ABSENT.search(line.text)) is not None:
            text = (
                f"pip: {match.group(1)} {match.group(2)} requires {match.group(3)}, which is not installed."
            )
            facts.append((component_named(match.group(3)) is None, Fact(line.number, text)))
    facts.sort(key=lambda pair: pair[0])
    return ToolReading(tuple(fact for _, fact in facts[:2]))
