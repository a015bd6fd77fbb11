"""What is said to the model: our texts, the lines of a redacted report that it is shown, and the fence around them."""

from __future__ import annotations

import hashlib
import json
import secrets
import tomllib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import re2

from knowledge.evidence import Reading
from knowledge.evidence.lines import Kind, Line, clean_text
from llm.values import CHARS_PER_TOKEN, RANKING, ChatRequest, Duty

# Untrusted text between random delimiters, without anything that looks like a delimiter or a role.

_WIDE_ANGLES = str.maketrans("＜﹤＞﹥", "<<>>")
_OPEN, _CLOSE = "‹«≪⟨⟪〈〈《❬❮❰", "›»≫⟩⟫〉〉》❭❯❱"
_ANGLES = re2.compile(f"[<{_OPEN}]{{2,}}|[>{_CLOSE}]{{2,}}")
_ASCII_ANGLES = str.maketrans(_OPEN + _CLOSE, "<" * len(_OPEN) + ">" * len(_CLOSE))
# Markers of turns and roles in the chat templates of common models; in data they mean nothing.
_TURNS = re2.compile(
    r"(?i)<[|｜][^|｜<>\n]{0,60}[|｜]>|\[/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS)\]"
    r"|</?(?:s|bos|eos|system|user|assistant|start_of_turn|end_of_turn|think|tool_call|tool_response)>"
)


def new_token() -> str:
    """64 random bits: what the text could not know when it was written."""
    return secrets.token_hex(8)


def defuse(text: str) -> str:
    """The text without turn markers, runs of angle brackets or invisible characters; line breaks stay."""
    text = clean_text(text.encode("utf-8", "replace").decode("utf-8")).translate(_WIDE_ANGLES)
    for _ in range(3):
        # Taking one marker out may put another together.
        text, count = _TURNS.subn("", text)
        if not count:
            break
    else:
        text = text.replace("<", "(").replace(">", ")")
    return str(_ANGLES.sub(lambda match: " ".join(match.group(0).translate(_ASCII_ANGLES)), text))


class Fence:
    """The delimiters of one call."""

    def __init__(self, token: str) -> None:
        self.token = token

    def around(self, name: str, text: str) -> str:
        """A block named `name` (ours) around untrusted text, made free of the token and its look-alikes."""
        inside = defuse(text).replace(self.token, "")
        return f"<<<{name} {self.token}>>>\n{inside}\n<<<END {name} {self.token}>>>"


# What is said to the model, from texts.toml, and the request that is made of it.

_FILE = Path(__file__).parent / "texts.toml"
NO_TOKEN = "0" * 16
_PLAIN_NAME = re2.compile(r"[A-Za-z0-9_./:+-]{1,60}")

Fill = Callable[[Fence], dict[str, str]]
"""Fills the user text's placeholders; whatever is not ours goes through the fence."""


@cache
def _texts() -> dict[str, dict[str, str]]:
    with _FILE.open("rb") as file:
        return tomllib.load(file)


@cache
def digest() -> str:
    """Names the wording of the ranking questions: what was measured with one wording says little of another."""
    asked = {name: _texts()[name] for name in ("common", *RANKING)}
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()[:16]


def make_request(duty: Duty, fill: Fill, schema: dict[str, Any], token: str, subject: str) -> ChatRequest:
    """The request of a duty with the delimiter `token`; its content key does not depend on the token."""
    plain_system, plain_user = _render(duty, fill, NO_TOKEN)
    content = json.dumps([duty, plain_system, plain_user, schema], sort_keys=True)
    system, user = _render(duty, fill, token)
    key = hashlib.sha256(content.encode()).hexdigest()
    return ChatRequest(duty, system, user, schema, key, subject)


def _render(duty: Duty, fill: Fill, token: str) -> tuple[str, str]:
    texts = _texts()
    trust = texts["common"]["trust"].strip().format(token=token)
    system = texts[duty]["system"].strip().format(trust=trust)
    return system, texts[duty]["user"].strip().format(**fill(Fence(token)))


def again(draft: str, faults: str) -> str:
    """What a writer is told of its own draft before it writes again; `draft` stands within a fence."""
    return _texts()["writer"]["again"].strip().format(draft=draft, faults=faults)


def refusal(rule: str, what: str) -> str:
    """Why the program refused a part, for the model: the rule's sentence; `what` broke it."""
    sentences = _texts()["refused"]
    sentence = sentences.get(rule, sentences["any"])
    # Only what is plainly a name, a number or a path is repeated outside of the fence.
    name = what if _PLAIN_NAME.fullmatch(what) else "something in it"
    return sentence.format(rule=rule, what=f"`{name}`" if name == what else name)


# Which lines of a redacted report the model is shown: the decisive ones first, within a budget of tokens.

LINE_CHARS: Mapping[Kind, int] = {Kind.PROSE: 1_200, Kind.COMMAND: 700}
"""Characters kept of one line; of a decisive one `LONGEST`, of every other kind `OTHER_CHARS`."""
LONGEST = 1_000
OTHER_CHARS = 400
_HEAD = 0.3
"""Share of a shortened line that its beginning gets; the end gets as much, the telling words the rest."""
_NUMBERED = 16
"""Characters that a line costs besides its text: its number here, and in the schema."""
SAME = 2
ALIKE = 6
"""From so many copies on, identical lines, or lines that differ in numbers alone, are shown once."""
FRAMES = 12
"""Frames shown first of a Python traceback (its last ones) or a native backtrace (its first ones)."""
_GAPS_NAMED = 6
NOTE_TOKENS = 60
"""The most that the sentence on what is not shown takes."""

_ORDER: Mapping[Kind, int] = {
    Kind.PROSE: 1,
    Kind.COMMAND: 2,
    Kind.LOG: 2,
    Kind.HEADING: 3,
    Kind.ENVIRONMENT: 3,
    Kind.CODE: 4,
    Kind.TEMPLATE: 5,
}
"""Which kinds go first when not all fit; noise and blanks are never shown."""
_OUTER_FRAME = 6

_TELLING = re2.compile(
    r"\b[A-Za-z_][\w.]*(?:Error|Exception|Failure)\b|(?i)\b(?:fatal|error|failed|timed? ?out|killed|abort\w*)\b"
)
_NUMBER = re2.compile(r"0x[0-9a-fA-F]+|\b[0-9]+(?:\.[0-9]+)?\b")
_TRACEBACK = re2.compile(r"^\s*(?:Original )?Traceback \(most recent call")
_PYTHON_FRAME = re2.compile(r"^\s*File \"|^\s{2,}\S|^\s*[~^]+\s*$")
_NATIVE_FRAME = re2.compile(
    r"^\s*(?:\[\S+\] *)?(?:frame )?#\d+[: ]|^\s*\[\S+:\d+\] \[ ?\d+\] |^\s*\[ ?\d+\] \S+[(\[]"
)


@dataclass(frozen=True, slots=True)
class ShownLines:
    """Line number (1-based, 0 the title) to its text, in the order of the report; and which process printed it."""

    lines: Mapping[int, str]
    ranks: Mapping[int, int] = field(default_factory=dict)
    copies: Mapping[int, int] = field(default_factory=dict)
    """Line number to how many lines like it, itself included, it stands for."""
    left_out: tuple[tuple[int, int], ...] = ()
    """First and last line of each stretch that says something and is not shown."""

    @property
    def text(self) -> str:
        """The lines with their numbers, and the rank of the process where it is known; gaps are marked."""
        out: list[str] = []
        last = -1
        for number, text in self.lines.items():
            if number > last + 1 and out:
                out.append("...")
            rank = f"[rank {self.ranks[number]}] " if number in self.ranks else ""
            copies = f" [{self.copies[number]} such lines]" if number in self.copies else ""
            out.append(f"{number}| {rank}{text}{copies}")
            last = number
        return "\n".join(out)

    @property
    def partly(self) -> str:
        """A sentence on what is not shown, for the model; empty when all of the report is."""
        if not self.left_out:
            return ""
        largest = sorted(sorted(self.left_out, key=lambda gap: gap[0] - gap[1])[:_GAPS_NAMED])
        named = ", ".join(f"{a}" if a == b else f"{a}-{b}" for a, b in largest)
        more = " and others" if len(self.left_out) > len(largest) else ""
        return f"Only a part of the report is shown: lines {named}{more} are not. What is missing may stand there."


def choose_lines(reading: Reading, tokens: int) -> ShownLines:
    """At most `tokens` (as `llm.values.estimate` counts): the title, decisive lines and what is around them, then
    by kind, logs from the decisive lines outwards.

    Long lines keep head, end and the words that tell; copies are folded; of a long traceback the end goes first,
    of a native backtrace the head.
    """
    decisive = {d.number for d in reading.decisive[:12] if not d.in_title}
    near = {number + step for number in decisive for step in (-1, 0, 1)}
    stated = [line for line in reading.lines if line.kind in _ORDER and line.text.strip()]
    copies, folded = _copies(stated, decisive)
    outer = _outer_frames(stated)
    starts = _starts(reading)
    chosen = {0: shortened(reading.report.title, LONGEST, ())}
    room = tokens * CHARS_PER_TOKEN - len(chosen[0]) - _NUMBERED
    ranked: list[tuple[int, int, int, str]] = []
    for line in stated:
        if line.number not in folded:
            most = LONGEST if line.number in near else LINE_CHARS.get(line.kind, OTHER_CHARS)
            place = 0 if line.number in near else _OUTER_FRAME if line.number in outer else _ORDER[line.kind]
            far = min((abs(line.number - d) for d in decisive), default=0) if place >= 2 else 0
            ranked.append((place, far, line.number, shortened(line.text.strip(), most, starts[line.number])))
    ranks = {line.number: line.rank for line in reading.lines if line.rank is not None}
    for _, _, number, text in sorted(ranked):
        cost = len(text) + _NUMBERED + (10 if number in ranks else 0) + (20 if number in copies else 0)
        if cost <= room:
            room -= cost
            chosen[number] = text
        elif room < 200:
            break
    lines = dict(sorted(chosen.items()))
    return ShownLines(
        lines,
        {number: ranks[number] for number in lines if number in ranks},
        {number: count for number, count in copies.items() if number in lines},
        _left_out(
            stated, {*lines, *(n for n, first in folded.items() if first in lines)}, reading.report.gap
        ),
    )


def shortened(text: str, limit: int, telling: Iterable[int]) -> str:
    """At most about `limit` characters: head and end, and between them what stands around the first telling word.

    `telling`: where words that tell begin, as far as known; else what looks like an error is looked for.
    """
    if len(text) <= limit:
        return text
    head = tail = int(limit * _HEAD)
    middle = limit - head - tail
    found = _TELLING.search(text, head)
    places = [*telling] or ([found.start()] if found else [])
    place = next((p for p in sorted(places) if head <= p < len(text) - tail), None)
    if place is None:
        cut = limit - tail
        return f"{text[:cut].rstrip()} […] {text[-tail:].lstrip()}"
    start = max(head, place - middle // 4)
    end = min(start + middle, len(text) - tail)
    before = " […] " if start > head else ""
    after = " […] " if end < len(text) - tail else ""
    return f"{text[:head]}{before}{text[start:end]}{after}{text[-tail:]}"


def _starts(reading: Reading) -> Mapping[int, list[int]]:
    """Where signatures begin in each line; they were searched in the line as it is."""
    found: defaultdict[int, list[int]] = defaultdict(list)
    for number, hit in reading.hits:
        found[number].append(hit.start)
    return found


def _copies(lines: Sequence[Line], decisive: set[int]) -> tuple[dict[int, int], dict[int, int]]:
    """How many lines each shown one stands for, and of each folded line the one that stands for it."""
    copies: dict[int, int] = {}
    folded: dict[int, int] = {}
    printed = [line for line in lines if line.kind in (Kind.LOG, Kind.ENVIRONMENT) and len(line.text) > 8]
    for least, key in ((SAME, str.strip), (ALIKE, _without_numbers)):
        left = [line for line in printed if line.number not in folded]
        counts = Counter(key(line.text) for line in left)
        first: dict[str, int] = {}
        for line in left:
            name = key(line.text)
            stands = first.setdefault(name, line.number)
            # What decides is shown wherever it stands.
            if counts[name] >= least and stands != line.number and line.number not in decisive:
                folded[line.number] = stands
                copies[stands] = copies.get(stands, 1) + copies.pop(line.number, 1)
    return copies, {number: _last(number, folded) for number in folded}


def _last(number: int, folded: Mapping[int, int]) -> int:
    while number in folded:
        number = folded[number]
    return number


def _without_numbers(text: str) -> str:
    return str(_NUMBER.sub("#", text)).strip()


def _outer_frames(lines: Sequence[Line]) -> set[int]:
    """Lines of long stacks that say little: the outer frames of a traceback, the tail of a native backtrace."""
    outer: set[int] = set()
    python: list[int] = []
    native: list[int] = []
    for line in lines:
        if _NATIVE_FRAME.search(line.text):
            native.append(line.number)
            continue
        outer.update(native[FRAMES:])
        native = []
        if _TRACEBACK.search(line.text):
            python = [line.number]
        elif python and _PYTHON_FRAME.search(line.text):
            python.append(line.number)
        elif python:
            outer.update(python[1 : -2 * FRAMES])
            python = []
    outer.update(native[FRAMES:])
    outer.update(python[1 : -2 * FRAMES])
    return outer


def _left_out(
    stated: Sequence[Line], told: set[int], gap: tuple[int, int] | None
) -> tuple[tuple[int, int], ...]:
    """Stretches of lines not told; what lies between two of them and says nothing belongs to the stretch."""
    out: list[list[int]] = []
    for before, line in pairwise([None, *stated]):
        if line is None or line.number in told:
            continue
        if out and before is not None and before.number == out[-1][1]:
            out[-1][1] = line.number
        else:
            out.append([line.number, line.number])
    if gap is not None:
        out.append([gap[0] + 1, gap[0] + gap[1]])
    return tuple(sorted((a, b) for a, b in out))
