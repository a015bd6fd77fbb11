"""What must hold of every entry of the catalogue before it ships."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

import re2
from packaging.specifiers import InvalidSpecifier, SpecifierSet

from knowledge.findings.failure import Failure
from knowledge.findings.source import Example
from knowledge.signatures import load_signatures
from knowledge.taxonomy import load_taxonomy

ANSWER_CHARS = (60, 480)
MIN_EXAMPLES, MIN_NEAR_MISSES = 3, 2
_EMPTY_PHRASES = (
    "all versions are compatible",
    "upgrade to the latest",
    "open an issue",
    "make sure that everything",
)
"""Advice that fits any report."""


def problems(entries: Mapping[str, Failure], examples: Mapping[str, Sequence[Example]]) -> list[str]:
    """What is wrong with the catalogue, one line a problem; empty = it may ship."""
    ids = frozenset(entries)
    titles: dict[str, str] = {}
    found = []
    for entry in entries.values():
        found += [f"{entry.id}: {text}" for text in _entry(entry, ids)]
        found += [f"{entry.id}: {text}" for text in _examples(entry, examples.get(entry.id, ()), ids)]
        twin = titles.setdefault(entry.title.casefold(), entry.id)
        if twin != entry.id:
            found.append(f"{entry.id}: same title as {twin}")
    return found


def _entry(entry: Failure, ids: Collection[str]) -> Iterator[str]:
    taxonomy = load_taxonomy()
    for axis in ("symptom", "cause", "fix"):
        unknown = set(getattr(entry, axis)) - set(taxonomy.ids(axis))
        if unknown or not getattr(entry, axis):
            yield f"{axis}: {', '.join(unknown) or 'missing'}"
    if not ANSWER_CHARS[0] <= len(entry.answer) <= ANSWER_CHARS[1]:
        yield f"answer has {len(entry.answer)} characters, not {ANSWER_CHARS[0]} to {ANSWER_CHARS[1]}"
    if not any(source.startswith("https://") and source != "https://" for source in entry.sources):
        yield "no source with an address"
    unknown = set(entry.signatures) - {s.id for s in load_signatures()}
    if unknown:
        yield f"unknown signatures: {', '.join(sorted(unknown))}"
    unknown = set(entry.confused_with) - set(ids)
    if unknown:
        yield f"confused with unknown entries: {', '.join(sorted(unknown))}"
    for pattern in entry.patterns:
        try:
            if re2.compile(pattern).search("") is not None:
                yield f"matches an empty line: {pattern}"
        except re2.error as error:
            yield f"not RE2: {pattern}: {error}"
    for component, wanted in entry.versions.items():
        try:
            SpecifierSet(wanted)
        except InvalidSpecifier:
            yield f"versions.{component}: {wanted!r} is not a version range"
    advice = " ".join([entry.answer, *entry.remedy]).casefold()
    yield from (f"says nothing specific: {phrase!r}" for phrase in _EMPTY_PHRASES if phrase in advice)


def _examples(entry: Failure, examples: Sequence[Example], ids: Collection[str]) -> Iterator[str]:
    own = [e for e in examples if e.kind != "near_miss"]
    near = [e for e in examples if e.kind == "near_miss"]
    if len(own) < MIN_EXAMPLES or len(near) < MIN_NEAR_MISSES:
        yield f"{len(own)} examples and {len(near)} near misses; {MIN_EXAMPLES} and {MIN_NEAR_MISSES} needed"
    yield from (f"the example {e.title!r} is empty" for e in examples if not e.body.strip())
    try:
        patterns = [re2.compile(pattern) for pattern in entry.patterns]
    except re2.error:
        return  # named above
    for example in own:
        lines = f"{example.title}\n{example.body}".splitlines()
        hit = any(p.search(line) for p in patterns for line in lines)
        if patterns and example.kind == "telltale" and not hit:
            yield f"no pattern matches the telltale example {example.title!r}"
        if example.kind == "plain" and hit:
            yield f"a pattern matches the plain example {example.title!r}"
    unknown = {e.actual for e in near} - {"", *ids}
    if unknown:
        yield f"a near miss names unknown entries: {', '.join(sorted(unknown))}"
