"""A stream of chunks into one reply; nothing a server sends is believed to have the shape it should."""

from __future__ import annotations

from llm.faults import Refused, TooLong, Truncated, WrongModel
from llm.values import CHARS_PER_TOKEN, ChatReply, Tokens, estimate

MAX_CHARS = 200_000
"""Characters of a reply, reasoning included; more is a server run wild."""


class Gathering:
    """What has come so far. `add` takes the chunks as the SDK gives them; `reply` closes the books."""

    def __init__(self, wanted_models: frozenset[str], prompt: str) -> None:
        self._wanted = wanted_models
        self._prompt = estimate(prompt)
        self._parts: list[str] = []
        self._chars = 0
        self._usage: Tokens | None = None
        self._refused = False
        self.finish: str | None = None

    def add(self, chunk: object) -> None:
        """Take one chunk; raises `WrongModel` or `TooLong`."""
        model = getattr(chunk, "model", None)
        if isinstance(model, str) and model and not same_model(model, self._wanted):
            raise WrongModel(self.tokens)
        self._usage = _usage(getattr(chunk, "usage", None)) or self._usage
        choices = getattr(chunk, "choices", None)
        for choice in choices if isinstance(choices, list) else []:
            self._take(choice)
        if self._chars > MAX_CHARS:
            raise TooLong(self.tokens)

    @property
    def tokens(self) -> Tokens:
        """As told by the server, else estimated from what was sent and came."""
        return self._usage or Tokens(self._prompt, -(-self._chars // CHARS_PER_TOKEN))

    def reply(self) -> ChatReply:
        """The whole reply; raises `Refused` or `Truncated`."""
        if self._refused or self.finish == "content_filter":
            raise Refused(self.tokens)
        if self.finish != "stop":
            raise Truncated(self.tokens, detail=self.finish or "the stream stopped")
        return ChatReply("".join(self._parts), self.tokens)

    def _take(self, choice: object) -> None:
        delta = getattr(choice, "delta", None)
        for name in ("content", "reasoning_content", "refusal"):
            text = getattr(delta, name, None)
            if isinstance(text, str) and text:
                self._chars += len(text)
                if name == "content":
                    self._parts.append(text)
                self._refused = self._refused or name == "refusal"
        finish = getattr(choice, "finish_reason", None)
        if isinstance(finish, str):
            self.finish = finish


def same_model(told: str, wanted: frozenset[str]) -> bool:
    """Whether a reply's model is the one asked for: the same name, a dated or tagged form of it, or its last part.

    "gpt-x" answers as "gpt-x-2026-01-31", "org/name" as "org/name@main" or "name", "name" as "name:latest".
    """
    return any(_is_form(told, name) or _is_form(told, name.rpartition("/")[2]) for name in wanted)


def _is_form(told: str, name: str) -> bool:
    told = told.rpartition("/")[2] if "/" not in name else told
    rest = told.removeprefix(name)
    return told == name or (rest != told and (rest[0] in "@:" or (rest[0] == "-" and rest[1:2].isdigit())))


def _usage(usage: object) -> Tokens | None:
    read, written = (getattr(usage, name, None) for name in ("prompt_tokens", "completion_tokens"))
    if (
        isinstance(read, int)
        and isinstance(written, int)
        and 0 <= min(read, written) <= max(read, written) < 10**8
    ):
        return Tokens(read, written)
    return None
