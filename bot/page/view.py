"""The maintainers' page as HTML; every value is escaped by the template engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from bot.github.store.given_labels import GivenLabels
from bot.page.answers import assets
from bot.page.plots import HEIGHT, WIDTH, plots_of
from bot.page.query import PageQuery
from bot.page.shown_text import ShownIssue, comment_html, quoted_lines
from bot.page.sign_in import Session
from bot.page.tables import Cursor, Listed, Reviewed, Week
from bot.page.words import OUTCOMES, age, finding_words, happened, names_of, reason_words
from bot.render.answer import support
from bot.render.earlier import ending, reasons
from bot.render.wording import classified, how_sure, opening
from knowledge.taxonomy import Taxonomy
from knowledge.triage import AXES, AxisName

_SHOWN = 3
_pages = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_pages.globals |= {
    "asset": lambda name: assets()[name].url,
    "session": None,
    "here": "",
    "form_token": "",
}


@dataclass(frozen=True, slots=True)
class Frame:
    """What all pages of a session need."""

    session: Session
    form_token: str
    github: str
    """Where people read issues."""
    taxonomy: Taxonomy


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


@dataclass(frozen=True, slots=True)
class Undo:
    """A label that was given on the page and can be taken back there; `triage` is the one it was given on."""

    triage: int
    axis: str
    text: str


def unsigned(text: str, *, sign_in: str = "") -> str:
    """A page that only says something; `sign_in` is where one signs in with GitHub, "" = nowhere."""
    return _pages.get_template("message.html.j2").render(text=text, sign_in=sign_in)


def new_app(*, action: str, manifest: str, organization: str) -> str:
    """The form that takes the App's manifest to GitHub."""
    template = _pages.get_template("new_app.html.j2")
    return template.render(action=action, manifest=manifest, organization=organization)


def created_app(*, name: str, url: str) -> str:
    """What is left to do with a new App; `url` installs it."""
    return _pages.get_template("created_app.html.j2").render(name=name, url=url)


def inbox(
    frame: Frame,
    triages: Sequence[Listed],
    more: bool,
    choices: tuple[Sequence[str], Sequence[int]],
    query: PageQuery,
) -> str:
    """The list; `choices` are the repositories and installations to filter by."""
    names, now = names_of(frame.taxonomy), datetime.now(UTC)
    rows = [
        {
            "of": one,
            "finding": finding_words(one, names),
            "outcome": OUTCOMES[one.outcome],
            "reason": reason_words(one.reason),
            "age": age(one.at, now),
        }
        for one in triages
    ]
    return _render(
        "inbox.html.j2",
        frame,
        here="inbox",
        rows=rows,
        older=Cursor.of(triages[-1].at, triages[-1].id) if more else None,
        repositories=choices[0],
        installations=choices[1],
        symptoms=[(entry.id, entry.name) for entry in frame.taxonomy.on_axis("symptom")],
        outcomes=OUTCOMES,
        query=query,
    )


def triage_page(frame: Frame, one: Reviewed, query: PageQuery, around: dict[str, int]) -> str:
    """One triage; `around` has the numbers of the newer and the older one in the list."""
    triage = one.record.triage
    return _render(
        "triage.html.j2",
        frame,
        of=one,
        record=one.record,
        outcome=OUTCOMES[one.outcome],
        reason=reason_words(one.record.reason),
        classified=classified(triage, frame.taxonomy),
        quotes=quoted_lines(triage),
        axes=[_axis(one, axis, frame.taxonomy) for axis in AXES],
        undo=_undo(one),
        comment=comment_html(one.record.would_post),
        history=[(event.at, happened(event)) for event in one.events],
        around=around,
        query=query,
        support=support,
        reasons=reasons,
        ending=ending,
        opening=opening,
        how_sure=how_sure,
        markdown=comment_html,
    )


def issue_page(frame: Frame, one: Reviewed, issue: ShownIssue | None, why: str, query: PageQuery) -> str:
    """The whole text of an issue with its evidence marked; `why` says why there is none."""
    return _render("issue.html.j2", frame, of=one, record=one.record, issue=issue, why=why, query=query)


def weeks_page(frame: Frame, weeks: Sequence[Week], slack: Sequence[GivenLabels]) -> str:
    """Plots of the weeks, and what was corrected in Slack."""
    return _render(
        "weeks.html.j2",
        frame,
        here="weeks",
        weeks=weeks,
        plots=plots_of(weeks),
        width=WIDTH,
        height=HEIGHT,
        slack=slack,
    )


def _render(template: str, frame: Frame, **values: object) -> str:
    return _pages.get_template(template).render(
        session=frame.session, form_token=frame.form_token, github=frame.github, **values
    )


def _undo(one: Reviewed) -> list[Undo]:
    """What was given on the page, oldest first; a correction on GitHub is changed there."""
    return [
        Undo(-event.more["comment_id"], axis, f"{axis} {', '.join(ids)}")
        for event in one.events
        if event.kind == "corrected" and event.more["comment_id"] < 0
        for axis, ids in event.more["labels"].items()
    ]


def _axis(one: Reviewed, axis: AxisName, taxonomy: Taxonomy) -> AxisRow:
    found = getattr(one.record.triage, axis)
    # Numbers are how people speak of stages and symptoms; other ids say no more than the names.
    numbered = axis in ("stage", "symptom")
    names = {e.id: f"{e.id} {e.name}" if numbered else e.name for e in taxonomy.on_axis(axis)}
    given = one.corrections.get(axis, [])
    ranked = [ranked for ranked in found.ranking[:_SHOWN] if ranked.id in names]
    shown = [Choice(r.id, names[r.id], round(100 * r.p), r.id in found.answer, r.id in given) for r in ranked]
    shown += [
        Choice(i, names[i], 0, False, True) for i in given if i in names and i not in {c.id for c in shown}
    ]
    hidden = {choice.id for choice in shown}
    others = [(id_, name) for id_, name in names.items() if id_ not in hidden]
    return AxisRow(axis, shown, others, bool(found.answer))
