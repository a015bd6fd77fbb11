"""The part of an evaluation that is about an LLM: what it took, what it changed, and what follows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from eval.compare import Difference, compare
from eval.protocol import Asked, Predictions, UsageSummary, sum_up
from eval.summary import Worth, differences, table, worth

ALONE, TOGETHER = "distriage", "distriage+llm"
HEADINGS = (
    "system",
    "reports",
    "tokens in / out",
    "$ per 1,000 reports",
    "$ this run",
    "seconds p50 / p95",
    "fallbacks",
    "one duty failed",
    "made up, dropped",
    "voided",
    "fabrication rate",
)


@dataclass(frozen=True, slots=True)
class LlmPart:
    """`usage` by system; `against` are the differences of systems (B) to distriage (A); `worth` is the rule's word."""

    asked: Asked
    usage: Mapping[str, UsageSummary]
    against: Mapping[str, Sequence[Difference]]
    worth: Worth | None

    def rows(self) -> list[list[str]]:
        """A row for each system under HEADINGS."""
        return [_row(name, usage, self.asked) for name, usage in self.usage.items()]

    def notes(self) -> list[str]:
        """What must be said beside the rows, a sentence each."""
        asked = self.asked
        priced = asked.price_input + asked.price_output > 0
        price = f"{asked.price_input:g} / {asked.price_output:g} $ per million tokens in / out"
        said = [
            f"LLM: {asked.model}, {' and '.join(asked.duties)}; {price if priced else 'no price is set'}. "
            f"Fusion: {asked.weights}."
        ]
        if asked.note:
            said.append(asked.note)
        for name, usage in self.usage.items():
            if usage.cached:
                said.append(
                    f"{name}: {usage.cached} of {usage.reports} answers came from the cache; tokens, $ per report and "
                    f"seconds are those of the {usage.fresh} asked about in this run."
                )
            if usage.faults:
                told = ", ".join(f"{reason} {count}" for reason, count in usage.faults.items())
                said.append(f"{name}, faults: {told}.")
        return said

    def values(self) -> dict[str, Any]:
        """Everything as JSON."""
        return {
            "asked": self.asked.model_dump(),
            "usage": {
                name: {
                    **asdict(usage),
                    "fallback_rate": usage.fallback_rate,
                    "fabrication_rate": usage.fabrication_rate,
                }
                for name, usage in self.usage.items()
            },
            "against_distriage": {
                name: [{**asdict(one), "significant": one.significant} for one in found]
                for name, found in self.against.items()
            },
            "worth": asdict(self.worth) if self.worth else None,
        }


def llm_part(runs: Mapping[str, Predictions]) -> LlmPart | None:
    """What is to be told of an LLM in these runs; None where none was asked. Differences need `distriage` beside it."""
    asking = {name: run for name, run in runs.items() if run.asked is not None}
    if not asking:
        return None
    usage = {name: sum_up([c.usage for c in run.cases if c.usage]) for name, run in asking.items()}
    sums = {name: one for name, one in usage.items() if one is not None}
    alone = runs.get(ALONE)
    against = {name: compare(alone, run) for name, run in asking.items() if _ranked(run)} if alone else {}
    decided = worth(against[TOGETHER], sums[TOGETHER]) if TOGETHER in against and TOGETHER in sums else None
    first = asking.get(TOGETHER) or next(iter(asking.values()))
    assert first.asked is not None
    return LlmPart(first.asked, sums, against, decided)


def llm_markdown(part: LlmPart) -> str:
    """The part as text behind the other tables."""
    out = ["What the LLM took, and what it made up:", " ".join(part.notes()), table(HEADINGS, part.rows())]
    for name, found in part.against.items():
        out.append(f"{name} compared with distriage, on the cases that both answered:")
        out.append(differences(found, ALONE, name).strip())
    if part.worth is not None:
        out.append(verdict_of(part.worth))
    return "\n\n".join(out) + "\n"


def verdict_of(decided: Worth) -> str:
    """The rule's word in a sentence (docs/llm.md has the rule)."""
    if decided.use is None:
        return f"Whether to ask it: not decided. {decided.why}"
    return f"Whether to ask it, by the rule of docs/llm.md: {'yes' if decided.use else 'no'}. {decided.why}"


def _ranked(run: Predictions) -> bool:
    return any(axis.ranking for case in run.cases for axis in case.axes.values())


def _row(name: str, usage: UsageSummary, asked: Asked) -> list[str]:
    priced = asked.price_input + asked.price_output > 0
    return [
        name,
        str(usage.reports),
        _pair(usage.tokens_in, usage.tokens_out, ".0f"),
        f"{1000 * usage.cost_each:.2f}" if priced and usage.cost_each is not None else "–",
        f"{usage.cost:.2f}" if priced else "–",
        _pair(usage.p50, usage.p95, ".1f"),
        f"{usage.fallbacks} ({usage.fallback_rate:.0%})",
        str(usage.partial),
        str(usage.made_up),
        str(usage.voided),
        f"{usage.fabrication_rate:.2f}",
    ]


def _pair(one: float | None, two: float | None, form: str) -> str:
    return "–" if one is None or two is None else f"{one:{form}} / {two:{form}}"
