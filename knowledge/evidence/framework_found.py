"""Which framework a report is about."""

from __future__ import annotations

import re2

from knowledge.evidence.facts_table import table
from knowledge.frameworks import framework_id, framework_of_repository, general_ids

_FORM = re2.compile(r"(?im)^[\s#*•-]*([a-z][a-z0-9 .-]{1,30}?)\s+version\b[^\n]{0,60}\d")
"""A labelled version, as the forms of trackers have it; no list of packages has this form."""
_AS_A_TITLE = 4.0


def find_framework(title: str, prose: str, rest: str) -> str | None:
    """The framework the report is about: title before prose before logs, the specific before the general."""
    scores: dict[str, float] = {}
    form = _form_of(rest)
    for position, (name, pattern) in enumerate(table()["framework"].items()):
        compiled = re2.compile(pattern)
        count = (
            4.0 * len(compiled.findall(title))
            + 1.5 * min(4, len(compiled.findall(prose[:4000])))
            + 0.5 * min(6, len(compiled.findall(rest[:20000])))
            + _AS_A_TITLE * (name == form)
        )
        if count:
            scores[name] = count + 1.0 - position / 100
    # Horovod on PyTorch is a Horovod report: the layer on top is named less often than what it sits on.
    return max(scores, key=lambda n: scores[n] * (0.6 if n in general_ids() else 1.0)) if scores else None


def _form_of(text: str) -> str | None:
    """The framework whose form was filled in: a form asks for the version of its own project first."""
    first = _FORM.search(text)
    id = framework_id(first.group(1)) if first else None
    return None if id in general_ids() else id


def framework_of(report_id: str) -> str | None:
    """The framework of the repository in an id "owner/repo#n", if it is one of the known ones."""
    return framework_of_repository(report_id.rpartition("#")[0])
