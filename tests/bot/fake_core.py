"""A core that answers what the test wants, and triages to start from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bot.ports import Core
from knowledge.corrections import correct
from knowledge.report import Report
from knowledge.taxonomy import load_taxonomy
from knowledge.triage import (
    Advice,
    Axis,
    AxisName,
    CaseLabels,
    Distributed,
    Evidence,
    Finding,
    FixAdvice,
    MissingItem,
    Neighbour,
    QuotedLine,
    Ranked,
    Support,
    Triage,
)

IDS: dict[AxisName, dict[str, str]] = {
    "type": {"fault": "Fault", "howto": "How-to", "feature": "Feature request", "internal": "Internal"},
    "stage": {"A": "Package build & import", "B": "Communication setup", "D": "Training & evaluation"},
    "symptom": {"A.1": "Installation & build failure", "B.2": "Hang & timeout", "D.2.1": "Hang"},
    "cause": {
        "network_environment": "Network environment",
        "dependency": "Dependency",
        "hardware": "Hardware",
    },
    "fix": {"network": "Fix network setting of devices", "dependency_version": "Fix dependency version"},
}


def axis(*ranking: tuple[str, float], claim: bool = True) -> Axis:
    """A ranking whose first id is claimed."""
    ranked = [Ranked(id=id_, p=p) for id_, p in ranking]
    return Axis(
        ranking=ranked,
        answer=[ranked[0].id] if claim and ranked else [],
        answer_set=[r.id for r in ranked],
    )


def a_finding(**changes: Any) -> Finding:
    """A known failure that applies for sure; `changes` replace fields."""
    base = Finding(
        id="nccl-wrong-interface",
        area="nccl",
        title="NCCL picked an interface that the other node can't reach",
        answer="NCCL connects over `docker0`, which has no route between nodes. Set `NCCL_SOCKET_IFNAME=eth0`.",
        p=0.94,
        sure=True,
        lines=[QuotedLine(line=2, text="Watchdog caught timeout", role="root", rank=3)],
        held=["torch 2.3.0"],
        why=["**A virtual interface comes first.** NCCL INFO names docker0.", "**A firewall.** Timeouts."],
        check=[
            "`NCCL_DEBUG=INFO torchrun train.py`: shows the interface of each rank.",
            "`ip -br a`: lists them.",
        ],
        remedy=["Set `NCCL_SOCKET_IFNAME`.", "Open the ports."],
        not_this_when="One node is enough to see it.",
        fixed_in="",
        sources=["https://github.com/NVIDIA/nccl/issues/1", "https://docs.nvidia.com/nccl/env.html"],
    )
    return base.model_copy(update=changes)


def a_triage(report: Report | None = None, **changes: Any) -> Triage:
    """A sure diagnosis of a hang with a known failure behind it; `changes` replace fields."""
    report = report or Report(id="acme/train#1", title="Hang", body="It hangs.\nWatchdog caught timeout")
    lines = [text for text in report.body.splitlines() if text.strip()][:8]
    evidence = Evidence(
        framework="pytorch",
        lines=[QuotedLine(line=n, text=text, role="root") for n, text in enumerate(lines, 1)],
        versions={"torch": "2.3.0"},
        launcher="torchrun",
        world_size=16,
        ranks=[3],
        signatures=[],
        conflicts=[],
        redactions={},
        notes=[],
    )
    support = Support(count=12, of=31, scope="labeled hangs in training")
    fix = FixAdvice(
        id="network",
        name="Fix network setting of devices",
        p=0.6,
        support=support,
        text="Set NCCL_SOCKET_IFNAME to the interface that all nodes share. Open the ports between them.",
    )
    neighbour = Neighbour(
        id="horovod/horovod#1006",
        url="https://github.com/horovod/horovod/issues/1006",
        title="Training hangs after the first epoch",
        score=0.8,
        labels=CaseLabels(type="fault", symptom=["D.2.1"]),
        label_source="study 1",
        resolution="named the right interface",
        shared=["nccl-watchdog-timeout"],
    )
    base = Triage(
        id=report.id,
        content_hash=report.content_hash,
        type=axis(("fault", 0.97), ("howto", 0.03)),
        stage=axis(("D", 0.9), ("B", 0.1)),
        symptom=axis(("D.2.1", 0.83), ("B.2", 0.17)),
        cause=axis(("network_environment", 0.61), ("dependency", 0.3)),
        fix=axis(("network", 0.6), ("dependency_version", 0.3)),
        distributed=Distributed(p=0.99, answer=True),
        evidence=evidence,
        findings=[a_finding(lines=evidence.lines[-1:])],
        neighbours=[neighbour],
        advice=Advice(fixes=[fix]),
        missing=[MissingItem(id="nccl_log", ask="The output with NCCL_DEBUG=INFO of all ranks.")],
        script='#!/usr/bin/env python3\nprint("probe")\n',
    )
    return base.model_copy(update=changes)


def thin(report: Report) -> Triage:
    """A fault of which the report shows nothing: all that can be done is to ask."""
    full = a_triage(report)
    nothing = full.evidence.model_copy(update={"lines": []})
    return a_triage(report, scope="too_little", findings=[], evidence=nothing)


class FakeCore(Core):
    """Answers `answer(report)`; counts its calls."""

    def __init__(self, answer: Callable[[Report], Triage] = a_triage) -> None:
        self.answer = answer
        self.calls = 0
        self.quick: list[bool] = []

    def triage(self, report: Report, quick: bool = False) -> Triage:
        self.calls += 1
        self.quick.append(quick)
        return correct(self.answer(report), report.set_by_people, load_taxonomy())

    def ids(self, axis: AxisName) -> frozenset[str]:
        return frozenset(IDS[axis])

    def name(self, axis: AxisName, id_: str) -> str:
        return IDS[axis][id_]
