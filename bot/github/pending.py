"""What the comment asks for: noted when it asks, ended when it came or is no longer asked for.

Nothing here closes an issue or counts days: whether something came is a line on the maintainers' page and a label.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from bot.github.ports import Ports
from bot.github.records import IssueRef, Request
from bot.reports.additions import has_log
from knowledge.missing import holds
from knowledge.report import Report
from knowledge.triage import MissingItem, Triage


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
