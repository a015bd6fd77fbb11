"""`ds_report` and `colossalai check -i`: the compiler's CUDA against the CUDA of PyTorch."""

from __future__ import annotations

from collections.abc import Sequence

import re2

from knowledge.evidence.lines import Line
from knowledge.evidence.tools.finding import Fact, ToolReading, versions_of

MARKS = ("torch cuda version .", "CUDA version required by PyTorch")
_TORCH = re2.compile(r"(?:torch cuda version \.{3,}|CUDA version required by PyTorch:)\s*(\d+\.\d+)")
_SYSTEM = re2.compile(r"(?:nvcc version \.{3,}|System CUDA version:)\s*(\d+\.\d+)")
_PAIRS = (
    ("torch", re2.compile(r"^\s*torch version \.{3,}\s*(\S+)")),
    ("deepspeed", re2.compile(r"^\s*deepspeed info \.{3,}\s*([^\s,]+)")),
    ("colossalai", re2.compile(r"^\s*Colossal-AI version:\s*(\S+)")),
    ("torch", re2.compile(r"^\s*PyTorch version:\s*(\S+)")),
    ("rocm", re2.compile(r"^\s*torch hip version \.{3,}\s*(\d\S*)")),
)


def read(lines: Sequence[Line]) -> ToolReading:
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
