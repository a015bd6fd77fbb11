"""An entry's advice cut down to what fits one report: its frameworks and tools, and the releases that there were."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import pairwise
from pathlib import Path

import re2
from packaging.version import Version

from knowledge.evidence import Reading
from knowledge.evidence.lines import Kind
from knowledge.findings.failure import Failure
from knowledge.frameworks import framework_ids
from knowledge.versions.facts import parse_version

# Which releases there were when a report was written, and what advice needs (releases.toml).

_RELEASES_FILE = Path(__file__).with_name("releases.toml")
_EARLIEST = "2015"
"""A report "opened" in 1970 has no date."""
SLACK = 12
"""Months between the newest release that a report names and the report, where its own date is unknown."""
_NAMES = {
    "pytorch": "torch", "torch": "torch", "lightning": "pytorch-lightning", "pytorch-lightning": "pytorch-lightning",
    "pytorch lightning": "pytorch-lightning", "tensorflow": "tensorflow", "tf": "tensorflow", "horovod": "horovod",
    "ray": "ray", "deepspeed": "deepspeed", "transformers": "transformers", "accelerate": "accelerate",
    "nccl": "nccl", "mxnet": "mxnet", "keras": "keras", "numpy": "numpy", "cuda": "cuda",
}  # fmt: skip
_NAMED = re2.compile(
    r"(?i)\b(?P<name>pytorch lightning|" + "|".join(sorted(_NAMES, key=len, reverse=True)) + r")"
    r"(?P<op>\s*(?:>=|==|~=|<=|<|>)\s*|[ -])v?(?P<v>\d+\.\d+(?:\.\d+)?)(?P<plus>\+|,? (?:and|or) (?:later|newer|up))?"
)
_BEFORE = re2.compile(r"(?i)\b(?:before|older than|up to|until|below|less than|through)\s*(?:the )?$")
_FROM = re2.compile(r"(?i)\b(?:since|from|as of|starting with)\s*$")
_TAKE = re2.compile(
    r"(?i)\b(?:upgrad\w*|updat\w*|install|move|go|switch|use|take|wheel|release)"
    r"(?: to| from| at least| the| a| with| later)*\s*$"
)


@dataclass(frozen=True, slots=True)
class Named:
    """A release that a text names: what it takes to follow the advice, or what is true from it on."""

    component: str
    release: Version
    upgrade: bool
    """The advice is to install it; otherwise the reporter has to have it already."""


@cache
def _tables() -> tuple[
    Mapping[str, tuple[tuple[Version, str], ...]], tuple[tuple[str, Version, re2._Regexp], ...]
]:
    table = tomllib.loads(_RELEASES_FILE.read_text("utf-8"))
    dates = {
        component: tuple(sorted((Version(v), month) for v, month in rows.items()))
        for component, rows in table["dates"].items()
    }
    features = tuple(
        (row["component"], Version(row["since"]), re2.compile("|".join(row["words"])))
        for row in table["feature"]
    )
    return dates, features


def released(component: str, release: Version) -> str | None:
    """The month ("2021-03") in which a release came out; None where that is unknown. A month too early at most."""
    dates, _ = _tables()
    known = dates.get(component, ())
    if not known or release < known[0][0]:
        return None
    return max((v, month) for v, month in known if v <= release)[1]


def written(reading: Reading) -> str | None:
    """The latest month in which the report can have been written; None = today, for all that is known."""
    if reading.report.opened > _EARLIEST:
        return reading.report.opened[:7]
    months = [
        month
        for component, text in reading.versions.items()
        if (version := parse_version(text)) is not None and (month := released(component, version))
    ]
    return _later(max(months), SLACK) if months else None


def _later(month: str, by: int) -> str:
    year, number = map(int, month.split("-"))
    years, number = divmod(number - 1 + by, 12)
    return f"{year + years:04d}-{number + 1:02d}"


@lru_cache(maxsize=1 << 13)
def named(clause: str) -> tuple[Named, ...]:
    """Releases that a clause of advice needs, by number or by what exists only since then."""
    return tuple(_named(clause))


def _named(clause: str) -> Iterator[Named]:
    for match in _NAMED.finditer(clause):
        component = _NAMES[match.group("name").lower()]
        before = clause[: match.start()]
        op = match.group("op").strip()
        if op.startswith("<") or _BEFORE.search(before):
            continue
        since = bool(match.group("plus") or op in (">=", ">")) or bool(_FROM.search(before))
        upgrade = bool(op or _TAKE.search(before))
        if since or upgrade:
            yield Named(component, Version(match.group("v")), upgrade)
    _, features = _tables()
    for component, since_release, words in features:
        if words.search(clause):
            yield Named(component, since_release, upgrade=False)


def fits_time(clause: str, reading: Reading) -> bool:
    """Whether the releases that a clause needs exist for the reporter.

    A feature must exist in the release that the report states; what is to be installed must have come out.
    """
    for need in named(clause):
        month = released(need.component, need.release)
        if month is not None and (latest := written(reading)) is not None and month > latest:
            return False
        stated = parse_version(reading.versions.get(need.component, ""))
        if stated is not None and not need.upgrade and _older(stated, need.release):
            return False
    return True


def has_already(clause: str, reading: Reading) -> bool:
    """Whether the clause advises a release that the reporter has, or an older one."""
    wanted = [need for need in named(clause) if need.upgrade]
    stated = [parse_version(reading.versions.get(need.component, "")) for need in wanted]
    return bool(wanted) and all(
        have is not None and have >= need.release for have, need in zip(stated, wanted, strict=True)
    )


def has_release(fixed_in: str, reading: Reading) -> bool:
    """Whether the reporter has the release that "fixed in" names, or a newer one."""
    found = [(_NAMES[m.group("name").lower()], Version(m.group("v"))) for m in _NAMED.finditer(fixed_in)]
    stated = [(release, parse_version(reading.versions.get(name, ""))) for name, release in found]
    return bool(stated) and all(have is not None and have >= release for release, have in stated)


def newer_release(fixed_in: str, reading: Reading) -> bool:
    """Whether "fixed in" names a release that is newer than the reporter's."""
    found = [(_NAMES[m.group("name").lower()], Version(m.group("v"))) for m in _NAMED.finditer(fixed_in)]
    stated = [(release, parse_version(reading.versions.get(name, ""))) for name, release in found]
    return any(have is not None and have < release for release, have in stated)


def _older(stated: Version, needed: Version) -> bool:
    """Whether a version is surely older: "1" is not older than 1.5."""
    width = min(len(stated.release), len(needed.release))
    return Version(stated.base_version).release[:width] < needed.release[:width]


def in_order() -> bool:
    """Whether dates grow with releases, which tests hold; TensorFlow 1.15 came after 2.0."""
    dates, _ = _tables()
    return all(a[1] <= b[1] for rows in dates.values() for a, b in pairwise(rows) if a[0].major == b[0].major)


_TOOLS_FILE = Path(__file__).with_name("tools.toml")
_CODE = re2.compile(r"`[^`]*`")
_END = re2.compile(r"[.;](?:\s+)")
_GROUP = re2.compile(r"\s*\([^()]*(?:\([^()]*\)[^()]*)*\)")
_ITEM = re2.compile(r"[;,]\s+(?:or |and )?")
_OTHERWISE = re2.compile(r",\s+or\s+")
_OPENING = re2.compile(r"^(?:Or|Otherwise,?|Also|Else,?) ")
_COMMAND = 8
"""Characters of a command that can't stand in a report by chance."""
LEAST_KEPT = 0.5
"""Of an answer's characters: with less of it the rest does not stand alone."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """An entry with the advice that fits a report."""

    entry: Failure
    whole: bool
    """What is left of the answer still says what is wrong and what to do about it."""


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
    platforms = {tool.id for tool in _tools()} - set(framework_ids())
    # What follows a semicolon still explains.
    remedies = rest[1:] if first.endswith(";") and len(rest) > 1 else rest
    remedied = not remedies or bool(trimmed(remedies[0], lambda text: _fits(text, used | platforms, reading)))
    if first.endswith(";") and not (rest and kept_rest.startswith(rest[0][:12])):
        first, kept_rest = first[:-1] + ".", _capital(kept_rest)
    answer = f"{first} {kept_rest}".strip()
    run = [line.text for line in reading.lines if line.kind is Kind.COMMAND]
    kept = replace(
        entry,
        answer=answer,
        why=_fitting(entry.why, fits),
        check=tuple(text for text in _fitting(entry.check, fits) if not _done(text, reading)),
        # A command that the report shows is what failed, or was tried in vain.
        remedy=tuple(text for text in _fitting(entry.remedy, fits) if not _runs(text, run)),
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


def trimmed(text: str, fits: Callable[[str], bool]) -> str:
    """The text without the sentences, parentheses and list items that do not fit."""
    kept: list[str] = []
    dropped = False
    for sentence in sentences(text):
        short = _without_asides(sentence, fits)
        if not fits(short):
            short = _without_items(short, fits)
        if short:
            kept.append(_capital(_OPENING.sub("", short)) if dropped else short)
        elif kept and kept[-1].endswith(";") and not sentence.endswith(";"):
            kept[-1] = kept[-1][:-1] + "."
        dropped = not short and (not kept or not kept[-1].endswith(";"))
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
    """Without parentheses that do not fit; of one that lists several things, the fitting ones stay."""
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
        items = _split(inner, _ITEM)
        left = [item for item in items if fits(item)]
        if left and len(left) < len(items):
            out += f" ({', '.join(left)})"
    return out + sentence[end:]


def _without_items(sentence: str, fits: Callable[[str], bool]) -> str:
    """Without the alternatives that do not fit; nothing where the first is one of them."""
    items = _split(sentence.rstrip(".;"), _OTHERWISE)
    if len(items) < 2 or not fits(items[0]):
        return ""
    left = [item for item in items if fits(item)]
    return ", or ".join(left) + (sentence[-1] if sentence[-1] in ".;" else "")


def _split(text: str, at: re2._Regexp) -> list[str]:
    inside = _inside(text)
    cuts = [m.span() for m in at.finditer(text) if not inside[m.start()]]
    starts, ends = [0, *(b for _, b in cuts)], [*(a for a, _ in cuts), len(text)]
    return [text[a:b].strip() for a, b in zip(starts, ends, strict=True) if text[a:b].strip()]


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
