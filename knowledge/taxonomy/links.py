"""Links of posts -> the ids that cases have."""

from __future__ import annotations

import re2

from knowledge.errors import DataError

_GITHUB = re2.compile(r"^https://github\.com/([\w.-]+/[\w.-]+)/(?:issues|pull|discussions)/(\d+)/?$")
_STACKOVERFLOW = re2.compile(r"^https://stackoverflow\.com/questions/(\d+)(?:/.*)?$")


def case_id(url: str) -> str:
    """ "https://github.com/o/r/issues/7" -> "o/r#7"; a Stack Overflow question -> "stackoverflow#7".

    DataError when it is neither.
    """
    github, question = _GITHUB.match(url), _STACKOVERFLOW.match(url)
    if github:
        return f"{github.group(1)}#{github.group(2)}"
    if question:
        return f"stackoverflow#{question.group(1)}"
    raise DataError(f"{url!r} is no link of an issue or question.", "Write the link as the browser shows it.")
