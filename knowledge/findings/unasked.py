"""Why a known failure that surely matches is still not said unasked: it would not help this reporter."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import dropwhile
from pathlib import Path
from typing import Literal

import re2

from knowledge.evidence import Reading
from knowledge.evidence.facts_table import framework_of
from knowledge.evidence.lines import Kind, Line, read_stamp, seconds_between
from knowledge.evidence.units import Decisive
from knowledge.findings.conditions import contradicted, of_framework
from knowledge.findings.failure import Failure
from knowledge.findings.fitting import Fitted
from knowledge.findings.matcher import Match
from knowledge.findings.releases import has_release, newer_release
from knowledge.findings.tried import Tried, remedies
from knowledge.frameworks import framework_of_repository, frameworks, general_ids

# Reports that a known failure would not help: those of a regression, and those that name the defect themselves.
#
# Blind readers found the catalogue's answer to such reports to be noise.

_EXPERT_FILE = Path(__file__).with_name("expert.toml")


def knows_better(entry: Failure, reading: Reading) -> bool:
    """Whether the report names its cause, is of a regression, or of an upgrade that the entry doesn't account for."""
    # The prose alone: an error message, too, says what it is caused by.
    told = f"{reading.report.title}\n{reading.prose}"
    words = _words()
    # Who upgraded a library has to rebuild what depends on it.
    expected = entry.cause[0] == "dependency" or _CHANGE.search(entry.answer)
    return any(words[kind].search(told) for kind in words if kind != "upgraded" or not expected)


# An answer that says what a release changed is the answer to an upgrade that broke something.
_CHANGE = re2.compile(
    r"(?i)\b(?:as of|since|starting with|from) (?:[A-Z][\w`-]+ ){1,3}v?\d"
    r"|\d\.\d[\w.]*\+? (?:and later )?(?:remov|renam|dropp|mov|replac|chang)ed\b|\bno longer\b"
)


@cache
def _words() -> dict[str, re2._Regexp]:
    table = tomllib.loads(_EXPERT_FILE.read_text("utf-8"))
    return {kind: re2.compile("(?i)" + "|".join(words)) for kind, words in table.items()}


# What any program may print: on a post of another field it tells nothing of ours.

_ANYWHERE_FILE = Path(__file__).with_name("anywhere.toml")


def of_another_field(entry: Failure, reading: Reading) -> bool:
    """Whether any program may print the entry's lines and no word of our field is in the report."""
    entries, ours = _anywhere()
    return entry.id in entries and not ours.search(f"{reading.report.title}\n{reading.report.body}")


@cache
def _anywhere() -> tuple[frozenset[str], re2._Regexp]:
    table = tomllib.loads(_ANYWHERE_FILE.read_text("utf-8"))
    return frozenset(table["entries"]), re2.compile("(?i)" + "|".join(table["ours"]))


# Whether an exception comes out of the tracker's own library: its maintainers need no advice for users.

_FRAME = re2.compile(r'^\s*File "(?P<path>[^"]{1,400})", line \d+(?:, in (?P<name>.{1,200}))?')
_INSTALLED = re2.compile(r"site-packages|dist-packages|/lib(?:64)?/python\d|<frozen|/torch/|\.egg/")
_ARROW = re2.compile(r"^(?P<path>[~/.\w][\w./~-]{1,300}\.py) in (?P<name>\w+)\(")
# What a library raises on purpose has a name of its own or a `raise` in its last frame.
_UNMEANT = re2.compile(
    r"^(?:\w+\.)*(?:AttributeError|TypeError|ValueError|KeyError|IndexError|NameError|UnboundLocalError|AssertionError"
    r"|ZeroDivisionError|RecursionError|StopIteration|NotImplementedError|UnicodeDecodeError|PicklingError)\b"
)
_RAISES = re2.compile(r"^\s*(?:[-> ]*\d+\s+)?(?:raise\b|assert\b.*,|logger\.|warnings\.)")


@cache
def own_folders(repository: str) -> tuple[str, ...]:
    """Import names of the library whose tracker this is ("owner/name"); empty for any other repository."""
    id, name = framework_of_repository(repository), repository.casefold().rpartition("/")[2]
    known = (
        one.imported for one in frameworks() if id == one.id or (not id and name in (one.id, *one.imported))
    )
    return next(known, ())


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


Objection = Literal[
    "expert", "framework", "condition", "release", "tried", "defect", "consequence", "denied", "solved"
]
"""expert: a regression, or diagnosed already; framework: the entry is about others; condition: another
launcher, platform or number of processes; release: the advice is of another
time or tool; tried: in the report already; defect: inside the tracker's own library; consequence: rests on a warning
alone; denied: the author says that it isn't so; solved: the reporter's release has the fix."""

_QUIET = frozenset("DIW")
"""Levels of lines that report no failure."""
_CONSEQUENCES_FILE = Path(__file__).with_name("consequences.toml")
# "dmesg does not say that the GPU has fallen off the bus"; a message itself may begin with "no" or "cannot".
_DENIES = re2.compile(
    r"(?i)\b(?:no|not|never|without|neither|nor|(?:does|did|is|was|do|has|have)n[o']?t)\b[^.:;\"'`]{0,60}$"
)
# Kubernetes calls each event that is not routine a warning: type, reason, age and source in columns.
_EVENT = re2.compile(r"^\s*(?:\d+[smhd]\w*\s+)?Warning\s{2,}[A-Z][A-Za-z]+\s{2,}")


def objection(match: Match, fitted: Fitted, reading: Reading, tried: Tried) -> Objection | None:
    """What speaks against saying a match unasked, however sure it is; None = nothing.

    `tried`: what the report shows of what its author has done.
    """
    entry = match.failure
    if knows_better(entry, reading):
        return "expert"
    if of_code(entry) and of_framework(entry, reading) < 0:
        return "framework"
    if contradicted(entry, reading):
        return "condition"
    if not fitted.whole:
        return "release"
    # Who confirmed the entry read the other lines, too.
    if not match.read_by and rests_on_consequences(entry, match.lines, reading):
        return "consequence"
    if denied(entry, match.lines, reading):
        return "denied"
    if solved(entry, reading):
        return "solved"
    if is_the_librarys(entry, reading) and not names_the_fix(entry, reading):
        return "defect"
    if tried.holds(remedies(fitted.entry.answer)):
        return "tried"
    return None


def solved(entry: Failure, reading: Reading) -> bool:
    """Whether the reporter's release already has the fix that the entry names."""
    return bool(entry.fixed_in) and has_release(entry.fixed_in, reading)


def denied(entry: Failure, numbers: tuple[int, ...], reading: Reading) -> bool:
    """Whether the report says that it's something else: by what the entry names, or by a "not" before what tells."""
    whole = f"{reading.report.title}\n{reading.report.body}"
    if any(re2.compile(pattern).search(whole) for pattern in entry.unless):
        return True
    by_number = {line.number: line for line in reading.lines}

    def says_no(number: int) -> bool:
        line = by_number.get(number)
        if number and (line is None or line.kind is Kind.LOG):
            return False
        text = line.text if number and line else reading.report.title
        found = [hit for pattern in entry.patterns if (hit := re2.compile(pattern).search(text))]
        return bool(found) and all(_DENIES.search(text[: hit.start()]) for hit in found)

    return bool(numbers) and all(map(says_no, numbers))


def rests_on_consequences(entry: Failure, numbers: tuple[int, ...], reading: Reading) -> bool:
    """Whether each telltale line is code, a warning, or of a log whose failure is another line, or began with one."""
    by_number = {line.number: line for line in reading.lines}
    found = [d for d in reading.decisive if d.role == "root" and not d.in_title]
    roots = {d.number for d in found if not _followed(d, found[0])}
    logged = {
        n for n in roots if n in by_number and by_number[n].kind is Kind.LOG and not _warns(by_number[n])
    }
    warned = entry.id in _told_by_warnings()

    def stands(number: int) -> bool:
        if number == 0:
            return not _consequences().search(reading.report.title)
        line = by_number.get(number)
        if line is None or (line.kind is Kind.CODE and not _shown_by_frame(number, by_number)):
            return False
        if _warns(line) and not warned:
            return False
        return (
            line.kind is not Kind.LOG or not logged or any(_one_error(n, number, by_number) for n in logged)
        )

    return bool(numbers) and not any(map(stands, numbers))


_NEXT = 3
"""Lines of one message: "Error(s) in loading state_dict for Net:" and what they are."""
_NCCL = ("NCCL WARN", "NCCL error")
"""What NCCL logs, and the exception that comes of it."""
_CHAINED = ("During handling of the above exception", "The above exception was the direct cause")


def _one_error(root: int, number: int, lines: Mapping[int, Line]) -> bool:
    """Whether a line is the root error, a part of its message, its reason, or an exception that was raised from it."""
    explained = all(word in lines[n].text for n, word in zip((number, root), _NCCL, strict=True))
    if 0 <= number - root <= _NEXT or explained:
        return True
    between = (lines[n].text for n in range(root + 1, number) if n in lines)
    return any(text.startswith(_CHAINED) for text in between)


def _shown_by_frame(number: int, lines: Mapping[int, Line]) -> bool:
    """Whether a line of code is the source that a traceback shows below a frame."""
    above = lines.get(number - 1)
    return above is not None and bool(_FRAME.match(above.text))


def _followed(one: Decisive, first: Decisive) -> bool:
    """Whether another process had failed at least a second before."""
    earlier, later = read_stamp(first.time or ""), read_stamp(one.time or "")
    if earlier is None or later is None or one.rank == first.rank:
        return False
    return seconds_between(earlier, later) >= 1


def _warns(line: Line) -> bool:
    event = _EVENT.match(line.text)
    text = line.text[event.end() :] if event else line.text
    return (line.level in _QUIET and not event) or bool(_consequences().search(text))


@cache
def _told_by_warnings() -> frozenset[str]:
    return frozenset(tomllib.loads(_CONSEQUENCES_FILE.read_text("utf-8"))["told_by_warnings"])


@cache
def _consequences() -> re2._Regexp:
    return re2.compile("(?i)" + "|".join(tomllib.loads(_CONSEQUENCES_FILE.read_text("utf-8"))["any"]))
