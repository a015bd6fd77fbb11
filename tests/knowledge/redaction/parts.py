"""Made-up secrets, put together at run time so that no scanner takes the tests for a leak."""

from __future__ import annotations

import base64
import random
import string
from dataclasses import dataclass

HEX = "0123456789abcdef"
LOWER = string.ascii_lowercase + string.digits
UPPER = string.ascii_uppercase + string.digits
WORD = string.ascii_letters + string.digits
URL_SAFE = WORD + "-_"
BASE64 = WORD + "+/"


@dataclass(frozen=True, slots=True)
class Secret:
    """A text that holds one secret; `gone` are the pieces none of which may stay."""

    kind: str
    text: str
    gone: tuple[str, ...]

    def __str__(self) -> str:
        return self.kind


def made(seed: str, length: int, alphabet: str = WORD) -> str:
    """A value of that length that is the same in each run and mixes what its alphabet offers."""
    dice = random.Random(seed)
    value = [dice.choice(alphabet) for _ in range(length)]
    for place, group in enumerate((string.digits, string.ascii_lowercase, string.ascii_uppercase)):
        offered = [char for char in group if char in alphabet]
        if offered and length > 4:
            value[place + 1] = dice.choice(offered)
    return "".join(value)


def encoded(text: str) -> str:
    """The text in base64."""
    return base64.b64encode(text.encode()).decode()
