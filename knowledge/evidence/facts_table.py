"""facts_found.toml: by which words and shapes versions, launchers and frameworks are recognised."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import re2

from knowledge.frameworks import framework_id, framework_of_repository, frameworks, general_ids

_FILE = Path(__file__).parent / "facts_found.toml"

NUMBER = (
    r"\d+(?:\.\d+){0,3}(?:\.?(?:a|b|c|rc|alpha|beta|dev|post|nv)\d*|[-_](?:rc|dev|alpha|beta|post)[\w.]*)*"
    r"(?:\+[a-zA-Z0-9.]+)?"
)
"""A version as tools and people write it."""

_GAP = (
    r"[`*\"'\])]{0,3}(?:[\s_-]{0,40}(?:framework|runtime|toolkit|library|compiler|driver|release|versions?|ver\.?|info"
    r"|linux|gnu/linux|enterprise|server|catalina|mojave|big sur|sierra|lts|core))*[`*\"']{0,3}\s{0,40}"
    r"(?:\([^()]{0,60}\)|\[[^\[\]]{0,30}\])?[`*\"']{0,3}[\s,]{0,40}(?:===?|=|:|：|@|-{1,2}|–|\||\.{3,60}|is |was )?"
    r"\s{0,40}(?:\([^()]{0,60}\)\s)?[\s`*\"'(‘“]{0,40}(?:version:?\s*|v\.?\s?|release\s*)?['\"`(]{0,2}"
)


@dataclass(frozen=True, slots=True)
class Special:
    """A form of its own in which one component's version is printed."""

    component: str
    pattern: re2._Regexp
    sure: str


@cache
def table() -> dict[str, Any]:
    """The file, parsed once."""
    with _FILE.open("rb") as file:
        return tomllib.load(file)


@cache
def named_version() -> re2._Regexp:
    """Any component followed by a number: groups `before`, `name`, `gap` and `v`."""
    words = "|".join(table()["component"].values())
    return re2.compile(
        rf"(?i)(?P<before>^|[^\w.@-]|with-)(?P<name>{words})(?P<gap>{_GAP})(?P<v>{NUMBER})", _large()
    )


@cache
def named_file() -> re2._Regexp:
    """A wheel, an egg or a source archive: groups `name` and `v`."""
    words = "|".join(table()["component"].values())
    return re2.compile(
        rf"(?i)(?:^|[/\s'\"=(])(?P<name>{words})-v?(?P<v>{NUMBER})(?:-(?:py|cp)\d|\.tar\.gz|\.whl|\.zip|\.egg)",
        _large(),
    )


@cache
def specials() -> tuple[Special, ...]:
    """The forms of their own, in the file's order."""
    return tuple(
        Special(entry["component"], re2.compile(entry["pattern"]), entry["sure"])
        for entry in table()["special"]
    )


@cache
def any_special() -> re2._Regexp:
    """Matches where one of `specials` could."""
    return re2.compile("|".join(f"(?:{entry['pattern']})" for entry in table()["special"]), _large())


@cache
def component_of(name: str) -> str | None:
    """The component that a name means, in lower case."""
    for component, words in table()["component"].items():
        if re2.fullmatch(f"(?i)(?:{words})", name):
            return str(component)
    return None


def component_of_tracker(full_name: str) -> str | None:
    """The component whose versions the repository releases ("torch" of pytorch/pytorch); None if it is not known."""
    id = framework_of_repository(full_name)
    packages = [name for one in frameworks() if one.id == id for name in one.packages]
    names = (*packages, full_name.rpartition("/")[2])
    return next((found for name in names if (found := component_of(name.lower()))), None)


@cache
def release_of(component: str) -> re2._Regexp:
    """What a version of the component looks like."""
    return re2.compile(f"(?:{table()['release'][component]})")


@cache
def system_of(name: str) -> tuple[str, re2._Regexp] | None:
    """An operating system's name as it is shown and what its releases look like."""
    entry = table()["system"].get("".join(c for c in name.lower() if c.isalpha()))
    return (entry["name"], re2.compile(f"(?:{entry['release']})")) if entry else None


def _large() -> re2.Options:
    options = re2.Options()
    options.max_mem = 64 << 20
    return options


# Which framework a report is about.

_FORM = re2.compile(r"(?im)^[\s#*•-]*([a-z][a-z0-9 .-]{1,30}?)\s+version\b[^\n]{0,60}\d")
"""A labelled version, as the forms of trackers have it; no list of packages has this form."""
_AS_A_TITLE = 4.0


def find_framework(title: str, prose: str, rest: str) -> str | None:
    """The framework the report is about: title before prose before logs, the specific before the general."""
    scores: dict[str, float] = {}
    form = _form_of(rest)
    for position, (name, pattern) in enumerate(table()["framework"].items()):
        compiled = re2.compile(pattern)
        count = (
            4.0 * len(compiled.findall(title))
            + 1.5 * min(4, len(compiled.findall(prose[:4000])))
            + 0.5 * min(6, len(compiled.findall(rest[:20000])))
            + _AS_A_TITLE * (name == form)
        )
        if count:
            scores[name] = count + 1.0 - position / 100
    # Horovod on PyTorch is a Horovod report: the layer on top is named less often than what it sits on.
    return max(scores, key=lambda n: scores[n] * (0.6 if n in general_ids() else 1.0)) if scores else None


def _form_of(text: str) -> str | None:
    """The framework whose form was filled in: a form asks for the version of its own project first."""
    first = _FORM.search(text)
    id = framework_id(first.group(1)) if first else None
    return None if id in general_ids() else id


def framework_of(report_id: str) -> str | None:
    """The framework of the repository in an id "owner/repo#n", if it is one of the known ones."""
    return framework_of_repository(report_id.rpartition("#")[0])
