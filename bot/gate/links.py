"""Which links a comment may hold: those of the cases and sources shown, and no others."""

from __future__ import annotations

import re2

_GITHUB = re2.compile(
    r"^https://(?:www\.)?github\.com/([A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+/(?:issues|pull|discussions)/[0-9]+)$"
)

_PAGE = re2.compile(r"^https://[a-z0-9.-]+(?::[0-9]+)?(?:/[A-Za-z0-9_.~%#=&?+/-]*)?$")

LINK_HOST = "redirect.github.com"
"""GitHub's own redirect: a link through it leaves no "mentioned this" mark on the issue it points to."""


def case_link(url: str) -> str | None:
    """The link to show for a case, None when its address is not that of a GitHub thread."""
    match = _GITHUB.match(url) if url.isascii() else None
    return f"https://{LINK_HOST}/{match.group(1)}" if match else None


def source_link(url: str) -> str | None:
    """The link to show for a source of ours: a GitHub thread as `case_link`, else a plain https address."""
    return case_link(url) or (url if url.isascii() and _PAGE.match(url) else None)
