"""The catalogue of known failures, searched and shown as Markdown."""

from __future__ import annotations

from difflib import get_close_matches
from functools import cache

from embeddings.lexical import LexicalIndex
from knowledge.errors import InputError
from knowledge.findings.failure import Failure, load_catalogue
from knowledge.text.words import listed


def search(text: str, count: int) -> list[Failure]:
    """The entries whose words fit a text best, best first."""
    entries = load_catalogue()
    return [entries[id] for id, _ in _index().search(text, count)]


@cache
def _index() -> LexicalIndex:
    entries = load_catalogue()
    words = [" ".join([e.title, e.answer, e.what, *e.why, *e.patterns, *e.remedy]) for e in entries.values()]
    return LexicalIndex.build(list(entries), words)


def entry(id: str) -> Failure:
    """The entry of an id, in any case. InputError with near ones when there is none."""
    entries = load_catalogue()
    found = entries.get(id.casefold())
    if found is None:
        near = get_close_matches(id.casefold(), entries, 3, 0.4)
        raise InputError(
            f"No entry named {id!r}.",
            f"Did you mean {listed(near, 'or')}?" if near else "Search for it with: bot failures search TEXT",
        )
    return found


def markdown(failure: Failure) -> str:
    """An entry in full: the symptoms, the causes, how to check for it, how to fix it, and its sources."""
    sections = [
        f"# {failure.title}",
        failure.answer,
        f"## What happens\n\n{failure.what}",
        "## Why\n\n" + "\n".join(f"{n}. {item}" for n, item in enumerate(failure.why, 1)),
        "## Check\n\n" + "\n".join(f"- {item}" for item in failure.check),
        "## Fix\n\n" + "\n".join(f"- {item}" for item in failure.remedy),
        f"## Not this when\n\n{failure.not_this_when}",
        *([f"Affected: {failure.affected}"] if failure.affected else []),
        *([f"Fixed in: {failure.fixed_in}"] if failure.fixed_in else []),
        "## Sources\n\n" + "\n".join(f"- {source}" for source in failure.sources),
    ]
    return "\n\n".join(sections)
