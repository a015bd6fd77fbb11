"""Whether an exception comes out of the tracker's own library: its maintainers need no advice for users."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import dropwhile

import re2

from knowledge.evidence import Reading
from knowledge.evidence.framework_found import framework_of
from knowledge.findings.failure import Failure
from knowledge.findings.releases import newer_release
from knowledge.frameworks import framework_of_repository, general_ids

_FRAME = re2.compile(r'^\s*File "(?P<path>[^"]{1,400})", line \d+(?:, in (?P<name>.{1,200}))?')
_INSTALLED = re2.compile(r"site-packages|dist-packages|/lib(?:64)?/python\d|<frozen|/torch/|\.egg/")
_ARROW = re2.compile(r"^(?P<path>[~/.\w][\w./~-]{1,300}\.py) in (?P<name>\w+)\(")
# What a library raises on purpose has a name of its own or a `raise` in its last frame.
_UNMEANT = re2.compile(
    r"^(?:\w+\.)*(?:AttributeError|TypeError|ValueError|KeyError|IndexError|NameError|UnboundLocalError|AssertionError"
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
    if framework := framework_of_repository(repository):
        return _FOLDERS.get(framework, ())
    name = repository.casefold().rpartition("/")[2]
    return _FOLDERS.get(name, ()) or _FOLDERS.get("pytorch-lightning" if name == "lightning" else "", ())


def raised_inside(reading: Reading) -> bool:
    """Whether the last Python exception of the report was raised by accident inside the tracker's own library."""
    folders = own_folders(reading.report.id.partition("#")[0])
    return any(
        _UNMEANT.match(error)
        and frames
        and _lies_in(frames[0], folders)
        and not _RAISES.match(frames[0].code)
        for error, frames in _roots(reading, bool(folders))
    )


def called_inside(reading: Reading) -> Iterator[str]:
    """Exceptions of another library that the tracker's own library called, and no code of the reporter's."""
    folders = own_folders(reading.report.id.partition("#")[0])
    for error, frames in _roots(reading, bool(folders)):
        callers = list(dropwhile(lambda frame: _installed(frame) and not _lies_in(frame, folders), frames))
        if callers and len(callers) < len(frames) and _lies_in(callers[0], folders):
            yield error


def called_by_reporter(reading: Reading) -> bool:
    """Whether a traceback shows the reporter's own code making the call that a library refused."""
    folders = own_folders(reading.report.id.partition("#")[0])
    for _, frames in _roots(reading, bool(folders)):
        caller = next((f for f in frames if not _installed(f) or _lies_in(f, folders)), None)
        if caller is not None and not _lies_in(caller, folders):
            return True
    return False


@dataclass(frozen=True, slots=True)
class _Frame:
    path: str
    code: str


def _roots(reading: Reading, wanted: bool) -> Iterator[tuple[str, list[_Frame]]]:
    """Each root exception with its frames, the innermost first."""
    lines = [line.text for line in reading.lines]
    for number in sorted({d.number for d in reading.decisive if d.role == "root" and d.number > 0}):
        if wanted and number <= len(lines):
            yield lines[number - 1].strip(), _frames_before(lines, number - 1)


def _frames_before(lines: list[str], end: int) -> list[_Frame]:
    frames = []
    for n in range(end - 1, max(-1, end - 60), -1):
        if "Traceback (most recent" in lines[n]:
            break
        found = _FRAME.match(lines[n]) or _ARROW.match(lines[n])
        if found:
            code = next((text for text in lines[n + 1 : end] if text.strip()), "")
            frames.append(_Frame(found.group("path").replace("\\", "/"), code))
    return frames


def _lies_in(frame: _Frame, folders: tuple[str, ...]) -> bool:
    return bool(set(folders) & set(frame.path.split("/")[:-1]))


def _installed(frame: _Frame) -> bool:
    return bool(_INSTALLED.search(frame.path))


_OF_CODE = frozenset(
    (
        "distributed_api_misuse",
        "divergent_ranks",
        "device_placement",
        "batch_or_partition",
        "model_construction",
        "wrapped_model_state",
    )
)
"""Causes that lie in the code that makes the call, not in what it runs on."""


def of_code(entry: Failure) -> bool:
    """Whether the failure is a mistake in code, not in what it runs on."""
    return bool(_OF_CODE & set(entry.cause))


def is_the_librarys(entry: Failure, reading: Reading) -> bool:
    """Whether the tracker's own library made the mistake that the entry tells its users to avoid."""
    inside = list(called_inside(reading))
    if raised_inside(reading) or any(_UNMEANT.match(error) for error in inside):
        return True
    if inside and of_code(entry):
        return True
    tracker = own_folders(reading.report.id.partition("#")[0]) and framework_of(reading.report.id)
    # Who uses Lightning doesn't call torch.distributed: unless a traceback shows it, Lightning did.
    elsewhere = bool(tracker) and tracker not in general_ids() and tracker not in entry.frameworks
    return elsewhere and of_code(entry) and not called_by_reporter(reading)


def names_the_fix(entry: Failure, reading: Reading) -> bool:
    """Whether the entry says that a newer release than the reporter's has the fix, or is about a defect itself."""
    return entry.cause[0] == "framework_defect" or newer_release(entry.fixed_in, reading)
