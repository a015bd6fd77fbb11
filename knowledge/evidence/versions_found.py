"""Versions, as the report states them. A wrong reading is worse than none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum

import re2

from knowledge.evidence.facts_table import (
    any_special,
    component_of,
    named_file,
    named_version,
    release_of,
    specials,
    system_of,
    table,
)
from knowledge.evidence.lines import Kind, Line
from knowledge.evidence.not_theirs import is_their_version

MAX_READ = 6000
"""Lines with something like a version that are looked at; an environment has fewer, a log that repeats itself more."""
MAX_LENGTH = 1200

_EXAMPLE = re2.compile(r"(?i)\((?:e\.?g\.?|i\.?e\.?|for example)\b[^)]*\)")
_COMMENT = re2.compile(r"(?i)#|\be\.g\.")
_STATED = re2.compile(r"(?i)version|==|[:=|]|\.\.\.")
# In a block of code: a comment, "Python version: 3.6", os-release; not "torch = 1.4" and not a requirement.
_SETTING = re2.compile(r"^\s*#|(?i)^[\s*-]*[\w -]{2,30}(?: versions?)?:\s|PRETTY_NAME=")
_LABEL = re2.compile(
    r"(?i)^\W*(?:\w+ )?(?:os|versions?|platform|distribution|distro|system|pretty_name|description|environment|env)\W*(?:linux )?$"
)
_OTHER_TABLE = re2.compile(r"Driver Version:|NVIDIA-SMI")


class Sure(IntEnum):
    """How safely a version was read; the safest reading of a component counts."""

    PATH = 1
    NAMED = 2
    """By a file or a command, or in a heading."""
    STATED = 3
    FORM = 4
    """In the environment section or behind the component's name at the line's start."""
    TOOL = 5


@dataclass(frozen=True, slots=True)
class FoundVersion:
    """One reading of one component."""

    text: str
    sure: Sure


def find_versions(
    title: str, lines: Iterable[Line], from_tools: Mapping[str, str] | None = None
) -> dict[str, FoundVersion]:
    """Component to version in the table's order; what tools print wins over forms, forms over what prose mentions."""
    found = {name: FoundVersion(text, Sure.TOOL) for name, text in (from_tools or {}).items()}
    for component, reading in _readings(title, lines):
        if component not in found or _wins(reading, found[component]):
            found[component] = reading
    torch = found.get("torch")
    if torch and "cuda" not in found and (tag := re2.search(r"\+cu(\d{1,2})(\d)$", torch.text)):
        found["cuda"] = FoundVersion(f"{tag.group(1)}.{tag.group(2)}", torch.sure)
    return {component: found[component] for component in table()["component"] if component in found}


def _wins(reading: FoundVersion, before: FoundVersion) -> bool:
    """The safer reading, or the same version stated more exactly ("2.3.3" after "2.3")."""
    exacter = reading.text.startswith(before.text + ".") and reading.sure >= Sure.STATED
    return exacter or (before.sure < reading.sure and not before.text.startswith(reading.text + "."))


def _readings(title: str, lines: Iterable[Line]) -> Iterator[tuple[str, FoundVersion]]:
    named, special, seen, read = named_version(), any_special(), set[str](), 0
    for kind, text in [(Kind.HEADING, title), *((line.kind, line.text) for line in lines)]:
        if kind is Kind.BLANK or len(text) > MAX_LENGTH or text in seen:
            continue
        by_name, by_form = named.search(text), special.search(text)
        if not by_name and not by_form:
            continue
        if read >= MAX_READ:
            return
        read += 1
        seen.add(text)
        if by_form:
            yield from _of_forms(text)
        if by_name:
            yield from _of_files(text)
            if _is_read(kind, text):
                # "OS (e.g., Ubuntu 16.04): Ubuntu 18.04": the form's example is not the reporter's version.
                yield from _of_names(kind, _EXAMPLE.sub("", text))


def _is_read(kind: Kind, text: str) -> bool:
    if kind is Kind.NOISE:
        return text.lstrip().startswith("|") and not _OTHER_TABLE.search(text)
    if kind is Kind.CODE:
        return bool(_SETTING.match(text))
    return not _OTHER_TABLE.search(text)


def _of_names(kind: Kind, text: str) -> Iterator[tuple[str, FoundVersion]]:
    for match in named_version().finditer(text):
        name, gap, version = match.group("name"), match.group("gap"), match.group("v")
        component = component_of(name.lower())
        if component is None or not is_their_version(text, match, component):
            continue
        shown = checked(component, name, version)
        if shown is None:
            continue
        before = _LABEL.sub("", text[: match.start(2)])
        first = not any(c.isalpha() for c in before)
        if not first and kind is Kind.CODE:
            continue
        if not first and kind is Kind.LOG and not (_STATED.search(gap) or _listed(text, match)):
            continue
        yield component, FoundVersion(shown, _sure(kind, first))


def _sure(kind: Kind, first: bool) -> Sure:
    if kind in (Kind.ENVIRONMENT, Kind.TEMPLATE):
        return Sure.FORM
    if kind in (Kind.HEADING, Kind.COMMAND):
        return Sure.NAMED
    return Sure.FORM if first and kind is not Kind.CODE else Sure.STATED


def _listed(text: str, match: re2._Match) -> bool:
    """Part of "ray 0.8.6, python 3.6.8, tf 2.2": the line begins with a version that is named likewise."""
    return text[: match.start(2)].rstrip()[-1:] in (",", ";", "/", "+")


def _of_forms(text: str) -> Iterator[tuple[str, FoundVersion]]:
    for form in specials():
        match = form.pattern.search(text)
        if match and not _COMMENT.search(text[: match.start(1)]):
            shown = checked(form.component, form.component, match.group(1))
            if shown is not None:
                yield form.component, FoundVersion(shown, Sure[form.sure.upper()])


def _of_files(text: str) -> Iterator[tuple[str, FoundVersion]]:
    for match in named_file().finditer(text):
        component = component_of(match.group("name").lower())
        shown = checked(component, match.group("name"), match.group("v")) if component else None
        if component and shown and component != "os":
            yield component, FoundVersion(shown, Sure.NAMED)


def checked(component: str, name: str, version: str) -> str | None:
    """The version as it is shown, or None where the component never had such a release."""
    if component == "os":
        system = system_of(name)
        return f"{system[0]} {version}" if system and system[1].fullmatch(version) else None
    if component in ("nccl", "cuda", "cudnn", "driver", "python"):
        version = version.partition("+")[0]  # "NCCL 2.18.3+cuda12.1"
    version = version.rstrip(".")
    if re2.search(r"\.0\d", version) and component not in ("driver", "apex"):
        return None
    return version if release_of(component).fullmatch(version) else None
