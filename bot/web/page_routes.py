"""The maintainers' page: sign-in by link, triages with filters, corrections by one click."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from bot.db.given_labels import GivenTables
from bot.db.review_tables import ReviewTables
from bot.db.store import PostgresStore
from bot.service import Service
from bot.web.corrections import correction_of
from bot.web.page_query import PageQuery, same_view
from bot.web.page_view import STYLE, render, unsigned
from bot.web.sign_in import Session, SignIn
from knowledge.taxonomy import Taxonomy

COOKIE = "distriage"
SLACK_SHOWN = 20
HEADERS = {
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
    "x-content-type-options": "nosniff",
    "content-security-policy": "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'",
}


def page_router(service: Service, sign_in: SignIn, taxonomy: Taxonomy) -> APIRouter:
    """The routes of the page."""
    router = APIRouter()
    review, store = ReviewTables(service.threads), PostgresStore(service.threads)
    given = GivenTables(service.threads)
    secure = service.settings.public_url.startswith("https:")

    def signed_in(request: Request) -> Session | None:
        return sign_in.session(request.cookies.get(COOKIE))

    @router.get("/sign-in")
    async def enter(token: str = "") -> Response:
        session = sign_in.enter(token)
        if session is None:
            return _page(unsigned("This link is not valid or has expired."), 403)
        answer = RedirectResponse("/", status_code=303, headers=HEADERS)
        answer.set_cookie(
            COOKIE,
            sign_in.cookie(session),
            expires=int(session.expires),
            httponly=True,
            samesite="lax",
            secure=secure,
        )
        return answer

    @router.get("/")
    async def page(request: Request, filters: Annotated[PageQuery, Query()]) -> Response:
        session = signed_in(request)
        if session is None:
            return _page(unsigned("Sign in with a link from `bot admin link`."), 401)
        wanted = filters.within(session)
        triages, more = await asyncio.to_thread(review.triages, wanted)
        weeks = await asyncio.to_thread(review.weeks, wanted.installation)
        choices = await asyncio.to_thread(review.choices, session.installation)
        # Slack's workspaces belong to no installation: only who may see all of them sees these.
        slack = [] if wanted.installation is not None else await asyncio.to_thread(given.slack, SLACK_SHOWN)
        html = render(
            taxonomy=taxonomy,
            triages=triages,
            more=more,
            weeks=weeks,
            choices=choices,
            slack=slack,
            query=filters,
            show_installations=session.installation is None,
            form_token=sign_in.form_token(session),
        )
        return _page(html)

    @router.post("/corrections")
    async def correct(
        request: Request,
        triage: Annotated[int, Form()],
        axis: Annotated[str, Form()],
        label: Annotated[str, Form()],
        form_token: Annotated[str, Form()],
        back: Annotated[str, Form()] = "",
    ) -> Response:
        session = signed_in(request)
        if session is None or not sign_in.form_fits(session, form_token):
            return _page(unsigned("This form is not of this page, or the sign-in has expired."), 403)

        def save() -> bool:
            record = review.triage(triage) if 0 < triage < 2**63 else None
            if record is None or session.installation not in (None, record.issue.installation_id):
                return False
            earlier = store.corrections(record.issue)
            correction = correction_of(triage, record, earlier, axis, label, taxonomy)
            if correction is None:
                return False
            store.save_correction(correction)
            return True

        if not await asyncio.to_thread(save):
            return _page(unsigned("There is no such triage or label."), 404)
        return RedirectResponse(f"/?{same_view(back)}#t{triage}", status_code=303, headers=HEADERS)

    @router.get("/page.css")
    async def style() -> Response:
        return Response(STYLE, media_type="text/css", headers={"cache-control": "max-age=3600"})

    return router


def _page(html: str, status: int = 200) -> HTMLResponse:
    return HTMLResponse(html, status_code=status, headers=HEADERS)
