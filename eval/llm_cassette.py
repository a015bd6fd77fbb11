"""A cassette: what an LLM answered to the questions of an evaluation, to be replayed without it.

JSON lines, packed (.gz) or not. The first names the model and the duties that rank. Every other line holds a duty, the
hash of the whole question (`question`), the hash of the report it is about (`subject`), the answer, and what it took;
no text of a report.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from knowledge.errors import DataError
from knowledge.training.records import read_jsonl
from llm.budget import MemoryLedger
from llm.calls import Kept, LlmAccess
from llm.faults import NotRecorded
from llm.values import RANKING, ChatClient, ChatReply, ChatRequest, Duty, LlmConfig, Tokens, Took

_REMEDY = "Record one: bot eval --systems distriage,distriage+llm --llm-cassette FILE --record"


class Head(BaseModel):
    """The first line."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: str
    duties: tuple[Duty, ...]


class Figures(BaseModel):
    """What an answer took: tokens, and seconds until it was read."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    tokens_in: int
    tokens_out: int
    estimated: bool
    """The server did not report all of its tokens."""
    seconds: float


class Entry(BaseModel):
    """Every other line. `took` is None in cassettes that were recorded before it was kept."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    duty: Duty
    question: str
    subject: str
    answer: dict[str, Any]
    took: Figures | None = None

    @property
    def kept(self) -> Kept:
        """The answer with what it took."""
        if self.took is None:
            return Kept(self.answer)
        tokens = Tokens(self.took.tokens_in, self.took.tokens_out, self.took.estimated)
        return Kept(self.answer, Took(tokens, self.took.seconds))


class Cassette:
    """`llm.calls.ReplyCache` in one file. Thread-safe.

    Training changes the probabilities in a question and with them its hash. While replaying, an answer to an earlier
    question about the same report is used too, without what is no longer shown; `earlier` counts those.
    """

    def __init__(self, file: Path, recorded: Head | None = None) -> None:
        """Read what `file` holds, to replay it; to add to it where `recorded` says whose answers come.

        DataError when it is damaged, or another model's than `recorded`.
        """
        self.earlier = 0
        self._file = file
        self._record = recorded is not None
        self._lock = threading.Lock()
        self._exact: dict[str, Entry] = {}
        self._about: dict[tuple[Duty, str], Entry] = {}
        self.head, entries = (recorded, []) if recorded and not file.exists() else _read(file)
        if recorded and self.head != recorded:
            raise DataError(
                f"{file} contains answers from {self.head.model} ({', '.join(self.head.duties)}).",
                "Record to a different file.",
            )
        for entry in entries:
            self._keep(entry)

    @property
    def note(self) -> str:
        """Where the answers of a replay come from, a sentence; empty while recording."""
        if self._record:
            return ""
        earlier = f"; {self.earlier} were given to an earlier question about the same report"
        return f"The answers are recorded ones{earlier if self.earlier else ''}."

    def holds(self, duty: Duty) -> bool:
        """Whether it has any answer of this duty."""
        return any(duty == known for known, _ in self._about)

    def get(self, request: ChatRequest) -> Kept | None:
        """See the protocol. A recording cassette knows only the very question."""
        exact = self._exact.get(request.content_key)
        earlier = self._about.get((request.duty, request.subject))
        if exact is not None or earlier is None or self._record:
            return exact.kept if exact else None
        with self._lock:
            self.earlier += 1
        return replace(earlier.kept, value=shown_alone(earlier.answer, request.schema))

    def put(self, request: ChatRequest, kept: Kept) -> None:
        """See the protocol. A recording cassette writes at once, so a run that breaks off keeps what it paid for."""
        entry = Entry(
            duty=request.duty,
            question=request.content_key,
            subject=request.subject,
            answer=kept.value,
            took=_figures(kept.took) if kept.took else None,
        )
        with self._lock:
            self._keep(entry)
            if self._record:
                start = "" if self._file.exists() else self.head.model_dump_json() + "\n"
                with self._file.open("a", encoding="utf-8") as out:
                    out.write(f"{start}{entry.model_dump_json()}\n")

    def _keep(self, entry: Entry) -> None:
        self._exact[entry.question] = entry
        self._about[entry.duty, entry.subject] = entry


class _Silent:
    """`llm.values.ChatClient` that asks nobody."""

    def complete(self, request: ChatRequest, seconds: float) -> ChatReply:
        raise NotRecorded


def shown_alone(answer: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """The answer without the list items that the schema's closed sets do not hold."""
    sets = {
        name: part["items"]["enum"]
        for name, part in schema.get("properties", {}).items()
        if "enum" in part.get("items", {})
    }
    return {
        name: [one for one in value if one in sets[name]] if name in sets else value
        for name, value in answer.items()
    }


def _figures(took: Took) -> Figures:
    tokens = took.tokens
    return Figures(
        tokens_in=tokens.input,
        tokens_out=tokens.output,
        estimated=tokens.estimated,
        seconds=round(took.seconds, 3),
    )


def replaying(file: Path, price_input: float = 0.0, price_output: float = 0.0) -> LlmAccess:
    """Access to a cassette alone: no server, nothing spent, weights as shipped.

    The writer replays where the cassette holds its answers. Prices are US dollars per million tokens.
    DataError when it cannot be read.
    """
    cassette = Cassette(file)
    writing: tuple[Duty, ...] = ("writer",) if cassette.holds("writer") else ()
    config = LlmConfig(
        "http://cassette.invalid/v1",
        cassette.head.model,
        duties=(*cassette.head.duties, *writing),
        price_input=price_input,
        price_output=price_output,
    )
    return LlmAccess(config, MemoryLedger(), cassette, None, _silent)


def recording(file: Path, access: LlmAccess) -> LlmAccess:
    """Access that asks what the file does not hold and adds the answers to it. DataError when it is another model's."""
    head = Head(model=access.config.model, duties=tuple(d for d in access.config.duties if d in RANKING))
    if file.suffix == ".gz":
        raise DataError(f"Can't add answers to {file}, because it is gzipped.", "Use a .jsonl file.")
    cassette = Cassette(file, head)
    return LlmAccess(access.config, access.ledger, cassette, access.measured, access.client)


@contextmanager
def _silent() -> Iterator[ChatClient]:
    yield _Silent()


def _read(file: Path) -> tuple[Head, list[Entry]]:
    rows = list(read_jsonl(file)) or [{}]
    try:
        return Head.model_validate(rows[0]), [Entry.model_validate(row) for row in rows[1:]]
    except ValidationError as error:
        problem = error.errors()[0]
        raise DataError(
            f"{file} isn't a cassette: {'.'.join(map(str, problem['loc']))}: {problem['msg']}.", _REMEDY
        ) from error
