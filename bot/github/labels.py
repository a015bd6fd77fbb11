"""Which labels to set and take off, people's choices first. Pure.

People win: a label that a person set stays and silences its axis; one that a person removed is never set
again; only what the bot itself set last is ever taken off.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from bot.gate.rules import PassedLabel, pass_labels
from bot.github.decide import claimed
from bot.github.ports import GitHub, Issue, LabelEvent, Ports
from bot.github.posting import spend
from bot.github.records import IssueRef
from bot.github.repo_config import RepoConfig
from knowledge.triage import AXES, AxisName, SuggestedLabel, Triage


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
        for name in missing:
            github.create_label(ref.repo, PassedLabel(name))
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
