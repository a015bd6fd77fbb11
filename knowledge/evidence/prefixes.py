"""What launchers, collectors and loggers print before a message: time, host, rank, level, and the bare text.

Prefixes nest (a collector's stamp, pdsh's host, a rank, Python's logging); they are cut one by one.
"""

from __future__ import annotations

from dataclasses import dataclass

from knowledge.evidence.json_lines import JsonLine, read_json_line
from knowledge.evidence.prefix_patterns import LONGEST, Spans, prefixes
from knowledge.evidence.stamps import Stamp, read_stamp

MOST = 12
"""Prefixes cut from one line; nobody nests more."""
REMEMBERED = 10_000
_NO_DIGITS = bytes.maketrans(b"123456789", b"000000000")


@dataclass(frozen=True, slots=True)
class Prefixed:
    """A line of a log taken apart. `text` is what the process itself said."""

    text: str
    rank: int | None = None
    host: str | None = None
    pid: int | None = None
    time: Stamp | None = None
    level: str | None = None
    """One of D, I, W, E, F; None when the line does not say."""
    group: str | None = None
    """The process group that torch names before the message."""


def split_prefix(line: str, *, in_log: bool = True) -> Prefixed:
    """Cut what stands before the message of one line; for many, see `PrefixReader`."""
    return PrefixReader().read(line, in_log=in_log)


class PrefixReader:
    """Cuts prefixes of the lines of one report; lines that differ in digits alone are cut at the same places."""

    def __init__(self) -> None:
        """Remember nothing yet."""
        self._seen: dict[tuple[bytes, bool], tuple[Spans, int]] = {}

    def read(self, line: str, *, in_log: bool) -> Prefixed:
        """A line taken apart; `in_log` False (a person may have written it) leaves words that could be a host."""
        key = (line[:LONGEST].encode("utf-8", "replace").translate(_NO_DIGITS), in_log)
        found = self._seen.get(key)
        if found is None:
            found = _find(line, in_log=in_log)
            if len(self._seen) < REMEMBERED:
                self._seen[key] = found
        spans, end = found
        out = _parts(line, spans, end)
        if line[end : end + 1] == "{" and (row := read_json_line(line[end:])) is not None:
            return _merged(out, row, self.read(row.text, in_log=in_log))
        return out


def _find(line: str, *, in_log: bool) -> tuple[Spans, int]:
    """Where the parts of all prefixes are, and where the message starts."""
    spans: dict[str, tuple[int, int]] = {}
    end = 0
    for _ in range(MOST):
        text = line[end : end + LONGEST]
        bare = text.lstrip()
        # An indented line is a part of what came before, but for srun's padding and a few launchers' blanks.
        if not bare or len(text) - len(bare) > 4:
            break
        first = bare[0]
        group = "0" if first.isdigit() else "a" if first.isalpha() else first if first in "[(" else ""
        found = prefixes()[group].find(text, logged="time" in spans or "level" in spans, hosts=in_log)
        if found is None or found[1] == 0:
            break
        for name, (start, stop) in found[0].items():
            if name != "time" or name not in spans:  # the collector's clock is the same for every line
                spans["host" if name == "machine" else name] = (end + start, end + stop)
        end += found[1]
    return spans, end


def _parts(line: str, spans: Spans, end: int) -> Prefixed:
    def part(name: str) -> str | None:
        span = spans.get(name)
        return line[span[0] : span[1]] if span else None

    rank, pid, time, level = part("rank"), part("pid"), part("time"), part("level")
    return Prefixed(
        line[end:],
        int(rank) if rank else None,
        part("host"),
        int(pid) if pid else None,
        read_stamp(time) if time else None,
        _letter(level) if level else None,
        part("group"),
    )


def _merged(outer: Prefixed, row: JsonLine, inner: Prefixed) -> Prefixed:
    """A structured line: what its message's own prefixes say goes before its fields."""
    ranks = [rank for rank in (inner.rank, row.rank, outer.rank) if rank is not None]
    return Prefixed(
        inner.text,
        ranks[0] if ranks else None,
        inner.host or row.host or outer.host,
        inner.pid if inner.pid is not None else outer.pid,
        outer.time or (read_stamp(row.time) if row.time else None) or inner.time,
        inner.level or (_letter(row.level) if row.level else outer.level),
        inner.group or outer.group,
    )


def _letter(level: str) -> str:
    first = level[:1].upper()
    return {"C": "F", "N": "I", "T": "D", "S": "I"}.get(first, first)
