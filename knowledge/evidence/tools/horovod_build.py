"""`horovodrun --check-build`: what Horovod was built without."""

from __future__ import annotations

from collections.abc import Sequence

import re2

from knowledge.evidence.lines import Line
from knowledge.evidence.tools.finding import Fact, ToolReading, in_words, versions_of

MARKS = ("Available Tensor Operations", "Available Frameworks")
_VERSION = re2.compile(r"Horovod v(\d+\.\d+\.\d+\w*)")
_BOX = re2.compile(r"^\s*\[( |X)\] (TensorFlow|PyTorch|MXNet|MPI|Gloo|NCCL|DDL|CCL)\b")
_ASKED_FOR = ("TensorFlow", "PyTorch", "MXNet", "NCCL", "MPI")


def read(lines: Sequence[Line]) -> ToolReading:
    """One sentence that names the frameworks and NCCL that are not built in."""
    at: int | None = None
    absent: list[str] = []
    built: set[str] = set()
    versions: list[tuple[str, str]] = []
    for line in lines:
        if (match := _VERSION.search(line.text)) is not None:
            versions.append(("horovod", match.group(1)))
        elif (match := _BOX.match(line.text)) is not None:
            at = at or line.number
            name = match.group(2)
            (built.add if match.group(1) == "X" else absent.append)(name)
    left = [name for name in _ASKED_FOR if name in absent and name not in built]
    if at is None or not left:
        return ToolReading(versions=versions_of(versions))
    return ToolReading((Fact(at, f"Horovod is built without {in_words(left)}."),), versions_of(versions))
