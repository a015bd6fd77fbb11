"""What launchers, collectors and loggers print before a message: time, host, rank, level, and the bare text.

Prefixes nest (a collector's stamp, pdsh's host, a rank, Python's logging); they are cut one by one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import re2

from knowledge.evidence.lines import Stamp, pattern_set, read_stamp

# A line of a structured log: one JSON object with a message.

_TEXT = ("msg", "message", "log", "event", "text")
_TIME_KEYS = ("time", "timestamp", "ts", "@timestamp", "asctime", "datetime")
_LEVEL_KEYS = ("level", "levelname", "severity", "lvl", "log.level")
_HOST_KEYS = ("host", "hostname", "node", "pod", "pod_name")
_RANK = ("rank", "global_rank", "process_index")
_STACK = ("exc_info", "exception", "exc_text", "traceback", "stack_trace", "stack", "error")
# A line cut at its length limit, or a form that JSON does not know, still tells its message.
_CUT = re2.compile(r'"(?:msg|message|log)"\s*:\s*"((?:[^"\\]|\\.)*)')


@dataclass(frozen=True, slots=True)
class JsonLine:
    """What a structured line says; `text` is its last line of a stack where it has one, else its message."""

    text: str
    rank: int | None = None
    host: str | None = None
    time: str | None = None
    level: str | None = None


def read_json_line(line: str) -> JsonLine | None:
    """The parts of a JSON log line; None when it is something else (a printed dictionary of numbers)."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        match = _CUT.search(line) if line.startswith('{"') else None
        return JsonLine(match.group(1).replace("\\n", " ")) if match else None
    if not isinstance(row, dict) or (text := _first(row, _TEXT)) is None:
        return None
    rank = next((row[key] for key in _RANK if isinstance(row.get(key), int)), None)
    level = _first(row, _LEVEL_KEYS)
    return JsonLine(
        _last_line(_first(row, _STACK)) or text.rstrip().replace("\n", " "),
        rank,
        _first(row, _HOST_KEYS),
        _first(row, _TIME_KEYS),
        level if level and level[:1].isalpha() else None,
    )


def _first(row: Mapping[str, Any], keys: tuple[str, ...]) -> str | None:
    for key in keys:
        value = row.get(key)
        if isinstance(value, str | float | int) and not isinstance(value, bool) and str(value).strip():
            return str(value)
    return None


def _last_line(stack: str | None) -> str | None:
    lines = [line.strip() for line in (stack or "").splitlines() if line.strip()]
    return lines[-1] if len(lines) > 1 else None


# Patterns of what launchers, collectors and loggers print before a message, by the character they begin with.

LONGEST = 160
"""Characters of a line in which one prefix is looked for."""
Spans = Mapping[str, tuple[int, int]]
"""Name of a part ("time", "rank", ...) to where it is."""

_TIME = r"(?P<time>\d{4}[-/]\d\d[-/]\d\d[ T_]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?|\d\d[-/]\d\d[-/]\d{4}[ T]\d\d:\d\d:\d\d(?:[.,]\d{1,6})?|\d\d:\d\d:\d\d(?:[.,]\d{1,9})?|1[5-9]\d{8}\.\d{1,9})"
_ZONE = r"(?:Z| ?[+-]\d\d:?\d\d| UTC)?"
_LEVEL = r"(?P<level>DEBUG|INFO|NOTICE|WARNING|WARN|ERROR|CRITICAL|FATAL|TRACE|SUCCESS|[Dd]ebug|[Ii]nfo|[Ww]arning|[Ww]arn|[Ee]rror|[Cc]ritical|[Ff]atal)"
_FILE = r"[\w./<>+-]+\.(?:cc|cpp|cu|h|hpp|py|go|rs|c)"
_HOST = r"[A-Za-z0-9][\w.-]*"

_BRACKET = (
    # mpirun --tag-output, horovodrun: [1,3]<stderr>:   Open MPI 5: [prterun-node-81@1,3]<stderr>:
    r"^\s*\[(?:[\w.-]+@)?\d+,(?P<rank>\d+)\]\s?<std(?:err|out|diag)>\s?:?\s?",
    # torchrun and torch: [rank3]:  [default3]:  [rank3][E503 ...  [Rank 3]  [trainer0]:
    r"^\s*\[(?i:rank|default|local_rank|trainer|worker|role)[ =:]?(?P<rank>\d+)\](?:\s?:)?[ \t]?",
    # torch's C++ log: [PG ID 0 PG GUID 0(default_pg) Rank 3] text
    r"^\[PG ID (?P<group>\d+)[^\]]* Rank (?P<rank>\d+)\]:?\s+",
    # glog in brackets: [E503 10:02:31.004 ProcessGroupNCCL.cpp:616]   [W socket.cpp:601]
    rf"^\s*\[(?P<level>[IWEF])(?P<time>\d{{3,4}} \d\d:\d\d:\d\d(?:\.\d+)?)(?:\s+\d+)? +{_FILE}:\d+\]\s?",
    rf"^\s*\[(?P<level>[IWEF]) {_FILE}:\d+\]\s?",
    # Horovod, DeepSpeed, Hydra: [2026-05-03 10:02:31.221: W horovod/common/x.cc:107]  [2026-05-03 10:02:31,008]
    rf"^\s*\[{_TIME}{_ZONE}(?:: (?P<level>[DIWEF]) {_FILE}:\d+)?\]:?\s?",
    # [ERROR]  [INFO|trainer.py:88]  [launch.py:315:sigkill_handler]
    rf"^\s*\[{_LEVEL}\s*(?:\|[^\]\[]{{0,80}})?\](?:\s*-)?[:\s]?",
    rf"^\[{_FILE}:\d+(?::\w+)?\]:?\s+",
    # colours whose escape character was lost: [2m[36m(pid=11685)[0m
    r"^\s*\[\d{1,2}(?:;\d{1,2})*m ?",
    # kubectl logs --prefix: [pod/worker-3/pytorch]
    r"^\[pod/(?P<host>[\w.-]+)/[\w.-]+\]\s?",
    # [node-7:3] a rank, [node-7:04711] a process
    r"^\s*\[(?P<host>[A-Za-z][\w.-]*):(?P<rank>0|[1-9]\d{0,2})\]:?\s",
    r"^\s*\[(?P<host>[A-Za-z][\w.-]*):(?P<pid>\d{4,8})\]:?\s",
    # dmesg -T: [Tue Apr  7 02:11:09 2026]
    r"^\[[A-Z][a-z]{2} (?P<time>[A-Z][a-z]{2} +\d{1,2} \d\d:\d\d:\d\d) \d{4}\]\s",
    # Ray's C++ log: [2026-01-10 03:11:08,112 E 88 88] (raylet) node_manager.cc:3064:
    rf"^\[{_TIME} (?P<level>[DIWEFC]) (?P<pid>\d+) \d+\](?: \(\w+\))? {_FILE}:\d+:\s",
    # the kernel's clock: [12345.678901]
    r"^\[ *\d{1,9}\.\d{6}\]\s",
)
_DIGIT = (
    rf"^\s*{_TIME}{_ZONE}(?:\s+(?:stdout|stderr) [FP])?(?:: (?P<level>[DIWEF]) {_FILE}:\d+\])?(?:\s*\||\s+-|\s*>>|:)?(?:\s|$)",
    # srun --label pads its ranks
    r"^\s{0,4}(?P<rank>\d{1,5}):(?:\s|$)",
)
_LETTER = (
    # syslog, journald: May 03 10:02:31 node-7 python[8123]:
    rf"^(?P<time>[A-Z][a-z]{{2}} +\d{{1,2}} \d\d:\d\d:\d\d(?:\.\d+)?) (?P<host>{_HOST}) [\w./()-]+(?:\[(?P<pid>\d+)\])?:\s?",
    # glog, absl: E0503 10:02:31.000000 91230 trainer.py:88]
    rf"^(?P<level>[IWEF])(?P<time>\d{{4}} \d\d:\d\d:\d\d(?:\.\d+)?)\s+(?P<pid>\d+)?(?:\s+\d+)? ?{_FILE}:\d+\]\s?",
    # rank3: text   Rank 3 | text   rank=3 text
    r"^(?i:rank)[ =]?(?P<rank>\d+)(?:\s?[:|]\s|\s-\s)",
    # Python's default: ERROR:trainer:text
    r"^(?P<level>DEBUG|INFO|WARNING|ERROR|CRITICAL):[\w.]+:",
    # logfmt: time=2026-05-03T10:02:31Z level=error msg="text"
    rf"^time=\"?{_TIME}{_ZONE}\"?\s+level=(?P<level>\w+)\s+msg=",
    r"^pod/(?P<host>[\w.-]+)/[\w.-]+\s",
)
# A host's name or a container's before the message: only in logs, since prose looks much like it.
_HOSTS = (
    rf"^(?P<machine>{_HOST})\s*\| ?",
    r"^(?P<machine>(?:[A-Za-z][\w.-]*-\d[\w-]*|(?:node|worker|host|server|slave|cn|dgx|hgx|gn|compute|gpu|nid|master|ip)[\w-]*\d[\w.-]*|\d{1,3}(?:\.\d{1,3}){3})): ?",
)
# Only behind a time or a level does a word before a colon name a logger.
_LOGGED = (
    rf"^{_LEVEL}\b(?:\s*[|:]\s?|\s+-\s|\s|$)",
    r"^\[[\w.:/<>-]{1,80}\](?:\s+-\s|:?\s+|$)",
    rf"^(?:\[[a-zA-Z_][\w.]*\])?\[{_LEVEL}\](?:\s+-|:)?\s",
    rf"^\[?{_FILE}:\d+(?::\w+)?\]?(?:\s+-+\s|:\s|\s)",
    r"^[\w.<>]+:[\w<>.]+:\d+ - ",
    r"^[a-z_][a-z0-9_.]*(?::\d+)? - ",
    r"^(?P<logger>[a-z_][a-z0-9_.]*(?:\[\d+\])?(?::\d+)?): ",
    r"^\[(?P<level>[DIWEF])\s",
    r"^(?:>>|-|\|) ",
)
_RAY = (
    r"^\((?:raylet|gcs_server)(?:, ip=(?P<host>[\w.:-]+))?\)\s",
    r"^\s*\((?:[\w.:]+ )?pid=(?P<pid>\d+)(?:, ip=(?P<host>[\w.:-]+))?\)\s?",
    r"^\((?i:rank) ?(?P<rank>\d+)\):?\s",
)
# host:pid:tid [device] NCCL WARN: the number is the CUDA device, not the rank
_NCCL = rf"^\s*(?P<host>{_HOST}):(?P<pid>\d+):\d+ (?:\[\d+\] )?(?:[\w/]+\.(?:cc|h|cu):\d+ )?(?P<keep>NCCL) "
_LOWER_EXCEPTIONS = ("error", "timeout", "exception", ".py")
_NOT_HOSTS = re2.compile(
    r"(?i)^(?:step|epoch|layer|stage|iter\w*|cuda|phase|test|python|fp|bf|v|gpu|cpu|exit|errno|signal|torch-|non-|pre-|re-|self-|multi-|sub-|runtime-|type-|val-|train-)-?\d*[\d.]*$"
)


class Prefixes:
    """Patterns of which one pass finds those that match at the start of a text; the first of them counts."""

    def __init__(self, always: tuple[str, ...], logged: tuple[str, ...], hosts: tuple[str, ...]) -> None:
        """Compile them; `logged` count behind a time or a level only, `hosts` in a log only."""
        compiled = [re2.compile(pattern) for pattern in (*always, *logged, *hosts)]
        self._patterns = [(pattern, dict(pattern.groupindex)) for pattern in compiled]
        self._logged = range(len(always), len(always) + len(logged))
        self._hosts = range(len(always) + len(logged), len(compiled))
        self._set = pattern_set((*always, *logged, *hosts))

    def find(self, text: str, *, logged: bool, hosts: bool) -> tuple[Spans, int] | None:
        """The parts of the prefix that `text` begins with, and where the rest of it starts."""
        for index in self._allowed(text[:LONGEST], logged=logged, hosts=hosts):
            pattern, names = self._patterns[index]
            match = pattern.match(text[:LONGEST])
            if match is None:
                continue
            spans = {name: match.span(group) for name, group in names.items() if match.start(group) >= 0}
            if not _is_other(text, spans):
                return spans, spans["keep"][0] if "keep" in spans else match.end()
        return None

    def _allowed(self, text: str, *, logged: bool, hosts: bool) -> Iterator[int]:
        for index in sorted(self._set.Match(text) or ()):
            if (logged or index not in self._logged) and (hosts or index not in self._hosts):
                yield index


def _is_other(text: str, spans: Spans) -> bool:
    """Whether what looks like a logger is an exception, or what looks like a host is a word."""
    if "logger" in spans:
        start, end = spans["logger"]
        return text[start:end].endswith(_LOWER_EXCEPTIONS)
    start, end = spans.get("machine", (0, 0))
    return end > start and _NOT_HOSTS.match(text[start:end]) is not None


@cache
def prefixes() -> Mapping[str, Prefixes]:
    """Patterns by the kind of character that they begin with: "[", "(", "0", "a", "" for any other."""
    return {
        "[": Prefixes(_BRACKET, _LOGGED, ()),
        "(": Prefixes(_RAY, _LOGGED, ()),
        "0": Prefixes(_DIGIT, (*_LOGGED, _NCCL), _HOSTS),
        "a": Prefixes((*_LETTER, _NCCL), _LOGGED, _HOSTS),
        "": Prefixes((), _LOGGED, ()),
    }


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
