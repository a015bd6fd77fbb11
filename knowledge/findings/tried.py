"""What the reporter has already set or tried, so that no advice repeats it."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import re2

from knowledge.evidence import Reading
from knowledge.evidence.lines import Kind
from knowledge.findings.fitting import sentences

_TRIED_FILE = Path(__file__).with_name("tried.toml")
_OWN = frozenset({Kind.CODE, Kind.COMMAND, Kind.ENVIRONMENT, Kind.PROSE, Kind.HEADING})
_CODE = re2.compile(r"`([^`]+)`")
# "NCCL_P2P_DISABLE=1", "find_unused_parameters=True", "--shm-size=16g", '"stage3_x": true', "pip install x==1.2"
_SETTING = re2.compile(
    r"(?:^|[\s(\"'{,])("
    r"(?:--?)?[A-Za-z][\w.-]{2,}(?:=|\": ?)[\"']?[\w.:/\"'-]+|--[a-z][\w-]{3,}|[A-Z][A-Z0-9]+_[A-Z0-9_]{3,})"
)
_TRIED = re2.compile(
    r"(?i)\b(?:tried|trying|attempted|already|even (?:if|when|after|with|though)|regardless|no matter"
    r"|(?:doesn'?t|didn'?t|does not|did not|don'?t|won'?t|not) (?:help|work|solve|fix|change|resolve|make)\w*"
    r"|no (?:luck|effect|difference|avail|success)|without success|same (?:error|issue|problem|result|behaviou?r)"
    r"|still (?:get|getting|fail|see|happen|hang|crash|have|having|occur|the same|there|exist|persist)\w*|persists"
    r"|\bI (?:increased|raised|lowered|disabled|enabled|upgraded|downgraded|reinstalled)|made (?:no|any) difference"
    r"|(?:have|has|'ve) (?:set|checked|verified|confirmed|increased|disabled|enabled|added|changed|updated|upgraded)"
    r"|to rule out|ruled out|made sure)\b"
)
_MESSAGE = re2.compile(
    r"(?i)\balready (?:in use|exists?|running|(?:been )?(?:called|defined|initialized|marked|registered|started))\b"
)
"""What an error says, not its reader."""
_ASKED = re2.compile(r"(?is)\btried[^\n.]{0,40}\n(.{0,800})")
"""A form's question after what was tried, and what stands below it."""
_VALUE = re2.compile(r"[=:]")
_CHANGES = re2.compile(
    r"(?i)\b(?:raise|lower|increase|decrease|reduce|change|adjust|unset|remove|delete|drop|without"
    r"|leave (?:out|off)|turn off|set `[^`]+` to)(?:\b|$)"
)
_SHOWS = re2.compile(r"\b(?:CUDA_LAUNCH_BLOCKING|NCCL_DEBUG|TORCH_DISTRIBUTED_DEBUG)\b")
"""Settings that find a cause and remove none."""
_SWITCH = re2.compile(r"(?i)[=:] ?(?:true|false)$")
_CALLED = re2.compile(r"([A-Za-z_]\w*)\(")
_STOP = re2.compile(r"(?:[.!?]\s+|\n\s*\n|\n\s*[-*]\s)")


@dataclass(frozen=True, slots=True)
class Tried:
    """What a report shows of what its author has done."""

    lines: str
    """Their settings, commands and words."""
    own: str
    """The same without blanks and quotes."""
    said: tuple[str, ...]
    """Sentences that say that something was tried."""

    @classmethod
    def of(cls, reading: Reading) -> Tried:
        """Read it out of a report."""
        told = f"{reading.report.title}\n\n{reading.prose}"
        own = [reading.report.title, *(line.text for line in reading.lines if line.kind in _OWN)]
        said = [sentence for sentence in _STOP.split(told) if _TRIED.search(_MESSAGE.sub("", sentence))]
        said += [m.group(1) for m in _ASKED.finditer(reading.report.body)]
        return cls("\n".join(own), _squeezed("\n".join(own)), tuple(said))

    def holds(self, advice: Sequence[str]) -> bool:
        """Whether the first setting of these sentences is there, or the first sentence was tried."""
        names = _set_by(next((sentence for sentence in advice if _CODE.search(sentence)), ""))
        if names and all(map(self._has, names)):
            return True
        return bool(advice) and any(_tries(advice[0], said) for said in self.said)

    def _has(self, name: str) -> bool:
        """Whether a setting with its value is there, a function is called, or an option stands without a value."""
        if _VALUE.search(name):
            return _squeezed(name) in self.own
        return bool(re2.search(rf"(?m){re2.escape(name)}(?:\s+-|\s*\\?$|\()", self.lines))


def remedies(answer: str) -> list[str]:
    """The sentences of an answer that say what to do: those after what is wrong."""
    first, *rest = sentences(answer)
    return rest or [first]


def _tries(advice: str, said: str) -> bool:
    """Whether a sentence of the report says that the advice was followed."""
    names = set(_settings(advice))
    if any(_name(setting) in said for setting in names if len(_name(setting)) > 5):
        return True
    actions = [row for row in _actions() if row[0].search(said)]
    return any(wording.search(advice) for _, wording in actions)


@cache
def _actions() -> tuple[tuple[re2._Regexp, re2._Regexp], ...]:
    table = tomllib.loads(_TRIED_FILE.read_text("utf-8"))
    return tuple(
        (re2.compile(f"(?i){row['said']}"), re2.compile(f"(?i){row['advice']}")) for row in table.values()
    )


def _settings(text: str) -> list[str]:
    """Settings and flags in the code of a sentence, in order."""
    return [m.group(1) for span in _CODE.finditer(text) for m in _SETTING.finditer(span.group(1))]


def _set_by(sentence: str) -> list[str]:
    """What stands in a report whose author did what the first setting of a sentence says; empty = there is none.

    An option that is to be raised, lowered or left out is in the report because its author has not done that.
    With it go the switches beside it: `f(on_epoch=True, sync_dist=True)` is not followed by one of them.
    """
    if _CHANGES.search(sentence) or _SHOWS.search(sentence):
        return []
    for span in _CODE.finditer(sentence):
        if found := [match.group(1) for match in _SETTING.finditer(span.group(1))]:
            return [*_CALLED.findall(span.group(1)), found[0], *filter(_SWITCH.search, found[1:])]
    return []


def _name(setting: str) -> str:
    return str(re2.split(r'=|": ?', setting)[0]).strip("-\"' ")


def _squeezed(text: str) -> str:
    return str(re2.sub(r"[\s\"']+", "", text))
