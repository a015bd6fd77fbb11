"""The terminal: the decision first and one screen, everything with `--long`, text of a report never as markup."""

from __future__ import annotations

from typing import Any

import pytest

from bot.render.decision import Source
from knowledge.triage import (
    Advice,
    AnswerSentence,
    AnswerSnippet,
    MissingItem,
    QuotedLine,
    SecondReading,
    SignatureMatch,
    Triage,
    WrittenAnswer,
)
from tests.bot.fake_core import a_finding, a_triage, axis
from tests.bot.terminal import printed, printed_brief


def words(triage: Triage, **more: Any) -> str:
    return " ".join(printed(triage, **more).split())


def test_the_known_failure_comes_first_with_its_line_one_check_and_fixes() -> None:
    text = words(a_triage())
    told = (
        "Known failure, likely: NCCL picked an interface that the other node can't reach",
        "do this now Set `NCCL_SOCKET_IFNAME`.",
        "then `NCCL_DEBUG=INFO torchrun train.py`",
        "line 2 Watchdog caught timeout",
        "NCCL connects over `docker0`",
        "more: bot failures show nccl-wrong-interface",
        "Evidence",
        "--out-script diagnose.sh",
        "--long",
    )
    places = [text.index(part) for part in told]
    assert places == sorted(places)


def test_what_the_known_failure_answers_is_not_said_again() -> None:
    text = words(a_triage())
    assert text.count("Watchdog caught timeout") == 1
    assert "Usual fixes for failures of this kind" not in text
    for rest in ("Classification", "Similar issues"):
        assert rest not in text
    assert len(printed(a_triage()).splitlines()) <= 40


def test_everything_is_there_with_long() -> None:
    known = SignatureMatch(id="x", meaning="A peer is gone.", line=1, symptom=[], cause=[], fix=[])
    evidence = a_triage().evidence.model_copy(update={"signatures": [known]})
    second = SecondReading(used=True, model="some/model", why="The log names it.", tokens_in=2, tokens_out=3)
    text = words(a_triage(evidence=evidence, second_reading=second), long=True)
    for part in (
        "Usual fixes for failures of this kind",
        "12 of 31 labeled hangs in training",
        "Classification",
        "cause claimed Network between machines 61%",
        "distributed claimed 99%",
        "Similar issues",
        "https://github.com/horovod/horovod/issues/1006",
        "ended: named the right interface",
        "A peer is gone.",
        "some/model was used; 5 tokens. The log names it.",
    ):
        assert part in text, part
    assert "--long" not in text


def test_a_second_reader_is_named_in_brief_only_where_it_could_not_be_asked() -> None:
    asked = SecondReading(used=True, model="some/model")
    down = SecondReading(used=False, model="some/model", fallback_reason="server_error")
    assert "some/model" not in printed(a_triage(second_reading=asked))
    assert "local answer only: server_error" in printed(a_triage(second_reading=down))


def test_long_names_every_check_fix_and_source_of_the_first_finding() -> None:
    text = words(a_triage(), long=True)
    for part in (*a_finding().check, *a_finding().remedy, *a_finding().sources, "One node is enough"):
        assert part in text, part


LONG = "The launcher starts one process per device and every process waits for all the others. " * 6


@pytest.mark.parametrize("findings", [3, 0])
def test_however_much_there_is_to_say_it_fits_one_screen_and_begins_with_the_decision(findings: int) -> None:
    lines = [QuotedLine(line=n, text=LONG, role="root", rank=n) for n in range(1, 9)]
    triage = a_triage(
        findings=[
            a_finding(title=LONG[:110], answer=LONG, lines=lines[:1], check=[LONG[:240]], remedy=[LONG[:240]])
            for _ in range(findings)
        ],
        evidence=a_triage().evidence.model_copy(update={"lines": lines, "notes": [LONG] * 3}),
        missing=[MissingItem(id=str(n), ask=LONG) for n in range(3)],
        measured=[LONG] * 2,
    )
    shown = printed(triage).splitlines()
    assert len(shown) <= 45
    assert any("do this now" in line for line in shown[:10])
    assert "--long" in shown[-1]
    brief = printed_brief(triage).splitlines()
    assert len(brief) <= 12
    assert any("do this now" in line for line in brief)
    assert max(map(len, brief)) <= 100


def test_brief_says_finding_why_and_what_to_do() -> None:
    text = " ".join(printed_brief(a_triage()).split())
    told = (
        "found Known failure, likely: NCCL picked an interface",
        "why NCCL connects over `docker0`, which has no route between nodes.",
        "do this now Set `NCCL_SOCKET_IFNAME`.",
        "then `NCCL_DEBUG=INFO torchrun train.py`",
        "more bot failures show nccl-wrong-interface",
    )
    places = [text.index(part) for part in told]
    assert places == sorted(places)


def test_in_brief_a_second_step_is_whole_or_not_there() -> None:
    command = "`python -c 'import torch; " + "print(torch.distributed.is_available()); " * 20 + "'`"
    text = " ".join(printed_brief(a_triage(findings=[a_finding(check=[command])])).split())
    assert "do this now Set `NCCL_SOCKET_IFNAME`." in text
    assert "then" not in text
    assert "is_available" not in text


def test_a_possible_failure_is_checked_before_anything_is_changed() -> None:
    text = words(a_triage(findings=[a_finding(sure=False, p=0.4)]))
    assert "do this now `NCCL_DEBUG=INFO torchrun train.py`" in text
    assert "then Set `NCCL_SOCKET_IFNAME`." in text


def test_before_a_faint_finding_comes_the_error_that_the_report_shows() -> None:
    faint = a_triage(findings=[a_finding(sure=False, p=0.1, lines=[])])
    root = next(line for line in faint.evidence.lines if line.role == "root")
    text = words(faint, source=Source(place="rank1.log:{}".format))
    assert f"do this now look at the first error, rank1.log:{root.line}" in text


def test_without_any_advice_the_script_is_the_next_step() -> None:
    triage = a_triage(findings=[], missing=[], advice=Advice(fixes=[]), script="#!/bin/sh")
    text = words(triage, source=Source("bot triage r.md"))
    assert "do this now bot triage r.md --out-script diagnose.sh" in text
    assert text.count("--out-script") == 1


def test_of_a_written_answer_the_steps_come_first_and_are_said_once() -> None:
    def sentence(role: Any, text: str) -> AnswerSentence:
        return AnswerSentence(text=text, role=role, confidence=0.9, lines=[2])

    answer = WrittenAnswer(
        sentences=[
            sentence("what", "Rank 3 stopped first."),
            sentence("fix", "Set the interface."),
            sentence("check", "Run the check."),
        ],
        verified=True,
        model="some/model",
    )
    text = words(a_triage(answer=answer))
    told = ("do this now Run the check.", "then Set the interface.", "what Rank 3 stopped first. line 2")
    places = [text.index(part) for part in told]
    assert places == sorted(places)
    assert text.count("Set the interface.") == 1
    assert "fix Set the interface. line 2" in words(a_triage(answer=answer), long=True)
    snippet = AnswerSnippet(language="python", text="x = 1\n" * 30, purpose="An example.")
    much = answer.model_copy(
        update={"sentences": [sentence("why", LONG[:400] + str(n)) for n in range(16)], "code": [snippet]}
    )
    shown = printed(a_triage(answer=much))
    assert len(shown.splitlines()) <= 45
    assert "the rest with --long" in shown
    assert "the rest with --long" not in printed(a_triage(answer=much), long=True)


def test_a_question_and_a_foreign_report_get_no_orders() -> None:
    for triage in (
        a_triage(findings=[], type=axis(("howto", 0.8))),
        a_triage(findings=[], scope="other_field"),
    ):
        assert "do this now" not in printed(triage)


def test_a_guess_is_called_one_and_general_fixes_wait_for_long() -> None:
    text = words(a_triage(findings=[a_finding(sure=False, p=0.4)]))
    assert "Possibly: NCCL picked" in text
    assert "%" not in text
    assert "Usual fixes for failures of this kind" not in text
    (fix,) = a_triage().advice.fixes
    two = Advice(fixes=[fix, fix.model_copy(update={"text": "Open the ports."})])
    without = words(a_triage(findings=[], advice=two))
    assert "Usual fixes for failures of this kind - Open the ports." in without
    assert without.count(fix.text) == 1, "what is to be done now is not said again"


def test_of_further_findings_the_answer_alone() -> None:
    second = a_finding(
        id="b", title="Another one", answer="Its answer.", check=["its check"], remedy=["its fix"]
    )
    text = words(a_triage(findings=[a_finding(), second]))
    assert "Known failure, likely: Another one" in text
    assert "Its answer." in text
    assert "its check" not in text
    assert "its fix" not in text


def test_without_a_known_failure_it_says_so_for_a_failure_only() -> None:
    assert "No known failure matches." in printed(a_triage(findings=[]))
    question = a_triage(findings=[], type=axis(("howto", 0.8)))
    assert "No known failure matches." not in printed(question)
    assert "This reads like a question, likely." in words(question)


def test_at_most_two_things_are_asked_for() -> None:
    asks = [MissingItem(id=str(n), ask=f"Thing {n}.") for n in range(3)]
    text = printed(a_triage(missing=asks))
    assert [f"Thing {n}." in text for n in range(3)] == [True, True, False]


def test_a_written_script_is_named_with_how_to_run_it() -> None:
    source = Source("bot triage r.md", script="diagnose.sh")
    text = words(a_triage(), source=source)
    assert "sh diagnose.sh > result.txt; then: bot triage r.md --result result.txt" in text
    assert "diagnose" not in printed(a_triage(script=""))


@pytest.mark.parametrize("odd", ["[bold]x[/bold]", "[link=https://evil.example]y[/link]", "[/]", "\\[red]"])
def test_text_of_a_report_is_never_markup(odd: str) -> None:
    evidence = a_triage().evidence.model_copy(
        update={"lines": [QuotedLine(line=1, text=odd, role="root")], "notes": [odd]}
    )
    triage = a_triage(
        evidence=evidence,
        findings=[a_finding(lines=[QuotedLine(line=3, text=odd, role="root")])],
        measured=[odd],
    )
    assert printed(triage, long=True).count(odd) >= 4
