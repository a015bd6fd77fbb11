"""The maintainers' page: sign-in by link, triages with filters, corrections by one click."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from bot.github.config_load import known_config
from bot.github.drafts import fault
from bot.github.intake import new_delivery
from bot.github.records import CommentNote, Correction, DraftDecision, TriageRecord
from bot.github.store.given_labels import GivenTables
from bot.github.store.postgres import PostgresStore
from bot.github.sweep import decided_draft
from bot.github.votes import correction_votes
from bot.history.label_store import Kind, LabelTables, Vote
from bot.history.store import PostgresHistory
from bot.http.body import Malformed, TooLarge, form_of, read_body
from bot.page.query import query_of, same_view
from bot.page.sign_in import Session, SignIn
from bot.page.tables import BY, ReviewTables
from bot.page.view import STYLE, render, unsigned
from bot.runtime.resources import Service
from knowledge.taxonomy import Taxonomy
from knowledge.triage import AXES


def correction_of(
    triage_id: int,
    record: TriageRecord,
    earlier: Sequence[Correction],
    axis: str,
    label: str,
    taxonomy: Taxonomy,
) -> Correction | None:
    """The correction of this triage with `label` on `axis`, besides what was clicked before.

    Its comment id is minus the triage's, which no comment has. None for an unknown axis or label.
    """
    known = next((name for name in AXES if name == axis), None)
    if known is None or label not in taxonomy.ids(known):
        return None
    labels = next((dict(c.labels) for c in earlier if c.comment_id == -triage_id), {})
    labels[known] = (label,)
    return Correction(
        issue=record.issue,
        comment_id=-triage_id,
        by=BY,
        at=datetime.now(UTC),
        labels=labels,
        title=record.title,
        # The report itself is not kept; its decisive lines are in the triage. Without any, its title is the report.
        body="\n".join(line.text for line in record.triage.evidence.lines) or record.title,
    )


COOKIE = "distriage"
FORM_LIMIT = 8_192
"""Bytes; a form of the page has some hundred."""
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
    given, tables = GivenTables(service.threads), LabelTables(service.threads)
    histories = PostgresHistory(service.threads)
    secure = service.settings.public_url.startswith("https:")

    def signed_in(request: Request) -> Session | None:
        return sign_in.session(request.cookies.get(COOKIE))

    async def posted_form(request: Request) -> tuple[Session, dict[str, str]] | Response:
        """Who sent which form of the page; a refusal otherwise."""
        # Whoever is not signed in does not get a byte of a body read.
        session = signed_in(request)
        if session is None:
            return _page(unsigned("This form is not from this page, or your sign-in has expired."), 403)
        try:
            form = form_of(await read_body(request, FORM_LIMIT), request.headers.get("content-type", ""))
        except TooLarge:
            return _page(unsigned("This form is too large."), 413)
        except Malformed:
            return _page(unsigned("This form is not from this page."), 400)
        if not sign_in.form_fits(session, form.get("form_token", "")):
            return _page(unsigned("This form is not from this page, or your sign-in has expired."), 403)
        return session, form

    def triage_shown(session: Session, number: int) -> TriageRecord | None:
        """The triage, where there is one and this session may see it."""
        record = review.triage(number) if number else None
        if record is None or session.installation not in (None, record.issue.installation_id):
            return None
        return record

    @router.get("/sign-in")
    async def enter(token: str = "") -> Response:
        session = sign_in.enter(token)
        if session is None:
            return _page(unsigned("This link is not valid or has expired."), 403)
        answer = RedirectResponse("/", status_code=303, headers=HEADERS)
        answer.set_cookie(
            COOKIE,
            sign_in.cookie(session),
            max_age=max(1, int(session.expires - time.time())),
            httponly=True,
            samesite="lax",
            secure=secure,
        )
        return answer

    @router.get("/")
    async def page(request: Request) -> Response:
        session = signed_in(request)
        if session is None:
            return _page(unsigned("Sign in with a link from `bot admin link`."), 401)
        filters = query_of(request.url.query)
        if filters is None:
            return _page(unsigned("Unknown filter in the address."), 422)
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
            github=service.settings.github_web_url,
            show_installations=session.installation is None,
            form_token=sign_in.form_token(session),
        )
        return _page(html)

    @router.post("/corrections")
    async def correct(request: Request) -> Response:
        read = await posted_form(request)
        if isinstance(read, Response):
            return read
        session, form = read
        number = triage_number(form)

        def save() -> bool:
            record = triage_shown(session, number)
            if record is None:
                return False
            earlier = store.corrections(record.issue)
            axis, label = form.get("axis", ""), form.get("label", "")
            correction = correction_of(number, record, earlier, axis, label, taxonomy)
            if correction is None:
                return False
            store.save_correction(correction)
            config = known_config(store, record.issue.repo.id)
            for name, agrees in correction_votes(correction.labels, config).items():
                vote(record, "label", name, agrees)
            return True

        if not await asyncio.to_thread(save):
            return _page(unsigned("No such triage or label."), 404)
        return _back(form, number)

    def vote(record: TriageRecord, kind: Kind, subject: str, agrees: bool) -> None:
        issue = record.issue
        repo = histories.find(issue.repo.full_name, issue.repo.id)
        if repo is not None:
            cast = Vote(str(issue.number), kind, subject, BY, "maintainer", agrees, datetime.now(UTC))
            tables.save_vote(repo.key, cast)

    @router.post("/votes")
    async def judge(request: Request) -> Response:
        read = await posted_form(request)
        if isinstance(read, Response):
            return read
        session, form = read
        number = triage_number(form)

        def save() -> bool:
            record = triage_shown(session, number)
            subject, word = form.get("subject", ""), form.get("agrees", "")
            if record is None or word not in ("yes", "no"):
                return False
            triage = record.triage
            if form.get("kind") == "label" and subject in {one.label for one in triage.own_labels}:
                vote(record, "label", subject, word == "yes")
                return True
            if form.get("kind") == "same" and subject in {one.id for one in triage.same_failure}:
                vote(record, "same", subject.rpartition("#")[2], word == "yes")
                return True
            return False

        if not await asyncio.to_thread(save):
            return _page(unsigned("No such label or issue."), 404)
        return _back(form, number)

    @router.post("/drafts")
    async def decide(request: Request) -> Response:
        read = await posted_form(request)
        if isinstance(read, Response):
            return read
        session, form = read
        number = triage_number(form)
        sentences = tuple(line.strip() for line in form.get("text", "").splitlines() if line.strip())

        def save() -> DraftDecision | str | None:
            record = triage_shown(session, number)
            if record is None:
                return None
            draft = record.triage.answer
            word = form.get("decision", "")
            if draft is None or not draft.verified or word not in ("post", "reject"):
                return None
            posts = word == "post"
            broken = fault(sentences) if posts else None
            if broken is not None:
                return broken
            decision = DraftDecision(
                record.issue,
                record.input_hash,
                "post" if posts else "reject",
                sentences if posts else (),
                BY,
                datetime.now(UTC),
            )
            store.save_draft_decision(decision)
            note = store.comment_note(record.issue) or CommentNote(None, None)
            store.save_comment_note(record.issue, replace(note, state="live", written=posts))
            return decision

        made = await asyncio.to_thread(save)
        if made is None:
            return _page(unsigned("No such draft."), 404)
        if isinstance(made, str):
            return _page(unsigned(f"The answer was not posted. {made} Go back and change it."), 422)
        delivery = decided_draft(made)
        new = new_delivery(delivery.id, delivery.event, delivery.payload, keep_text=False)
        if new is not None:
            await service.accept(new)
        return _back(form, number)

    @router.get("/page.css")
    async def style() -> Response:
        return Response(STYLE, media_type="text/css", headers={"cache-control": "max-age=3600"})

    return router


def triage_number(form: Mapping[str, str]) -> int:
    """The number of the triage that a form is about; 0 = none."""
    number = form.get("triage", "")
    return int(number) if number.isascii() and number.isdecimal() and len(number) < 19 else 0


def _back(form: Mapping[str, str], triage: int) -> RedirectResponse:
    return RedirectResponse(
        f"/?{same_view(form.get('back', ''))}#t{triage}", status_code=303, headers=HEADERS
    )


def _page(html: str, status: int = 200) -> HTMLResponse:
    return HTMLResponse(html, status_code=status, headers=HEADERS)
