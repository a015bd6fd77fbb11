"""One issue from its text to its comment and labels, or to a reason for none."""

from __future__ import annotations

from dataclasses import replace

from bot.gate.markdown import pass_markdown
from bot.gate.rules import GateError, PassedMarkdown
from bot.github.case import Case, look, same_text
from bot.github.config_load import load_config, note_errors
from bot.github.decide import Say, answered_by_maintainer, leave_alone, other_bot_asks, what_to_say
from bot.github.errors import GitHubError, Gone, TryAgain
from bot.github.history import keep_issue, note_report
from bot.github.labels import LabelPlan, own_labels, plan_own_labels, wanted_labels, write_labels
from bot.github.pending import has_arrived, lacking, note_requests, with_lacking
from bot.github.ports import Comment, GitHub, Outcome, OutcomeKind, Ports
from bot.github.posting import Posted, hold_back, post, with_marker
from bot.github.records import CommentNote, IssueRef, TriageRecord
from bot.render.comment import asked, render_comment
from bot.render.view import View
from knowledge.text.quote import clean

_ROUNDS = 3


def triage_issue(
    github: GitHub, ports: Ports, ref: IssueRef, repo_open: bool = True, force: bool = False
) -> Outcome:
    """Triage the issue as it is now and bring its comment and labels in line.

    The text is read afresh, so old and reordered deliveries do no harm, and read again just before the
    write: when it changed meanwhile, all is done anew. `force`: a maintainer asked for it. Raises `TryAgain`.
    """
    config = load_config(github, ports, ref.repo)
    writes = note_errors(github, ports, ref, config)
    for round_ in range(_ROUNDS):
        issue = github.issue(ref)
        alone = leave_alone(issue, config, repo_open)
        if alone:
            return Outcome("silent", alone, ref, writes=writes)
        # A second reader may take 20 s, and is waited for once; an edit brings a delivery of its own.
        case = look(github, ports, ref, issue, config, quick=round_ > 0)
        fresh = github.issue(ref)
        if same_text(case, fresh) and leave_alone(fresh, config, repo_open) is None:
            return _act(github, ports, ref, replace(case, issue=fresh), force)
    raise TryAgain("the issue keeps changing", after=10)


def _act(github: GitHub, ports: Ports, ref: IssueRef, case: Case, force: bool) -> Outcome:
    # A bot that asks after us (for a sign of life, say) takes nothing back of what we asked.
    asks = other_bot_asks(_before(case.own, case.comments), github.login)
    note, requests = ports.store.comment_note(ref), ports.store.requests(ref)
    say = _say(case, asks, force, posted=note is not None and note.written)
    text = f"{case.report.title}\n{case.report.body}"
    lacks = [] if asks or case.own is None else lacking(requests, case.triage, text)
    if say.what == "nothing" and lacks:
        say = Say("ask", "still_missing")
    view = _view(ports, ref, case, say, note, asks, force)
    view = replace(view, triage=with_lacking(view.triage, lacks), arrived=has_arrived(requests, text))
    try:
        body = _body(case, view) if say.what != "nothing" or case.own else None
    except GateError as error:
        # Better no comment than a wrong one; the page says why there is none.
        return _save(ports, ref, case, "silent", "gate_refused", None, (), detail=tuple(error.violations))
    by_axis = wanted_labels(case.label_triage, case.config)
    wanted = tuple(name for names in by_axis.values() for name in names)
    own = own_labels(case.label_triage, case.config)
    wanted += plan_own_labels(own, case.config, case.issue.labels, (), github.login).add
    if case.mode == "shadow":
        return _save(ports, ref, case, "shadow", case.why, body if say.what != "nothing" else None, wanted)
    posted, held = None, None
    if case.mode in {"comment", "both"} and body is not None:
        held = hold_back(ports, ref, case.own, force)
        posted = None if held else post(github, ports, ref, case.own, body)
    # A comment that a person rewrote asks for what is still lacking, as far as anybody knows.
    asking = asked(view) if posted is not None else lacks if held == "edited_by_person" else []
    pending = note_requests(ports, ref, requests, asking, case.report)
    labels, refused = LabelPlan(), tuple[str, ...]()
    if case.mode in {"label", "both"}:
        labels, refused = _labels(github, ports, ref, case, pending)
    kind, reason = _ended(say, posted, labels, held)
    outcome = _save(ports, ref, case, kind, reason, body, wanted, posted, labels)
    return replace(outcome, detail=refused)


def _before(own: Comment | None, comments: list[Comment]) -> list[Comment]:
    """The comments above ours; all while there is none."""
    ids = [comment.id for comment in comments]
    return comments[: ids.index(own.id)] if own is not None and own.id in ids else comments


def _labels(
    github: GitHub, ports: Ports, ref: IssueRef, case: Case, pending: bool
) -> tuple[LabelPlan, tuple[str, ...]]:
    """What was changed; a refusal for good is noted and costs nothing else. Raises `TryAgain`."""
    try:
        return write_labels(github, ports, ref, case.issue, case.label_triage, case.config, pending), ()
    except (Gone, TryAgain):
        raise
    except GitHubError as error:
        return LabelPlan(), (f"labels refused ({error.status})",)


def _say(case: Case, asks: bool, force: bool, *, posted: bool) -> Say:
    say = what_to_say(case.shown_triage, case.config, asks, asked=force, posted=posted)
    answered = answered_by_maintainer(case.comments, case.issue.author)
    if say.what != "nothing" and case.own is None and answered and not force and not posted:
        return Say("nothing", "answered_by_people")
    return say


def _view(
    ports: Ports, ref: IssueRef, case: Case, say: Say, note: CommentNote | None, other_asks: bool, force: bool
) -> View:
    return View(
        triage=case.shown_triage,
        name=ports.core.name,
        what="withdrawn" if say.what == "nothing" else say.what,
        sections=[s for s in case.config.sections if not (s == "missing" and other_asks)],
        level="always" if force else case.config.comment_on,
        thresholds=case.config.thresholds.model_dump(),
        corrected=case.corrected,
        explain=note is not None and note.explained,
        written=case.config.llm == "comment" or (note is not None and note.written),
        script_link=ports.script_link(ref),
    )


def _body(case: Case, view: View) -> PassedMarkdown:
    draft = render_comment(view)
    return pass_markdown(with_marker("triage", case.report.content_hash, draft.body), draft.links)


def _ended(say: Say, posted: Posted | None, labels: LabelPlan, held: str | None) -> tuple[OutcomeKind, str]:
    if posted is not None and posted.writes:
        return "written", posted.did
    if labels.add or labels.remove:
        return "written", "labels"
    if held is not None:
        return "silent", held
    if posted is not None:
        return "unchanged", say.reason
    return "silent", say.reason


def _save(
    ports: Ports,
    ref: IssueRef,
    case: Case,
    kind: OutcomeKind,
    reason: str,
    body: str | None,
    wanted: tuple[str, ...],
    posted: Posted | None = None,
    labels: LabelPlan | None = None,
    detail: tuple[str, ...] = (),
) -> Outcome:
    labels = labels or LabelPlan()
    keep_issue(ports, ref, case.issue, case.looked)
    answered = answered_by_maintainer(case.comments, case.issue.author)
    note_report(ports, ref, case.issue, case.triage, answered)
    ports.store.save_triage(
        TriageRecord(
            issue=ref,
            input_hash=case.report.content_hash,
            triage=case.triage,
            mode=case.mode,
            outcome=kind,
            reason=reason,
            would_post=body or "",
            would_label=wanted,
            at=ports.clock.now(),
            title=clean(case.issue.title)[:300],
            detail=detail,
        )
    )
    writes = (posted.writes if posted else 0) + bool(labels.add) + len(labels.remove)
    comment_id = posted.comment_id if posted else None
    return Outcome(kind, reason, ref, comment_id, labels.add, labels.remove, writes, detail, case.answer_late)
