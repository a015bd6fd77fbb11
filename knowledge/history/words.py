"""What a report is found again by: its words, and the frames of its innermost stack.

embeddings.tokens, made for judging a report, drops numbers. Here "CVE-2022-42889", "9.4.43" and "HTTP 404" tell one
failure from the next of its kind.
"""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import re2

from knowledge.judging.features import Floats, Sparse

MOST_WORDS = 400
"""Distinct words kept of a body: those that come first. A log of 100,000 lines says no more in its later ones."""
_MOST_TEXT = 40_000
_LONGEST = 60
_HASH = re2.compile(r"(?i)^(?:0x)?[0-9a-f]{9,}$")
_WORD = re2.compile(r"[\pL\pN_](?:[\pL\pN_.\-]*[\pL\pN_])?")
_PART = re2.compile(r"[^.\-_]+")
_WIDE = re2.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Thai}]+")
"""Scripts that put no space, or few, between words."""
_GRAMMAR = (
    "a an the this that these those it its is are was were be been being am do does did done has have had having "
    "i we you they he she my our your their me us them in on at to of for from by with as into about after before "
    "and or but if then else when while where which who what how why not no nor so than too very can could will "
    "would should may might must also just there here all any some such only other more most own same up down out "
    "over under again once am pm e.g i.e etc"
)
_STOP = frozenset(_GRAMMAR.split())


def words(text: str) -> list[str]:
    """Return the words of `text` in order, linear in its length; at most its first 40,000 characters are read.

    A compound stands whole and in its parts ("fs.s3a.endpoint": itself, fs, s3a, endpoint; "S3AFileSystem": itself,
    s3, file, system, ...). Dropped: single characters, words of grammar, hashes and addresses, encoded data.
    """
    out: list[str] = []
    for word in _WORD.findall(text[:_MOST_TEXT]):
        if len(word) <= _LONGEST:
            out += _forms(word)
    return out


def counted(text: str, most: int = MOST_WORDS) -> dict[str, int]:
    """How often each of the first `most` distinct words stands in `text`."""
    found = Counter(words(text))
    return dict(list(found.items())[:most])


@lru_cache(maxsize=1 << 15)
def _forms(word: str) -> tuple[str, ...]:
    if not word.isascii() and _WIDE.search(word):
        return _pairs(word)
    if _HASH.match(word) and any(c.isdigit() for c in word):
        return ()
    if len(word) == 1 and word.isdecimal():
        return (word,)
    parts = _PART.findall(word)
    forms = [word.lower()] if len(parts) > 1 else []
    for part in parts:
        forms.append(_stem(part.lower()))
        pieces = _camel(part)
        if len(pieces) > 1:
            forms += [_stem(piece.lower()) for piece in pieces]
    return tuple(form for form in forms if len(form) > 1 and form not in _STOP)


def _camel(name: str) -> list[str]:
    """Split at capitals and digits: "NullPointer" (Null, Pointer), "HTTPServer2" (HTTP, Server, 2)."""
    pieces: list[str] = []
    start = 0
    for at in range(1, len(name)):
        before, here, after = name[at - 1], name[at], name[at + 1 : at + 2]
        turns = here.isdigit() != before.isdigit()
        if turns or (here.isupper() and (before.islower() or (before.isupper() and after.islower()))):
            pieces.append(name[start:at])
            start = at
    return [*pieces, name[start:]]


def _pairs(word: str) -> tuple[str, ...]:
    """Pairs of neighbouring characters, the usual stand-in for words in scripts without spaces."""
    return tuple(word[at : at + 2].lower() for at in range(max(len(word) - 1, 1)))


def _stem(word: str) -> str:
    """An English word without its plural, -ed or -ing; others as they are. Rough, and the same on both sides."""
    if not (word.isascii() and word.isalpha()) or len(word) < 4:
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith("ing") and len(word) > 5:
        return word[:-3]
    if word.endswith("ed") and len(word) > 4:
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-2] if word.endswith("sses") else word[:-1]
    return word


# The innermost stack of a report: its frames, as names that stay the same from release to release.
#
# Python, Java, JavaScript, gdb, C++ back traces of torch and Firefox's crash tables. Line numbers, addresses and
# paths of machines are left out: they differ between two reports of one failure.

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


# What the heads of a repository's labels see of a report: its words, its small words, two sentence vectors.
#
# A record drops "how", "can" and "?", which tell a question from a fault; `small_words` keeps them, hashed. The other
# words are the record's own, and the vectors are those that find the same failure.

BUCKETS = 1 << 18
"""Of each block; the block's number stands above these bits."""
BLOCKS = ("title", "small", "words")
OPENING = 100
"""Small words of the account that are kept: most posts say what they want in their first sentences."""
_TITLE_WEIGHT = 2.0
"""Of a word in the title, beside 1 in the body."""
_ASKED = "template:"
"""Before a name that stands in the template's text: which form was filled tells much."""
_SMALL = re.compile(r"[a-z']+|[?!]")


@dataclass(frozen=True, slots=True)
class Traits:
    """A report as the heads see it."""

    blocks: Mapping[str, Sparse]
    """By BLOCKS: buckets (ascending) and weights, before rarity and length."""
    vectors: Floats
    """Float32 (2 x dims)."""


def small_words(title: str, prose: str, template: str = "") -> bytes:
    """Words and pairs of words, those of grammar included; of account and template the first 100 words.

    Packed as ascending little-endian uint32; no text can be had back from them.
    """
    asked = (f"{_ASKED}{name}" for name in _opening(template))
    found = _title_names(title), {*_opening(prose), *asked}
    packed = {block << 18 | _bucket(name) for block, names in enumerate(found) for name in names}
    return np.array(sorted(packed), "<u4").tobytes()


def traits_of(title: Mapping[str, int], body: Mapping[str, int], small: bytes, vectors: Floats) -> Traits:
    """The traits of a record, of which these are the fields (knowledge/history/record.py)."""
    packed = np.frombuffer(small, "<u4").astype(np.int64)
    blocks = {
        name: _ones(packed[packed >> 18 == number] & (BUCKETS - 1)) for number, name in enumerate(BLOCKS[:2])
    }
    weights = {word: 1 + float(np.log(count)) for word, count in body.items()}
    weights |= {word: max(_TITLE_WEIGHT, weights.get(word, 0)) for word in title}
    return Traits({**blocks, "words": _weighted(weights)}, vectors.reshape(-1))


def parts_of(line: str, *, in_title: bool = False) -> dict[str, npt.NDArray[np.int64]]:
    """The buckets that a line of the report accounts for, by block."""
    own = {"words": _buckets(counted(line))}
    if in_title:
        return own | {"title": _buckets(_title_names(line))}
    return own | {"small": _buckets(_names(_SMALL.findall(line.lower())))}


def _opening(text: str) -> Iterator[str]:
    return _names(_SMALL.findall(text.lower()[: OPENING * 40])[:OPENING])


def _title_names(title: str) -> Iterator[str]:
    return _names(["^", *_SMALL.findall(title.lower()), "$"])


def _names(words: Sequence[str]) -> Iterator[str]:
    yield from words
    yield from (f"{first} {second}" for first, second in pairwise(words))


def _bucket(name: str) -> int:
    # CRC-32 rather than hash(): the same in every process and on every machine.
    return zlib.crc32(name.encode("utf-8", "surrogatepass")) % BUCKETS


def _buckets(names: Iterable[str]) -> npt.NDArray[np.int64]:
    return np.array(sorted({_bucket(name) for name in names}), np.int64)


def _ones(buckets: npt.NDArray[np.int64]) -> Sparse:
    return Sparse(buckets.astype(np.int32), np.ones(len(buckets), np.float32))


def _weighted(weights: Mapping[str, float]) -> Sparse:
    packed: dict[int, float] = {}
    for name, weight in weights.items():
        bucket = _bucket(name)
        packed[bucket] = max(packed.get(bucket, 0.0), weight)
    index = np.array(sorted(packed), np.int32)
    return Sparse(index, np.array([packed[int(one)] for one in index], np.float32))
