"""The forms of the page: correct, vote and undo, decide about a drafted answer, sign out."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from urllib.parse import quote

from fastapi import APIRouter, Request
from fastapi.responses import Response

from bot.github.handler import decided_draft
from bot.github.posting import fault
from bot.github.records import CommentNote, Correction, DraftDecision, IssueRef, TriageRecord
from bot.github.routes import new_delivery
from bot.github.store.postgres import PostgresStore
from bot.github.triage_issue import known_config
from bot.github.votes import recast_corrections
from bot.history.label_store import Kind, LabelTables, Vote
from bot.history.records import RepoHistory
from bot.history.replay.summary import Summary
from bot.history.search import own_id
from bot.history.store import PostgresHistory
from bot.http.body import Malformed, TooLarge, form_of, read_body
from bot.page.github_sign_in import Visitors
from bot.page.histories import history_shown
from bot.page.routes import number_of
from bot.page.sign_in import Session
from bot.page.tables import BY, ReviewTables, Seen
from bot.page.view import go_to, page, same_view, unsigned
from bot.runtime.resources import Service
from knowledge.taxonomy import Taxonomy
from knowledge.triage import AXES

FORM_LIMIT = 8_192
"""Bytes; a form of the page has some hundred."""


def correction_of(
    triage_id: int,
    record: TriageRecord,
    earlier: Sequence[Correction],
    axis: str,
    label: str | None,
    taxonomy: Taxonomy,
    by: str = BY,
) -> Correction | None:
    """The correction of this triage with `label` on `axis`, besides what was clicked before; None takes it back.

    Its comment id is minus the triage's, which no comment has. None for an unknown axis or label. One without
    labels means that nothing is left of it.
    """
    known = next((name for name in AXES if name == axis), None)
    if known is None or (label is not None and label not in taxonomy.ids(known)):
        return None
    labels = next((dict(c.labels) for c in earlier if c.comment_id == -triage_id), {})
    if label is None:
        labels.pop(known, None)
    else:
        labels[known] = (label,)
    return Correction(
        issue=record.issue,
        comment_id=-triage_id,
        by=by,
        at=datetime.now(UTC),
        labels=labels,
        title=record.title,
        # The report itself is not kept; its decisive lines are in the triage. Without any, its title is the report.
        body="\n".join(line.text for line in record.triage.evidence.lines) or record.title,
    )


async def posted_form(visitors: Visitors, request: Request) -> tuple[Session, dict[str, str]] | Response:
    """Who sent which form of the page; a refusal otherwise."""
    # Whoever is not signed in does not get a byte of a body read.
    session = await visitors.session(request)
    if session is None:
        return page(unsigned("This form is not from this page, or your sign-in has expired."), 403)
    try:
        form = form_of(await read_body(request, FORM_LIMIT), request.headers.get("content-type", ""))
    except TooLarge:
        return page(unsigned("This form is too large."), 413)
    except Malformed:
        return page(unsigned("This form is not from this page."), 400)
    if not visitors.links.form_fits(session, form.get("form_token", "")):
        return page(unsigned("This form is not from this page, or your sign-in has expired."), 403)
    return session, form


def forms_router(service: Service, visitors: Visitors, taxonomy: Taxonomy) -> APIRouter:
    """The routes that change something; each wants the token of the session's own pages."""
    router = APIRouter()
    review, store = ReviewTables(service.threads), PostgresStore(service.threads)
    tables, histories = LabelTables(service.threads), PostgresHistory(service.threads)

    def triage_shown(session: Session, number: int) -> TriageRecord | None:
        """The triage, where there is one and this session may see it."""
        return review.triage(number, Seen.of(session)) if number else None

    def corrected(session: Session, form: Mapping[str, str]) -> bool:
        """Save what a form of labels says; False for a triage, axis or label that is not there."""
        number = number_in(form, "triage")
        record = triage_shown(session, number)
        if record is None:
            return False
        label = None if "undo" in form else form.get("label", "")
        correction = correction_of(
            number,
            record,
            store.corrections(record.issue),
            form.get("axis", ""),
            label,
            taxonomy,
            session.login or BY,
        )
        if correction is None:
            return False
        if correction.labels:
            store.save_correction(correction)
        else:
            store.forget_correction(correction.comment_id)
        recast(record.issue)
        return True

    def recast(issue: IssueRef) -> None:
        """Keep what the corrections of an issue say of its labels."""
        repo = histories.find(issue.repo.full_name, issue.repo.id)
        if repo is not None:
            config = known_config(store, issue.repo.id)
            recast_corrections(tables, repo.key, issue.number, store.corrections(issue), config)

    def vote(
        session: Session, form: Mapping[str, str], repo: RepoHistory | None, id: str, about: tuple[Kind, str]
    ) -> bool:
        """Save what a form says of a label or an earlier issue, or take it back; False for one that says neither."""
        by, word = session.login or BY, form.get("agrees", "")
        if "undo" not in form and word not in ("yes", "no"):
            return False
        if repo is not None and "undo" in form:
            tables.forget_vote(repo.key, id, *about, by)
        elif repo is not None:
            tables.save_vote(repo.key, Vote(id, *about, by, "maintainer", word == "yes", datetime.now(UTC)))
        return True

    def judged(session: Session, form: Mapping[str, str]) -> bool:
        """Save what a form of a triage says; False for a label or an earlier issue that is not shown."""
        record = triage_shown(session, number_in(form, "triage"))
        subject = form.get("subject", "")
        if record is None:
            return False
        issue, triage = record.issue, record.triage
        repo = histories.find(issue.repo.full_name, issue.repo.id)
        if form.get("kind") == "label" and subject in {one.label for one in triage.own_labels}:
            done = vote(session, form, repo, str(issue.number), ("label", subject))
            if "undo" in form:
                recast(issue)  # The vote had replaced what a correction says of this label.
            return done
        # What is said of another repository's report says nothing of this one's issue of that number.
        own = own_id(issue.repo.full_name, subject)
        if form.get("kind") == "same" and own and subject in {one.id for one in triage.same_failure}:
            return vote(session, form, repo, str(issue.number), ("same", own))
        return False

    def judged_in_replay(session: Session, form: Mapping[str, str]) -> bool:
        """Save what a form of a replay says; False for an earlier issue that is not shown."""
        repo = history_shown(histories, session, number_in(form, "history"))
        kept = histories.kept_replay(repo.key) if repo is not None else None
        made = Summary.of_json(kept[1]) if kept is not None else None
        id, subject = form.get("issue", ""), form.get("subject", "")
        if made is None or form.get("kind") != "same" or not made.names(id, subject):
            return False
        return vote(session, form, repo, id, ("same", subject))

    def decided(session: Session, form: Mapping[str, str]) -> DraftDecision | str | None:
        """Save what was decided about a draft; a sentence says why not, None that there is no such draft."""
        sentences = tuple(line.strip() for line in form.get("text", "").splitlines() if line.strip())
        record = triage_shown(session, number_in(form, "triage"))
        word = form.get("decision", "")
        draft = record.triage.answer if record is not None else None
        if record is None or draft is None or not draft.verified or word not in ("post", "reject"):
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
            session.login or BY,
            datetime.now(UTC),
        )
        store.save_draft_decision(decision)
        if posts:
            note = store.comment_note(record.issue) or CommentNote(None, None)
            store.save_comment_note(record.issue, replace(note, state="live"))
        return decision

    @router.post("/corrections")
    async def correct(request: Request) -> Response:
        read = await posted_form(visitors, request)
        if isinstance(read, Response):
            return read
        session, form = read
        if not await asyncio.to_thread(corrected, session, form):
            return page(unsigned("No such triage or label."), 404)
        return _back(form, "labels")

    @router.post("/votes")
    async def judge(request: Request) -> Response:
        read = await posted_form(visitors, request)
        if isinstance(read, Response):
            return read
        session, form = read
        if "history" in form:
            if not await asyncio.to_thread(judged_in_replay, session, form):
                return page(unsigned("This replay does not name that earlier issue. Reload its page."), 404)
            issue = quote(form.get("issue", ""), safe="")
            return go_to(f"/replay?history={number_in(form, 'history')}#issue-{issue}")
        if not await asyncio.to_thread(judged, session, form):
            return page(unsigned("No such label or issue."), 404)
        return _back(form, "labels" if form.get("kind") == "label" else "h-finding")

    @router.post("/drafts")
    async def decide(request: Request) -> Response:
        read = await posted_form(visitors, request)
        if isinstance(read, Response):
            return read
        session, form = read
        made = await asyncio.to_thread(decided, session, form)
        if made is None:
            return page(unsigned("No such draft."), 404)
        if isinstance(made, str):
            return page(unsigned(f"The answer was not posted. {made} Go back and change it."), 422)
        delivery = decided_draft(made)
        new = new_delivery(delivery.id, delivery.event, delivery.payload, keep_text=False)
        if new is not None:
            await service.accept(new)
        return _back(form, "draft")

    @router.post("/sign-out")
    async def leave(request: Request) -> Response:
        read = await posted_form(visitors, request)
        if isinstance(read, Response):
            return read
        answer = page(unsigned("You are signed out."))
        await visitors.sign_out(request, answer)
        return answer

    return router


def number_in(form: Mapping[str, str], name: str) -> int:
    """A number of a triage in a form; 0 = none."""
    return number_of(form.get(name, ""))


def _back(form: Mapping[str, str], part: str) -> Response:
    """To the triage that was shown; a label may be taken back from an earlier one of the issue."""
    shown = number_in(form, "shown") or number_in(form, "triage")
    query = same_view(form.get("back", ""))
    return go_to(f"/triages/{shown}{f'?{query}' if query else ''}#{part}")
