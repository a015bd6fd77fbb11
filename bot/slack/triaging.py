"""The triage of a text with all that people added to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bot.gate.rules import check_ids
from bot.reports.pasted import pasted_report
from bot.slack.ports import SlackPorts
from bot.slack.records import SlackTriage
from knowledge.triage import Triage


def triaged(
    id_: str, body: str, notes: tuple[str, ...], ports: SlackPorts, below: Sequence[str] = ()
) -> Triage:
    """The core's triage of a text and of what was added to it. Raises `CoreFailed` and `GateError`."""
    report = pasted_report(f"slack:{id_}", body, notes)
    triage = ports.core.triage(replace(report, body="\n\n".join([report.body, *below])))
    check_ids(triage, ports.core.ids)
    return triage


def triaged_again(kept: SlackTriage, ports: SlackPorts) -> SlackTriage:
    """With all replies and results there are, those included that another worker stores meanwhile."""
    while True:
        below = _below(kept.id, ports)
        kept = replace(kept, triage=triaged(kept.id, kept.body, kept.notes, ports, below))
        ports.store.save_triage(kept)
        if _below(kept.id, ports) == below:
            return kept


def _below(triage_id: str, ports: SlackPorts) -> list[str]:
    replies = [reply.text for reply in ports.store.replies(triage_id)]
    return [*replies, *ports.store.results(triage_id)]
