"""The part of an evaluation that is about an LLM: what it took, what it changed, and what follows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from eval.compare import Difference, compare
from eval.protocol import Asked, DutySummary, Predictions, UsageSummary, sum_up, sum_up_duties
from eval.summary import Worth, differences, table, worth
from knowledge.text.words import listed
from llm.values import RANKING

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


DUTY_HEADINGS = (
    "system",
    "duty",
    "calls",
    "failed",
    "input tokens",
    "output tokens",
    "a call, in / out",
    "$",
    "$ per 1,000 calls",
    "seconds p50 / p95",
    "measured",
)
PRICES = "DISTRIAGE_LLM_PRICE_INPUT and DISTRIAGE_LLM_PRICE_OUTPUT"
_WRITING = ("writer", "verifier")
_DUTIES = (*RANKING, *_WRITING)
"""What is measured here. The confirmer and the comparer have figures of their own (docs/llm.md)."""


@dataclass(frozen=True, slots=True)
class LlmPart:
    """`usage` by system; `against` are the differences of systems (B) to distriage (A); `worth` is the rule's word.

    `duties` is what each duty took, by system and duty; `late` counts reports for which the time did not suffice for
    a written answer.
    """

    asked: Asked
    usage: Mapping[str, UsageSummary]
    duties: Mapping[str, Mapping[str, DutySummary]]
    late: int
    against: Mapping[str, Sequence[Difference]]
    worth: Worth | None

    def rows(self) -> list[list[str]]:
        """A row for each system under HEADINGS."""
        return [_row(name, usage, self.asked) for name, usage in self.usage.items()]

    def notes(self) -> list[str]:
        """What must be said beside the rows, a sentence each."""
        asked = self.asked
        price = f"{asked.price_input:g} / {asked.price_output:g} $ per million tokens in / out"
        said = [
            f"LLM: {asked.model}, {listed(asked.duties)}; {price if asked.priced else 'no price is set'}. "
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

    def duty_rows(self) -> list[list[str]]:
        """A row for each duty of each system under DUTY_HEADINGS, in the order of asking."""
        return [
            _duty_row(name, duty, duties[duty])
            for name, duties in self.duties.items()
            for duty in _DUTIES
            if duty in duties
        ]

    def duty_notes(self) -> list[str]:
        """What is missing from these rows and why, a sentence each."""
        said = [] if self.asked.priced else [f"No dollars: {PRICES} set the prices, per million tokens."]
        for name, duties in self.duties.items():
            for duty, one in duties.items():
                if one.measured < one.calls:
                    said.append(
                        f"{name}, {duty}: {one.calls - one.measured} of {one.calls} answers come from "
                        f"{_kept(self.asked)}, without tokens and seconds."
                    )
                if one.estimated:
                    said.append(
                        f"{name}, {duty}: the server did not report the tokens of {one.estimated} calls; "
                        "they are estimated."
                    )
        if self.late:
            said.append(f"{self.late} reports left no time for a written answer (DISTRIAGE_LLM_TIMEOUT).")
        return [*said, *self._unmeasured()]

    def _unmeasured(self) -> list[str]:
        """Of which duties nothing is known; a system that ranks by itself has no others."""
        if TOGETHER not in self.duties:
            return []
        missing = [duty for duty in _DUTIES if duty not in self.duties[TOGETHER]]
        if self.asked.replayed:
            return [f"No recorded answers of {_the(missing)}."] if missing else []
        off = [duty for duty in missing if duty not in self.asked.duties]
        writing = [duty for duty in off if duty in _WRITING]
        ranking = [duty for duty in off if duty not in _WRITING]
        idle = [duty for duty in missing if duty in self.asked.duties]
        said = [f"Not asked: {_the(ranking)} (DISTRIAGE_LLM_DUTIES)."] if ranking else []
        said += [f"Not asked: {_the(writing)}; --writer measures them."] if writing else []
        return [*said, *([f"No question was put to {_the(idle)}."] if idle else [])]

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
            "duties": {
                name: {duty: asdict(one) for duty, one in duties.items()}
                for name, duties in self.duties.items()
            },
            "duty_notes": self.duty_notes(),
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
    usages = {name: [case.usage for case in run.cases if case.usage] for name, run in asking.items()}
    sums = {name: one for name, found in usages.items() if (one := sum_up(found)) is not None}
    alone = runs.get(ALONE)
    against = {name: compare(alone, run) for name, run in asking.items() if _ranked(run)} if alone else {}
    decided = worth(against[TOGETHER], sums[TOGETHER]) if TOGETHER in against and TOGETHER in sums else None
    first = asking.get(TOGETHER) or next(iter(asking.values()))
    assert first.asked is not None
    duties = {name: sum_up_duties(found, priced=first.asked.priced) for name, found in usages.items()}
    late = sum(one.late for found in usages.values() for one in found)
    return LlmPart(first.asked, sums, duties, late, against, decided)


def llm_markdown(part: LlmPart) -> str:
    """The part as text behind the other tables."""
    out = ["What the LLM took, and what it made up:", " ".join(part.notes()), table(HEADINGS, part.rows())]
    out.append("What each duty of the LLM took:")
    if rows := part.duty_rows():
        out.append(table(DUTY_HEADINGS, rows))
    out += [" ".join(notes)] if (notes := part.duty_notes()) else []
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
    return [
        name,
        str(usage.reports),
        _pair(usage.tokens_in, usage.tokens_out, ".0f"),
        f"{1000 * usage.cost_each:.2f}" if asked.priced and usage.cost_each is not None else "–",
        f"{usage.cost:.2f}" if asked.priced else "–",
        _pair(usage.p50, usage.p95, ".1f"),
        f"{usage.fallbacks} ({usage.fallback_rate:.0%})",
        str(usage.partial),
        str(usage.made_up),
        str(usage.voided),
        f"{usage.fabrication_rate:.2f}",
    ]


def _duty_row(name: str, duty: str, one: DutySummary) -> list[str]:
    n = max(one.measured, 1)
    known = ((one.measured - one.recorded, "asked"), (one.recorded, "recorded"))
    return [
        name,
        duty,
        str(one.calls),
        str(one.failed),
        _plain(one.tokens_in, ",d"),
        _plain(one.tokens_out, ",d"),
        _pair(_each(one.tokens_in, n), _each(one.tokens_out, n), ".0f"),
        _plain(one.cost, ".4f"),
        _plain(_each(one.cost, n / 1000), ".2f"),
        _pair(one.p50, one.p95, ".1f"),
        ", ".join(f"{count} {how}" for count, how in known if count) or "0",
    ]


def _kept(asked: Asked) -> str:
    return "the cassette" if asked.replayed else "the cache (--fresh ignores it) or an older cassette"


def _the(duties: Sequence[str]) -> str:
    return listed([f"the {duty}" for duty in duties])


def _each(total: float | None, n: float) -> float | None:
    return None if total is None else total / n


def _plain(value: float | None, form: str) -> str:
    return "–" if value is None else f"{value:{form}}"


def _pair(one: float | None, two: float | None, form: str) -> str:
    return "–" if one is None or two is None else f"{one:{form}} / {two:{form}}"
