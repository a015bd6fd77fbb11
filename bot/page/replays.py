"""Pages of a tracker as a whole: its state, and the replay of its history, which a job computes and a form asks for.

GitHub sends whoever has installed the App to `/installed`, and that leads to the replay.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime

from fastapi import APIRouter, Request
from fastapi.responses import Response

from bot.github.history_jobs import history_job
from bot.github.records import RepoRef
from bot.history.label_store import LabelTables
from bot.history.records import RepoHistory
from bot.history.replay.labels import LabelRow
from bot.history.replay.summary import Point, Summary
from bot.history.replay.told import NOT_IN_IT, marks, said
from bot.history.store import PostgresHistory
from bot.page.forms import number_in, posted_form
from bot.page.github_sign_in import START, Visitors
from bot.page.histories import HistoryState, HistoryStates, history_shown
from bot.page.routes import asked, frame_for, number_of
from bot.page.shown_text import comment_html
from bot.page.sign_in import Session
from bot.page.tables import BY, ReviewTables, Seen
from bot.page.tracker import TrackerState, TrackerTables
from bot.page.view import PageQuery, go_to, page, replay_page, replays_page, tracker_page, unsigned
from bot.runtime.resources import Service
from knowledge.history.head_learner import TARGET_PRECISION
from knowledge.taxonomy import Taxonomy

INSTALLED = "/installed"
"""Where GitHub sends people after an installation."""
WIDTH, HEIGHT = 480, 120
"""Of a plot, in units of the drawing."""
SPAN = 100
"""Width of a label's precision."""
UNFOLDED = 20
"""Comments shown; older ones are folded."""


@dataclass(frozen=True, slots=True)
class MonthBar:
    """A month: its issues as the paler bar, those with a comment before it; each height includes those after it."""

    x: float
    width: float
    back: float
    failures: float
    unmarked: float
    marked: float
    label: str


@dataclass(frozen=True, slots=True)
class Curve:
    """A share over the thresholds: a line, and the band of its intervals as a polygon."""

    line: str
    band: str


@dataclass(frozen=True, slots=True)
class Span:
    """A label's precision and its interval on a scale of `SPAN`."""

    at: float
    low: float
    high: float


def tracker_router(service: Service, visitors: Visitors, taxonomy: Taxonomy) -> APIRouter:
    """The routes: the state of trackers, where one lands after installing, replays, and the form that asks for one."""
    router = APIRouter()
    store, tables = PostgresHistory(service.threads), TrackerTables(service.threads)
    states = HistoryStates(service.threads)
    review, labels = ReviewTables(service.threads), LabelTables(service.threads)
    settings = service.settings
    start = START if settings.github_client_id else ""

    def read_state(session: Session, query: PageQuery) -> tuple[TrackerState, list[str]]:
        state = tables.state(query.seen(session), query.repo, datetime.now(UTC))
        return state, review.choices(Seen.of(session))[0]

    @router.get("/tracker")
    async def tracker(request: Request) -> Response:
        read = await asked(visitors, request, start)
        if isinstance(read, Response):
            return read
        session, query = read
        state, repositories = await asyncio.to_thread(read_state, session, query)
        return page(
            tracker_page(frame_for(session, visitors, settings, taxonomy), state, repositories, query)
        )

    @router.get(INSTALLED)
    async def installed(request: Request, setup_action: str = "") -> Response:
        # What the address says of an installation anybody can write: who may see what is read from GitHub.
        if setup_action == "request":
            text = "An owner of the organization has to approve the installation. Its replay is on this page then."
            return page(unsigned(text, sign_in=start))
        session = await visitors.session(request)
        if session is not None and session.repos is None:
            return go_to("/replays")
        if start:
            # Again, though signed in: a session knows the repositories of the time when it began.
            return go_to(f"{START}?to=replays")
        text = "The App is installed. To see its replay, sign in with a link from `bot admin link`."
        return page(unsigned(text))

    @router.get("/replays")
    async def every(request: Request) -> Response:
        read = await asked(visitors, request, start)
        if isinstance(read, Response):
            return read
        session, query = read
        found = await asyncio.to_thread(states.states, query.seen(session))
        if len(found) == 1 and found[0].key:
            return go_to(f"/replay?history={found[0].key}")
        return page(replays_page(frame_for(session, visitors, settings, taxonomy), found))

    def read_replay(repo: RepoHistory) -> tuple[HistoryState | None, datetime | None, Summary | None]:
        at, result = store.kept_replay(repo.key) or (None, {})
        state = next((one for one in states.states(Seen(), repo.full_name) if one.key == repo.key), None)
        return state, at, Summary.of_json(result)

    @router.get("/replay")
    async def show(request: Request, history: str = "") -> Response:
        read = await asked(visitors, request, start)
        if isinstance(read, Response):
            return read
        session, _ = read
        repo = await asyncio.to_thread(history_shown, store, session, number_of(history))
        if repo is None:
            return page(unsigned("No such history."), 404)
        state, at, made = await asyncio.to_thread(read_replay, repo)
        votes = await asyncio.to_thread(labels.votes, repo.key, "same")
        if state is None:  # forgotten at this moment
            return page(unsigned("No such history."), 404)
        html = replay_page(
            frame_for(session, visitors, settings, taxonomy),
            repo=repo,
            state=state,
            at=at if made else None,
            today=datetime.now(UTC).date().isoformat(),
            made=made,
            votes={(vote.id, vote.subject): vote for vote in votes if vote.by == (session.login or BY)},
            uncounted=at is not None and any(vote.at > at for vote in votes),
            said=said(made) if made else "",
            marks=marks(made) if made else "",
            not_in_it=NOT_IN_IT,
            unfolded=UNFOLDED,
            markdown=comment_html,
            bars=bars_of(made) if made else [],
            marked=curve_of(made.points, "marked") if made else None,
            coverage=curve_of(made.points, "coverage") if made else None,
            size=(WIDTH, HEIGHT),
            span_of=span_of,
            target=SPAN * TARGET_PRECISION,
        )
        return page(html)

    @router.post("/replay")
    async def compute(request: Request) -> Response:
        read = await posted_form(visitors, request)
        if isinstance(read, Response):
            return read
        session, form = read
        repo = await asyncio.to_thread(history_shown, store, session, number_in(form, "history"))
        if repo is None:
            return page(unsigned("No such history."), 404)
        try:
            since = date.fromisoformat(form["since"]) if form.get("since") else None
        except ValueError:
            return page(unsigned("Write the date as 2026-05-01."), 422)
        ref, now = RepoRef(repo.repo_id or 0, repo.full_name), datetime.now(UTC)
        await service.accept(history_job("replay", repo.installation_id or 0, ref, now, since=since))
        return go_to(f"/replay?history={repo.key}")

    return router


def bars_of(made: Summary) -> list[MonthBar]:
    """The months as bars, the highest as high as the plot."""
    most = max((month.reports for month in made.months), default=1)
    step = WIDTH / max(len(made.months), 1)

    def height(count: int) -> float:
        # A count that is not zero is seen.
        return max(2.0, round(HEIGHT * count / most, 1)) if count else 0.0

    return [
        MonthBar(
            x=round(n * step + 2, 1),
            width=round(step - 4, 1),
            back=height(month.reports),
            failures=height(month.failures + month.unmarked + month.marked),
            unmarked=height(month.unmarked + month.marked),
            marked=height(month.marked),
            label=f"{month.month}: {month.reports} opened; comments with an earlier issue that people marked: "
            f"{month.marked}, with one not marked: {month.unmarked}, with a known failure or a version conflict alone: "
            f"{month.failures}",
        )
        for n, month in enumerate(made.months)
    ]


def span_of(row: LabelRow) -> Span | None:
    """Where a label's precision is drawn."""
    return Span(*(round(SPAN * share, 1) for share in row.span)) if row.span else None


def curve_of(points: Sequence[Point], name: str) -> Curve:
    """The share called that, from left (P = 0) to right (P = 1)."""
    drawn = [(point, value) for point in points if (value := getattr(point, name)) is not None]

    def at(threshold: float, share: float) -> str:
        return f"{WIDTH * threshold:.1f},{HEIGHT * (1 - share):.1f}"

    line = " ".join(at(point.threshold, value) for point, value in drawn)
    wide = [p for p, _ in drawn if name == "marked" and p.low is not None and p.high is not None]
    above = [at(p.threshold, p.high or 0.0) for p in wide]
    below = [at(p.threshold, p.low or 0.0) for p in reversed(wide)]
    return Curve(line, " ".join([*above, *below]))
