"""What is kept of a report so that it can be found again: words, stack, error lines, versions, vectors; no text.

A record is made once, when a report arrives or is back-filled, and can be stored anywhere: `to_json` gives all of it
but the vectors and the small words, which belong into columns or arrays of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import Any

import re2

from embeddings.encoder import Encoder
from knowledge.evidence import Reading, read_report
from knowledge.evidence.lines import Kind, clean_text
from knowledge.history.words import Stack, counted, innermost, small_words
from knowledge.judging.features import Floats
from knowledge.redaction import redact
from knowledge.report import Report
from knowledge.signatures import SignatureTable

# Jira's wiki markup into Markdown, so that the one reader of layouts sees code, quotes and headings in it.
#
# The markup: https://jira.atlassian.com/secure/WikiRendererHelpAction.jspa?section=all

_IS_JIRA = re2.compile(
    r"\{(?:code|noformat|quote|panel|color)(?::[^}\n]{0,200})?\}|(?m:^h[1-6]\. )|\{\{[^}\n]{1,200}\}\}|\[~[\w.@-]+\]"
)
_RULES = (
    # A block's border gets a line of its own, whatever stood beside it.
    (re2.compile(r"[ \t]*\{(?:code|noformat)(?::[^}\n]{0,200})?\}[ \t]*"), "\n```\n"),
    (re2.compile(r"\{(?:quote|panel|color)(?::[^}\n]{0,200})?\}"), "\n"),
    (re2.compile(r"\{\{([^}\n]{1,500})\}\}"), r"`\1`"),
    (re2.compile(r"(?m)^h([1-6])\.\s+"), "### "),
    (re2.compile(r"(?m)^bq\.\s+"), "> "),
    (re2.compile(r"\[~[\w.@-]+\]"), "@user"),
    (re2.compile(r"\[([^|\]\n]{1,300})\|([^\]\n]{1,500})\]"), r"[\1](\2)"),
    (re2.compile(r"!([\w .()-]{1,200}\.(?:png|jpe?g|gif))(?:\|[^!\n]{0,200})?!"), " "),
)


def to_markdown(body: str) -> str:
    """Return `body` with Jira's markup written as Markdown; a text without such markup stays as it is."""
    if not _IS_JIRA.search(body):
        return body
    for pattern, replacement in _RULES:
        body = pattern.sub(replacement, body)
    return body


MOST_LINES = 3
"""Error lines kept to be compared whole."""
_TELLING = 5
"""Words of a line that is worth keeping: "AssertionError:" is shared by everybody."""
_READ = 60_000
"""Characters of a body that are read closely; of a longer one the first two thirds and the end."""
_EMBEDDED = 700
"""Characters of the account that are embedded: about 170 tokens."""
_BATCH = 128
_NUMBER = re2.compile(r"0x[0-9a-fA-F]+|\d+")
_SPACES = re2.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Post:
    """A report of a tracker as an export or a webhook gives it."""

    id: str
    title: str
    body: str
    opened: datetime | None = None
    state: str = ""
    """As the tracker says it: "open", "closed", "Resolved"."""
    resolution: str = ""
    """As the tracker says it: "completed", "not_planned", "Fixed"."""
    tracker: str = ""
    """The repository that it is of, as "owner/name"; what is said of a failure depends on whose tracker it is."""


@dataclass(frozen=True, slots=True)
class Record:
    """A report's fingerprint. Everything in it was redacted; the report's text cannot be had back from it."""

    id: str
    opened: datetime | None
    title: Mapping[str, int]
    """Words of the title and how often they occur (knowledge/history/words.py)."""
    body: Mapping[str, int]
    error: Mapping[str, int]
    """Words of the exception, the error lines and the frames."""
    frames: tuple[str, ...]
    """Of the innermost stack, innermost first."""
    exception: str
    lines: tuple[str, ...]
    """Error lines, numbers replaced by 0: the same failure on another day gives the same line."""
    signatures: tuple[str, ...]
    versions: Mapping[str, str]
    state: str
    resolution: str
    vectors: Floats
    """Float32 (2, dims), each row of unit length: the title alone; the title and the account."""
    failures: tuple[str, ...] = ()
    """Entries of the catalogue that surely apply, where the caller has triaged the report."""
    told: tuple[str, ...] | None = None
    """Those that a comment would name unasked: not where they wouldn't help. None = not looked at."""
    conflicts: tuple[str, ...] = ()
    """Version conflicts that a comment would name unasked, where that was looked at."""
    small: bytes = b""
    """Small words, hashed (knowledge/history/words.py); b"" = made before they were kept."""

    def to_json(self) -> dict[str, Any]:
        """Everything but the vectors and the small words as plain values."""
        values = {name: getattr(self, name) for name in _PLAIN}
        return {**values, "opened": self.opened.isoformat() if self.opened else None}

    @classmethod
    def from_json(cls, values: Mapping[str, Any], vectors: Floats, small: bytes = b"") -> Record:
        """The record that `to_json`, the vectors and the small words describe."""
        kept: dict[str, Any] = {n: tuple(v) if isinstance(v, list) else v for n, v in values.items()}
        opened = values["opened"]
        kept["opened"] = datetime.fromisoformat(opened) if opened else None
        return cls(**kept, vectors=vectors, small=small)


_PLAIN = tuple(name for name in Record.__slots__ if name not in ("vectors", "small"))


def records_of(posts: Sequence[Post], encoder: Encoder, table: SignatureTable) -> Iterator[Record]:
    """Yield the record of each post in order; embeds a hundred at a time."""
    waiting = iter(posts)
    while batch := list(islice(waiting, _BATCH)):
        readings = [_read(post, table) for post in batch]
        views = [view for reading in readings for view in _views(reading)]
        vectors = encoder.encode(views).reshape(len(batch), 2, encoder.dims)
        for post, reading, pair in zip(batch, readings, vectors, strict=True):
            yield _record(post, reading, pair)


def aware(time: datetime) -> datetime:
    """The time with its zone; one without is taken as UTC, so that any two can be compared."""
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def body_to_keep(post: Post) -> str:
    """The body for those who keep texts: redacted, then cut as one is that is read."""
    return _cut(redact(clean_text(to_markdown(post.body))).text)


def _cut(body: str) -> str:
    return body if len(body) <= _READ else f"{body[: _READ * 2 // 3]}\n{body[-_READ // 3 :]}"


def _read(post: Post, table: SignatureTable) -> Reading:
    return read_report(Report(post.id, post.title, to_markdown(_cut(post.body))), table)


def _record(post: Post, reading: Reading, vectors: Floats) -> Record:
    stack = innermost(line.text for line in reading.lines if line.kind is not Kind.TEMPLATE)
    told = [d for d in reading.decisive if not d.in_title and d.role != "context"][:MOST_LINES]
    text = "\n".join(
        line.text for line in reading.lines if line.kind not in (Kind.TEMPLATE, Kind.NOISE, Kind.BLANK)
    )
    return Record(
        id=post.id,
        opened=aware(post.opened) if post.opened else None,
        title=counted(reading.report.title),
        body=counted(text),
        error=counted(_error_text(stack, [d.text for d in told])),
        frames=tuple(stack.frames),
        exception=stack.exception,
        lines=tuple(
            dict.fromkeys(
                _squeezed(d.text) for d in told if len(d.text.replace(".", " ").split()) >= _TELLING
            )
        ),
        signatures=tuple(
            dict.fromkeys(hit.signature.id for _, hit in reading.hits if hit.signature.role == "root")
        ),
        versions=reading.versions,
        state=post.state,
        resolution=post.resolution,
        vectors=vectors,
        small=small_words(reading.report.title, reading.prose, reading.text_of(Kind.TEMPLATE)),
    )


def _error_text(stack: Stack, lines: Sequence[str]) -> str:
    return "\n".join([stack.exception, *lines, *stack.frames])


def _squeezed(line: str) -> str:
    return str(_SPACES.sub(" ", _NUMBER.sub("0", line))).strip().lower()[:200]


def _views(reading: Reading) -> tuple[str, str]:
    title = reading.report.title
    account = _SPACES.sub(" ", reading.prose or "\n".join(line.text for line in reading.lines[:20]))
    return title, f"{title}. {account}"[:_EMBEDDED]
