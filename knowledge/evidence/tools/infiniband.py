"""`ibstat` and `ibv_devinfo`: ports that are not up."""

from __future__ import annotations

from collections.abc import Sequence

import re2

from knowledge.evidence.lines import Line
from knowledge.evidence.tools.finding import Fact, ToolReading

MARKS = ("Physical state:", "PORT_DOWN", "PORT_INIT")
_DEVICE = re2.compile(r"^\s*(?:CA '(\S+)'|hca_id:\s*(\S+))")
_PORT = re2.compile(r"^\s*(?:Port (\d+):|port:\s*(\d+))\s*$")
_STATE = re2.compile(r"^\s*(?:State:\s*(\w+)|state:\s*PORT_(\w+))")


def read(lines: Sequence[Line]) -> ToolReading:
    """One sentence that names the ports that are not active."""
    device, port, first = "", "1", None
    down: list[str] = []
    for line in lines:
        if (match := _DEVICE.match(line.text)) is not None:
            device = match.group(1) or match.group(2)
        elif (match := _PORT.match(line.text)) is not None:
            port = match.group(1) or match.group(2)
        elif device and (match := _STATE.match(line.text)) is not None:
            state = (match.group(1) or match.group(2)).lower()
            if state != "active":
                first = first or line.number
                down.append(f"{device} port {port} ({state})")
    if first is None:
        return ToolReading()
    shown = ", ".join(down[:4]) + (f" and {len(down) - 4} more" if len(down) > 4 else "")
    return ToolReading((Fact(first, f"InfiniBand is not up on {shown}."),))
