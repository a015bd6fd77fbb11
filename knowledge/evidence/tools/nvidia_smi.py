"""`nvidia-smi`: the driver, and processes that share one GPU."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import re2

from knowledge.evidence.lines import Line
from knowledge.evidence.tools.finding import Fact, ToolReading, versions_of

MARKS = ("NVIDIA-SMI",)
_DRIVER = re2.compile(r"Driver Version: (\d{3}\.\d+(?:\.\d+)?)")
_GPU = re2.compile(r"^\|\s+(\d{1,2})\s+\S.*?\s(?:On|Off|N/A)\s+\|\s+[0-9A-Fa-f]{8}:")
_PROCESS = re2.compile(r"^\|\s+(\d{1,2})\s+(?:\S+\s+\S+\s+)?(\d+)\s+C\s+(\S.*?)\s+\d+MiB \|")


def read(lines: Sequence[Line]) -> ToolReading:
    """The driver's version; a sentence where one GPU holds several processes and others hold none."""
    drivers, gpus, users = list[tuple[str, str]](), set[int](), Counter[int]()
    first: int | None = None
    for line in lines:
        if (match := _DRIVER.search(line.text)) is not None:
            drivers.append(("driver", match.group(1)))
        elif (match := _GPU.match(line.text)) is not None:
            gpus.add(int(match.group(1)))
        elif (match := _PROCESS.match(line.text)) is not None:
            first = first or line.number
            users[int(match.group(1))] += 1
    crowded = [gpu for gpu, count in users.items() if count > 1]
    facts: tuple[Fact, ...] = ()
    empty = len(gpus) - len(users)
    if first is not None and len(crowded) == 1 and empty > 0:
        idle = "1 GPU has none" if empty == 1 else f"{empty} GPUs have none"
        facts = (Fact(first, f"{users[crowded[0]]} processes run on GPU {crowded[0]}; {idle}."),)
    return ToolReading(facts, versions_of(drivers))
