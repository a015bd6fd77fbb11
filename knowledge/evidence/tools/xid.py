"""Xid lines of the NVIDIA driver in the kernel's log."""

from __future__ import annotations

from collections.abc import Sequence

import re2

from knowledge.evidence.lines import Line
from knowledge.evidence.tools.finding import Fact, ToolReading

MARKS = ("Xid (",)
_XID = re2.compile(r"Xid \((?:PCI:)?([0-9A-Fa-f:.]{4,16})\): (\d{1,3})\b")
_MEANING = {
    13: "the program used a GPU address or instruction wrongly",
    31: "the program touched GPU memory that was not its own",
    43: "the GPU stopped the program after a fault of the program",
    45: "the program was ended while it used the GPU",
    48: "the GPU's memory has an uncorrectable error",
    61: "the GPU's firmware stopped",
    62: "the GPU's firmware stopped",
    63: "a page of the GPU's memory was retired or a row remapped",
    64: "a page of the GPU's memory could not be retired",
    74: "an NVLink connection failed",
    79: "the GPU fell off the bus",
    92: "the GPU's memory has many correctable errors",
    94: "an uncorrectable memory error was contained to one program",
    95: "an uncorrectable memory error was not contained",
    119: "the GPU's system processor does not answer",
    120: "the GPU's system processor failed",
}


def read(lines: Sequence[Line]) -> ToolReading:
    """One sentence for each Xid and GPU."""
    seen: dict[tuple[str, int], Fact] = {}
    for line in lines:
        if (match := _XID.search(line.text)) is not None:
            gpu, code = match.group(1).lower(), int(match.group(2))
            meaning = f": {_MEANING[code]}" if code in _MEANING else ""
            text = f"The driver reports Xid {code} on GPU {gpu}{meaning}."
            seen.setdefault((gpu, code), Fact(line.number, text))
    return ToolReading(tuple(seen.values()))
