"""The maintainers' page: sign-in by link, the list, one triage with its issue's text, the weeks, the files."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass

import structlog
from fastapi import APIRouter, Request
from fastapi.responses import Response

from bot.github.case import text_now
from bot.github.ports import GitHubApp
from bot.github.records import GitHubError, TriageRecord
from bot.github.store.postgres import GivenTables
from bot.page.github_sign_in import START, Visitors
from bot.page.histories import HistoryStates
from bot.page.shown_text import ShownIssue, shown_issue
from bot.page.sign_in import COOKIE, Session
from bot.page.tables import BY, ReviewTables, Seen
from bot.page.view import (
    Frame,
    PageQuery,
    assets,
    go_to,
    inbox,
    issue_page,
    page,
    query_of,
    triage_page,
    unsigned,
    weeks_page,
)
from bot.runtime.resources import Service
from bot.settings import Settings
from knowledge.taxonomy import Taxonomy

log = structlog.get_logger(__name__)

SLACK_SHOWN = 20
_NOT_KEPT = "The text of this issue is not kept. With the App's key, it is read from GitHub each time."


@dataclass(frozen=True, slots=True)
class IssueTexts:
    """Reads an issue's text for the page: from GitHub with the App's key, else from the webhook that brought it."""

    app: GitHubApp | None
    review: ReviewTables

    def shown(self, record: TriageRecord) -> tuple[ShownIssue | None, str]:
        """The text, or why there is none."""
        issue = record.issue
        try:
            found = (
                text_now(self.app.installation(issue.installation_id), issue)
                if self.app is not None
                else self.review.stored_text(issue.repo.id, issue.number)
            )
        except GitHubError as error:
            log.info("issue not read", subject=issue.name, status=error.status)
            return None, "GitHub does not show this issue at the moment."
        return (shown_issue(*found, record.triage), "") if found else (None, _NOT_KEPT)


async def asked(visitors: Visitors, request: Request, sign_in: str) -> tuple[Session, PageQuery] | Response:
    """Who asks for which view; a refusal otherwise. `sign_in`: where one signs in with GitHub, "" = nowhere."""
    session = await visitors.session(request)
    if session is None:
        return page(unsigned("Sign in with a link from `bot admin link`.", sign_in=sign_in), 401)
    query = query_of(request.url.query)
    if query is None:
        return page(unsigned("Unknown filter in the address."), 422)
    return session, query


def frame_for(session: Session, visitors: Visitors, settings: Settings, taxonomy: Taxonomy) -> Frame:
    """What all pages of the session need."""
    return Frame(session, visitors.links.form_token(session), settings.github_web_url, taxonomy)


def page_router(
    service: Service, visitors: Visitors, taxonomy: Taxonomy, app: GitHubApp | None = None
) -> APIRouter:
    """The routes that show something."""
    router = APIRouter()
    review, given = ReviewTables(service.threads), GivenTables(service.threads)
    histories = HistoryStates(service.threads)
    texts = IssueTexts(app, review)
    settings = service.settings
    start = START if settings.github_client_id else ""

    def frame_of(session: Session) -> Frame:
        return frame_for(session, visitors, settings, taxonomy)

    @router.get("/sign-in")
    async def enter(token: str = "") -> Response:
        session = visitors.links.enter(token)
        if session is None:
            return page(unsigned("This link is not valid or has expired.", sign_in=start), 403)
        answer = go_to("/")
        answer.set_cookie(
            COOKIE,
            visitors.links.cookie(session),
            max_age=max(1, int(session.expires - time.time())),
            httponly=True,
            samesite="lax",
            secure=settings.public_url.startswith("https:"),
        )
        return answer

    @router.get("/")
    async def listed(request: Request) -> Response:
        read = await asked(visitors, request, start)
        if isinstance(read, Response):
            return read
        session, query = read
        triages, more = await asyncio.to_thread(review.triages, query.within(session))
        choices = await asyncio.to_thread(review.choices, Seen.of(session))
        news = await asyncio.to_thread(histories.news, Seen.of(session))
        return page(inbox(frame_of(session), triages, more, choices, query, news))

    @router.get("/triages/{number}")
    async def one(request: Request, number: str) -> Response:
        read = await asked(visitors, request, start)
        if isinstance(read, Response):
            return read
        session, query = read
        found = await asyncio.to_thread(
            review.reviewed, number_of(number), query.seen(session), session.login or BY
        )
        if found is None:
            return page(unsigned("No such triage."), 404)
        filters = query.within(session)
        around = await asyncio.to_thread(review.neighbours, filters, found.record.at, found.id)
        return page(triage_page(frame_of(session), found, query, around))

    @router.get("/triages/{number}/issue")
    async def text(request: Request, number: str) -> Response:
        read = await asked(visitors, request, start)
        if isinstance(read, Response):
            return read
        session, query = read
        found = await asyncio.to_thread(review.reviewed, number_of(number), query.seen(session))
        if found is None:
            return page(unsigned("No such triage."), 404)
        issue, why = await asyncio.to_thread(texts.shown, found.record)
        return page(issue_page(frame_of(session), found, issue, why, query))

    @router.get("/weeks")
    async def weeks(request: Request) -> Response:
        read = await asked(visitors, request, start)
        if isinstance(read, Response):
            return read
        session, query = read
        seen = query.seen(session)
        found = await asyncio.to_thread(review.weeks, seen)
        # Slack's workspaces belong to no installation: only who may see all of them sees these.
        slack = await asyncio.to_thread(given.slack, SLACK_SHOWN) if seen.everything else []
        return page(weeks_page(frame_of(session), found, slack))

    @router.get("/static/{name}")
    async def asset(request: Request, name: str) -> Response:
        found = assets().get(name)
        if found is None:
            return page(unsigned("No such file."), 404)
        return found.answer(request.headers.get("accept-encoding", ""))

    return router


def number_of(text: str) -> int:
    """The number in an address; 0, which no triage has, for what is none."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 19 else 0
