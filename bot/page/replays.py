"""Pages of a tracker as a whole: its state, and the replay of its history, which a job computes and a form asks for."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from fastapi import APIRouter, Request
from fastapi.responses import Response

from bot.github.history_jobs import history_job
from bot.github.records import RepoRef
from bot.history.records import RepoHistory
from bot.history.replay import Point, Summary
from bot.history.store import PostgresHistory
from bot.page.forms import posted_form
from bot.page.github_sign_in import START, Visitors
from bot.page.routes import asked, frame_for, number_of
from bot.page.sign_in import Session
from bot.page.tables import ReviewTables, Seen
from bot.page.tracker import TrackerState, TrackerTables
from bot.page.view import PageQuery, go_to, page, replay_page, tracker_page, unsigned
from bot.runtime.resources import Service
from knowledge.taxonomy import Taxonomy

WIDTH, HEIGHT = 480, 120
"""Of a plot, in units of the drawing."""


@dataclass(frozen=True, slots=True)
class MonthBar:
    """A month: its reports as the paler bar, those with something shown before it."""

    x: float
    width: float
    back: float
    """Heights."""
    unmarked: float
    marked: float
    label: str


@dataclass(frozen=True, slots=True)
class Curve:
    """A share over the thresholds: a line, and the band of its intervals as a polygon."""

    line: str
    band: str


def tracker_router(service: Service, visitors: Visitors, taxonomy: Taxonomy) -> APIRouter:
    """The routes: the state of trackers, the replay of one's history, and the form that asks for it."""
    router = APIRouter()
    store, tables = PostgresHistory(service.threads), TrackerTables(service.threads)
    review = ReviewTables(service.threads)
    settings = service.settings
    start = START if settings.github_client_id else ""

    def history_shown(session: Session, number: str) -> RepoHistory | None:
        """The history, where there is one and this session may see it."""
        key = number_of(number)
        repo = store.by_key(key) if key else None
        return (
            repo if repo is not None and Seen.of(session).covers(repo.installation_id, repo.repo_id) else None
        )

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

    @router.get("/replay")
    async def show(request: Request, history: str = "", queued: str = "") -> Response:
        read = await asked(visitors, request, start)
        if isinstance(read, Response):
            return read
        session, _ = read
        repo = await asyncio.to_thread(history_shown, session, history)
        if repo is None:
            return page(unsigned("No such history."), 404)
        kept = await asyncio.to_thread(store.kept_replay, repo.key)
        made = Summary.of_json(kept[1]) if kept else None
        html = replay_page(
            frame_for(session, visitors, settings, taxonomy),
            repo=repo,
            at=kept[0] if kept else None,
            made=made,
            bars=bars_of(made) if made else [],
            marked=curve_of(made.points, "marked") if made else None,
            coverage=curve_of(made.points, "coverage") if made else None,
            size=(WIDTH, HEIGHT),
            queued=bool(queued),
        )
        return page(html)

    @router.post("/replay")
    async def compute(request: Request) -> Response:
        read = await posted_form(visitors, request)
        if isinstance(read, Response):
            return read
        session, form = read
        repo = await asyncio.to_thread(history_shown, session, form.get("history", ""))
        if repo is None:
            return page(unsigned("No such history."), 404)
        ref = RepoRef(repo.repo_id or 0, repo.full_name)
        await service.accept(history_job("replay", repo.installation_id or 0, ref, datetime.now(UTC)))
        return go_to(f"/replay?history={repo.key}&queued=1")

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
            unmarked=height(month.unmarked + month.marked),
            marked=height(month.marked),
            label=f"{month.month}: {month.reports} reports; something shown below {month.marked + month.unmarked}, "
            f"marked by people below {month.marked}",
        )
        for n, month in enumerate(made.months)
    ]


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
