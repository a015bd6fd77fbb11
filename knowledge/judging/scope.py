"""The gate before the judge: is this a report of our field, can it be read, and does it say enough to be judged?

A linear head over words, cues and sentence vectors tells other fields; rules tell what holds too little text and what
cannot be read (knowledge/judging/scope.py). The head never sees the repository's name: text alone must do. A report
of a repository that is known to be of the field is turned away only when its text is far from it.
"""

from __future__ import annotations

import json
import re
import tomllib
import zipfile
import zlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import re2

from knowledge.errors import ModelError
from knowledge.evidence import Reading
from knowledge.evidence.facts_table import find_framework, framework_of
from knowledge.evidence.lines import Kind
from knowledge.evidence.shape import shape_of
from knowledge.judging.blocks import SPARSE, Weighting, write_arrays
from knowledge.judging.features import Features, Floats, cue_block, find_cues
from knowledge.triage import Scope

# What of a report can be read at all: English prose, logs; and whether it says enough to be judged.

FEWEST_FOREIGN = 2
"""Words of another script from which on they can outweigh the English ones."""
ENGLISH = 8
"""English function words with which a text in two languages is as good as English."""
FEWEST_FUNCTION_WORDS = 3
FUNCTION_WORDS = 0.15
"""Different function words of another language, and their share of all words: logs hold stray ones."""
FEW_WORDS = 4
"""Different words of content, a known framework counting twice; with fewer, and nothing of a log or program, a report
says too little."""
FEW_CODE = 2
"""Lines of code that count as material; commands say what was run, not what failed."""
_FILE = Path(__file__).with_name("legible.toml")
# Every word of a text: re takes a tenth of re2's time for that, and these patterns are linear in both.
_WORD = re.compile("[a-z\u00e0-\u024f']+")
_CONTENT = re.compile(r"[a-z][a-z0-9_'-]{2,}")
_TECHNIQUE = re2.compile(
    r"(?i)\b(?:fsdp2?|ddp|hsdp|zero-?[123]|[nr]ccl|torchrun|all-?reduce|all-?gather|reduce-?scatter|state_dict|jax|vllm"
    r"|torch|torch[_-]xla|cuda out of memory|(?:data|tensor|pipeline|model|expert)[- ]?parallel(?:ism)?"
    r"|(?:nccl|rccl|gloo|torch|horovod|dmlc)_\w{3,}|tf_config|(?:pytorch|mpi|tf)job"
    r"|distributedsampler|(?:multiworker)?mirroredstrategy)\b"
)
_ADDRESS = re2.compile(r"!?\[[^\]]*\]\([^)]*\)|<img[^>]*>|https?://\S+")


@dataclass(frozen=True, slots=True)
class _Words:
    """The lists of legible.toml; `votes`: a word to the languages that it is a function word of."""

    told: frozenset[str]
    between_processes: frozenset[str]
    ours_alone: frozenset[str]
    empty: frozenset[str]
    votes: Mapping[str, tuple[str, ...]]


@cache
def _words() -> _Words:
    with _FILE.open("rb") as file:
        lists = tomllib.load(file)
    languages: dict[str, list[str]] = lists["function_words"]
    votes = {
        word: tuple(language for language, words in languages.items() if word in words)
        for word in {word for words in languages.values() for word in words}
    }
    return _Words(
        frozenset(lists["told"]),
        frozenset(lists["between_processes"]),
        frozenset(lists["ours_alone"]),
        frozenset([*lists["empty"], *languages["english"]]),
        votes,
    )


def account(reading: Reading) -> str:
    """Title and prose without addresses and pictures."""
    return str(_ADDRESS.sub(" ", f"{reading.report.title}\n{reading.prose}"))


def is_foreign(text: str) -> bool:
    """Whether prose is in another script than Latin, or in another language than English by its function words."""
    words = _WORD.findall(text.lower())
    known = _words().votes
    votes = Counter(language for word in words for language in known.get(word, ()))
    english = votes.pop("english", 0)
    other_script = [ord(c) for c in text if c >= "\u0400" and c.isalpha()]
    # Han, kana and hangul write a word in about two signs, other scripts in about five.
    foreign = sum(0.5 if code >= 0x2E80 else 0.2 for code in other_script)
    if foreign >= FEWEST_FOREIGN and foreign > 0.5 * (len(words) if english < ENGLISH else 2 * len(words)):
        return True
    language, most = max(votes.items(), key=lambda vote: vote[1], default=("", 0))
    different = sum(language in known.get(word, ()) for word in set(words))
    return different >= FEWEST_FUNCTION_WORDS and most > 2 * english and most >= FUNCTION_WORDS * len(words)


def without_foreign_prose(reading: Reading) -> Reading:
    """The reading as it is; of one whose prose cannot be read, what its logs and code say."""
    return logs_alone(reading) if is_foreign(account(reading)) else reading


def logs_alone(reading: Reading) -> Reading:
    """What is left of a reading without title and prose."""
    kept = tuple(line for line in reading.lines if line.kind not in (Kind.PROSE, Kind.HEADING))
    numbers = {line.number for line in kept}
    body = "\n".join(line.text for line in kept)
    return replace(
        reading,
        report=replace(reading.report, title="", body=body),
        lines=kept,
        decisive=tuple(d for d in reading.decisive if not d.in_title and d.number in numbers),
        hits=tuple((number, hit) for number, hit in reading.hits if number in numbers),
        prose="",
    )


def has_log(reading: Reading) -> bool:
    """Whether a line of the body looks like a program's output by itself, or is a known error."""
    kinds = {line.number: line.kind for line in reading.lines}
    if any(kinds.get(line) is Kind.LOG and hit.signature.role != "context" for line, hit in reading.hits):
        return True
    return any(
        line.kind is Kind.LOG and shape_of(_ADDRESS.sub("", line.text), fenced=False) is Kind.LOG
        for line in reading.lines
    )


def names_our_machinery(reading: Reading) -> bool:
    """Whether a log line holds a known error of a library that only trains across processes."""
    kinds = {line.number: line.kind for line in reading.lines}
    return any(
        kinds.get(line) is Kind.LOG
        and hit.signature.family in _words().ours_alone
        and hit.signature.role != "context"
        for line, hit in reading.hits
    )


def names_a_framework(reading: Reading) -> bool:
    """Whether the text itself, not the repository, names a framework or a technique of the field."""
    stated = [line.text for line in reading.lines if line.kind not in (Kind.BLANK, Kind.NOISE)]
    text = "\n".join(stated)
    if _TECHNIQUE.search(f"{reading.report.title}\n{text}"):
        return True
    return find_framework(reading.report.title, reading.prose, text) is not None


def is_bare_log(reading: Reading) -> bool:
    """Whether nobody says anything: a log file, or what is left of a post without its prose."""
    return reading.report.is_log or not account(reading).strip()


def tells_distributed(reading: Reading) -> bool:
    """Whether a known error of the machinery between processes is among its lines."""
    return any(
        hit.signature.family in _words().between_processes and hit.signature.role != "context"
        for _, hit in reading.hits
    )


def says_too_little(reading: Reading) -> bool:
    """Whether there is nothing to judge: hardly a word of content, no output, no code."""
    if has_log(reading) or reading.hits:
        return False
    if sum(line.kind is Kind.CODE for line in reading.lines) >= FEW_CODE:
        return False
    text = account(reading)
    words = {word for word in _CONTENT.findall(text.lower()) if word not in _words().empty}
    if _words().told & set(find_cues(text)):
        return len(words) == 0
    return len(words) < FEW_WORDS - (reading.framework is not None)


FORMAT = 1
SHIPPED_SCOPE = Path(__file__).parent / "scope.npz"
SHARES: Mapping[str, float] = {"vectors": 0.3, "words": 1.0, "cues": 2.0}
"""Share of each block of features in the head; figures move little between a third and three times of each."""
KNOWN_REPOSITORY = 0.25
"""By how much less a report of a repository of the field must look like one; scores go from 0 to 1."""
BARE_LOG = 0.2
"""The same for a log that nobody says anything about: the head learned from posts that do."""
_REMEDY = "Restore the file, or rebuild it with: make train"


@dataclass(frozen=True, slots=True)
class ScopeHead:
    """Linear weights of each block (features,), and the score from which a report is of our field."""

    weighting: Weighting
    prior: float
    weights: Mapping[str, Floats]
    named: float
    """Added where the text names a framework."""
    threshold: float
    about: Mapping[str, Any]

    def score(self, features: Features, *, named: bool) -> float:
        """How much a report looks like one of our field: about 0 to 1, higher is more."""
        total = self.prior + self.named * named + float(features.vectors @ self.weights["vectors"])
        for name, block in self.weights.items():
            if name != "vectors":
                unit = self.weighting.unit(features, name)
                total += float(unit.weight @ block[unit.index])
        return total

    def scope(self, reading: Reading, heard: Reading, features: Features) -> Scope:
        """The scope of a report; `heard` is what of it can be read, and `features` are of that."""
        known = framework_of(reading.report.id) is not None
        score = self.score(by_text(heard, features), named=counts_as_named(heard))
        return scope_by(score, self.threshold, heard, silent=heard is not reading, known=known)


def scope_by(score: float, threshold: float, heard: Reading, *, silent: bool, known: bool) -> Scope:
    """The scope of a report that looks so much (`score`) like one of the field.

    `silent`: its prose could not be read; `known`: its repository is known to be of the field.
    """
    if silent and not has_log(heard):
        return "unreadable"
    if says_too_little(heard):
        return "too_little"
    less = max(KNOWN_REPOSITORY * known, BARE_LOG * is_bare_log(heard))
    return "ours" if score >= threshold - less or names_our_machinery(heard) else "other_field"


def counts_as_named(heard: Reading) -> bool:
    """Whether the text names a framework: hardly a post of another field does. Of a bare log it is not expected."""
    return is_bare_log(heard) or names_a_framework(heard)


def by_text(reading: Reading, features: Features) -> Features:
    """The features without the framework, which may be known from the repository rather than the text."""
    return replace(features, cues=cue_block(replace(reading, framework=None)))


def save_scope(head: ScopeHead, file: Path) -> None:
    """Write the head. The same head gives the same bytes."""
    arrays: dict[str, Any] = {"vectors": head.weights["vectors"].astype(np.float16)}
    for name, block in head.weights.items():
        if name != "vectors":
            idf = head.weighting.idf[name]
            arrays[f"idf.{name}"] = idf.astype(np.float16)
            arrays[name] = block[np.flatnonzero(idf)].astype(np.float16)
    meta = {
        "format": FORMAT,
        "about": head.about,
        "prior": head.prior,
        "named": head.named,
        "threshold": head.threshold,
    }
    arrays["meta"] = np.frombuffer(json.dumps(meta, sort_keys=True).encode(), np.uint8)
    write_arrays(file, arrays)


def load_scope(file: Path = SHIPPED_SCOPE) -> ScopeHead:
    """Read the head. Raises ModelError when the file is missing, damaged or of another format."""
    try:
        with file.open("rb") as raw, np.load(raw, allow_pickle=False) as arrays:
            meta = json.loads(arrays["meta"].tobytes())
            if meta.get("format") != FORMAT:
                raise ModelError(
                    f"{file} has format {meta.get('format')}, but this version reads format {FORMAT}.",
                    _REMEDY,
                )
            names = [name for name in SHARES if name != "vectors"]
            idf = {name: arrays[f"idf.{name}"].astype(np.float32) for name in names}
            weights: dict[str, Floats] = {"vectors": arrays["vectors"].astype(np.float32)}
            for name in names:
                weights[name] = np.zeros(SPARSE[name], np.float32)
                weights[name][np.flatnonzero(idf[name])] = arrays[name]
    except (OSError, EOFError, KeyError, ValueError, zipfile.BadZipFile, zlib.error) as error:
        raise ModelError(
            f"Can't read the scope gate's weights in {file} ({type(error).__name__}).", _REMEDY
        ) from error
    return ScopeHead(Weighting(idf), meta["prior"], weights, meta["named"], meta["threshold"], meta["about"])
