"""One issue from its text and its repository's configuration to its comment and labels, or to a reason for none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from bot.gate.markdown import pass_markdown
from bot.gate.rules import GateError, PassedMarkdown
from bot.github.case import Case, look, same_text
from bot.github.decide import (
    LabelPlan,
    Say,
    answered_by_maintainer,
    has_arrived,
    lacking,
    leave_alone,
    note_requests,
    other_bot_asks,
    own_labels,
    plan_own_labels,
    wanted_labels,
    what_to_say,
    with_lacking,
    write_labels,
)
from bot.github.history import keep_issue, note_report
from bot.github.ports import Comment, File, GitHub, Outcome, OutcomeKind, Ports, Store
from bot.github.posting import Posted, hold_back, own_comments, post, spend, with_marker
from bot.github.records import (
    CommentNote,
    ConfigCache,
    GitHubError,
    Gone,
    IssueRef,
    NotAllowed,
    RepoRef,
    TriageRecord,
    TryAgain,
)
from bot.github.repo_config import CONFIG_PATH, ConfigError, RepoConfig, parse_config
from bot.render.comment import View, asked, render_comment, render_config_error
from knowledge.text.quote import clean
from knowledge.triage import AxisName

# A repository's configuration at hand: by ETag, and when the file is broken, the last good one.
#
# A broken file never breaks triage; where the last good one asked for it, maintainers get one note.

_NO_HASH = "0" * 64
_UNUSABLE = "the file is larger than 64 KiB, or not a text file"


def load_config(github: GitHub, ports: Ports, repo: RepoRef) -> RepoConfig:
    """The configuration in force. `TryAgain` when it can neither be read nor remembered."""
    known = ports.store.config(repo.id)
    try:
        # One that could not be used is read again: a newer version may know what it says.
        file = github.file(repo, CONFIG_PATH, known.etag if known and known.error is None else None)
    except TryAgain:
        if known is None:
            raise
        return _good(known)
    now = cache_after(known, file, ports.core.ids)
    if now != known:
        ports.store.save_config(repo.id, now)
    return _good(now)


def known_config(store: Store, repo_id: int) -> RepoConfig:
    """The configuration as it was last read; the defaults where it never was."""
    known = store.config(repo_id)
    return _good(known) if known is not None else RepoConfig()


def cache_after(
    known: ConfigCache | None, file: File, ids: Callable[[AxisName], frozenset[str]]
) -> ConfigCache:
    """What is to be remembered after reading the file. Pure."""
    noted = known.noted_error if known else None
    if file.state == "same" and known is not None:
        return known
    good = known.good_text if known else None
    if file.state == "unusable":
        return ConfigCache(file.etag, good, _UNUSABLE, noted)
    if file.text is None:
        return ConfigCache(None, None, None, noted)
    try:
        config = parse_config(file.text, ids)
    except ConfigError as error:
        return ConfigCache(file.etag, good, str(error), noted)
    return ConfigCache(file.etag, config.model_dump_json(), None, noted)


def note_errors(github: GitHub, ports: Ports, ref: IssueRef, config: RepoConfig) -> int:
    """Tell of a broken (or mended) file on the issue that the last good one names; returns writes made.

    The note is claimed before it is written, so that many workers write it once; where GitHub fails the claim is
    given back, and a later triage writes it. It never stops a triage.
    """
    known = ports.store.config(ref.repo.id)
    if known is None or config.report_errors_to is None or config.mode == "shadow":
        return 0
    if known.error == known.noted_error or not ports.store.claim_config_note(ref.repo.id, known.error):
        return 0
    place = IssueRef(ref.installation_id, ref.repo, config.report_errors_to)
    try:
        return _note(github, ports, place, known.error)
    except (Gone, NotAllowed):
        return 0
    except TryAgain:
        ports.store.claim_config_note(ref.repo.id, known.noted_error)
        return 0


def _note(github: GitHub, ports: Ports, place: IssueRef, error: str | None) -> int:
    draft = render_config_error(error)
    body = pass_markdown(with_marker("config", _NO_HASH, draft.body), draft.links)
    issue = github.issue(place)
    mine = own_comments(github.comments(place), github.login, "config")
    if issue.locked or (not mine and error is None):
        return 0
    spend(ports, place.installation_id, 1)
    if mine:
        github.edit_comment(place, mine[0].id, body)
    else:
        github.create_comment(place, body)
    return 1


def _good(cache: ConfigCache) -> RepoConfig:
    if cache.good_text is None:
        return RepoConfig()
    return RepoConfig.model_validate_json(cache.good_text)


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
    say = _say(case, asks, force)
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


def _say(case: Case, asks: bool, force: bool) -> Say:
    say = what_to_say(case.shown_triage, case.config, asks, asked=force, posted=case.posted)
    answered = answered_by_maintainer(case.comments, case.issue.author)
    if say.what != "nothing" and case.own is None and answered and not force and not case.posted:
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
        written=case.config.llm == "comment" or case.posted,
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
