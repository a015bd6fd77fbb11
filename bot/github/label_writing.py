"""Carrying out a label plan: through the gate, within the budget."""

from __future__ import annotations

from bot.gate.labels import pass_labels
from bot.gate.passed import PassedLabel
from bot.github.budget import spend
from bot.github.labels import LabelPlan, plan_labels, wanted_labels
from bot.github.ports import GitHub, Issue, Ports
from bot.github.records import IssueRef
from bot.github.repo_config import RepoConfig
from knowledge.triage import Triage


def write_labels(
    github: GitHub, ports: Ports, ref: IssueRef, issue: Issue, triage: Triage, config: RepoConfig
) -> LabelPlan:
    """Bring the issue's labels in line with the triage, people's choices first; returns what was changed."""
    if not any(config.labels.values()):
        return LabelPlan()
    wanted = wanted_labels(triage, config)
    plan = plan_labels(wanted, config, issue.labels, github.label_events(ref), github.login)
    mapped = {name for mapping in config.labels.values() for name in mapping.values()}
    existing = github.repo_labels(ref.repo)
    missing = [n for n in plan.add if n.casefold() not in {e.casefold() for e in existing}]
    if config.create_labels and missing:
        spend(ports, ref.installation_id, len(missing))
        for name in missing:
            github.create_label(ref.repo, PassedLabel(name))
        existing |= set(missing)
    add = pass_labels(plan.add, mapped, existing)
    remove = pass_labels(plan.remove, mapped, issue.labels)
    if add or remove:
        spend(ports, ref.installation_id, len(remove) + bool(add))
    if add:
        github.add_labels(ref, add)
    for label in remove:
        github.remove_label(ref, label)
    return LabelPlan(tuple(add), tuple(remove))
