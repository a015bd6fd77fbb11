"""Which releases there were when a report was written, and what advice needs (releases.toml)."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise
from pathlib import Path

import re2
from packaging.version import Version

from knowledge.evidence import Reading
from knowledge.versions.facts import parse_version

_RELEASES_FILE = Path(__file__).with_name("releases.toml")
_EARLIEST = "2015"
"""A report "opened" in 1970 has no date."""
SLACK = 12
"""Months between the newest release that a report names and the report, where its own date is unknown."""
_NAMES = {
    "pytorch": "torch", "torch": "torch", "lightning": "pytorch-lightning", "pytorch-lightning": "pytorch-lightning",
    "pytorch lightning": "pytorch-lightning", "tensorflow": "tensorflow", "tf": "tensorflow", "horovod": "horovod",
    "ray": "ray", "deepspeed": "deepspeed", "transformers": "transformers", "accelerate": "accelerate",
    "nccl": "nccl", "mxnet": "mxnet", "keras": "keras", "numpy": "numpy", "cuda": "cuda",
}  # fmt: skip
_NAMED = re2.compile(
    r"(?i)\b(?P<name>pytorch lightning|" + "|".join(sorted(_NAMES, key=len, reverse=True)) + r")"
    r"(?P<op>\s*(?:>=|==|~=|<=|<|>)\s*|[ -])v?(?P<v>\d+\.\d+(?:\.\d+)?)(?P<plus>\+|,? (?:and|or) (?:later|newer|up))?"
)
_BEFORE = re2.compile(r"(?i)\b(?:before|older than|up to|until|below|less than|through)\s*(?:the )?$")
_FROM = re2.compile(r"(?i)\b(?:since|from|as of|starting with)\s*$")
_LACKS = re2.compile(r"(?i)\b(?:only works?|added|introduced|needs?|requires?|at least|supported)\b[^.;]*$")
_LEAD = re2.compile(r"(?i)(?:works with |allowed since |needs |requires |since |from |with |in )?")
_TAKE = re2.compile(
    r"(?i)\b(?:upgrad\w*|updat\w*|install|move|go|switch|use|take|wheel|release)"
    r"(?: to| from| at least| the| a| with| later)*\s*$"
)


@dataclass(frozen=True, slots=True)
class Named:
    """A release that a text names: what it takes to follow the advice, or what is true from it on."""

    component: str
    release: Version
    upgrade: bool
    """The advice is to install it."""
    there: bool
    """It is only true where the reporter has it already."""


@cache
def _tables() -> tuple[
    Mapping[str, tuple[tuple[Version, str], ...]], tuple[tuple[str, Version, re2._Regexp], ...]
]:
    table = tomllib.loads(_RELEASES_FILE.read_text("utf-8"))
    dates = {
        component: tuple(sorted((Version(v), month) for v, month in rows.items()))
        for component, rows in table["dates"].items()
    }
    features = tuple(
        (row["component"], Version(row["since"]), re2.compile("|".join(row["words"])))
        for row in table["feature"]
    )
    return dates, features


def released(component: str, release: Version) -> str | None:
    """The month ("2021-03") in which a release came out; None where that is unknown. A month too early at most."""
    dates, _ = _tables()
    known = dates.get(component, ())
    if not known or release < known[0][0]:
        return None
    return max((v, month) for v, month in known if v <= release)[1]


def written(reading: Reading) -> str | None:
    """The latest month in which the report can have been written; None = today, for all that is known."""
    if reading.report.opened > _EARLIEST:
        return reading.report.opened[:7]
    months = [
        month
        for component, text in reading.versions.items()
        if (version := parse_version(text)) is not None and (month := released(component, version))
    ]
    return _later(max(months), SLACK) if months else None


def _later(month: str, by: int) -> str:
    year, number = map(int, month.split("-"))
    years, number = divmod(number - 1 + by, 12)
    return f"{year + years:04d}-{number + 1:02d}"


@lru_cache(maxsize=1 << 13)
def named(clause: str) -> tuple[Named, ...]:
    """Releases that a clause of advice needs, by number or by what exists only since then."""
    return tuple(_named(clause))


def _named(clause: str) -> Iterator[Named]:
    for match in _NAMED.finditer(clause):
        component = _NAMES[match.group("name").lower()]
        before = clause[: match.start()]
        op = match.group("op").strip()
        if op.startswith("<") or _BEFORE.search(before):
            continue
        since = bool(match.group("plus") or op in (">=", ">")) or bool(_FROM.search(before))
        upgrade = bool(op or _TAKE.search(before))
        if since or upgrade:
            # "needs 2.7 or later" is what is wrong with an older one.
            there = not upgrade and not _LACKS.search(before)
            yield Named(component, Version(match.group("v")), upgrade, there)
    _, features = _tables()
    for component, since_release, words in features:
        if words.search(clause):
            yield Named(component, since_release, upgrade=False, there=True)


def fits_time(clause: str, reading: Reading) -> bool:
    """Whether the releases that a clause needs exist for the reporter.

    A feature must exist in the release that the report states; what is to be installed must have come out.
    """
    for need in named(clause):
        month = released(need.component, need.release)
        if month is not None and (latest := written(reading)) is not None and month > latest:
            return False
        stated = parse_version(reading.versions.get(need.component, ""))
        if stated is not None and need.there and _older(stated, need.release):
            return False
    return True


def only_names_release(aside: str) -> bool:
    """Whether an aside says nothing but from which release on something is there: "PyTorch 2.1 and later"."""
    found = _NAMED.search(aside)
    if not found or not (found.group("plus") or found.group("op").strip() in (">=", ">")):
        return False
    return found.end() == len(aside) and bool(_LEAD.fullmatch(aside[: found.start()]))


def has_already(clause: str, reading: Reading) -> bool:
    """Whether the clause advises a release that the reporter has, or an older one."""
    wanted = [need for need in named(clause) if need.upgrade]
    stated = [parse_version(reading.versions.get(need.component, "")) for need in wanted]
    return bool(wanted) and all(
        have is not None and have >= need.release for have, need in zip(stated, wanted, strict=True)
    )


def has_release(fixed_in: str, reading: Reading) -> bool:
    """Whether the reporter has the release that "fixed in" names, or a newer one."""
    found = [(_NAMES[m.group("name").lower()], Version(m.group("v"))) for m in _NAMED.finditer(fixed_in)]
    stated = [(release, parse_version(reading.versions.get(name, ""))) for name, release in found]
    return bool(stated) and all(have is not None and have >= release for release, have in stated)


def newer_release(fixed_in: str, reading: Reading) -> bool:
    """Whether "fixed in" names a release that is newer than the reporter's."""
    found = [(_NAMES[m.group("name").lower()], Version(m.group("v"))) for m in _NAMED.finditer(fixed_in)]
    stated = [(release, parse_version(reading.versions.get(name, ""))) for name, release in found]
    return any(have is not None and have < release for release, have in stated)


def _older(stated: Version, needed: Version) -> bool:
    """Whether a version is surely older: "1" is not older than 1.5."""
    width = min(len(stated.release), len(needed.release))
    return Version(stated.base_version).release[:width] < needed.release[:width]


def in_order() -> bool:
    """Whether dates grow with releases, which tests hold; TensorFlow 1.15 came after 2.0."""
    dates, _ = _tables()
    return all(a[1] <= b[1] for rows in dates.values() for a, b in pairwise(rows) if a[0].major == b[0].major)
