"""Words of a report as the lexical index and the classifier see them: identifiers whole and in parts.

A log's telling words are names (ncclSystemError, CUBLAS_STATUS_ALLOC_FAILED, zero_to_fp32.py), its noise is
numbers: addresses, times, hashes, ranks. Everything here is one pass over the text and a look at each word.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import re2
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
                f"{tokenizer_file} isn't a tokenizer: {error}.", "Reinstall the model."
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


_MAX_WORD = 80
"""Longer words are encoded data, not names; mangled C++ names are the exception."""
_MAX_MANGLED = 1000
_HASH_LENGTH = 7
"""Shortest abbreviation of a commit that git prints."""
_COLOUR = re2.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
"""A terminal's escape sequence; its letter would otherwise stick to the word behind it."""
_DIGITS = "0123456789"
_HEX = frozenset("0123456789abcdef")
_UNIT_WORDS = (
    "s ms us ns sec secs min mins h hr hrs z b k kb mb gb tb kib mib gib tib m g t gbit mbit hz mhz ghz "
    "w c x it th st nd rd px"
)
_UNITS = frozenset(_UNIT_WORDS.split())
"""After a number: a quantity or a part of a time stamp, not a name ("16GB", "120s")."""
_COUNTED_WORDS = (
    "rank ranks gpu gpus worker workers node nodes host device devices proc process thread step steps epoch "
    "epochs iter iteration line port pid id local slot shard layer layers index"
)
_COUNTED = frozenset(_COUNTED_WORDS.split())
"""Before a number: the number says which one, not what ("rank7", "node03")."""


class _Separators(dict[int, str]):
    """For str.translate: letters, digits and the underscore stay, everything else parts words."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        self[code] = kept = char if char.isalnum() or char == "_" else " "
        return kept


_SEPARATORS = _Separators()


def tokens(text: str) -> list[str]:
    """Return the words of `text` in order, lower-cased, in time linear in its length (0.4 ms for 5 kB).

    An identifier stands whole and then in its parts (ncclSystemError: ncclsystemerror, nccl, system, error).
    Dropped: single ASCII letters, numbers, quantities, times, hexadecimal addresses, hashes, encoded data.
    """
    if "\x1b" in text:
        text = _COLOUR.sub(" ", text)
    words: list[str] = []
    for word in text.translate(_SEPARATORS).split():
        if len(word) <= _MAX_WORD or (word.startswith("_Z") and len(word) <= _MAX_MANGLED):
            words += _pieces(word)
    return words


@lru_cache(maxsize=1 << 14)
def _pieces(word: str) -> tuple[str, ...]:
    """The tokens of one word: itself, then its parts."""
    if word.startswith("_Z"):
        # A mangled C++ name: lengths stand between its parts. https://itanium-cxx-abi.github.io/cxx-abi/abi.html
        named = "".join(" " if char in _DIGITS else char for char in word[2:])
        return tuple(dict.fromkeys(part for name in named.split() for part in _pieces(name)))
    word = word.strip("_")
    whole = _meaningful(word.lower())
    parts = [part for snake in word.split("_") for part in _camel_parts(snake)]
    if len(parts) < 2:
        return (whole,) if whole else ()
    kept = [token for part in parts if (token := _meaningful(part.lower()))]
    return (whole, *kept) if whole and whole not in kept else tuple(kept)


def _camel_parts(name: str) -> list[str]:
    """Split at capitals (NCCLError: NCCL, Error; ProcessGroupNCCL: Process, Group, NCCL), not in GPUs."""
    if name.islower() or name.isupper() or (name[-1:] == "s" and name[:-1].isupper()):
        return [name] if name else []
    parts, start = [], 0
    for at in range(1, len(name)):
        before, here, after = name[at - 1], name[at], name[at + 1 : at + 2]
        if here.isupper() and (before.islower() or (before.isupper() and after.islower())):
            parts.append(name[start:at])
            start = at
    return [*parts, name[start:]] if name else []


def _meaningful(token: str) -> str:
    """Return the token, its name without the number that only counts, or "" when it says nothing."""
    if len(token) < 2 and token.isascii():
        return ""
    if token[0] in _DIGITS:
        rest = token.lstrip(_DIGITS)
        is_time = rest[:1] == "t" and rest[1:].isdigit()
        is_address = token.startswith("0x") and _HEX.issuperset(token[2:])
        if not rest or rest in _UNITS or is_time or is_address:
            return ""
    if len(token) >= _HASH_LENGTH and _HEX.issuperset(token) and not token.isalpha():
        return ""
    name = token.rstrip(_DIGITS).rstrip("_")
    if name != token and name.rpartition("_")[2] in _COUNTED:
        return name
    return token
