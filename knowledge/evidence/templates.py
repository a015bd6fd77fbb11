"""Issue templates: the project's words in the reporter's post."""

from __future__ import annotations

import re2

# Our own generalisations of what issue forms say; nothing here is a sentence of one template alone.
_INSTRUCTION = re2.compile(
    r"(?i)^\W*(?:"
    r"(?:please|kindly) (?:note|make sure|provide|include|paste|describe|fill|check|read|add|search|see|do not|don't|ensure|run|use|specify|attach|reproduce)\b"
    r"|(?:a |provide a |describe )?clear and concise"
    r"|(?:steps|code|how) to reproduce(?: the (?:behavior|behaviour|issue|problem))?\W*$"
    r"|(?:if (?:applicable|relevant|possible|you have|you are|we cannot|the code))\b"
    r"|i have (?:verified|searched|read|checked|tried the)\b.{0,80}$"
    r"|\(?(?:paste|copy|insert|put|replace|add|remove|describe|fill|provide|include|attach|list)\b.{0,90}(?:here|below|above|commands? you ran.*|outputs?|script.*|error.*|information.*)\W*$"
    r"|you can (?:get|use|run|obtain|collect|also)\b.{0,120}$"
    r"|for security purposes\b|we (?:recommend|will|have|can)\b.{0,140}$"
    r"|note(?: that)?\s?:.{0,30}(?:issue|template|form|ray version)\b"
    r"|what (?:have you tried|is your (?:question|environment))\W*$"
    r"|have i written custom code\b.{0,140}$|mobile device\b.{0,120}$"
    r"|before (?:asking|submitting|opening|filing)\b"
    r"|did you (?:search|check|read)\b.{0,140}$"
    r"|(?:high|medium|low|none|critical): .{0,40}\b(?:blocks?|difficult\w*|annoy\w*|completing|work ?around|impact)\b.{0,60}$"
    r"|_?no response_?$|n/?a\W*$|none\W*$|yes\W*$|no\W*$"
    r"|(?:describe|system info|other info|standalone code|issue type|current behaviou?r|context|motivation|my environment|environment info|versions of)\b[^.:]{0,60}$"
    r"|to reproduce\W*$|expected (?:behavior|behaviour|result)s?\W*$|(?:bug report|environment|additional context|description|error|errors|output|traceback|reproduction|bug|checklist)\W*$"
    r")"
)
_CHECKBOX = re2.compile(r"^\s*(?:[-*+]|\d+\.)?\s*\[[ xX]?\]\s")
_UNFILLED = re2.compile(
    r"(?i)^[\s*-]*[^:?]{2,90}(?:\(e\.?g\.?[^)]*\)|\(if [^)]*\)|\(use [^)]*\)|\(yes[^)]*\))?[^:?]{0,20}[:?]\W*$"
)


SECTION_KINDS = (
    (
        "environment",
        re2.compile(
            r"(?i)environment|system info|versions?\b|your setup|configuration|hardware|software|platform|build info|collect_env|info \(required"
        ),
    ),
    (
        "code",
        re2.compile(
            r"(?i)code sample|minimum reproducible|reproduc|source code|boring ?model|\bcode\b|script|example"
        ),
    ),
    ("expected", re2.compile(r"(?i)expected|should")),
    ("log", re2.compile(r"(?i)\blogs?\b|error message|stack ?trace|traceback|output|backtrace")),
    ("question", re2.compile(r"(?i)question|help")),
)


def is_template(text: str) -> bool:
    """Whether the line is the form talking: an instruction, a check box, a field left empty."""
    stripped = text.strip()
    return bool(
        _CHECKBOX.match(stripped)
        or (len(stripped) < 260 and _INSTRUCTION.match(stripped))
        or (len(stripped) < 120 and _UNFILLED.match(stripped))
    )


def section_of(heading: str) -> str:
    """What a heading announces: environment, code, expected, log, question, or "" for the account itself."""
    for name, pattern in SECTION_KINDS:
        if pattern.search(heading):
            return name
    return ""
