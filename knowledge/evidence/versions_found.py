"""Versions, framework, launcher and world size, as the report states them."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import re2

from knowledge.evidence.lines import Kind, Line

_FILE = Path(__file__).parent / "facts_found.toml"
_NUMBER = r"(?P<v>\d+(?:\.\d+){0,3}(?:[a-z]{1,3}\d+|[-.+](?:rc|dev|post|cu|a|b)[\w.]*|\+\w+)?)"
_EXAMPLE = re2.compile(r"(?i)\((?:e\.?g\.?|i\.?e\.?|for example)\b[^)]*\)")
_PLAUSIBLE = re2.compile(r"^\d{1,4}(?:\.\d+)*")


@cache
def _table() -> dict[str, object]:
    with _FILE.open("rb") as file:
        return tomllib.load(file)


@cache
def _version_patterns() -> tuple[tuple[str, re2._Regexp], ...]:
    components = _table()["component"]
    assert isinstance(components, dict)
    out = []
    for name, words in components.items():
        # "PyTorch version (e.g., 1.0): 1.7.1", "torch==1.7.1", "PyTorch 1.7.1", "[pip3] torch 1.7.1"
        gap = r"(?:[\s_-]*(?:framework|runtime|toolkit|library|compiler)?[\s_-]*(?:version|ver\.?|v)?\s*(?:\([^)]{0,60}\))?\s*(?:==|[:=>]|is|was|@)?\s*['\"(]?\s*v?)"
        out.append((name, re2.compile(rf"(?i)(?:^|[^\w/.-])(?P<name>{words}){gap}{_NUMBER}")))
    return tuple(out)


def find_versions(title: str, lines: Iterable[Line]) -> dict[str, str]:
    """Component to version; what the environment section says wins over what prose mentions first."""
    found: dict[str, tuple[int, str]] = {}
    for kind, text in [(Kind.PROSE, title), *((line.kind, line.text) for line in lines)]:
        if (
            kind in (Kind.BLANK, Kind.CODE, Kind.NOISE)
            or len(text) > 1200
            or not any(c.isdigit() for c in text)
        ):
            continue
        # "OS (e.g., Ubuntu 16.04): Ubuntu 18.04": the form's example is not the reporter's version.
        text = _EXAMPLE.sub("", text)
        priority = 2 if kind in (Kind.ENVIRONMENT, Kind.TEMPLATE) else 1
        for component, pattern in _version_patterns():
            match = pattern.search(text)
            if match and found.get(component, (0, ""))[0] < priority:
                version = str(match.group("v"))
                if _plausible(component, version):
                    # "Ubuntu 20.04": of a system the number alone says nothing.
                    named = f"{match.group('name')} {version}" if component == "os" else version
                    found[component] = (priority, named)
    return {component: found[component][1] for component, _ in _version_patterns() if component in found}


def _plausible(component: str, version: str) -> bool:
    limits = _table()["limits"]
    assert isinstance(limits, dict)
    match = _PLAUSIBLE.match(version)
    if match is None:
        return False
    major = int(match.group(0).split(".")[0])
    needs_dot = component not in ("driver", "gcc", "os", "cuda", "openmpi", "mpi")
    if component == "cuda" and (major < 5 or version.count(".") > 2):
        return False  # a cuDNN or driver version beside the word
    return major <= int(limits.get(component, 99)) and ("." in version or not needs_dot)


def find_launcher(texts: Iterable[str]) -> str | None:
    """The program that started the processes; the most specific one named wins."""
    joined = "\n".join(texts)
    launchers = _table()["launcher"]
    assert isinstance(launchers, dict)
    for name, pattern in launchers.items():
        if re2.search(pattern, joined):
            return str(name)
    return None


def find_world_size(texts: Iterable[str]) -> int | None:
    """Number of processes: stated outright, or nodes times processes per node of a launcher's command."""
    joined = "\n".join(texts)
    patterns = _table()["world_size"]
    assert isinstance(patterns, dict)
    for pattern in patterns["total"]:
        match = re2.search(pattern, joined)
        if match and 0 < int(match.group(1)) <= 100_000:
            return int(match.group(1))
    per_node = re2.search(patterns["per_node"], joined)
    if per_node:
        nodes = re2.search(patterns["nodes"], joined)
        return int(per_node.group(1)) * (int(nodes.group(1)) if nodes else 1)
    return None


def find_framework(title: str, prose: str, rest: str) -> str | None:
    """The framework the report is about: title before prose before logs, the specific before the general."""
    frameworks = _table()["framework"]
    assert isinstance(frameworks, dict)
    scores: dict[str, float] = {}
    for position, (name, pattern) in enumerate(frameworks.items()):
        compiled = re2.compile(pattern)
        count = (
            4.0 * len(compiled.findall(title))
            + 1.5 * min(4, len(compiled.findall(prose[:4000])))
            + 0.5 * min(6, len(compiled.findall(rest[:20000])))
        )
        if count:
            scores[name] = count + 1.0 - position / 100
    general = {"pytorch", "tensorflow", "keras", "mxnet"}
    # Horovod on PyTorch is a Horovod report: the layer on top is named less often than what it sits on.
    return max(scores, key=lambda n: scores[n] * (0.6 if n in general else 1.0)) if scores else None


def framework_of(report_id: str) -> str | None:
    """The framework of the repository in an id "owner/repo#n", if it is one of the known ones."""
    repositories = _table()["repository"]
    assert isinstance(repositories, dict)
    found = repositories.get(report_id.rpartition("#")[0].lower())
    return str(found) if found else None
