"""Comments of Markdown: what a form says inside `<!-- -->` is dropped, the text around it stays."""

from __future__ import annotations

from collections.abc import Sequence


def without_comments(lines: Sequence[str], fenced: bytearray) -> list[str]:
    """The lines without comments; a comment that is never closed hides nothing but its opening."""
    out = list(lines)
    opened: list[tuple[int, str]] | None = None
    for index, line in enumerate(lines):
        if fenced[index] and opened is None:
            continue
        if opened is None and "<!--" not in line:
            continue
        kept, rest = "", line
        while True:
            if opened is None:
                before, found, rest = rest.partition("<!--")
                kept += before
                if not found:
                    break
                opened = [(index, kept + rest)]
            _, found, after = rest.partition("-->")
            if not found:
                if opened[-1][0] != index:
                    opened.append((index, line))
                break
            opened, rest = None, after
        out[index] = kept.rstrip()
    for index, text in opened or ():
        out[index] = text
    return out
