"""The terminal: the decision first and one screen, everything with `--long`, text of a report never as markup."""

from __future__ import annotations

import pytest

from knowledge.triage import MissingItem, QuotedLine, SecondReading, SignatureMatch, Triage
from tests.bot.fake_core import a_finding, a_triage, axis
from tests.bot.terminal import printed


def words(triage: Triage, **more: bool) -> str:
    return " ".join(printed(triage, **more).split())


def test_the_known_failure_comes_first_with_its_line_one_check_and_fixes() -> None:
    text = words(a_triage())
    told = (
        "Known failure: NCCL picked an interface that the other node can't reach likely (94%)",
        "line 2 Watchdog caught timeout",
        "NCCL connects over `docker0`",
        "check `NCCL_DEBUG=INFO torchrun train.py`",
        "fix Set `NCCL_SOCKET_IFNAME`.",
        "fix Open the ports.",
        "more: bot failures show nccl-wrong-interface",
        "Hang (D.2.1), likely (83%); cause: Network between machines, probable (61%).",
        "Evidence",
        "--out-script diagnose.sh",
        "--long",
    )
    places = [text.index(part) for part in told]
    assert places == sorted(places)


def test_what_the_known_failure_answers_is_not_said_again() -> None:
    text = words(a_triage())
    assert text.count("Watchdog caught timeout") == 1
    assert "What resolved similar reports" not in text
    for rest in ("Classification", "Similar issues"):
        assert rest not in text
    assert len(printed(a_triage()).splitlines()) <= 40


def test_everything_is_there_with_long() -> None:
    known = SignatureMatch(id="x", meaning="A peer is gone.", line=1, symptom=[], cause=[], fix=[])
    evidence = a_triage().evidence.model_copy(update={"signatures": [known]})
    second = SecondReading(used=True, model="some/model", why="The log names it.", tokens_in=2, tokens_out=3)
    text = words(a_triage(evidence=evidence, second_reading=second), long=True)
    for part in (
        "What resolved similar reports",
        "12 of 31 labelled hangs in training",
        "Classification",
        "cause claimed Network between machines 61%",
        "distributed claimed 99%",
        "Similar issues",
        "https://github.com/horovod/horovod/issues/1006",
        "resolved: named the right interface",
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


def test_a_guess_is_called_one_and_general_fixes_wait_for_long() -> None:
    text = words(a_triage(findings=[a_finding(sure=False, p=0.4)]))
    assert "Possibly: NCCL picked" in text
    assert "possible (40%)" in text
    assert "What resolved similar reports" not in text
    assert "What resolved similar reports" in words(a_triage(findings=[]))


def test_of_further_findings_the_answer_alone() -> None:
    second = a_finding(
        id="b", title="Another one", answer="Its answer.", check=["its check"], remedy=["its fix"]
    )
    text = words(a_triage(findings=[a_finding(), second]))
    assert "Known failure: Another one" in text
    assert "Its answer." in text
    assert "its check" not in text
    assert "its fix" not in text


def test_without_a_known_failure_it_says_so_for_a_failure_only() -> None:
    assert "No known failure matches." in printed(a_triage(findings=[]))
    question = a_triage(findings=[], type=axis(("howto", 0.8)))
    assert "No known failure matches." not in printed(question)
    assert "This reads like a question, likely (80%)." in words(question)


def test_at_most_two_things_are_asked_for() -> None:
    asks = [MissingItem(id=str(n), ask=f"Thing {n}.") for n in range(3)]
    text = printed(a_triage(missing=asks))
    assert [f"Thing {n}." in text for n in range(3)] == [True, True, False]


def test_a_written_script_is_named_with_how_to_run_it() -> None:
    assert "sh diagnose.sh > result.txt" in printed(a_triage(), script_file="diagnose.sh")
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
