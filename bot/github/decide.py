"""The decisions about one issue, as pure functions: leave it alone, say something, ask, stop asking, set labels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import re2

from bot.gate.rules import pass_labels
from bot.github.ports import MAINTAINERS, Comment, GitHub, Issue, LabelEvent, Ports
from bot.github.posting import spend
from bot.github.records import IssueRef, Noise, Request
from bot.github.repo_config import Mode, RepoConfig
from bot.github.thread import is_command
from bot.reports.additions import has_log
from knowledge.missing import holds
from knowledge.report import Report
from knowledge.triage import AXES, Axis, AxisName, MissingItem, SuggestedLabel, Triage

_ASKS = re2.compile(
    r"(?i)\b(please|could you|can you)\b.{0,200}\b(provide|share|add|fill|attach|include|post|version|"
    r"logs?|reproduc\w*|environment|template|information)\b"
)


@dataclass(frozen=True, slots=True)
class Say:
    """What the comment is to hold: `finding`, only the missing information (`ask`), or nothing, and why."""

    what: Literal["finding", "ask", "nothing"]
    reason: str


def leave_alone(issue: Issue, config: RepoConfig, repo_open: bool) -> str | None:
    """Why an issue is left alone whatever it says; None when it is not."""
    if not repo_open:
        return "archived"
    if issue.is_pull_request:
        return "pull_request"
    if issue.locked:
        return "locked"
    if not issue.open:
        return "closed"
    if issue.author_is_bot and config.ignore.bots:
        return "bot_author"
    if issue.author.casefold() in {a.casefold() for a in config.ignore.authors}:
        return "ignored_author"
    if {label.casefold() for label in issue.labels} & {label.casefold() for label in config.ignore.labels}:
        return "ignored_label"
    if len(issue.title.strip()) + len(issue.body.strip()) < config.min_length:
        return "too_short"
    return None


def mode_now(config: RepoConfig, repo_on: bool, noise: Noise) -> tuple[Mode, str]:
    """The mode in force and why: switched off or too noisy falls back to shadow."""
    if not repo_on:
        return "shadow", "switched_off"
    if config.mode != "shadow" and noise.dismissed > config.noise.max_dismissed:
        return "shadow", "noise_budget"
    return config.mode, "shadow" if config.mode == "shadow" else "configured"


def claimed(axis: Axis, threshold: float) -> list[str]:
    """The ids an axis claims that are at least so probable, most probable first."""
    return [r.id for r in axis.ranking if r.id in axis.answer and r.p >= threshold]


def what_to_say(
    triage: Triage,
    config: RepoConfig,
    other_bot_asks: bool,
    *,
    asked: bool = False,
    posted: bool = False,
) -> Say:
    """Whether the triage is worth a comment here.

    `asked`: a maintainer wants its best answer; `posted`: one had the drafted answer posted.
    """
    t = config.thresholds
    types = claimed(triage.type, t.type)
    if triage.measured:
        return Say("finding", "diagnostics")
    if any(getattr(triage, axis).by_people for axis in AXES):
        return Say("finding", "set_by_people")
    guess = asked and bool(triage.findings)
    shows_nothing = triage.scope == "too_little" and "fault" in types and not guess
    if shows_nothing and triage.missing and "missing" in config.sections:
        # Only of a report that shows nothing at all a question is worth an e-mail.
        return Say("nothing", "another_bot_asks") if other_bot_asks else Say("ask", "missing_only")
    if triage.same_failure and "cases" in config.sections:
        return Say("finding", "same_failure")
    if triage.scope != "ours" and not guess:
        return Say("nothing", triage.scope)
    if (posted or config.llm == "comment") and triage.answer is not None and triage.answer.verified:
        return Say("finding", "written_answer")
    if any(f.sure for f in triage.findings):
        return Say("finding", "known_failure")
    if guess:
        return Say("finding", "best_guess")
    if {"feature", "internal"} & set(types) and not asked:
        return Say("nothing", "not_a_report")
    if any(conflict.explains_line is not None for conflict in triage.evidence.conflicts):
        return Say("finding", "version_conflict")
    level = "always" if asked else config.comment_on
    sure: list[AxisName] = ["symptom", "cause"]
    if (
        level != "findings"
        and ("fault" in types or asked)
        and any(claimed(getattr(triage, axis), getattr(t, axis)) for axis in sure)
    ):
        return Say("finding", "claim")
    if level == "always" and "fault" in types:
        return Say("finding", "best_guess")
    return Say("nothing", "nothing_specific")


def other_bot_asks(comments: list[Comment], login: str) -> bool:
    """Whether another bot has already asked the author for something."""
    return any(c.author_is_bot and c.author != login and _ASKS.search(c.body[:20_000]) for c in comments)


def answered_by_maintainer(comments: list[Comment], author: str) -> bool:
    """Whether somebody of the project, other than the author, has already written more than a command to the bot."""
    people = [c for c in comments if c.association in MAINTAINERS and not c.author_is_bot]
    return any(c.author != author and not is_command(c.body) for c in people)


# What the comment asks for: noted when it asks, ended when it came or is no longer asked for.
#
# Nothing here closes an issue or counts days: whether something came is a line on the maintainers' page and a label.


def lacking(requests: Iterable[Request], triage: Triage, text: str) -> list[MissingItem]:
    """What was asked for and has not come, as it would be asked for now.

    A log stays asked for until there is one: more words about a failure do not replace it. Of anything else the
    triage says whether it is still of use.
    """
    missing = {item.id: item for item in triage.missing}
    found = []
    for request in requests:
        if request.state != "open":
            continue
        if request.item in missing:
            found.append(missing[request.item])
        elif request.item == "log" and triage.type.top == "fault" and not _held("log", text):
            found.append(MissingItem(id="log", ask=request.ask))
    return found


def with_lacking(triage: Triage, items: Sequence[MissingItem]) -> Triage:
    """The triage, asking for those items before it asks for others."""
    ids = {item.id for item in items}
    rest = [item for item in triage.missing if item.id not in ids]
    return triage.model_copy(update={"missing": [*items, *rest]})


def has_arrived(requests: Iterable[Request], text: str) -> bool:
    """Whether something that was asked for has come."""
    return any(one.state == "arrived" or (one.state == "open" and _held(one.item, text)) for one in requests)


def note_requests(
    ports: Ports,
    ref: IssueRef,
    earlier: Iterable[Request],
    asked: Sequence[MissingItem],
    report: Report,
) -> bool:
    """Keep what the comment asks for now (`asked`) and how `earlier` requests ended; True while any is open.

    Doing it twice is the same as once.
    """
    now, input_hash, text = ports.clock.now(), report.content_hash, f"{report.title}\n{report.body}"
    known = {request.item: request for request in earlier}
    shown = {item.id: item.ask for item in asked}
    for item, ask in shown.items():
        before = known.get(item)
        if before is None or before.state != "open":
            ports.store.save_request(ref, Request(item, ask, input_hash, now))
        elif before.ask != ask:
            ports.store.save_request(ref, replace(before, ask=ask))
    for request in known.values():
        if request.state != "open" or request.item in shown:
            continue
        came = request.input_hash != input_hash and _held(request.item, text)
        ports.store.save_request(ref, replace(request, state="arrived" if came else "dropped", ended_at=now))
    return bool(shown)


def drop_requests(ports: Ports, ref: IssueRef) -> None:
    """Nothing is asked for any more: the comment is gone."""
    for request in ports.store.requests(ref):
        if request.state == "open":
            ports.store.save_request(ref, replace(request, state="dropped", ended_at=ports.clock.now()))


def _held(item: str, text: str) -> bool:
    return holds(item, text) or (item == "log" and has_log(text))


# Which labels to set and take off, people's choices first. Pure.
#
# People win: a label that a person set stays and silences its axis; one that a person removed is never set again;
# only what the bot itself set last is ever taken off.


@dataclass(frozen=True, slots=True)
class LabelPlan:
    """Names to set and to take off, before the gate."""

    add: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()


def wanted_labels(triage: Triage, config: RepoConfig) -> dict[AxisName, tuple[str, ...]]:
    """Per axis the labels that the triage calls for."""
    found: dict[AxisName, tuple[str, ...]] = {}
    for axis in AXES:
        mapping = config.labels.get(axis, {})
        ids = claimed(getattr(triage, axis), config.thresholds.label)
        found[axis] = tuple(dict.fromkeys(mapping[id_] for id_ in ids if id_ in mapping))
    return found


def plan_labels(
    wanted: dict[AxisName, tuple[str, ...]],
    config: RepoConfig,
    present: Iterable[str],
    events: Iterable[LabelEvent],
    login: str,
) -> LabelPlan:
    """What to change, from the issue's labels and the record of who did what to them (oldest first)."""
    on, ours, refused = _standing(present, events, login)
    add: list[str] = []
    remove: list[str] = []
    keep = _keys(name for names in wanted.values() for name in names)
    for axis in AXES:
        mapped = {name.casefold(): name for name in config.labels.get(axis, {}).values()}
        remove += [name for key, name in mapped.items() if key in ours and key not in keep]
        if any(key in on and key not in ours for key in mapped):
            continue
        add += [n for n in wanted.get(axis, ()) if n.casefold() not in on | refused]
    return LabelPlan(tuple(dict.fromkeys(add)), tuple(dict.fromkeys(remove)))


def own_labels(triage: Triage, config: RepoConfig) -> tuple[SuggestedLabel, ...]:
    """The labels learned from people's that the configuration lets be set, likeliest first.

    Those that an axis or a request sets follow these.
    """
    rules = config.own_labels
    if rules is None:
        return ()
    others = _keys({*_mapped(config), config.request_label or ""})
    return tuple(
        one for one in triage.own_labels if rules.allows(one.label) and one.label.casefold() not in others
    )


def plan_own_labels(
    wanted: Iterable[SuggestedLabel],
    config: RepoConfig,
    present: Iterable[str],
    events: Iterable[LabelEvent],
    login: str,
) -> LabelPlan:
    """Which of them to set, likeliest first: not what people removed, and of labels that exclude each other only one.

    One that is on the issue stays, whoever set it.
    """
    rules = config.own_labels
    if rules is None:
        return LabelPlan()
    present = list(present)
    on, _, refused = _standing(present, events, login)
    taken = {group for name in present for group in rules.groups(name)}
    add: list[str] = []
    for one in wanted:
        groups = set(rules.groups(one.label))
        if one.label.casefold() in on | refused or groups & taken or _keys(one.rivals) & on:
            continue
        add.append(one.label)
        taken |= groups
    return LabelPlan(add=tuple(add))


def plan_request_label(
    name: str, pending: bool, present: Iterable[str], events: Iterable[LabelEvent], login: str
) -> LabelPlan:
    """Whether to set or take off the label of a pending request, by the same rules."""
    on, ours, refused = _standing(present, events, login)
    key = name.casefold()
    if key in on:
        return LabelPlan(remove=(name,) if key in ours and not pending else ())
    return LabelPlan(add=(name,) if pending and key not in refused else ())


def _standing(
    present: Iterable[str], events: Iterable[LabelEvent], login: str
) -> tuple[set[str], set[str], set[str]]:
    """Labels that are on the issue, those of them that the bot set last, and those that people removed."""
    on = _keys(present)
    last: dict[str, LabelEvent] = {}
    refused: set[str] = set()
    for event in events:
        key = event.label.casefold()
        last[key] = event
        if not event.added and event.actor != login:
            refused.add(key)
    ours = {key for key in on if key in last and last[key].added and last[key].actor == login}
    return on, ours, refused


def _keys(names: Iterable[str]) -> set[str]:
    return {name.casefold() for name in names}


def _mapped(config: RepoConfig) -> set[str]:
    """The labels that axes set."""
    return {name for mapping in config.labels.values() for name in mapping.values()}


def _request_label(config: RepoConfig) -> str | None:
    """The label of a pending request; None for one that an axis sets."""
    return config.request_label if config.request_label not in _mapped(config) else None


def remove_request_label(
    github: GitHub, ports: Ports, ref: IssueRef, issue: Issue, config: RepoConfig
) -> tuple[str, ...]:
    """Take the label of a pending request off where the bot set it; returns what was removed."""
    name = _request_label(config)
    if name is None or name.casefold() not in _keys(issue.labels):
        return ()
    plan = plan_request_label(name, False, issue.labels, github.label_events(ref), github.login)
    removed = pass_labels(plan.remove, {name}, issue.labels)
    if removed:
        spend(ports, ref.installation_id, len(removed))
    for label in removed:
        github.remove_label(ref, label)
    return tuple(removed)


def write_labels(
    github: GitHub,
    ports: Ports,
    ref: IssueRef,
    issue: Issue,
    triage: Triage,
    config: RepoConfig,
    pending: bool = False,
) -> LabelPlan:
    """Bring the issue's labels in line with the triage, people's choices first; returns what was changed.

    `pending`: the comment asks for something that has not come.
    """
    mapped, asking, own = _mapped(config), _request_label(config), own_labels(triage, config)
    if asking and not pending and asking.casefold() not in _keys(issue.labels):
        asking = None
    if not mapped and asking is None and not own:
        return LabelPlan()
    events = github.label_events(ref)
    plan = plan_labels(wanted_labels(triage, config), config, issue.labels, events, github.login)
    if asking is not None:
        mapped.add(asking)
        request = plan_request_label(asking, pending, issue.labels, events, github.login)
        plan = LabelPlan(plan.add + request.add, plan.remove + request.remove)
    if own:
        learned = plan_own_labels(own, config, {*issue.labels, *plan.add}, events, github.login)
        plan = LabelPlan(plan.add + learned.add, plan.remove)
    if not plan.add and not plan.remove:
        return plan
    existing = github.repo_labels(ref.repo)
    known = _keys(existing)
    # A label that was learned and is gone was deleted by people.
    missing = [n for n in plan.add if n.casefold() not in known and n in mapped]
    if config.create_labels and missing:
        spend(ports, ref.installation_id, len(missing))
        for name in pass_labels(missing, mapped, missing):
            github.create_label(ref.repo, name)
        existing |= set(missing)
    add = pass_labels(plan.add, mapped | {one.label for one in own}, existing)
    remove = pass_labels(plan.remove, mapped, issue.labels)
    if add or remove:
        spend(ports, ref.installation_id, len(remove) + bool(add))
    if add:
        github.add_labels(ref, add)
    for label in remove:
        github.remove_label(ref, label)
    return LabelPlan(tuple(add), tuple(remove))
