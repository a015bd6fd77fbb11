"""The maintainers' page as HTML, and its filters; every value is escaped by the template engine."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Literal
from urllib.parse import parse_qsl, urlencode

from fastapi.responses import HTMLResponse, RedirectResponse, Response
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from pydantic import BaseModel, Field

from bot.db.connect import clean_text
from bot.github.store.postgres import GivenLabels
from bot.history.search import own_id
from bot.page.histories import HistoryState
from bot.page.plots import HEIGHT, WIDTH, plots_of
from bot.page.shown_text import (
    OUTCOMES,
    ShownIssue,
    age,
    comment_html,
    finding_words,
    happened,
    names_of,
    quoted_lines,
    reason_words,
)
from bot.page.sign_in import Session
from bot.page.tables import Cursor, Filters, Listed, Reviewed, Seen, Week
from bot.page.tracker import TrackerState
from bot.render.answer import ending, reasons, support
from bot.render.wording import classified, opening, percent
from knowledge.taxonomy import Taxonomy
from knowledge.triage import AXES, AxisName

# Answers of the page: the headers of all of them, and its files (Pico CSS, our own style, one small script).

HEADERS = {
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
    "x-content-type-options": "nosniff",
    # Pico's arrows of select fields and of folds are pictures within its own file.
    "content-security-policy": "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; "
    "img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
}
_FOLDER = Path(__file__).parent / "static"
_KINDS = {"pico.min.css": "text/css", "page.css": "text/css", "page.js": "text/javascript"}
_YEAR = "public, max-age=31536000, immutable"


@dataclass(frozen=True, slots=True)
class Asset:
    """A file of the page; its address changes with its content, so that browsers can keep it."""

    url: str
    kind: str
    plain: bytes
    packed: bytes

    def answer(self, accepts: str) -> Response:
        """The file, compressed where the browser takes that."""
        headers = {"cache-control": _YEAR, "vary": "accept-encoding", "x-content-type-options": "nosniff"}
        if "gzip" not in accepts:
            return Response(self.plain, media_type=self.kind, headers=headers)
        return Response(self.packed, media_type=self.kind, headers={**headers, "content-encoding": "gzip"})


@cache
def assets() -> dict[str, Asset]:
    """All files, by name."""
    found = {}
    for name, kind in _KINDS.items():
        plain = (_FOLDER / name).read_bytes()
        digest = hashlib.sha256(plain).hexdigest()[:12]
        found[name] = Asset(f"/static/{name}?v={digest}", kind, plain, gzip.compress(plain, 9, mtime=0))
    return found


def page(html: str, status: int = 200) -> HTMLResponse:
    """A page of ours."""
    return HTMLResponse(html, status_code=status, headers=HEADERS)


def go_to(address: str) -> RedirectResponse:
    """What follows a form or a sign-in."""
    return RedirectResponse(address, status_code=303, headers=HEADERS)


# The filters of the list, as its address has them.

_YES_NO: dict[str, bool | None] = {"": None, "yes": True, "no": False}


class PageQuery(BaseModel):
    """The query of the list; a form sends what was not chosen as an empty string."""

    installation: str = Field(default="", pattern=r"^\d{0,18}$")
    repo: str = Field(default="", max_length=200)
    outcome: Literal["", "posted", "would_post", "silent"] = ""
    symptom: str = Field(default="", max_length=40)
    corrected: Literal["", "yes", "no"] = ""
    draft: Literal["", "yes"] = ""
    before: str = Field(default="", pattern=r"^(\d{1,17}\.\d{1,18})?$")
    """Only triages older than this one (microseconds since 1970, then its number)."""

    def seen(self, session: Session) -> Seen:
        """What the session may see, narrowed to the chosen installation."""
        chosen = int(self.installation) if self.installation else None
        own = session.installation
        return Seen(own if own is not None else chosen, session.repos)

    def within(self, session: Session) -> Filters:
        """The filters, kept to what the session may see."""
        at, _, number = self.before.partition(".")
        return Filters(
            seen=self.seen(session),
            repo=clean_text(self.repo),
            outcome=self.outcome,
            symptom=clean_text(self.symptom),
            corrected=_YES_NO[self.corrected],
            draft=_YES_NO[self.draft],
            before=Cursor(int(at), int(number)) if at else None,
        )

    def link(self, before: Cursor | None = None) -> str:
        """The filters as text; `before` is where the next page begins."""
        values = self.model_dump(exclude_defaults=True, exclude={"before"})
        return urlencode(values | ({"before": str(before)} if before else {}))


def query_of(text: str) -> PageQuery | None:
    """The query in an address; None when it is none of ours."""
    try:
        return PageQuery.model_validate(dict(parse_qsl(text, max_num_fields=20)))
    except ValueError:  # pydantic's error is one, too
        return None


def same_view(text: str) -> str:
    """A query that a form sent back, rebuilt; "" when it is none of ours."""
    query = query_of(text)
    return query.link() if query is not None else ""


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
    histories: Sequence[HistoryState] = (),
) -> str:
    """The list; `choices` are the repositories and installations to filter by, `histories` those to point at."""
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
        histories=histories,
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
        percent=percent,
        own_id=own_id,
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


def tracker_page(frame: Frame, state: TrackerState, repositories: Sequence[str], query: PageQuery) -> str:
    """The state of the trackers that the session may see."""
    return _render(
        "tracker.html.j2", frame, here="tracker", tracker=state, repositories=repositories, query=query
    )


def replays_page(frame: Frame, states: Sequence[HistoryState]) -> str:
    """The histories that the session may see, with their replays."""
    return _render("replays.html.j2", frame, here="replays", states=states)


def replay_page(frame: Frame, **values: object) -> str:
    """The replay of a history; its values are named in templates/replay.html.j2."""
    return _render("replay.html.j2", frame, here="replays", **values)


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
