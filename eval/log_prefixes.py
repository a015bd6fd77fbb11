"""A log as launchers and collectors would have printed it: each line behind a prefix, ranks mixed as they come."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

Voiced = Sequence[tuple[int | None, str]]
"""Lines in the order in which they came, each with the rank that printed it; None for the launcher."""
JITTER = 6.0
"""Lines by which one rank's output can fall behind another's: pipes are read in turn."""
_START = datetime(2026, 5, 3, 10, 2, 31)
_RANK_PREFIX = re.compile(r"\[rank\d+\]:")


@dataclass(frozen=True, slots=True)
class _Printed:
    """One line, and what a prefix can tell of it."""

    rank: int | None
    text: str
    time: datetime
    width: int
    """Digits of the largest rank, to which srun pads."""

    @property
    def level(self) -> str:
        """What a logger would call it."""
        return "ERROR" if "Error" in self.text or "raceback" in self.text else "INFO"


def _python_logging(line: _Printed) -> str:
    stamp = f"{line.time:%Y-%m-%d %H:%M:%S},{line.time.microsecond // 1000:03d}"
    return f"{stamp} - trainer - {line.level} - {line.text}"


def _torchrun(line: _Printed) -> str:
    if line.rank is None or _RANK_PREFIX.match(line.text):
        return line.text
    return f"[rank{line.rank}]: {line.text}"


def _srun(line: _Printed) -> str:
    return f"{line.rank or 0:>{line.width}}: {line.text}"


def _mpirun(line: _Printed) -> str:
    return line.text if line.rank is None else f"[1,{line.rank}]<stderr>:{line.text}"


def _kubernetes(line: _Printed) -> str:
    return f"{line.time:%Y-%m-%dT%H:%M:%S.%f}000Z stderr F {line.text}"


def _compose(line: _Printed) -> str:
    return f"worker-{line.rank or 0}  | {line.text}"


def _syslog(line: _Printed) -> str:
    rank = line.rank or 0
    return f"{line.time:%b %d %H:%M:%S} node-{rank + 1} python[{8120 + rank}]: {line.text}"


def _deepspeed(line: _Printed) -> str:
    return f"worker-{(line.rank or 0) + 1}: {line.text}"


def _ray(line: _Printed) -> str:
    rank = line.rank or 0
    return f"(RayTrainWorker pid={41200 + rank}, ip=10.0.0.{rank + 11}) {line.text}"


STYLES: Mapping[str, Callable[[_Printed], str]] = {
    "Python logging": _python_logging,
    "torchrun": _torchrun,
    "srun -l": _srun,
    "mpirun --tag-output": _mpirun,
    "Kubernetes": _kubernetes,
    "docker compose": _compose,
    "syslog": _syslog,
    "DeepSpeed": _deepspeed,
    "Ray": _ray,
}
"""Name of a prefix to what it makes of a line."""
TELL_RANK = frozenset({"torchrun", "srun -l", "mpirun --tag-output"})
"""Those that name the rank of each line that a rank prints."""


def behind(style: str, lines: Voiced, seed: int = 0) -> list[str]:
    """The lines behind one kind of prefix (a key of `STYLES`), ranks interleaved; the same seed gives the same log."""
    draw = random.Random(f"{style} {seed}")
    width = max(2, len(str(max((rank for rank, _ in lines if rank is not None), default=0))))
    time, out = _START, []
    for rank, text in interleaved(lines, draw):
        time += timedelta(milliseconds=draw.randrange(1, 40))
        out.append(STYLES[style](_Printed(rank, text, time, width)).rstrip())
    return out


def interleaved(lines: Voiced, draw: random.Random) -> list[tuple[int | None, str]]:
    """Lines of ranks that print at the same time, mixed; those of each rank, and the launcher's, keep their order."""
    last: dict[int | None, float] = {}
    order: list[tuple[float, int]] = []
    for index, (rank, _) in enumerate(lines):
        late = 0.0 if rank is None else draw.uniform(0, JITTER)
        last[rank] = max(last.get(rank, 0.0), index + late)
        order.append((last[rank], index))
    return [lines[index] for _, index in sorted(order)]
