"""Text that is not ours, made inert by one rule: it stands in code, within a fence longer than any it holds.

In code GitHub resolves no mention, reference, link, image or HTML, so nothing has to be escaped away and what
is quoted can be copied as it was. Secrets are redacted, invisible characters dropped, before quoting.
"""

from __future__ import annotations

import unicodedata

import re2

from knowledge.redaction import redact, without_escapes

# What GitHub makes live in plain text: mentions, references, links. Wider than its own, in linear time.
#
# https://docs.github.com/get-started/writing-on-github/working-with-advanced-formatting/autolinked-references-and-urls
# https://github.github.com/gfm/#autolinks-extension-

_PATTERNS: dict[str, str] = {
    "mention": r"[@＠]\S",
    "issue reference": r"#\s*[0-9]",
    "issue reference by GH-": r"(?i)\bGH-[0-9]",
    "commit": r"(?i)\b[0-9a-f]{7,64}\b",
    "address": r"(?i)(www\.|[a-z][a-z0-9+.-]*:/|mailto:|xmpp:|javascript:|data:)",
    "mail address": r"\S@\S",
    "footnote": r"\[\^",
    "mathematics": r"\$",
    "markup": r"[<>]",
}
_LIVE = {name: re2.compile(pattern) for name, pattern in _PATTERNS.items()}
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})


def hazards(text: str) -> list[str]:
    """Names of what would be live in this text, were it shown outside code."""
    return [name for name, pattern in _LIVE.items() if pattern.search(text)]


def unseen(char: str) -> bool:
    """Whether a character shows nothing or turns text about: control, bidi, zero-width, tag, private use."""
    return char not in "\n\t" and unicodedata.category(char) in _UNSEEN


def has_unseen(text: str) -> bool:
    """Whether any such character is in the text."""
    return any(map(unseen, text))


_RUNS = re2.compile("`+")
_PLAIN = re2.compile(r"^[\pL\pN.,;:'\"()/%+=?’…–—-]+$")
_LIST_MARK = re2.compile(r"^([-+=]+|[0-9]+[.)])$")
_CALL = r"[A-Za-z_][\w.]*\([^()`]{0,60}[_=*\[\]][^()`]*\)"
_LISTED = r"[^\s`\[]*\[[^\]`]{1,60}\][^\s`]*"
_CODE_WORD = re2.compile(rf"`[^`]+`|{_CALL}|{_LISTED}|[^\s`]+|`")


def clean(text: str) -> str:
    """The text redacted, line ends as "\\n", tabs as four blanks, escape sequences and invisible characters dropped.

    Redacted last: a secret with a zero-width character in it would be whole again once that is dropped.
    """
    text = without_escapes(text)
    for end in ("\r\n", "\r", "\u2028", "\u2029", "\x85", "\v", "\f"):
        text = text.replace(end, "\n")
    text = text.replace("\t", "    ")
    return redact("".join(c for c in text if not unseen(c))).text


def shorten(text: str, limit: int) -> str:
    """At most `limit` characters, the cut shown by an ellipsis."""
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def code_span(text: str, limit: int = 200) -> str:
    """One line of foreign text as inline code; "`-`" when nothing is left of it."""
    line = shorten(" ".join(clean(text).split()), limit)
    if not line:
        return "`-`"
    fence = "`" * (_longest_run(line) + 1)
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{pad}{line}{pad}{fence}"


def code_block(text: str, language: str = "text", limit: int = 50_000) -> str:
    """Foreign text as a fenced block at the left margin; the closing fence is on its own line."""
    return fenced(shorten(clean(text), limit).strip("\n"), language)


def fenced(body: str, language: str) -> str:
    """Text of ours (a script) as a fenced block, to the letter."""
    fence = "`" * max(3, _longest_run(body) + 1)
    return f"{fence}{language}\n{body}\n{fence}"


def prose(text: str, limit: int = 600) -> str:
    """A sentence from data: plain words stay words, whatever could be live or markup becomes inline code."""
    text = shorten(" ".join(clean(text).split()), limit)
    if not text:
        return "`-`"
    sentence, end = "", 0
    for match in _CODE_WORD.finditer(text):
        word = match.group(0)
        told = _quoted(word) if word.startswith("`") else _word(word, first=not sentence)
        # What touched still touches ("(`X`)", "`Tensor`s"), but two spans of code would become one.
        touching = match.start() == end and not (sentence.endswith("`") and told.startswith("`"))
        sentence += told if touching or not sentence or not told else f" {told}"
        end = match.end()
    return sentence if sentence and not hazards(_without_code(sentence)) else code_span(text, limit)


def _quoted(word: str) -> str:
    inner = word.strip("`")
    return code_span(inner) if inner.strip() else ""


def _word(word: str, first: bool) -> str:
    lead, trail = "", ""
    while word and word[0] == "(" and not _closes(word):
        word, lead = word[1:], lead + word[0]
    while word and (word[-1] in ".,;:?" or (word[-1] == ")" and word.count(")") > word.count("("))):
        word, trail = word[:-1], word[-1] + trail
    if not word:
        return lead + trail
    # "&" alone is no entity.
    safe = (
        (word == "&" or _PLAIN.match(word))
        and not hazards(word)
        and not (first and _LIST_MARK.match(word + trail))
    )
    return lead + (word if safe else code_span(word)) + trail


def _closes(word: str) -> bool:
    """Whether the parenthesis that a word starts with ends inside it, with more behind: "(a)b"."""
    depth = 0
    for n, c in enumerate(word):
        depth += (c == "(") - (c == ")")
        if depth == 0:
            return n < len(word) - 1 and (word[n + 1].isalnum() or word[n + 1] in "_[")
    return False


def _without_code(sentence: str) -> str:
    return "".join(sentence.split("`")[::2])


def _longest_run(text: str) -> int:
    return max((len(m.group(0)) for m in _RUNS.finditer(text)), default=0)
