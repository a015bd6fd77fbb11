"""Headers between the logs of several processes: `==> rank3.log <==`, `=== node-1 ===`."""

from __future__ import annotations

from dataclasses import dataclass

import re2

_HEADER = re2.compile(
    r"^\s*(?:=+>|={2,}|-{2,}|#{2,}) *([A-Za-z][\w./-]*\d[\w./-]*)(?: *\([^)]{0,60}\)| log)?:? *"
    r"(?:<=+|={2,}|-{2,}|#{2,})\s*$"
)
_RANK = re2.compile(r"(?i)(?:rank|worker|proc(?:ess)?|gpu)[-_.]?(\d{1,5})(?:\D|$)")
_NODE = re2.compile(
    r"(?i)(?:^|/)([\w-]*(?:node|host|server)[-_]?\d[\w-]*|[a-z]+[-\w]*\d)(?:\.(?:log|out|err|txt))?$"
)


@dataclass(frozen=True, slots=True)
class Source:
    """Which process or machine the lines after a header come from."""

    rank: int | None = None
    host: str | None = None


def source_of(line: str) -> Source | None:
    """What a header between two logs names; None for any other line."""
    if line.lstrip()[:1] not in ("=", "-", "#"):
        return None
    match = _HEADER.match(line)
    return named_source(match.group(1)) if match else None


def named_source(name: str) -> Source | None:
    """The rank or machine that the name of a log's file tells."""
    if rank := _RANK.search(name):
        return Source(rank=int(rank.group(1)))
    node = _NODE.search(name)
    return Source(host=str(node.group(1))) if node else None
