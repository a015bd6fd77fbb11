"""What is told of an LLM: as text, as JSON, on the page."""

from __future__ import annotations

import json

import pytest

from eval.ceiling import shipped_ceiling
from eval.llm_part import DUTY_HEADINGS, HEADINGS, LlmPart, llm_markdown, llm_part
from eval.protocol import Asked, Predictions, Usage
from eval.report import report_html
from eval.summary import summarise
from tests.eval.factory import MADE, predicted, run_of
from tests.eval.test_usage import UNKNOWN, call, usage

ASKED = Asked(
    model="acme-7b", duties=["reader", "adjudicator"], price_input=0.2, price_output=0.8, weights="as shipped"
)


def run(system: str, right: int, *usages: Usage, asked: Asked = ASKED) -> Predictions:
    """120 cases, the first `right` of them right."""
    cases = [
        predicted(f"o/r#{n}", ["A.1"], {"A.1": 0.8, "B.1": 0.2} if n < right else {"B.1": 0.8, "A.1": 0.2})
        for n in range(120)
    ]
    if not usages:
        return run_of(cases, system)
    used = [case.model_copy(update={"usage": usages[n % len(usages)]}) for n, case in enumerate(cases)]
    return run_of(used, system).model_copy(update={"asked": asked})


def runs(right: int = 100, *usages: Usage) -> dict[str, Predictions]:
    return {
        "distriage": run("distriage", 70),
        "distriage+llm": run("distriage+llm", right, *(usages or (usage(),))),
    }


def part(right: int = 100, *usages: Usage) -> LlmPart:
    found = llm_part(runs(right, *usages))
    assert found is not None
    return found


def test_runs_without_an_llm_have_no_such_part() -> None:
    assert llm_part({"distriage": run("distriage", 70)}) is None


def test_the_text_tells_price_time_fallbacks_and_the_difference() -> None:
    text = llm_markdown(
        part(100, usage(), usage(seconds=3.0), usage(used=False, faults=["timeout"], seconds=15))
    )
    assert "acme-7b, reader and adjudicator; 0.2 / 0.8 $ per million tokens in / out" in text
    assert (
        "| distriage+llm | 120 | 1000 / 100 | 2.00 | 0.24 | 3.0 / 15.0 | 40 (33%) | 0 | 0 | 0 | 0.00 |"
        in text
    )
    assert "distriage+llm, faults: timeout 40." in text
    assert "| symptom | top1 | 120 | 0.583 | 0.833 | +0.250" in text


def test_the_rule_has_the_last_word() -> None:
    assert "yes. Significantly better: symptom top1 0.583 to 0.833" in llm_markdown(part(100))
    assert "no. No significant gain on 120 reports." in llm_markdown(part(71))
    assert "not decided. It answered about 60 reports" in llm_markdown(
        part(100, usage(), usage(used=False, faults=["timeout"]))
    )


def test_each_duty_has_a_row_with_calls_tokens_dollars_and_seconds() -> None:
    calls = [call(), call("adjudicator", tokens_in=4000, seconds=3.0), call("adjudicator", failed=True)]
    text = llm_markdown(part(100, usage(calls=calls), usage(calls=[call(seconds=2.0)])))
    table = text.partition("What each duty of the LLM took:")[2]
    assert (
        "| distriage+llm | reader | 120 | 0 | 120,000 | 12,000 | 1000 / 100 | 0.2400 | 2.00 | 1.5 / 2.0 |"
        in table
    )
    assert "| distriage+llm | adjudicator | 120 | 60 | 300,000 | 12,000 | 2500 / 100 |" in table
    assert table.index("| reader |") < table.index("| adjudicator |")


def test_a_duty_without_a_price_names_the_settings() -> None:
    free = ASKED.model_copy(update={"price_input": 0.0, "price_output": 0.0})
    found = llm_part({"distriage+llm": run("distriage+llm", 90, usage(calls=[call(cost=0.0)]), asked=free)})
    assert found is not None
    assert found.duty_rows()[0][7:9] == ["–", "–"]
    assert "DISTRIAGE_LLM_PRICE_INPUT and DISTRIAGE_LLM_PRICE_OUTPUT" in llm_markdown(found)
    assert found.values()["duties"]["distriage+llm"]["reader"]["cost"] is None


def test_a_duty_that_was_not_asked_is_named_with_the_option_that_asks_it() -> None:
    reader = ASKED.model_copy(update={"duties": ["reader"]})
    found = llm_part({"distriage+llm": run("distriage+llm", 90, usage(calls=[call()]), asked=reader)})
    assert found is not None
    assert found.duty_notes() == [
        "Not asked: the adjudicator (DISTRIAGE_LLM_DUTIES).",
        "Not asked: the writer and the verifier; --writer measures them.",
    ]


def test_a_duty_that_had_nothing_to_do_is_named() -> None:
    every = ASKED.model_copy(update={"duties": ["reader", "adjudicator", "writer", "verifier"]})
    late = usage(calls=[call(), call("adjudicator")], late=True)
    found = llm_part({"distriage+llm": run("distriage+llm", 90, late, usage(calls=[call()]), asked=every)})
    assert found is not None
    assert found.duty_notes() == [
        "60 reports left no time for a written answer (DISTRIAGE_LLM_TIMEOUT).",
        "No question was put to the writer and the verifier.",
    ]


def test_a_replay_says_which_duties_have_no_recorded_answers_and_which_no_figures() -> None:
    replay = ASKED.model_copy(update={"duties": ["adjudicator"], "note": "The answers are recorded ones."})
    old = usage(cached=True, asked=False, cost=0.0, calls=[call("adjudicator", **UNKNOWN)])
    new = usage(cached=True, asked=False, cost=0.0, calls=[call("adjudicator", kept=True)])
    found = llm_part({"distriage+llm": run("distriage+llm", 90, old, new, asked=replay)})
    assert found is not None
    (row,) = found.duty_rows()
    assert (row[2], row[4], row[10]) == ("120", "60,000", "60 recorded")
    assert found.duty_notes() == [
        "distriage+llm, adjudicator: 60 of 120 answers come from the cassette, without tokens and seconds.",
        "No recorded answers of the reader, the writer, and the verifier.",
    ]


def test_estimated_tokens_are_said_to_be() -> None:
    found = part(100, usage(calls=[call(estimated=True), call("adjudicator")]))
    assert "did not report the tokens of 120 calls" in found.duty_notes()[0]


def test_the_llm_alone_lacks_no_duty() -> None:
    alone = llm_part({"llm": run("llm", 90, usage(calls=[call("adjudicator")]))})
    assert alone is not None and alone.duty_notes() == []


def test_answers_from_the_cache_are_said_to_be() -> None:
    text = llm_markdown(part(100, usage(cached=True, asked=False, cost=0.0), usage()))
    assert "60 of 120 answers came from the cache" in text
    assert "| 2.00 | 0.12 |" in text


def test_without_a_price_none_is_told() -> None:
    free = ASKED.model_copy(update={"price_input": 0.0, "price_output": 0.0})
    alone = llm_part({"llm": run("llm", 90, usage(cost=0.0), asked=free)})
    assert alone is not None
    assert (alone.against, alone.worth) == ({}, None)
    assert "no price is set" in llm_markdown(alone)
    assert alone.rows()[0][3:5] == ["–", "–"]


def test_an_llm_that_never_answered_is_compared_with_nothing() -> None:
    silent = [
        case.model_copy(update={"axes": {}, "usage": usage(used=False, faults=["timeout"])})
        for case in run("llm", 90).cases
    ]
    found = llm_part(
        {"distriage": run("distriage", 70), "llm": run_of(silent, "llm").model_copy(update={"asked": ASKED})}
    )
    assert found is not None and found.against == {}
    assert found.rows()[0][6] == "120 (100%)"


def test_the_values_are_json_and_hold_what_the_text_tells() -> None:
    told = json.loads(json.dumps(part(100, usage(calls=[call()])).values()))
    duty = told["duties"]["distriage+llm"]["reader"]
    assert (duty["calls"], duty["tokens_in"], duty["p95"]) == (120, 120_000, 1.0)
    assert duty["cost"] == pytest.approx(0.24)
    assert told["duty_notes"][-1] == "No question was put to the adjudicator."
    assert told["usage"]["distriage+llm"]["p95"] == 1.0
    assert told["usage"]["distriage+llm"]["fabrication_rate"] == 0.0
    assert told["worth"]["use"] is True
    symptom = told["against_distriage"]["distriage+llm"][0]
    assert (symptom["axis"], symptom["significant"], symptom["only_b"]) == ("symptom", True, 30)


def test_the_page_shows_all_of_it() -> None:
    made = runs(100, usage(calls=[call()]))
    summaries = [summarise(one, 50) for one in made.values()]
    page = report_html(list(made.values()), summaries, shipped_ceiling(), llm_part(made), origin=MADE)
    assert '<table id="llm">' in page
    assert all(f"<th>{heading}</th>" in page for heading in HEADINGS)
    assert '<table id="duties">' in page
    assert all(f"<th>{heading}</th>" in page for heading in DUTY_HEADINGS)
    assert "<td>120,000</td>" in page
    assert "Not asked: the writer and the verifier; --writer measures them." in page
    assert "Whether to ask it, by the rule of docs/llm.md: yes." in page
    assert "<td>better</td>" in page
    alone = [made["distriage"]], summaries[:1], shipped_ceiling()
    without = report_html(*alone, origin=MADE)
    assert 'id="llm"' not in without


def test_predictions_with_usage_read_back_as_written() -> None:
    made = runs()["distriage+llm"]
    assert Predictions.model_validate_json(made.model_dump_json()) == made
