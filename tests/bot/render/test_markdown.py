"""The Markdown for a file or a ticket: the decision first, the rest folded, text of a report inert."""

from __future__ import annotations

import pytest

from bot.render.markdown import markdown_of
from bot.render.wording import usual_fixes
from knowledge.taxonomy import load_taxonomy
from knowledge.triage import QuotedLine, Triage
from tests.bot.fake_core import a_finding, a_triage, axis

TAXONOMY = load_taxonomy()


def of(triage: Triage, *, script: bool = False) -> str:
    return markdown_of(triage, TAXONOMY, script=script)


def test_the_known_failure_comes_first_and_the_rest_is_folded() -> None:
    text = of(a_triage())
    told = (
        "## Triage of `acme/train#1`",
        "### Known failure, likely: NCCL picked an interface that the other node can't reach",
        "line 2: Watchdog caught timeout",
        "Set `NCCL_SOCKET_IFNAME=eth0`.",
        "- Check: `NCCL_DEBUG=INFO torchrun train.py`",
        "- Fix: Set `NCCL_SOCKET_IFNAME`.",
        "`bot failures show nccl-wrong-interface`",
        "<details>",
        "Hang, likely; cause: Network between machines, more likely than not.",
        "Hang (D.2.1) 83%",
        "Known failure `nccl-wrong-interface`: 94%. Sources: [`",
        "Similar issues",
        "named the right interface",
    )
    places = [text.index(part) for part in told]
    assert places == sorted(places)
    assert "Usual fixes for failures of this kind" not in text


def test_without_a_known_failure_usual_fixes_are_listed_and_a_guess_is_called_one() -> None:
    text = of(a_triage(findings=[])).split("<details>")[0]
    assert "Usual fixes for failures of this kind" in text
    assert "12 of 31" not in text, "counts are for the fold"
    guess = of(a_triage(findings=[a_finding(sure=False, p=0.4)]))
    assert "Usual fixes for failures of this kind" not in guess
    assert guess.index("No known failure clearly matches.") < guess.index("### Possibly: ")
    bare = of(a_triage(findings=[a_finding(sure=False, p=0.4, lines=[])]))
    assert "Usual fixes for failures of this kind" in bare
    assert "clearly matches" not in of(a_triage(findings=[a_finding(sure=False, p=0.6)]))
    assert "12 of 31" in of(a_triage(findings=[]))
    assert "No known failure matches." in of(a_triage(findings=[]))
    assert "No known failure" not in of(a_triage(findings=[], type=axis(("howto", 0.8))))


def test_usual_fixes_need_a_claimed_symptom_or_cause() -> None:
    claimed = a_triage(findings=[])
    unclaimed = {
        axis: getattr(claimed, axis).model_copy(update={"answer": []}) for axis in ("symptom", "cause")
    }
    assert usual_fixes(claimed, 2)
    assert usual_fixes(claimed.model_copy(update=unclaimed), 2) == []
    no_fault = claimed.type.model_copy(update={"answer": []})
    assert usual_fixes(claimed.model_copy(update={"type": no_fault}), 2) == []


def test_the_script_is_there_when_wanted() -> None:
    assert 'print("probe")' in of(a_triage(), script=True)
    assert 'print("probe")' not in of(a_triage())


@pytest.mark.parametrize(
    "odd", ["@everyone", "#12", "<img src=x>", "![x](https://evil.example/p.png)", "```\n# x"]
)
def test_text_of_a_report_stands_in_code(odd: str) -> None:
    quoted = [QuotedLine(line=1, text=odd, role="root")]
    evidence = a_triage().evidence.model_copy(
        update={"lines": quoted, "notes": [odd], "versions": {"torch": odd}}
    )
    case = a_triage().neighbours[0].model_copy(update={"title": odd, "resolution": odd})
    text = of(
        a_triage(evidence=evidence, findings=[a_finding(lines=quoted)], neighbours=[case], measured=[odd])
    )
    from markdown_it import MarkdownIt

    shown = [
        child
        for token in MarkdownIt("commonmark").parse(text)
        for child in (token.children or [])
        if child.type in ("text", "image", "html_inline")
    ]
    assert not any(word in child.content for child in shown for word in ("@everyone", "#12", "<img", "evil"))
    assert not any(child.type == "image" for child in shown)
