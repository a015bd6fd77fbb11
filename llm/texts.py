"""What is said to the model, from texts.toml, and the request that is made of it."""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import re2

from llm.fence import Fence
from llm.values import RANKING, ChatRequest, Duty

_FILE = Path(__file__).parent / "texts.toml"
NO_TOKEN = "0" * 16
_PLAIN_NAME = re2.compile(r"[A-Za-z0-9_./:+-]{1,60}")

Fill = Callable[[Fence], dict[str, str]]
"""Fills the user text's placeholders; whatever is not ours goes through the fence."""


@cache
def _texts() -> dict[str, dict[str, str]]:
    with _FILE.open("rb") as file:
        return tomllib.load(file)


@cache
def digest() -> str:
    """Names the wording of the ranking questions: what was measured with one wording says little of another."""
    asked = {name: _texts()[name] for name in ("common", *RANKING)}
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()[:16]


def make_request(
    duty: Duty, fill: Fill, schema: dict[str, Any], token: str, subject: str = ""
) -> ChatRequest:
    """The request of a duty with the delimiter `token`; its content key does not depend on the token."""
    plain_system, plain_user = _render(duty, fill, NO_TOKEN)
    content = json.dumps([duty, plain_system, plain_user, schema], sort_keys=True)
    system, user = _render(duty, fill, token)
    key = hashlib.sha256(content.encode()).hexdigest()
    return ChatRequest(duty, system, user, schema, key, subject)


def _render(duty: Duty, fill: Fill, token: str) -> tuple[str, str]:
    texts = _texts()
    trust = texts["common"]["trust"].strip().format(token=token)
    system = texts[duty]["system"].strip().format(trust=trust)
    return system, texts[duty]["user"].strip().format(**fill(Fence(token)))


def again(draft: str, faults: str) -> str:
    """What a writer is told of its own draft before it writes again; `draft` stands within a fence."""
    return _texts()["writer"]["again"].strip().format(draft=draft, faults=faults)


def refusal(rule: str, what: str) -> str:
    """Why the program refused a part, for the model: the rule's sentence; `what` broke it."""
    sentences = _texts()["refused"]
    sentence = sentences.get(rule, sentences["any"])
    # Only what is plainly a name, a number or a path is repeated outside of the fence.
    name = what if _PLAIN_NAME.fullmatch(what) else "something in it"
    return sentence.format(rule=rule, what=f"`{name}`" if name == what else name)
