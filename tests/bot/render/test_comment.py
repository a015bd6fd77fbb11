"""The comment: the known failure first, little before the folds, inert whatever comes in."""

from __future__ import annotations

from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.gate.markdown import MAX_CHARS, pass_markdown
from bot.github.posting import with_marker
from bot.render.answer import WHOLE_CHARS
from bot.render.comment import Level, View, render_comment, render_config_error, render_dismissed
from bot.render.wording import opening, percent
from knowledge.corrections import correct
from knowledge.findings.failure import load_catalogue
from knowledge.taxonomy import load_taxonomy
from knowledge.triage import (
    AxisName,
    Finding,
    MissingItem,
    QuickCheck,
    QuotedLine,
    SecondReading,
    Triage,
    VersionConflict,
)
from tests.bot.fake_core import FakeCore, a_finding, a_triage
from tests.bot.hostile_text import texts
from tests.bot.live import live

CORE = FakeCore()
USUAL_ROOM = 900
"""Characters before the folds in the usual case."""


def shown(triage: Triage, **view: object) -> str:
    draft = render_comment(View(triage=triage, name=CORE.name, **view))  # type: ignore[arg-type]
    return pass_markdown(draft.body, draft.links)


def visible(body: str) -> str:
    return body.split("<details>")[0]


def test_the_known_failure_comes_first_then_its_line_its_answer_and_one_check() -> None:
    body = shown(a_triage())
    words = (
        "This looks like a known failure: **NCCL picked an interface that the other node can't reach**",
        "line 2: Watchdog caught timeout",
        "Set `NCCL_SOCKET_IFNAME=eth0`.",
        "To check, run `NCCL_DEBUG=INFO torchrun train.py`. ",
        "<summary>Causes, fixes, sources</summary>",
        "2. **A firewall.** Timeouts.",
        "`ip -br a`",
        "This doesn't apply if one node",
        "https://redirect.github.com/NVIDIA/nccl/issues/1",
        "https://docs.nvidia.com/nccl/env.html",
        "Similar issues",
        "named the right interface",
        "<summary>Automated reply. Wrong or unhelpful?</summary>",
    )
    places = [body.index(word) for word in words]
    assert places == sorted(places)


def test_a_known_failure_needs_no_ids_no_percentages_no_script_and_nothing_to_post() -> None:
    body = visible(shown(a_triage()))
    assert "D.2.1" not in body
    assert "%" not in body
    assert "Please" not in body and "please" not in body
    assert "print(" not in shown(a_triage())
    assert len(body) <= USUAL_ROOM


def test_the_script_is_a_link_where_there_is_one() -> None:
    link = "https://triage.example.org/d/abc.sh"
    body = shown(a_triage(), script_link=link)
    assert f"[diagnose.sh]({link})" in body
    assert "print(" not in body
    assert "diagnose.sh" not in shown(a_triage(script=""), script_link=link)
    assert "diagnose.sh" not in shown(a_triage())


def test_a_known_failure_that_a_model_confirmed_says_so_in_its_fold() -> None:
    plain = a_triage()
    read = plain.findings[0].model_copy(update={"read_by": "acme-7b"})
    body = shown(plain.model_copy(update={"findings": [read, *plain.findings[1:]]}))
    told = "A language model (`acme-7b`) read both and found that the failure fits."
    assert visible(body) == visible(shown(plain))
    assert told in body and told not in shown(plain)
    assert opening(read) == "Known failure, confirmed by an LLM"


def test_two_failures_share_one_comment_and_a_guess_is_not_among_them() -> None:
    second = a_finding(id="b", title="A second one", answer="Its own answer.")
    guess = a_finding(id="c", title="A guess", sure=False, p=0.4)
    body = shown(a_triage(findings=[a_finding(), second, guess]))
    assert "This fits, too: **A second one**. Its own answer." in body
    assert "A guess" not in body


@pytest.mark.parametrize("level", ["findings", "claims"])
def test_a_guess_alone_is_shown_only_where_a_best_guess_is_wanted(level: Level) -> None:
    triage = a_triage(findings=[a_finding(sure=False, p=0.4)])
    assert "known failure" not in visible(shown(triage, level=level))
    assert "No known failure clearly matches. The nearest is: " in shown(triage, level="always")
    likelier = a_triage(findings=[a_finding(sure=False, p=0.6)])
    assert "This is probably a known failure: " in shown(likelier, level="always")


@pytest.mark.parametrize("step", [9, pytest.param(1, marks=pytest.mark.long)])
def test_every_entry_of_the_catalogue_fits_and_passes_the_gate(step: int) -> None:
    fields = ("id", "area", "title", "answer", "why", "check", "remedy", "not_this_when", "fixed_in")
    for entry in list(load_catalogue().values())[::step]:
        texts_ = {name: getattr(entry, name) for name in fields}
        finding = a_finding(sources=[s for s in entry.sources if s.startswith("https")]).model_copy(
            update={k: list(v) if isinstance(v, tuple) else v for k, v in texts_.items()}
        )
        body = shown(a_triage(findings=[finding]))
        assert len(visible(body)) <= 1_300, entry.id
        assert len(body) <= WHOLE_CHARS, entry.id


def test_two_failures_with_much_to_say_fit_into_one_mail() -> None:
    long = a_finding(why=["**A cause.** " + "It shows in the log. " * 15] * 5, remedy=["Set it. " * 45] * 4)
    other = long.model_copy(update={"id": "b", "title": "Another one"})
    body = shown(a_triage(findings=[long, other]))
    assert len(body) <= WHOLE_CHARS
    assert "**Another one**" in visible(body)
    assert body.count("Catalog entry") == 1


def test_without_a_known_failure_claims_come_with_their_lines_fixes_and_short_commands() -> None:
    checks = [QuickCheck(run="py-spy dump --pid PID", reading="The odd one out.")]
    body = shown(a_triage(findings=[], checks=checks), level="claims")
    words = (
        "I'd file this under **Hang** (likely).",
        "The most likely cause is **Network environment**",
        "line 1: It hangs.",
        "Usual fixes for failures of this kind",
        "(worked in 12 of 31",
        "py-spy dump --pid PID",
        "- The odd one out.",
        "of all ranks.",
        "How the bot got there",
        "`D.2.1` 83%",
    )
    places = [body.index(word) for word in words]
    assert places == sorted(places)
    assert "no labeled case" not in body
    assert not any(detail in visible(body) for detail in ("D.2.1", "%"))


def test_a_framework_bug_is_never_advice() -> None:
    fix = a_triage().advice.fixes[0].model_copy(update={"id": "framework_version", "text": "Move on."})
    advice = a_triage().advice.model_copy(update={"fixes": [fix]})
    assert "Move on" not in shown(a_triage(findings=[], advice=advice), level="always")


def test_what_a_maintainer_set_stands_without_a_percentage() -> None:
    given: dict[AxisName, tuple[str, ...]] = {"symptom": ("A.1",), "cause": ("dependency",)}
    triage = correct(a_triage(findings=[]), given, load_taxonomy())
    body = shown(triage, corrected=given)
    assert "Set by a maintainer: Installation & build failure, Dependency." in body
    assert "%" not in visible(body)


def test_only_a_conflict_that_explains_an_error_is_said_with_that_line() -> None:
    conflict = VersionConflict(id="x", text="torch 2.3 needs CUDA 11.8.", source="https://docs.example.org/x")
    base = a_triage(findings=[])
    idle = base.evidence.model_copy(update={"conflicts": [conflict]})
    telling = [conflict.model_copy(update={"explains_line": 2})]
    explaining = base.evidence.model_copy(update={"conflicts": telling})
    assert "conflict" not in shown(base.model_copy(update={"evidence": idle}))
    body = shown(base.model_copy(update={"evidence": explaining}))
    assert "torch 2.3 needs CUDA 11.8. ([source](https://docs.example.org/x))" in body
    assert "line 2: Watchdog caught timeout" in body


def test_a_similar_case_must_share_the_error_and_say_how_it_ended() -> None:
    case = a_triage().neighbours[0]
    for update in ({"shared": []}, {"resolution": None}, {"id": "Acme/Train#1"}):
        assert "Similar issues" not in shown(a_triage(neighbours=[case.model_copy(update=update)]))
    assert shown(a_triage(neighbours=[case] * 5)).count("named the right interface") == 2


def test_a_similar_case_shares_the_error_of_the_finding_not_any_other() -> None:
    entry = next(e for e in load_catalogue().values() if e.signatures)
    finding = a_triage().findings[0].model_copy(update={"id": entry.id})
    case = a_triage().neighbours[0]
    for shared, said in (([entry.signatures[0]], True), (["attribute-missing"], False)):
        triage = a_triage(findings=[finding], neighbours=[case.model_copy(update={"shared": shared})])
        assert ("Similar issues" in shown(triage)) is said


def test_at_most_two_things_are_asked_for() -> None:
    missing = [MissingItem(id=id_, ask=f"Ask {id_}.") for id_ in ("log", "versions", "command")]
    body = shown(a_triage(missing=missing, findings=[]), what="ask")
    assert body.count("- Ask") == 2
    assert "This looks like" not in body


def test_measurements_are_told_and_a_case_elsewhere_is_not_linked() -> None:
    body = shown(a_triage(measured=["Port 29500: closed between ranks."]))
    assert "**What the diagnostics script found**" in body
    case = a_triage().neighbours[0].model_copy(update={"url": "https://evil.example/"})
    assert "evil.example" not in shown(a_triage(neighbours=[case]))


def test_a_second_reading_is_shown_where_claims_are() -> None:
    second = SecondReading(used=True, model="some/model", why="The log names the watchdog.")
    assert "Second reading by `some/model`" in shown(a_triage(second_reading=second), level="claims")
    unused = second.model_copy(update={"used": False})
    assert "Second reading" not in shown(a_triage(second_reading=unused), level="claims")


@pytest.mark.parametrize("p", [0.0, 0.004, 0.5, 0.999, 1.0])
def test_nothing_is_ever_certain(p: float) -> None:
    assert percent(p) not in ("100%", "0%")


@pytest.mark.parametrize("what", ["finding", "ask", "withdrawn"])
def test_every_form_passes_the_gate(what: str) -> None:
    shown(a_triage(), what=what, explain=True, level="always")
    for draft in (
        render_dismissed(),
        render_config_error("line 3: mode must be shadow."),
        render_config_error(None),
    ):
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
    conflict = VersionConflict(id=text(), text=text(), source=text(), explains_line=1)
    case = base.neighbours[0].model_copy(update={"id": text(), "title": text(), "resolution": text()})
    odd = base.neighbours[0].model_copy(update={"url": text()})
    support = base.advice.fixes[0].support.model_copy(update={"scope": text()})
    fix = base.advice.fixes[0].model_copy(update={"name": text(), "text": text(), "support": support})
    finding = Finding.model_construct(
        **{**a_finding().model_dump(), "lines": lines, "title": text(), "answer": text(), "why": [text()],
           "check": [text()], "remedy": [text()], "sources": [text()], "fixed_in": text()}
    )  # fmt: skip
    triage = base.model_copy(
        update={
            "evidence": base.evidence.model_copy(update={"lines": lines, "conflicts": [conflict]}),
            "findings": data.draw(st.sampled_from([[], [finding]])),
            "neighbours": [case, odd],
            "advice": base.advice.model_copy(update={"fixes": [fix]}),
            "missing": [MissingItem(id="x", ask=text())],
            "measured": [text()],
            "second_reading": SecondReading.model_construct(used=True, model=text(), why=text()),
        }
    )
    what: Literal["finding", "ask"] = data.draw(st.sampled_from(["finding", "ask"]))
    level: Level = data.draw(st.sampled_from(["findings", "claims", "always"]))
    draft = render_comment(View(triage=triage, name=CORE.name, what=what, level=level, explain=True))
    body = pass_markdown(with_marker("triage", "0" * 64, draft.body), draft.links)
    assert live(body, draft.links) == []
    assert len(body) <= MAX_CHARS


def test_no_heading_stands_above_nothing() -> None:
    body = shown(a_triage(findings=[a_finding(why=[], remedy=[])]))
    assert "telltale sign" not in body
    assert "Fixes:" not in body
