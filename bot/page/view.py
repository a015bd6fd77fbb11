"""The maintainers' page as HTML; every value is escaped by the template engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from bot.github.store.given_labels import GivenLabels
from bot.page.query import PageQuery
from bot.page.tables import Reviewed, Week
from bot.render.answer import support
from bot.render.earlier import ending, reasons
from knowledge.taxonomy import Taxonomy
from knowledge.triage import AXES, AxisName

_FOLDER = Path(__file__).parent / "templates"
_SHOWN = 3
STYLE = (_FOLDER / "page.css").read_text(encoding="utf-8")
_pages = Environment(
    loader=FileSystemLoader(_FOLDER),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


@dataclass(frozen=True, slots=True)
class Choice:
    """A label that can be clicked for an axis."""

    id: str
    name: str
    percent: int
    claimed: bool
    given: bool


@dataclass(frozen=True, slots=True)
class AxisRow:
    """An axis of a triage: the likeliest labels, the rest of them, and whether anything was claimed."""

    name: AxisName
    shown: list[Choice]
    others: list[tuple[str, str]]
    claims: bool


def unsigned(text: str) -> str:
    """A page that only says something."""
    return _pages.get_template("message.html.j2").render(text=text)


def new_app(*, action: str, manifest: str, organization: str) -> str:
    """The form that takes the App's manifest to GitHub."""
    template = _pages.get_template("new_app.html.j2")
    return template.render(action=action, manifest=manifest, organization=organization)


def created_app(*, name: str, url: str) -> str:
    """What is left to do with a new App; `url` installs it."""
    return _pages.get_template("created_app.html.j2").render(name=name, url=url)


def render(
    *,
    taxonomy: Taxonomy,
    triages: Sequence[Reviewed],
    more: bool,
    weeks: Sequence[Week],
    choices: dict[str, list[str]],
    slack: Sequence[GivenLabels],
    query: PageQuery,
    github: str,
    show_installations: bool,
    form_token: str,
) -> str:
    """The whole page."""
    rows: list[dict[str, Any]] = [
        {"of": one, "record": one.record, "axes": [_axis(one, axis, taxonomy) for axis in AXES]}
        for one in triages
    ]
    return _pages.get_template("page.html.j2").render(
        rows=rows,
        support=support,
        reasons=reasons,
        ending=ending,
        more=more,
        weeks=weeks,
        choices=choices,
        slack=slack,
        query=query,
        github=github,
        show_installations=show_installations,
        form_token=form_token,
    )


def _axis(one: Reviewed, axis: AxisName, taxonomy: Taxonomy) -> AxisRow:
    found = getattr(one.record.triage, axis)
    names = {entry.id: entry.name for entry in taxonomy.on_axis(axis)}
    given = one.corrections.get(axis, [])
    ranked = [ranked for ranked in found.ranking[:_SHOWN] if ranked.id in names]
    shown = [Choice(r.id, names[r.id], round(100 * r.p), r.id in found.answer, r.id in given) for r in ranked]
    shown += [
        Choice(i, names[i], 0, False, True) for i in given if i in names and i not in {c.id for c in shown}
    ]
    hidden = {choice.id for choice in shown}
    others = [(id_, name) for id_, name in names.items() if id_ not in hidden]
    return AxisRow(axis, shown, others, bool(found.answer))
