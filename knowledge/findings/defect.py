"""Whether an exception comes out of the tracker's own library: its maintainers need no advice for users."""

from __future__ import annotations

from functools import cache

import re2

from knowledge.evidence import Reading
from knowledge.findings.failure import Failure
from knowledge.findings.releases import newer_release
from knowledge.frameworks import frameworks

_FRAME = re2.compile(r'^\s*File "(?P<path>[^"]{1,400})", line \d+(?:, in (?P<name>.{1,200}))?')
_ARROW = re2.compile(r"^(?P<path>[~/.\w][\w./~-]{1,300}\.py) in (?P<name>\w+)\(")
# What a library raises on purpose has a name of its own or a `raise` in its last frame.
_UNMEANT = re2.compile(
    r"^(?:\w+\.)*(?:AttributeError|TypeError|KeyError|IndexError|NameError|UnboundLocalError|AssertionError"
    r"|ZeroDivisionError|RecursionError|StopIteration|NotImplementedError|UnicodeDecodeError|PicklingError)\b"
)
_RAISES = re2.compile(r"^\s*(?:[-> ]*\d+\s+)?(?:raise\b|assert\b.*,|logger\.|warnings\.)")
_FOLDERS = {
    "pytorch-lightning": ("pytorch_lightning", "lightning", "lightning_fabric"),
    "horovod": ("horovod",),
    "ray": ("ray",),
    "deepspeed": ("deepspeed",),
    "accelerate": ("accelerate",),
    "transformers": ("transformers",),
    "mxnet": ("mxnet",),
    "colossal-ai": ("colossalai",),
    "megatron-lm": ("megatron",),
    "keras": ("keras",),
    "tensorflow": ("tensorflow", "tensorflow_core"),
    "pytorch": ("torch",),
    "fairseq": ("fairseq",),
    "ignite": ("ignite",),
    "byteps": ("byteps",),
}
"""Import names by framework id, and of projects whose trackers report failures of distributed training."""


@cache
def own_folders(repository: str) -> tuple[str, ...]:
    """Import names of the library whose tracker this is ("owner/name"); empty for any other repository."""
    for framework in frameworks():
        if repository.casefold() in framework.repositories:
            return _FOLDERS.get(framework.id, ())
    name = repository.casefold().rpartition("/")[2]
    return _FOLDERS.get(name, ()) or _FOLDERS.get("pytorch-lightning" if name == "lightning" else "", ())


def raised_inside(reading: Reading) -> bool:
    """Whether the last Python exception of the report was raised by accident inside the tracker's own library."""
    folders = own_folders(reading.report.id.partition("#")[0])
    if not folders:
        return False
    lines = [line.text for line in reading.lines]
    for number in sorted({d.number for d in reading.decisive if d.role == "root" and d.number > 0}):
        error = lines[number - 1] if number <= len(lines) else ""
        if _UNMEANT.match(error.strip()) and _frame_before(lines, number - 1, folders):
            return True
    return False


def _frame_before(lines: list[str], end: int, folders: tuple[str, ...]) -> bool:
    """Whether the innermost frame above line `end` (0-based) lies in one of the folders and does not raise."""
    for n in range(end - 1, max(-1, end - 12), -1):
        frame = _FRAME.match(lines[n]) or _ARROW.match(lines[n])
        if frame is None:
            continue
        code = lines[n + 1] if n + 1 < end else ""
        parts = frame.group("path").replace("\\", "/").split("/")[:-1]
        return bool(set(folders) & set(parts)) and not _RAISES.match(code)
    return False


def names_the_fix(entry: Failure, reading: Reading) -> bool:
    """Whether the entry says that a newer release than the reporter's has the fix, or is about a defect itself."""
    return entry.cause[0] == "framework_defect" or newer_release(entry.fixed_in, reading)
