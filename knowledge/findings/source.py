"""The catalogue as people write it: Markdown with a TOML head, and a file of example reports."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal

import re2

from knowledge.errors import DataError
from knowledge.findings.failure import Failure

FOLDER = Path(__file__).parents[1] / "failures"
HEADINGS = {
    "What happens": "what",
    "Why": "why",
    "Check": "check",
    "Fix": "remedy",
    "Not this when": "not_this_when",
}
"""Sections of an entry's body, in this order, and the field each fills."""
_LISTS = ("why", "check", "remedy")
_ITEM = re2.compile(r"(?m)^(?:- |\d+\. )")
_HEAD_FIELDS = frozenset(f.name for f in fields(Failure)) - {"area", *HEADINGS.values()}
_REMEDY = "See knowledge/failures/README.md."


@dataclass(frozen=True, slots=True)
class Example:
    """A report in our own words that shows a failure, or one that only looks like it."""

    failure: str
    """Id of the entry beside which it lies."""
    kind: Literal["telltale", "plain", "noisy", "near_miss"]
    title: str
    body: str
    actual: str = ""
    """Of a near miss: the entry that it is; "" = none."""


def entry_files(folder: Path = FOLDER) -> list[Path]:
    """The entries' files in the order of areas and ids."""
    return sorted(folder.glob("*/*.md"))


def read_entry(path: Path) -> Failure:
    """The entry in a file; it's confused with its near misses, too. Raises DataError naming file and place."""
    text = path.read_text("utf-8")
    if not text.startswith("+++\n") or "\n+++\n" not in text[4:]:
        raise DataError(f"{path.name} has no front matter between +++ lines.", _REMEDY)
    head, _, body = text[4:].partition("\n+++\n")
    try:
        values: dict[str, Any] = tomllib.loads(head)
    except tomllib.TOMLDecodeError as error:
        raise DataError(f"{path.name}: the front matter isn't valid TOML: {error}.", _REMEDY) from error
    unknown = values.keys() - _HEAD_FIELDS
    if unknown:
        raise DataError(f"{path.name}: unknown fields {', '.join(sorted(unknown))}.", _REMEDY)
    if values.get("id") != path.stem:
        raise DataError(f"{path.name}: the id must be {path.stem!r}, the same as the file name.", _REMEDY)
    lists: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in values.items()}
    lists |= _sections(path, body)
    near = (example.actual for example in read_examples(path) if example.actual)
    lists["confused_with"] = tuple(dict.fromkeys([*near, *lists.get("confused_with", ())]))
    try:
        return Failure(area=path.parent.name, **lists)
    except TypeError as error:
        missing = str(error).partition("missing")[2].partition(": ")[2]
        raise DataError(f"{path.name}: missing fields: {missing or error}.", _REMEDY) from error


def read_examples(path: Path) -> tuple[Example, ...]:
    """The examples beside an entry's file. Raises DataError where they are missing or malformed."""
    beside = path.with_suffix(".examples.toml")
    try:
        document = tomllib.loads(beside.read_text("utf-8"))
        own = [Example(path.stem, e["kind"], e["title"], e["body"]) for e in document["example"]]
        near = [
            Example(path.stem, "near_miss", e["title"], e["body"], e.get("is", ""))
            for e in document["near_miss"]
        ]
    except (OSError, tomllib.TOMLDecodeError, KeyError) as error:
        raise DataError(f"Can't read {beside.name}: {error!r}.", _REMEDY) from error
    return (*own, *near)


def _sections(path: Path, body: str) -> dict[str, str | tuple[str, ...]]:
    found: dict[str, str | tuple[str, ...]] = {}
    for part in ("\n" + body).split("\n## ")[1:]:
        heading, _, text = part.partition("\n")
        name = HEADINGS.get(heading.strip())
        if name is None:
            raise DataError(f"{path.name}: unknown section {heading.strip()!r}.", _REMEDY)
        found[name] = tuple(_items(text)) if name in _LISTS else text.strip()
    lacking = [
        heading for heading, name in HEADINGS.items() if not found.get(name) and name != "not_this_when"
    ]
    if lacking:
        raise DataError(f"{path.name}: sections missing or empty: {', '.join(lacking)}.", _REMEDY)
    return found


def _items(text: str) -> Iterator[str]:
    for item in _ITEM.split(text):
        if item.strip():
            yield " ".join(item.split())


# What `bot failures new` writes.

ENTRY = """+++
id = "ID"
title = "What a person calls it"
answer = "Two or three sentences: what is wrong, and the setting, command or release that fixes it."
frameworks = ["pytorch"]
signatures = []
patterns = []
symptom = ["D.1.1"]
cause = ["other"]
fix = ["other"]
sources = ["https://"]
+++

# What a person calls it

## What happens

How it looks, also without the telltale line.

## Why

1. **The most frequent cause.** The sign that tells it.

## Check

- `one command`: what its output means.

## Fix

- What to change, exactly.

## Not this when

What rules it out.
"""

EXAMPLES = """[[example]]
kind = "telltale"
title = "A report in your own words with the telltale line"
body = '''
'''

[[example]]
kind = "plain"
title = "The same failure without the line"
body = '''
'''

[[example]]
kind = "noisy"
title = "The same failure buried in noise"
body = '''
'''

[[near_miss]]
is = ""
title = "Looks alike and is something else"
body = '''
'''

[[near_miss]]
is = ""
title = "Another one"
body = '''
'''
"""
