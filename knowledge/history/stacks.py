"""The innermost stack of a report: its frames, as names that stay the same from release to release.

Python, Java, JavaScript, gdb, C++ back traces of torch and Firefox's crash tables. Line numbers, addresses and
paths of machines are left out: they differ between two reports of one failure.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import re2

MOST_FRAMES = 12
"""Innermost frames kept: those further out are the program's, not the failure's."""
_PYTHON = re2.compile(r'^\s*File "([^"\n]{1,300})", line \d+, in (\S{1,120})')
_CALLED = re2.compile(r"^\s*(?:\[\w+\]\s*)?at (?:async |new )?([\w.$<>/:~@-]{2,300}) ?\(([^()\n]{0,300})\)?")
_NATIVE = re2.compile(
    r"^\s*(?:frame )?#\d{1,3}:?\s+(?:0x[0-9a-fA-F]+ in )?(?:<\w+>:\s*)?"
    r"([A-Za-z_~][\w:~<>, *&]{1,200}?)\s*(?:\(|\+ 0x| at )"
)
_CRASH = re2.compile(
    r"^\s*\|?\s*\d{1,3}\s*\|?\s+[\w.-]+\.(?:dll|so|dylib|exe)\s*\|?\s+([A-Za-z_][\w:~<>]{2,200})"
)
_CAUSED = re2.compile(r"^\s*(?:\[\w+\]\s*)?Caused by: ")
_RAISED = re2.compile(
    r"^\s*(?:\[\w+\]\s*)?(?:Caused by:\s*|Uncaught (?:\(in promise\) )?|Exception in thread \"[^\"\n]{0,120}\" )?"
    r"((?:[A-Za-z_$][\w$]*\.)*[A-Za-z_$][\w$]*(?:Error|Exception|Failure|Interrupt))(?:\s*:|\s*$)"
)
_NAMED = re2.compile(r"\b((?:[a-z_][\w]*\.)*[A-Z][A-Za-z0-9]*(?:Error|Exception))\b")
_TEST = re2.compile(r"^I?Test(?:[A-Z]|$)|Test$")
"""A test's name ends like an exception's now and then (TestDiskError)."""
_MADE = re2.compile(r"\$\$?(?:Lambda|\d+|lambda|EnhancerBy\w*).*|\blambda\$|/0x[0-9a-f]+|<[^<>]*>")
"""What a compiler adds to a name: numbers of lambdas and inner classes, template arguments."""


@dataclass(slots=True)
class Stack:
    """Frames, innermost first, under the exception that was raised there; "" where none is named."""

    exception: str = ""
    frames: list[str] = field(default_factory=list)


def innermost(lines: Iterable[str]) -> Stack:
    """The root of the first chain of stacks; an empty stack where the text has none.

    Java names the cause last ("Caused by"), Python raises it first; later stacks of a log are other failures,
    other threads or echoes. Without any stack the first exception that the text names stands alone.
    """
    stacks: list[tuple[str, Stack]] = []
    pending = named = ""
    caused = inside = False
    for line in lines:
        kind, frame = _frame(line)
        if frame:
            if not inside or not stacks or stacks[-1][0] != kind:
                if stacks and not caused:
                    break
                stacks.append((kind, Stack("" if kind == "python" else pending)))
                pending, caused = "", False
            stacks[-1][1].frames.append(frame)
            inside = True
            continue
        raised = _RAISED.match(line)
        if raised:
            pending = _short(raised.group(1))
            if inside and stacks and stacks[-1][0] == "python":
                stacks[-1][1].exception = stacks[-1][1].exception or pending
            caused = bool(_CAUSED.match(line)) and bool(stacks)
            inside = False
        elif inside and line.strip() and not line.startswith((" ", "\t", "...")):
            inside = False
        if not named and (seen := _NAMED.search(line)):
            named = _short(seen.group(1)) if not _TEST.search(_short(seen.group(1))) else ""
    if not stacks:
        return Stack(pending or named)
    kind, stack = stacks[-1]
    frames = stack.frames[::-1] if kind == "python" else stack.frames
    return Stack(stack.exception or named, list(dict.fromkeys(frames))[:MOST_FRAMES])


def _frame(line: str) -> tuple[str, str]:
    """The language's kind and the name of the frame that the line shows, or two empty strings."""
    if found := _PYTHON.match(line):
        path = found.group(1).replace("\\", "/").split("/")
        return "python", f"{'/'.join(path[-2:])}:{found.group(2)}"
    if found := _CALLED.match(line):
        return "called", _MADE.sub("", found.group(1).rpartition("/")[2] or found.group(1))
    if found := _NATIVE.match(line):
        return "native", _MADE.sub("", found.group(1)).strip()
    if found := _CRASH.match(line):
        return "native", _MADE.sub("", found.group(1))
    return "", ""


def _short(name: str) -> str:
    """An exception's own name, without its package: reports give it either way."""
    return name.replace("$", ".").rpartition(".")[2]
