"""Gists that a report or a comment links to: their ids, and their text below the words that link to them. Pure.

GitHub's API gives a public gist to any token. It gives an App no attachment of an issue: those of a private repository
need a person's session in a browser, and the others are a redirect to another host, which is not followed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import re2

from bot.reports.additions import both_ends
from knowledge.diagnostics.result import FENCE

MOST_GISTS = 3
"""Of one issue, in the order in which they are linked."""
GIST_CHARS = 262_144
"""Kept of one gist, both ends; a log that is longer repeats itself in the middle."""
_LINK = re2.compile(r"https://gist\.github\.com/(?:[A-Za-z0-9-]{1,40}/)?([0-9a-f]{20,40})\b")
_TICKS = re2.compile("`{3,}")


def gist_ids(text: str) -> list[str]:
    """Ids of the gists that a text links to, in its order."""
    return list(dict.fromkeys(map(str, _LINK.findall(text))))


def text_of(files: Sequence[tuple[str, str]]) -> str:
    """The text of a gist's files (name, content), each in a block of code of its own; of a long one both ends."""
    shown = []
    room = GIST_CHARS
    for name, content in files:
        if not content.strip() or "\0" in content or room <= 0:
            continue
        # A result counts by its command alone, which says whose it is.
        kept = both_ends(content.replace(FENCE, "```text"), room)
        room -= len(kept)
        fence = "`" * max([3, *(len(run) + 1 for run in _TICKS.findall(kept))])
        shown.append(f"{' '.join(name.split())[:80]}\n\n{fence}text\n{kept.rstrip()}\n{fence}")
    return "\n\n".join(shown)


def with_gists(text: str, gists: Mapping[str, str]) -> str:
    """The text with those gists that it links to below it."""
    return "\n\n".join([text, *(f"#### Gist\n\n{gists[id_]}" for id_ in gist_ids(text) if gists.get(id_))])
