"""The comment: what stands where, one screen before the folds, inert whatever comes in."""

from __future__ import annotations

import re
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.gate.markdown import MAX_CHARS, pass_markdown
from bot.github.marker import with_marker
from bot.render.comment import render_comment, render_config_error, render_dismissed
from bot.render.frame import Frame, frames
from bot.render.view import View
from knowledge.triage import MissingItem, QuotedLine, SecondReading, Triage, VersionConflict
from tests.bot.fake_core import FakeCore, a_triage, axis
from tests.bot.hostile_text import texts
from tests.bot.live import live

CORE = FakeCore()


def shown(triage: Triage, **view: object) -> str:
    draft = render_comment(View(triage=triage, name=CORE.name, **view))  # type: ignore[arg-type]
    return pass_markdown(draft.body, draft.links)


def test_the_first_line_is_the_finding_and_how_sure() -> None:
    first = shown(a_triage()).splitlines()[0]
    assert first == "**Training & evaluation (`D`): Hang (`D.2.1`)** — probable (83 %)."


def test_the_order_of_a_good_answer() -> None:
    body = shown(a_triage())
    places = [
        body.index(words)
        for words in (
            "Hang (`D.2.1`)",
            "Likely root cause, a hypothesis: Network environment",
            "It rests on these lines",
            "What resolved such cases",
            "12 of 31",
            "Similar cases",
            "redirect.github.com/horovod/horovod/issues/1006",
            "To say more, please add",
            "<summary>Diagnostics script",
            "sh diagnose.sh",
            "<summary>Wrong, or not useful?",
        )
    ]
    assert places == sorted(places)


def test_it_fits_one_screen_before_the_folds() -> None:
    lines = [QuotedLine(line=n, text="x" * 500, role="root") for n in range(1, 40)]
    evidence = a_triage().evidence.model_copy(update={"lines": lines})
    fixes = a_triage().advice.fixes * 9
    advice = a_triage().advice.model_copy(update={"fixes": fixes})
    triage = a_triage(evidence=evidence, neighbours=a_triage().neighbours * 9, advice=advice)
    before = shown(triage).split("<details>")[0]
    assert len(before.splitlines()) <= 40
    assert len(before) <= 4000
    assert (
        sum(line.strip().startswith(tuple("123456789")) and " | " in line for line in before.splitlines())
        == 6
    )


def test_the_decisive_lines_are_chosen_and_stand_in_their_order() -> None:
    lines = [QuotedLine(line=n, text=f"noise {n}", role="context") for n in range(1, 9)]
    lines += [QuotedLine(line=20, text="the root", role="root", rank=3)]
    evidence = a_triage().evidence.model_copy(update={"lines": lines})
    body = shown(a_triage(evidence=evidence))
    assert "20 [rank 3] | the root" in body
    assert body.index("noise 1") < body.index("the root")
    assert "noise 6" not in body


def test_an_open_cause_names_what_is_still_possible() -> None:
    body = shown(a_triage(cause=axis(("dependency", 0.4), ("network_environment", 0.4), claim=False)))
    assert "cannot be told from this text; still possible: Dependency" in body


def test_an_open_symptom_names_what_is_still_possible() -> None:
    first = shown(a_triage(symptom=axis(("D.2.1", 0.5), ("B.2", 0.4), claim=False))).splitlines()[0]
    assert first.startswith(
        "**Training & evaluation (`D`): one of Hang (`D.2.1`), Hang & timeout (`B.2`)** — almost certain (90 %)"
    )


def test_a_section_that_is_not_wanted_is_not_there() -> None:
    body = shown(a_triage(), sections=["fixes"])
    assert "What resolved" in body
    assert "rests on" not in body
    assert "Similar" not in body
    assert "diagnose.sh" not in body


def test_what_was_measured_and_read_again_is_told() -> None:
    second = SecondReading(used=True, model="some/model", why="The log names the watchdog.")
    body = shown(a_triage(measured=["Port 29500: closed between ranks."], second_reading=second))
    assert "- Port 29500: closed between ranks." in body
    assert "A second reading by `some/model`" in body
    unused = second.model_copy(update={"used": False})
    assert "second reading" not in shown(a_triage(second_reading=unused))


def test_fixes_with_cases_behind_them_stand_alone_and_the_first_says_how_to_check() -> None:
    fix = a_triage().advice.fixes[0].model_copy(update={"text": "Do this. Then that must hold."})
    none = fix.model_copy(update={"name": "Bare", "support": fix.support.model_copy(update={"count": 0})})
    body = shown(a_triage(advice=a_triage().advice.model_copy(update={"fixes": [none, fix, fix]})))
    assert "Bare" not in body
    assert body.count("Do this.") == 2
    assert body.count("Then that must hold.") == 1
    alone = shown(a_triage(advice=a_triage().advice.model_copy(update={"fixes": [none, none]})))
    assert alone.count("no labelled case behind it yet") == 1


def test_a_fix_links_to_the_near_cases_that_it_resolved() -> None:
    case, fix = a_triage().neighbours[0], a_triage().advice.fixes[0]
    solved = case.model_copy(update={"labels": case.labels.model_copy(update={"fix": [fix.id]})})
    other = case.model_copy(update={"labels": case.labels.model_copy(update={"fix": ["other"]})})
    linked = "[`horovod/horovod#1006`](https://redirect.github.com/horovod/horovod/issues/1006)"
    assert f", as in {linked}. " in shown(a_triage(neighbours=[solved]))
    assert "as in" not in shown(a_triage(neighbours=[other]))
    assert f", as in {linked}. " in shown(a_triage(neighbours=[solved]), sections=["fixes"])


def test_the_report_itself_is_no_similar_case() -> None:
    case = a_triage().neighbours[0]
    own = case.model_copy(update={"id": "Acme/Train#1", "title": "The very report"})
    body = shown(a_triage(neighbours=[own, case]))
    assert "The very report" not in body
    assert case.id in body


def test_little_is_asked_of_a_report_that_says_enough() -> None:
    missing = [MissingItem(id=id_, ask=f"Ask {id_}.") for id_ in ("log", "versions", "command", "world_size")]
    cause_open = axis(("dependency", 0.4), ("network_environment", 0.4), claim=False)
    assert shown(a_triage(missing=missing)).count("- Ask") == 2
    assert shown(a_triage(missing=missing, cause=cause_open)).count("- Ask") == 3
    assert shown(a_triage(missing=missing), what="ask").count("- Ask") == 4
    one_device = a_triage().distributed.model_copy(update={"answer": False})
    few = a_triage(missing=missing[2:], cause=cause_open, distributed=one_device)
    assert "Ask world_size" not in shown(few)
    assert "Ask command" in shown(few)


def test_a_howto_names_the_answered_ones() -> None:
    body = shown(a_triage(type=axis(("howto", 0.8))))
    assert body.startswith("**This reads like a question, not a fault** — probable (80 %).")
    assert "root cause" not in body


def test_a_case_that_is_no_github_thread_is_not_linked() -> None:
    case = a_triage().neighbours[0].model_copy(update={"url": "https://evil.example/"})
    assert "evil.example" not in shown(a_triage(neighbours=[case]))


def test_the_script_is_whole_or_not_there() -> None:
    script = "print('x')\n" * 5000
    assert script.strip() in shown(a_triage(script=script))
    long = shown(a_triage(script=script * 2))
    assert "too long for a comment" in long
    assert len(long) < MAX_CHARS


@pytest.mark.parametrize("p", [0.0, 0.004, 0.5, 0.999, 1.0])
def test_nothing_is_ever_certain(p: float) -> None:
    words = Frame("en").how_sure(p)
    assert "100 %" not in words
    assert "(0 %)" not in words


def test_every_language_has_every_word_with_the_same_placeholders() -> None:
    english = frames()["en"]
    for language, texts_ in frames().items():
        assert texts_.keys() == english.keys(), language
        for key, text in texts_.items():
            assert sorted(re.findall(r"{\w+}", text)) == sorted(re.findall(r"{\w+}", english[key])), (
                language,
                key,
            )


@pytest.mark.parametrize("language", sorted(frames()))
def test_every_language_passes_the_gate(language: str) -> None:
    conflict = VersionConflict(id="x", text="torch 2.3 needs CUDA 11.8", source="https://docs.example/x")
    evidence = a_triage().evidence.model_copy(update={"conflicts": [conflict]})
    for what in ("finding", "ask", "withdrawn"):
        shown(a_triage(evidence=evidence), language=language, what=what, explain=True)
    for draft in (render_dismissed(language), render_config_error("mode: literal error", language)):
        pass_markdown(draft.body, draft.links)


@settings(max_examples=100)
@given(st.data())
def test_no_input_comes_alive(data: st.DataObject) -> None:
    def text() -> str:
        return data.draw(texts)

    base = a_triage()
    lines = [
        QuotedLine(line=1, text=text(), role="root"),
        QuotedLine(line=1, text=text(), role="root", in_title=True),
    ]
    conflict = VersionConflict(id=text(), text=text(), source=text())
    case = base.neighbours[0].model_copy(update={"id": text(), "title": text(), "resolution": text()})
    odd = base.neighbours[0].model_copy(update={"url": text()})
    support = base.advice.fixes[0].support.model_copy(update={"scope": text()})
    fix = base.advice.fixes[0].model_copy(update={"name": text(), "text": text(), "support": support})
    triage = base.model_copy(
        update={
            "evidence": base.evidence.model_copy(update={"lines": lines, "conflicts": [conflict]}),
            "neighbours": [case, odd],
            "advice": base.advice.model_copy(update={"fixes": [fix]}),
            "missing": [MissingItem(id="x", ask=text())],
            "measured": [text()],
            "second_reading": SecondReading.model_construct(used=True, model=text(), why=text()),
        }
    )
    what: Literal["finding", "ask"] = data.draw(st.sampled_from(["finding", "ask"]))
    draft = render_comment(View(triage=triage, name=CORE.name, what=what, explain=True))
    body = pass_markdown(with_marker("triage", "0" * 64, draft.body), draft.links)
    assert live(body, draft.links) == []
    assert len(body) <= MAX_CHARS
