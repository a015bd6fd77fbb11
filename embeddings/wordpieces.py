"""Texts to token ids, as BERT's tokenizer cuts them; the time is bounded by what is kept."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tokenizers import Encoding, Tokenizer

from embeddings.errors import ModelError

_CHARS_PER_TOKEN = 8
"""First guess of how many characters hold enough tokens; logs have about 3 a token."""
_MARGIN = 256
"""No word reaches further: one of more than 100 characters becomes a single unknown token."""


class WordPieces:
    """Tokenizes as `tokenizer.json` says and keeps the first `max_tokens`, [CLS] and [SEP] included."""

    def __init__(self, tokenizer_file: Path, max_tokens: int) -> None:
        self._max = max_tokens
        try:
            self._tokenizer = Tokenizer.from_file(str(tokenizer_file))
        except Exception as error:  # tokenizers raises nothing narrower
            raise ModelError(
                f"{tokenizer_file} is no tokenizer ({error}).", "Install the model again."
            ) from error
        # The shipped file asks for 128 tokens and for padding to as many; both are ours to decide.
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()

    def __call__(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of each text, 2 to `max_tokens` of them."""
        size = self._max * _CHARS_PER_TOKEN
        heads = [well_formed(text[:size]) for text in texts]
        encodings = self._tokenizer.encode_batch(heads) if texts else []
        return [self._ids(text, size, head) for text, head in zip(texts, encodings, strict=True)]

    def _ids(self, text: str, size: int, head: Encoding) -> list[int]:
        while len(text) > size and not self._holds_enough(head, size):
            size *= 2
            head = self._tokenizer.encode(well_formed(text[:size]))
        ids: list[int] = head.ids
        return ids if len(ids) <= self._max else [*ids[: self._max - 1], ids[-1]]

    def _holds_enough(self, head: Encoding, size: int) -> bool:
        """Whether the tokens to keep all end well before the place where the text was cut."""
        return len(head) > self._max and head.offsets[self._max - 2][1] <= size - _MARGIN


def well_formed(text: str) -> str:
    """Replace lone surrogates, which the tokenizer refuses."""
    return text.encode("utf-8", "replace").decode("utf-8")
