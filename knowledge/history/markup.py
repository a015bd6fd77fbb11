"""Jira's wiki markup into Markdown, so that the one reader of layouts sees code, quotes and headings in it.

The markup: https://jira.atlassian.com/secure/WikiRendererHelpAction.jspa?section=all
"""

from __future__ import annotations

import re2

_IS_JIRA = re2.compile(
    r"\{(?:code|noformat|quote|panel|color)(?::[^}\n]{0,200})?\}|(?m:^h[1-6]\. )|\{\{[^}\n]{1,200}\}\}|\[~[\w.@-]+\]"
)
_RULES = (
    # A block's border gets a line of its own, whatever stood beside it.
    (re2.compile(r"[ \t]*\{(?:code|noformat)(?::[^}\n]{0,200})?\}[ \t]*"), "\n```\n"),
    (re2.compile(r"\{(?:quote|panel|color)(?::[^}\n]{0,200})?\}"), "\n"),
    (re2.compile(r"\{\{([^}\n]{1,500})\}\}"), r"`\1`"),
    (re2.compile(r"(?m)^h([1-6])\.\s+"), "### "),
    (re2.compile(r"(?m)^bq\.\s+"), "> "),
    (re2.compile(r"\[~[\w.@-]+\]"), "@user"),
    (re2.compile(r"\[([^|\]\n]{1,300})\|([^\]\n]{1,500})\]"), r"[\1](\2)"),
    (re2.compile(r"!([\w .()-]{1,200}\.(?:png|jpe?g|gif))(?:\|[^!\n]{0,200})?!"), " "),
)


def to_markdown(body: str) -> str:
    """Return `body` with Jira's markup written as Markdown; a text without such markup stays as it is."""
    if not _IS_JIRA.search(body):
        return body
    for pattern, replacement in _RULES:
        body = pattern.sub(replacement, body)
    return body
