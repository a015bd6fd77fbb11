"""Why two reports show the same failure, and how the earlier one ended, in words."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from packaging.version import InvalidVersion, Version

from bot.history.records import KeptIssue, Outcome, Why
from knowledge.findings.failure import load_catalogue
from knowledge.history.verifier import Shared

MOST_VERSIONS = 2
_WHY: dict[Why, str] = {
    "": "",
    "no_answer": ": no answer from its author",
    "inactive": ": inactive",
    "not_reproduced": ": could not be reproduced",
    "intended": ": works as intended",
    "wont_fix": ": will not be fixed",
    "unsupported": ": no longer supported",
    "elsewhere": ": belongs to another project",
}
_TITLES = {"test": "the same test in both titles", "subject": "nearly the same title"}
_TELLING = ("torch", "nccl", "cuda")
"""Components whose version is named before others', besides the repository's own."""
_TAG = re.compile(r"^(?:[A-Za-z][A-Za-z_.-]*)?[v_-]?(\d+(?:\.\d+)+.*)$")


def why(shared: Shared, component: str | None = None) -> list[str]:
    """What the reports have in common, most telling first; names from reports are in backticks."""
    catalogue = load_catalogue()
    told = [f"same known failure ({catalogue[id].title})" for id in shared.failures[:1] if id in catalogue]
    if not told:
        told = [f"same error signature ({_code(id)})" for id in shared.signatures[:1]]
    if shared.title:
        told.append(_TITLES[shared.title])
    if shared.exception:
        told.append(f"both raise {_code(shared.exception)}")
    if shared.line and not shared.signatures:
        told.append("same error line")
    frames = [frame for frame in shared.frames if not frame.startswith("[redacted")]
    if frames:
        names = ", ".join(_code(frame) for frame in frames[:2])
        told.append(f"same innermost frames ({names})" if shared.innermost else f"frames in common ({names})")
    if not told and shared.words:
        told.append("both mention " + ", ".join(_code(word) for word in shared.words))
    order = [name for name in (component, *_TELLING) if name]
    same = sorted(shared.versions, key=lambda name: _rank(name, order))[:MOST_VERSIONS]
    if same:
        told.append("both on " + " and ".join(f"{name} {shared.versions[name]}" for name in same))
    differ = [name for name in order if name in shared.differ][:1]
    told += [f"{name} {here} here, {there} there" for name in differ for here, there in [shared.differ[name]]]
    return told


def is_duplicate(out: Outcome) -> bool:
    """Whether the issue was closed as a duplicate: GitHub says so, or people did and nothing else closed it."""
    if out.is_open or not out.duplicates:
        return False
    return out.reason == "duplicate" or not (out.closed_by or out.released)


def how_it_ended(
    issue: KeptIssue, component: str | None, versions: Mapping[str, str], firsts: Sequence[KeptIssue] = ()
) -> tuple[str, bool]:
    """How the earlier issue stands or ended, and whether a new report may be a regression.

    `versions` are the new report's, `firsts` the issue that the earlier one was closed as a duplicate of, the one
    that this one was, and so on: how the last of them ended counts.
    """
    out = issue.outcome
    if out.is_open:
        people = f"; {out.others} other {'person' if out.others == 1 else 'people'} commented" * bool(
            out.others
        )
        return (f"still open{people}" if out.state else ""), False
    if is_duplicate(out):
        told = f"closed as a duplicate of {_code(_short(out.duplicates[0]))}"
        if not firsts or is_duplicate(firsts[-1].outcome):
            return told, False
        told += f", itself one of {_code(_short(firsts[-1].id))}" if len(firsts) > 1 else ""
        ended, regression = how_it_ended(firsts[-1], component, versions)
        if firsts[-1].outcome.is_open:
            return f"{told}, which is {ended}" if ended else told, False
        return f"{told} ({ended})", regression
    if out.reason == "not_planned":
        return f"closed as not planned{_WHY[out.why]}", False
    if out.closed_by or out.released:
        return _fixed(out, component, versions)
    if out.reason and out.reason != "completed":
        return f"{out.state or 'closed'} as {out.reason}".lower(), False
    told = "closed as completed" if out.reason else out.state.lower() or "closed"
    return (f"{told} on {out.closed_at:%Y-%m-%d}" if out.closed_at else told), False


def _fixed(out: Outcome, component: str | None, versions: Mapping[str, str]) -> tuple[str, bool]:
    told = f"closed by {_code(out.closed_by)}" if out.closed_by else "closed"
    if not out.released:
        return told, False
    release, own = version_of(out.released), versions.get(component or "", "")
    told += f", released in {release or _code(out.released)}"
    here, there = _parsed(own), _parsed(release)
    if here is None or there is None:
        return told, False
    if here < there:
        return f"{told}; you are on {own}", False
    return f"{told}; you are on {own}, which should already have the fix, so this may be a regression", True


def version_of(tag: str) -> str:
    """The version in a release's tag ("v0.9.2", "release-1.4.0", "pkg@1.0"); "" where there is none."""
    found = _TAG.match(tag.rpartition("@")[2] if "@" in tag else tag)
    return found.group(1) if found and _parsed(found.group(1)) else ""


def _parsed(version: str) -> Version | None:
    try:
        found = Version(version)
    except InvalidVersion:
        return None
    return Version(found.public)


def _rank(name: str, order: list[str]) -> tuple[int, str]:
    return (order.index(name) if name in order else len(order), name)


def _short(id: str) -> str:
    return f"#{id}" if id.isdecimal() else id


def _code(text: str) -> str:
    return f"`{text.replace('`', chr(39))}`"
