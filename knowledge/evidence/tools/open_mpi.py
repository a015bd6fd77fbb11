"""`ompi_info`: Open MPI's version and whether it is built with CUDA."""

from __future__ import annotations

from collections.abc import Sequence

import re2

from knowledge.evidence.lines import Line
from knowledge.evidence.tools.finding import Fact, ToolReading, versions_of

MARKS = ("Open RTE:", "Open MPI repo revision", "mpi_built_with_cuda_support")
_VERSION = re2.compile(r"^\s*(?:Open MPI|Open RTE):\s*v?(\d\.\d+\.\d+\w*)")
_CUDA = re2.compile(r"mpi_built_with_cuda_support:value:(true|false)")


def read(lines: Sequence[Line]) -> ToolReading:
    """The version, and a sentence where CUDA buffers are not supported."""
    versions: list[tuple[str, str]] = []
    facts: list[Fact] = []
    for line in lines:
        if (match := _VERSION.match(line.text)) is not None:
            versions.append(("openmpi", match.group(1)))
        elif (match := _CUDA.search(line.text)) is not None and match.group(1) == "false":
            facts.append(Fact(line.number, "This Open MPI is built without CUDA support."))
    return ToolReading(tuple(facts[:1]), versions_of(versions))
