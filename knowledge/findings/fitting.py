"""An entry's advice cut down to what fits one report: its frameworks and tools, and the releases that there were."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import pairwise
from pathlib import Path

import re2

from knowledge.evidence import Reading
from knowledge.evidence.lines import Kind
from knowledge.findings.failure import Failure
from knowledge.findings.releases import fits_time, has_already, only_names_release
from knowledge.frameworks import framework_ids

_TOOLS_FILE = Path(__file__).with_name("tools.toml")
_CODE = re2.compile(r"`[^`]*`")
_END = re2.compile(r"[.;](?:\*\*)?\s+")
_GROUP = re2.compile(r"(?:^|\s+)\([^()]*(?:\([^()]*\)[^()]*)*\)")
_ITEM = re2.compile(r"[;,]\s+(?:or |and )?")
_TRAILS = re2.compile(r"^(?:but|not|so|too|the|which)\b")
"""What can't open a list."""
_COMMA = re2.compile(r",\s+")
_LEADS_ON = re2.compile(r"(?i)^(?:with|without|in|on|for|under|before|after|if|when)\b")
"""What opens with the case that it is for: "with the Trainer, `x`"."""
_OTHERWISE = re2.compile(r",\s+or\s+")
_OPENING = re2.compile(r"^(?:Or|Otherwise,?|Also|Else,?) ")
_REFERS = re2.compile(
    r"(?i)^(?:Its?|They|This|That|These|Those|The (?:ones?|former|latter|same)|If (?:so|not|it|that|they|none)"
    r"|(?:In|With|Without|For) (?:it|them|this|that|these|those))\b"
)
"""Openings of a sentence that makes no sense without the one before."""
_COMMAND = 8
"""Characters of a command that can't stand in a report by chance."""
LEAST_KEPT = 0.5
"""Of an answer's characters: with less of it the rest does not stand alone."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """An entry with the advice that fits a report."""

    entry: Failure
    whole: bool
    """What is left of the answer still says what is wrong (with a release they can have) and what to do about it."""


@dataclass(frozen=True, slots=True)
class _Tool:
    id: str
    words: re2._Regexp
    users: frozenset[str]
    kin: str


@cache
def _tools() -> tuple[_Tool, ...]:
    table = tomllib.loads(_TOOLS_FILE.read_text("utf-8"))
    return tuple(
        _Tool(
            id,
            re2.compile("(?i)" + "|".join(row["words"])),
            frozenset(row.get("with", ())),
            row.get("kin", ""),
        )
        for id, row in table.items()
    )


def in_use(reading: Reading) -> frozenset[str]:
    """The frameworks, launchers and platforms that a report is about or mentions."""
    said = "\n".join(
        [reading.report.title, *(line.text for line in reading.lines if line.kind is not Kind.TEMPLATE)]
    )
    found = {tool.id for tool in _tools() if tool.words.search(said)}
    found |= {reading.framework or "", reading.launcher or ""} - {""}
    found |= {tool.kin for tool in _tools() if tool.id in found and tool.kin}
    found |= {tool.id for tool in _tools() if tool.users & found}
    return frozenset(found)


def platform_ids() -> frozenset[str]:
    """What an entry can name as the platform that it needs."""
    return frozenset(tool.id for tool in _tools()) - set(framework_ids())


def platforms_in(reading: Reading) -> frozenset[str]:
    """What of it is no framework: the systems and launchers that the report names."""
    return in_use(reading) - set(framework_ids())


def states_framework(reading: Reading) -> bool:
    """Whether the report gives the version of a framework for distributed training."""
    return bool({tool.id for tool in _tools()} & set(reading.versions))


def fit(entry: Failure, reading: Reading) -> Fitted:
    """Leave out of an entry what is about other tools, or about releases that the reporter can't have."""
    # An entry about a platform matched by its lines: the report uses it, though it may not name it.
    core = f"{entry.title} {sentences(entry.answer)[0]}"
    used = in_use(reading) | (_mentioned(core) - set(framework_ids()))

    if not used & set(entry.frameworks):
        used |= set(entry.frameworks)  # it matched for its own reasons, whatever the report calls itself

    def fits(clause: str) -> bool:
        return _fits(clause, used, reading)

    # The first sentence says what is wrong, whatever it names; it has to be true of the releases.
    first, *rest = sentences(entry.answer)
    kept_rest = trimmed(" ".join(rest), fits)
    # Without its first remedy what is left of an answer is only for special cases.
    # What follows a semicolon still explains.
    remedies = rest[1:] if first.endswith(";") and len(rest) > 1 else rest
    remedied = not remedies or bool(
        trimmed(remedies[0], lambda text: _fits(text, used | platform_ids(), reading))
    )
    if first.endswith(";") and not (rest and kept_rest.startswith(rest[0][:12])):
        first, kept_rest = first[:-1] + ".", _capital(kept_rest)
    answer = f"{first} {kept_rest}".strip()
    run = [line.text for line in reading.lines if line.kind is Kind.COMMAND]
    kept = replace(
        entry,
        answer=answer,
        why=_led(entry.why, fits),
        check=tuple(text for text in _led(entry.check, fits) if not _done(text, reading)),
        # A command that the report shows is what failed, or was tried in vain.
        remedy=tuple(text for text in _remedies(entry.remedy, fits) if not _runs(text, run)),
    )
    enough = len(answer) >= LEAST_KEPT * len(entry.answer) and remedied
    return Fitted(kept, enough and fits_time(first, reading))


def _fits(clause: str, used: frozenset[str], reading: Reading) -> bool:
    return _about(clause, used, reading) and fits_time(clause, reading) and not has_already(clause, reading)


def _about(clause: str, used: frozenset[str], reading: Reading) -> bool:
    about = _mentioned(clause)
    if reading.framework is None and about & set(framework_ids()):
        return True
    return not about or bool(about & used)


@lru_cache(maxsize=1 << 13)
def _mentioned(clause: str) -> frozenset[str]:
    """The tools that a clause of advice is about."""
    return frozenset(tool.id for tool in _tools() if tool.words.search(clause))


def _done(check: str, reading: Reading) -> bool:
    """Whether the report shows the command of a check."""
    command = _CODE.search(check)
    text = command.group(0).strip("`") if command else ""
    return len(text) >= _COMMAND and text in reading.report.body


def _runs(remedy: str, commands: Sequence[str]) -> bool:
    """Whether the first code of a remedy is part of one of these commands."""
    code = _CODE.search(remedy)
    text = code.group(0).strip("`") if code else ""
    return " " in text and any(text in command for command in commands)


def fit_text(text: str, reading: Reading, used: frozenset[str]) -> str:
    """A general text of advice without sentences on tools that aren't `used`; "" = it is of another time.

    Its first sentence is for anybody, whatever it lists.
    """
    first, *rest = sentences(text)
    if not fits_time(first, reading) or has_already(first, reading):
        return ""
    kept = trimmed(" ".join(rest), lambda clause: _fits(clause, used, reading))
    return f"{first} {kept}".strip() if kept else re2.sub(";$", ".", first)


def _fitting(items: Sequence[str], fits: Callable[[str], bool]) -> tuple[str, ...]:
    return tuple(text for item in items if (text := trimmed(item, fits)))


def _led(items: Sequence[str], fits: Callable[[str], bool]) -> tuple[str, ...]:
    """Those whose first sentence fits: the cause itself, or the command of a check, to which the others belong."""
    return _fitting([item for item in items if trimmed(sentences(item)[0], fits)], fits)


def _remedies(items: Sequence[str], fits: Callable[[str], bool]) -> tuple[str, ...]:
    """Those whose first sentence that fits is a remedy by itself: what follows another one speaks of that."""

    def stands(item: str) -> bool:
        first, *rest = sentences(item)
        if trimmed(first, fits):
            return True
        kept = next((text for text in rest if trimmed(text, fits) and not _REFERS.match(text)), "")
        return bool(_LEADS_ON.match(kept) or _OPENING.match(kept))

    return _fitting(list(filter(stands, items)), fits)


def trimmed(text: str, fits: Callable[[str], bool]) -> str:
    """The text without the sentences, parentheses and list items that do not fit."""
    kept: list[str] = []
    dropped = goes_on = False
    for sentence in sentences(text):
        short = _without_asides(sentence, fits)
        if dropped and (_REFERS.match(short) or (goes_on and not _LEADS_ON.match(short))):
            short = ""
        if short and not fits(short):
            short = _without_items(short, fits)
        if short:
            kept.append(_capital(_OPENING.sub("", short)) if dropped else short)
        elif kept and kept[-1].endswith(";") and not sentence.endswith(";"):
            kept[-1] = kept[-1][:-1] + "."
        dropped = not short and (not kept or not kept[-1].endswith(";"))
        goes_on = sentence.endswith(";")
    if kept and kept[-1].endswith(";"):
        kept[-1] = kept[-1][:-1] + "."
    return " ".join(kept)


def sentences(text: str) -> list[str]:
    """Sentences and clauses that ";" parts, never cut inside code or parentheses."""
    inside = _inside(text)
    cuts = [
        m.end() for m in _END.finditer(text) if not inside[m.start()] and not _abbreviated(text, m.start())
    ]
    places = [0, *cuts, len(text)]
    return [text[a:b].strip() for a, b in pairwise(places) if text[a:b].strip()]


def _abbreviated(text: str, dot: int) -> bool:
    before = text[max(0, dot - 3) : dot].casefold()
    return text[dot] == "." and (before.endswith("..") or before in ("e.g", "i.e", " vs", "etc", "cf"))


def _inside(text: str) -> list[bool]:
    """For each character whether it stands in code or in parentheses."""
    out, depth, code = [], 0, False
    for c in text:
        if c == "`":
            code = not code
        elif not code and c == "(":
            depth += 1
        elif not code and c == ")":
            depth = max(0, depth - 1)
        out.append(code or depth > 0)
    return out


def _without_asides(sentence: str, fits: Callable[[str], bool]) -> str:
    """Without parentheses that do not fit; of one that lists several things, the fitting ones stay.

    "" where one names the release that the sentence takes.
    """
    masked = _CODE.sub(lambda m: "\0" * len(m.group(0)), sentence)
    out, end = "", 0
    for match in _GROUP.finditer(masked):
        aside = sentence[match.start() : match.end()]
        out += sentence[end : match.start()]
        end = match.end()
        if fits(aside):
            out += aside
            continue
        inner = aside.strip()[1:-1]
        items = _items(inner)
        if any(only_names_release(item) and not fits(item) for item in items):
            return ""
        left = [item for item in items if fits(item)]
        if left and len(left) < len(items):
            out += f" ({', '.join(left)})"
    return out + sentence[end:]


def _items(inner: str) -> list[str]:
    items: list[str] = []
    for item in _split(inner, _ITEM):
        if items and ((_LEADS_ON.match(items[-1]) and "`" not in items[-1]) or _TRAILS.match(item)):
            items[-1] += f", {item}"
        else:
            items.append(item)
    return items


def _without_items(sentence: str, fits: Callable[[str], bool]) -> str:
    """Without the alternatives that do not fit; nothing where the first is one of them."""
    said = sentence.rstrip(".;*")
    first, *others = _split(said, _OTHERWISE)
    # "A, B, or C" and "if A, or B, do C" can't be cut there.
    lists = len(_split(first, _COMMA)) > (2 if _LEADS_ON.match(first) else 1)
    if not others or lists or any(len(_split(item, _COMMA)) > 1 for item in others) or not fits(first):
        return ""
    return ", or ".join([first, *filter(fits, others)]) + sentence[len(said) :]


def _split(text: str, at: re2._Regexp) -> list[str]:
    inside = _inside(text)
    cuts = [m.span() for m in at.finditer(text) if not inside[m.start()]]
    starts, ends = [0, *(b for _, b in cuts)], [*(a for a, _ in cuts), len(text)]
    return [text[a:b].strip() for a, b in zip(starts, ends, strict=True) if text[a:b].strip()]


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
