"""Versions, as the report states them. A wrong reading is worse than none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

import re2

from knowledge.evidence.facts_table import (
    NUMBER,
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

# Versions that a report names without running them: requirements, ranges, the release that worked.

_BEFORE = re2.compile(
    r"(?i)(?:\b(?:requires?|required|requirement|needs?|minimum|at least|supports?|supported|supporting|since|before|prior to"
    r"|until|up to|older than|newer than|below|above|as of|starting (?:from|with|in)|removed in|deprecated in|introduced in|fixed in"
    r"|compatib\w+ with|works? (?:\w+ )?(?:with|on|in|under)|worked (?:\w+ )?(?:with|on|in|under)|fine (?:with|on|in)|ok (?:with|on|in)"
    r"|appear on|appear in|happen on|happen in|happen with|reproduced? (?:it )?(?:with|on|in)|upgraded? from|updated? from|upgrading from"
    r"|downgrad\w+ (?:from|to)|from|previously|previous|old|other than|unlike|instead of|rather than|than|expected \w+ \(?|not|pre|future"
    r"|existing installation:|uninstalling|uninstall:|support for|wheels? for|built for)"
    r"|[<>~!]=?)\W{0,3}(?:\w+ ){0,2}$|(?:n['’]t|not) reproduce .*$"
)
_AFTER = re2.compile(
    r"(?i)^\W{0,3}(?:\w+ ){0,3}?(?:works?\b|worked\b|was fine|is fine|runs fine|seems? (?:to be )?(?:fine|ok)|(?:is|was|are) ok\b"
    r"|(?:or|and) (?:newer|later|above|higher|greater|older|up|below)|does ?n[o']t (?:have|show|appear|happen|occur)"
    r"|support (?:is|was|has)|is (?:required|needed|supported)|compatib|has no problem)"
)
_REVERSED = re2.compile(r"(?i)(?:\bnot|n['’]?t|\bnever|no longer|\bcannot|\bfails? to)\s")
_FAILS_WITH = re2.compile(r"(?i)(?:\bnot|n['’]?t|\bnever|no longer|\bcannot) works? ")
_BOUND = re2.compile(r"[.;!?]\s|[()]")
_UNIT = re2.compile(
    r"(?i)^\s?(?:[kmgt]i?b|ms|s|secs?|seconds|minutes|hours|it/s|samples|tflops|%|x\b|ghz|mhz|devices?|gpus?|nodes?|cores?|times"
    r"|processes|workers|ranks|steps|epochs|machines?|cards?|cpus?|errors?|warnings?|threads?|compatible)"
)
_WORD = re2.compile(r"^\s?[A-Za-z]{2,}")
_CONNECTIVE = re2.compile(
    r"(?i)^\s?(?:and|with|on|but|cudnn|cuda|nccl|python|lts|or|in|under|using|is|for|for the)\b"
)
_RANGE = re2.compile(r"^(?:\s*,?\s*(?:[<>!~]=?|\|\||\.[x*])|\+(?:\W|$))")


def is_their_version(text: str, match: re2._Match, component: str) -> bool:
    """Whether a match of facts_table.named_version in `text` is a version of the component, and the one they run."""
    name, gap, version, end = match.group("name"), match.group("gap"), match.group("v"), match.end()
    before, follows = text[max(0, match.start(2) - 2) : match.start(2)], text[end : end + 24]
    if before.endswith("/") and not before[:1].isdigit():
        return False  # a path or "TensorFlow/Keras 2.3"
    if component == "gcc" and (before.endswith("[") or "Compiler" in text[: match.start(2)]):
        return False  # what Python was built with
    if component == "cudnn" and re2.match(r"-(?:linux|windows|osx)", follows):
        return False  # an archive names the CUDA that it is for first
    if component == "cuda" and "driver" in gap.lower():
        return False  # what the driver could run
    if component == "os" and follows[:3].lower() == "lts":
        follows = ""
    if follows[:1].isalnum() or follows[:1] in ("_", "@", "%") or re2.match(r"[.:/]\d", follows):
        return False
    if re2.match(r"-\d", follows) and component not in ("nccl", "cudnn", "os"):
        return False  # a date, or a package's revision
    if re2.match(r",\d+\.", follows) or _UNIT.match(follows):
        return False
    if "." not in version and not _alone(name, gap, version, follows):
        return False
    return not _is_another_s(text, match.start(2), end)


def _alone(name: str, gap: str, version: str, follows: str) -> bool:
    """Whether a number without a dot is a version: "CUDA 11, cuDNN 8", but not "cuda:1" and "CUDA: 8 devices"."""
    if gap.endswith(":") and not gap.endswith("::"):
        return False  # a device
    if int(re2.match(r"\d+", version).group(0)) < 7 and name.lower() != "gcc":
        return False
    return not _WORD.match(follows) or bool(_CONNECTIVE.match(follows))


def _is_another_s(text: str, start: int, end: int) -> bool:
    """Whether what surrounds the version text[start:end] (name included) says that it is not what they run."""
    if _RANGE.match(text[end : end + 8]):
        return True
    before = text[max(0, start - 60) : start]
    cut = [match.end() for match in _BOUND.finditer(before)]
    before = before[cut[-1] :] if cut else before
    found = _BEFORE.search(before)
    # "does not work with 1.7" speaks of the version that fails.
    if found and not _FAILS_WITH.search(before[max(0, found.start() - 14) :]):
        return True
    after = text[end : end + 60]
    stop = _BOUND.search(after)
    after = after[: stop.start()] if stop else after
    found = _AFTER.search(after)
    return bool(found) and not _REVERSED.search(after[: found.end()])


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
_BARE = re2.compile(rf"(?i)^(?:[-*#>] ?)*\**version\**[ :=(\[`]{{1,4}}v?({NUMBER})[)\]`]?\s*$")
_WRITTEN = frozenset({Kind.PROSE, Kind.HEADING, Kind.TEMPLATE, Kind.ENVIRONMENT})
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
    title: str,
    lines: Sequence[Line],
    from_tools: Mapping[str, str] | None = None,
    own: str | None = None,
) -> dict[str, FoundVersion]:
    """Component to version in the table's order; what tools print wins over forms, forms over what prose mentions.

    `own` is the component that the report's tracker is about: "Version: 0.7.1" on a line of its own means that one.
    """
    found = {name: FoundVersion(text, Sure.TOOL) for name, text in (from_tools or {}).items()}
    if own and own not in found and (text := _bare_version(lines, own)):
        found[own] = FoundVersion(text, Sure.PATH)
    for component, reading in _readings(title, lines):
        if component not in found or _wins(reading, found[component]):
            found[component] = reading
    torch = found.get("torch")
    if torch and "cuda" not in found and (tag := re2.search(r"\+cu(\d{1,2})(\d)$", torch.text)):
        found["cuda"] = FoundVersion(f"{tag.group(1)}.{tag.group(2)}", torch.sure)
    return {component: found[component] for component in table()["component"] if component in found}


def _bare_version(lines: Sequence[Line], own: str) -> str | None:
    before = ""
    for line in lines:
        match = _BARE.match(line.text) if line.kind in _WRITTEN else None
        # "CUDA:" above it, and the version is CUDA's.
        if match and not before.endswith(":"):
            return checked(own, own, match.group(1))
        before = line.text.rstrip(" *") or before
    return None


def _wins(reading: FoundVersion, before: FoundVersion) -> bool:
    """The safer reading, or the same version stated more exactly ("2.3.3" after "2.3")."""
    exacter = reading.text.startswith(before.text + ".") and reading.sure >= Sure.STATED
    return exacter or (before.sure < reading.sure and not before.text.startswith(reading.text + "."))


def _readings(title: str, lines: Sequence[Line]) -> Iterator[tuple[str, FoundVersion]]:
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
