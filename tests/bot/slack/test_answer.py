"""Whatever a report holds, the answer keeps to Slack's limits and nothing foreign in it is live."""

from __future__ import annotations

import string
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from slack_sdk.models.blocks import ActionsBlock, ButtonElement, SectionBlock

from bot.gate.rules import GateError
from bot.gate.slack import PassedMessage, pass_message
from bot.slack.answer import View, mrkdwn, render
from knowledge.triage import (
    Advice,
    CaseLabels,
    Evidence,
    FixAdvice,
    MissingItem,
    Neighbour,
    QuotedLine,
    SignatureMatch,
    Support,
    Triage,
    VersionConflict,
)
from tests.bot.fake_core import FakeCore, a_finding, a_triage, axis
from tests.bot.hostile_text import FRAGMENTS
from tests.bot.hostile_text import texts as markdown_texts
from tests.bot.slack.limits import broken_message, buttons, shown

SLACK_FRAGMENTS = (
    "<!channel>", "<!here>", "<!everyone>", "<@U012AB3CD>", "<#C024BE7LR>", "<!subteam^S012>", "<!date^1^{date}|x>",
    "<https://evil.example|click>", "<https://github.com/a/b/issues/1|x>", "&lt;!channel&gt;", "&amp;lt;!channel>",
    "<mailto:a@b.example|x>", "@channel", "@here", "#general", ":skull:", "*b*", "_i_", "~s~", "`<!here>`",
    "```<!channel>```", "`", "```", ">", "&", "<", "|", "<`!channel`>", "<!cha`nnel>", "xoxb-1234567890-abcdefghijkl",
)  # fmt: skip
pieces = st.sampled_from(SLACK_FRAGMENTS + FRAGMENTS)
texts = st.one_of(
    markdown_texts,
    st.lists(pieces, max_size=12).map("".join),
    st.lists(pieces, max_size=300).map(" ".join),
    st.tuples(pieces, st.integers(1, 4000)).map(lambda p: (p[0] * p[1])[:6000]),
    st.text(max_size=200),
)


def triage_of(text: str, many: int) -> Triage:
    """A triage with a text wherever a text can stand, and each list `many` long."""
    evidence = Evidence(
        framework=text,
        lines=[QuotedLine(line=n + 1, text=text, role="root", rank=n) for n in range(many)],
        versions={f"{text}{n}": text for n in range(many)},
        launcher=text,
        world_size=2**40,
        ranks=list(range(many)),
        signatures=[SignatureMatch(id=text, meaning=text, line=1, symptom=[], cause=[], fix=[])] * many,
        conflicts=[VersionConflict(id="c", text=text, source=text)] * many,
        redactions={text: 1},
        notes=[text] * many,
    )
    labels = CaseLabels(type="fault", fix=["network"])
    near = [
        Neighbour(
            id=f"{text}{n}" if n % 2 else f"a/b#{n}",
            url=text if n % 3 == 2 else f"https://github.com/a/b/issues/{n}",
            title=text,
            score=1,
            labels=labels,
            label_source=text,
            resolution=text,
        )
        for n in range(many)
    ]
    support = Support(count=12, of=31, scope=text)
    fixes = [FixAdvice(id="network", name=text, p=0.5, support=support, text=text)] * many
    missing = [MissingItem(id="m", ask=text)] * many
    return a_triage(
        evidence=evidence, neighbours=near, advice=Advice(fixes=fixes), missing=missing, script=text
    )


def render_all(triage: Triage, name: str, notes: tuple[str, ...] = ()) -> list[PassedMessage]:
    def named(axis_: str, id_: str) -> str:
        return name or id_

    return [
        render(View("0a1b2c", triage, named, extras=extras, shared=shared, notes=notes))
        for extras in (False, True)
        for shared in (False, True)
    ]


def broken(passed: PassedMessage, links: set[str]) -> list[str]:
    message = {
        "text": passed.text,
        "blocks": list(passed.blocks),
        "unfurl_links": False,
        "unfurl_media": False,
    }
    return broken_message(message, links)


@settings(max_examples=70, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(text=texts, many=st.integers(0, 12))
@example(text="<" * 33, many=11)
def test_any_text_anywhere_stays_within_limits_and_inert(text: str, many: int) -> None:
    links = {f"https://github.com/a/b/issues/{n}" for n in range(many)}
    for passed in render_all(triage_of(text, many), text, notes=(text,) * many):
        assert broken(passed, links) == []


@pytest.mark.parametrize("fragment", SLACK_FRAGMENTS)
def test_each_control_sequence_is_shown_and_dead(fragment: str) -> None:
    for passed in render_all(triage_of(f"x {fragment} y", 3), fragment):
        assert broken(passed, {f"https://github.com/a/b/issues/{n}" for n in range(3)}) == []


def test_no_secret_of_a_triage_is_shown() -> None:
    secret = "ghp_" + string.ascii_letters[:36]
    for passed in render_all(triage_of(f"token {secret}", 3), "name"):
        assert secret not in str(passed.blocks)


def text_of(triage: Triage, **view: Any) -> str:
    return shown({"blocks": list(render(View("0a1b2c", triage, FakeCore().name, **view)).blocks)})


def test_a_known_failure_comes_first_with_its_line_its_answer_and_one_check() -> None:
    text = text_of(a_triage())
    words = (
        "*Known failure, likely: NCCL picked an interface that the other node can't reach*",
        "`Watchdog caught timeout`",
        "Set `NCCL_SOCKET_IFNAME=eth0`",
        "Check: `NCCL_DEBUG=INFO torchrun train.py`",
        "Hang, likely.",
        "Cause: Network environment, more likely than not.",
        "Based on these lines:",
        "1 | It hangs.",
        "The output with `NCCL_DEBUG=INFO` of all ranks.",
        "Only you see this.",
    )
    places = [text.index(word) for word in words]
    assert places == sorted(places)
    assert text.count("Check:") == 1
    assert "Usual fixes for failures of this kind" not in text, "the known failure says what to do"
    assert "Usual fixes for failures of this kind" in text_of(a_triage(), extras=True)


def test_a_guess_is_called_one() -> None:
    text = text_of(a_triage(findings=[a_finding(sure=False, p=0.4)]))
    assert text.startswith("No known failure clearly matches. ")
    assert text.splitlines()[1] == "*Possibly: NCCL picked an interface that the other node can't reach*"
    assert "%" not in text
    assert "Usual fixes for failures of this kind" not in text
    assert text_of(a_triage(findings=[a_finding(sure=False, p=0.6)])).startswith("*Probably: ")


def test_at_most_two_known_failures_are_named() -> None:
    text = text_of(a_triage(findings=[a_finding(id=f"f{n}", title=f"Failure {n}") for n in range(3)]))
    assert [f"Failure {n}" in text for n in range(3)] == [True, True, False]


def test_a_known_failure_is_named_for_what_may_be_a_question() -> None:
    asked = axis(("howto", 0.8), ("fault", 0.2))
    assert text_of(a_triage(type=asked)).startswith("*Known failure, likely: ")


def test_without_a_known_failure_an_answer_says_what_why_and_what_helped() -> None:
    passed = render(View("0a1b2c", a_triage(findings=[]), FakeCore().name))
    text = shown({"blocks": list(passed.blocks)})
    for part in (
        "*Hang, likely*",
        "Cause: Network environment, more likely than not.",
        "1 | It hangs.",
        "*Usual fixes for failures of this kind*",
        "1. *Fix network setting of devices*",
        "Set `NCCL_SOCKET_IFNAME` to the interface",
        "The output with `NCCL_DEBUG=INFO` of all ranks.",
        "Only you see this.",
    ):
        assert part in text, part
    assert "Similar issues" not in text
    assert passed.text == "Triage: Hang, likely"
    unfolded = text_of(a_triage(findings=[]), extras=True)
    for detail in ("%", "12 of 31", "D.2.1"):
        assert detail not in text and detail in unfolded, detail
    assert list(buttons({"blocks": list(passed.blocks)})) == ["dt_script", "dt_more", "dt_wrong", "dt_share"]


def test_the_folded_part_holds_cases_and_rankings() -> None:
    passed = render(View("0a1b2c", a_triage(), FakeCore().name, extras=True))
    text = shown({"blocks": list(passed.blocks)})
    assert "<https://github.com/horovod/horovod/issues/1006|horovod/horovod#1006>" in text
    assert "How it ended: named the right interface" in text
    assert "• cause: `network_environment` 61 %" in text
    assert "dt_more" not in buttons({"blocks": list(passed.blocks)})


def test_outside_the_field_a_known_failure_still_comes_first() -> None:
    text = text_of(a_triage(scope="other_field"))
    assert text.startswith("*Known failure, likely: ")
    assert "doesn't look like a report about distributed training" in text
    nothing = text_of(a_triage(scope="other_field", findings=[]))
    assert nothing.startswith("*This doesn't look like a report about distributed training.*")


def test_a_shared_answer_has_no_share_button_and_says_how_to_go_on() -> None:
    passed = render(View("0a1b2c", a_triage(script=""), FakeCore().name, shared=True, updated=True))
    assert list(buttons({"blocks": list(passed.blocks)})) == ["dt_more", "dt_wrong"]
    assert "Reply in this thread" in shown({"blocks": list(passed.blocks)})


def test_what_cannot_be_told_is_said_so_with_what_is_closest() -> None:
    unsure = axis(("D", 0.4), claim=False)
    causes = axis(("network_environment", 0.4), ("dependency", 0.3), claim=False)
    symptom = axis(("D.2.1", 0.4), ("B.2", 0.2), ("A.1", 0.05), claim=False)
    passed = render(
        View("0a", a_triage(findings=[], stage=unsure, symptom=symptom, cause=causes), FakeCore().name)
    )
    text = shown({"blocks": list(passed.blocks)})
    assert text.startswith("The symptom is unclear; closest: Hang, Hang &amp; timeout.\n")
    assert "Cause" not in text
    assert passed.text == "Triage: nothing certain"


def test_a_stage_is_named_where_the_symptom_is_open() -> None:
    triage = a_triage(findings=[], symptom=axis(("D.2.1", 0.4), claim=False))
    assert text_of(triage).startswith("*Training &amp; evaluation, likely*")


@pytest.mark.parametrize(
    "triage",
    [
        a_triage(findings=[], symptom=axis(("D.2.1", 0.97))),
        a_triage(findings=[], symptom=axis(("D.2.1", 0.7))),
        a_triage(findings=[], symptom=axis(("D.2.1", 0.3), claim=False)),
    ],
)
def test_the_notification_is_as_sure_as_the_first_line(triage: Triage) -> None:
    sure = text_of(triage).splitlines()[0].rsplit(", ", 1)[1].rstrip(".*")
    assert render(View("0a1b2c", triage, FakeCore().name)).text.endswith(f", {sure}")


def test_the_notification_names_a_known_failure_only_when_it_is_sure() -> None:
    said = [
        render(View("0a", a_triage(findings=[a_finding(sure=sure)]), FakeCore().name)).text
        for sure in (True, False)
    ]
    assert said == [
        "Triage: NCCL picked an interface that the other node can't reach",
        "Triage: Hang, likely",
    ]


def test_an_answer_is_short_and_more_unfolds_the_rest() -> None:
    fixes = [a_triage().advice.fixes[0].model_copy(update={"name": f"Fix number {n}"}) for n in (1, 2, 3)]
    triage = a_triage(findings=[], advice=Advice(fixes=fixes))
    short, long = (
        shown({"blocks": list(render(View("0a", triage, FakeCore().name, extras=extras)).blocks)})
        for extras in (False, True)
    )
    advice = "Set `NCCL_SOCKET_IFNAME`"
    assert (short.count("Fix number"), short.count(advice)) == (3, 1)
    assert long.count(advice) == 3


def test_a_known_error_is_explained_below_its_line() -> None:
    known = SignatureMatch(id="x", meaning="A peer does not listen.", line=1, symptom=[], cause=[], fix=[])
    evidence = a_triage().evidence.model_copy(update={"signatures": [known]})
    passed = render(View("0a", a_triage(evidence=evidence), FakeCore().name))
    assert "```\n• A peer does not listen." in shown({"blocks": list(passed.blocks)})


def test_a_question_gets_cases_and_no_cause() -> None:
    kind = axis(("howto", 0.8), ("fault", 0.2))
    (near,) = a_triage().neighbours
    answered = near.model_copy(update={"labels": CaseLabels(type="howto", topic="launch")})
    topic = Advice(fixes=[], topic=axis(("launch", 0.7)))
    question = a_triage(type=kind, findings=[], neighbours=[near, answered], advice=topic)
    text = text_of(question)
    assert text.startswith("*This reads like a question, not a failure*, likely.")
    assert text.count("How it ended") == 1, "a failure's ending answers no question"
    assert render(View("0a1b2c", question, FakeCore().name)).text == "Triage: not a failure"
    assert "Similar issues" in text
    assert "Cause" not in text


def button(value: str = "v", url: str | None = None) -> ButtonElement:
    return ButtonElement(text="x", action_id="a", value=value, url=url)


@pytest.mark.parametrize(
    "text",
    [
        "<!channel>", "<@U1>", "<#C1>", "<https://evil.example|x>", "<https://github.com/a/b/issues/1>", "<", "a > b",
        "`<!here>`", "```<!here>```", "a & b", "@channel", "#general", "https://evil.example", "a@b.example", ":skull:",
        "www.evil.example", "\u202e", "x" * 3001,
    ],
)  # fmt: skip
def test_the_gate_refuses_what_is_live(text: str) -> None:
    with pytest.raises(GateError):
        pass_message("Triage", [SectionBlock(text=mrkdwn(text))])


def test_the_gate_refuses_other_texts_elements_and_sizes() -> None:
    from slack_sdk.models.blocks import ImageBlock, MarkdownTextObject

    fine = SectionBlock(text=mrkdwn("x"))
    for text, blocks in (
        ("Triage", [fine] * 51),
        ("Triage", []),
        ("", [fine]),
        ("<!here>", [fine]),
        ("Triage", [SectionBlock(text=MarkdownTextObject(text="x"))]),
        ("Triage", [ImageBlock(image_url="https://evil.example/p.png", alt_text="x")]),
        ("Triage", [ActionsBlock(elements=[button(url="https://evil.example")])]),
        ("Triage", [ActionsBlock(elements=[button(value="v" * 2001)])]),
        ("Triage", [ActionsBlock(elements=[button()] * 26)]),
    ):
        with pytest.raises(GateError):
            pass_message(text, blocks)
    link = "<https://github.com/a/b/issues/1|a/b#1>"
    assert pass_message(
        "Triage", [SectionBlock(text=mrkdwn(link))], {"https://github.com/a/b/issues/1"}
    ).blocks
