"""Which matches are shown, and how their lines are quoted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from knowledge.concluding import conclude_from, findings_of
from knowledge.evidence import read_report
from knowledge.evidence.units import cut
from knowledge.findings.failure import Failure
from knowledge.findings.matcher import Match
from knowledge.judging.axes import JUDGED, Judged, axis_ids
from knowledge.judging.judge import Judgement
from knowledge.report import Report
from knowledge.signatures import SignatureTable
from knowledge.taxonomy import load_taxonomy

READING = read_report(
    Report("r", "Port problem", "It fails:\n\n```\nRuntimeError: Address already in use\n```\n"),
    SignatureTable([]),
)

TOLD = read_report(Report("r", "Port problem", "The second job fails, I think."), SignatureTable([]))


def entry(id: str, confused_with: tuple[str, ...] = ()) -> Failure:
    return Failure(
        id=id, area="nccl", title=id, answer="Do.", frameworks=(), symptom=("B.1",), cause=("other",),
        fix=("other",), sources=("https://a.org", "own check"), patterns=("already in use",),
        confused_with=confused_with,
    )  # fmt: skip


def match(
    id: str, p: float, *, sure: bool = False, lines: tuple[int, ...] = (), near: tuple[str, ...] = ()
) -> Match:
    return Match(entry(id, near), p, lines, (), sure)


def test_a_finding_quotes_the_line_that_tells() -> None:
    (finding,) = findings_of([match("a", 0.95, sure=True, lines=(4,))], READING)
    assert [(q.line, q.text) for q in finding.lines] == [(4, "RuntimeError: Address already in use")]
    assert finding.sources == ["https://a.org"]


def test_at_most_three_are_shown_two_of_them_sure() -> None:
    shown = findings_of([match(f"m{n}", 0.95 - n / 100, sure=True) for n in range(4)], READING)
    assert [f.sure for f in shown] == [True, True, False]


def test_none_is_shown_beside_one_ten_times_as_probable() -> None:
    assert [f.id for f in findings_of([match("a", 0.6), match("b", 0.05)], TOLD)] == ["a"]
    assert [f.id for f in findings_of([match("a", 0.3), match("b", 0.05)], TOLD)] == ["a", "b"]


def test_a_guess_has_to_be_likelier_where_the_log_shows_another_error() -> None:
    assert [f.id for f in findings_of([match("a", 0.03)], TOLD)] == ["a"]
    assert findings_of([match("a", 0.01)], TOLD) == []
    assert findings_of([match("a", 0.03)], READING) == []
    assert [f.id for f in findings_of([match("a", 0.03)], READING, every=True)] == ["a"], "for an LLM to read"
    hung = "It hangs:\n\n```\nRuntimeError: Timed out after 600 s\n```\n"
    timed_out = read_report(Report("r", "Hang", hung), SignatureTable([]))
    assert [f.id for f in findings_of([match("a", 0.03)], timed_out)] == ["a"], "an error of any cause"
    assert [f.id for f in findings_of([match("a", 0.2)], READING)] == ["a"]
    no_line_to_show = replace(match("a", 0.03), failure=replace(entry("a"), patterns=()))
    assert [f.id for f in findings_of([no_line_to_show], READING)] == ["a"]
    assert [f.id for f in findings_of([match("a", 0.01, lines=(4,))], READING)] == ["a"], "a line tells"


def test_a_near_miss_of_a_sure_finding_is_shown_only_with_a_line_of_its_own() -> None:
    sure = match("a", 0.95, sure=True, near=("b",))
    assert [f.id for f in findings_of([sure, match("b", 0.4)], READING)] == ["a"]
    assert [f.id for f in findings_of([sure, match("b", 0.4, lines=(4,))], READING)] == ["a", "b"]
    also = match("b", 0.9, sure=True, lines=(4,))
    assert [f.sure for f in findings_of([sure, also], READING)] == [True, False]
    assert [f.sure for f in findings_of([match("a", 0.95, sure=True), also], READING)] == [True, True]


def test_a_guess_that_would_not_help_is_not_shown_and_a_line_that_tells_is() -> None:
    upgraded = replace(READING, prose="It used to work with the last release.")
    assert findings_of([match("a", 0.6)], upgraded) == []
    (told,) = findings_of([match("a", 0.95, sure=True, lines=(4,))], upgraded)
    assert not told.sure
    assert [f.id for f in findings_of([match("a", 0.6)], READING)] == ["a"]


def test_a_long_line_is_cut_between_words_around_what_tells() -> None:
    text = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi"
    start = text.index("theta")
    piece, telling = cut(text, start, 26)
    assert (piece, piece[telling:][:5]) == ("…eta theta iota kappa…", "theta")
    assert cut(text, 0, 26) == ("alpha beta gamma delta…", 0)
    assert cut(text, len(text) - 2, 26)[0].endswith("omicron pi")
    assert cut("short", 3, 26) == ("short", 3)


def test_a_line_that_is_not_there_is_not_quoted() -> None:
    (finding,) = findings_of([match("a", 0.95, sure=True, lines=(99, 4))], READING)
    assert [q.line for q in finding.lines] == [4]
    (untitled,) = findings_of([match("a", 0.95, lines=(0,))], replace(READING, report=Report("r", "", "x")))
    assert untitled.lines == []


def test_a_line_that_no_pattern_of_the_entry_explains_is_quoted_from_its_beginning() -> None:
    other = Match(replace(entry("a"), patterns=("broken pipe",)), 0.95, (4,), (), True)
    (finding,) = findings_of([other], READING)
    assert [q.text for q in finding.lines] == ["RuntimeError: Address already in use"]


def test_a_telltale_line_says_more_than_a_type_that_nobody_claims() -> None:
    taxonomy, unsure = load_taxonomy(), dict[Judged, Judgement]()
    for axis in JUDGED:
        ids = axis_ids(taxonomy, axis)
        unsure[axis] = Judgement(ids, np.full(len(ids), 1 / len(ids)), 1.01, 0.9)

    def found(one: Match) -> list[str]:
        made = conclude_from(
            READING, unsure, (), [one], "too_little", taxonomy, top=5, answered=(), measured=()
        )
        assert made.type.answer == []
        return [finding.id for finding in made.findings]

    assert found(match("a", 0.95, sure=True, lines=(4,))) == ["a"]
    assert found(match("a", 0.35, lines=(4,))) == []


def test_remedies_that_were_tried_are_left_out_and_the_rest_stays() -> None:
    body = "It fails:\n\n```\nRuntimeError: Address already in use\n```\n\nI tried `--master_port=29501`."
    reading = read_report(Report("r", "Port problem", body), SignatureTable([]))
    one = replace(
        entry("a"),
        answer="The port is taken. Pass `--master_port=29501`.",
        remedy=("Pass `--master_port=29501`.", "Stop the old job."),
    )
    (finding,) = findings_of([Match(one, 0.4, (4,), (), sure=False)], reading)
    assert finding.tried
    assert finding.remedy == ["Stop the old job."]
    (fresh,) = findings_of([Match(one, 0.4, (4,), (), sure=False)], READING)
    assert not fresh.tried
    assert fresh.remedy == list(one.remedy)


def test_the_command_that_fails_is_not_its_own_cure() -> None:
    body = "```\n$ pip install horovod\nRuntimeError: Address already in use\n```\n"
    reading = read_report(Report("r", "Install fails", body), SignatureTable([]))
    one = replace(entry("a"), remedy=("Run `pip install horovod`.", "Install CMake first."))
    (finding,) = findings_of([Match(one, 0.4, (3,), (), sure=False)], reading)
    assert finding.remedy == ["Install CMake first."]


def test_of_two_that_are_confused_the_one_whose_line_came_first_is_said() -> None:
    likelier = match("a", 0.97, sure=True, lines=(6,), near=("b",))
    earlier = match("b", 0.7, sure=True, lines=(4,))
    first = findings_of([likelier, earlier], READING)[0]
    assert (first.id, first.sure) == ("b", True)
    apart = findings_of([match("a", 0.97, sure=True, lines=(6,)), earlier], READING)
    assert apart[0].id == "a", "two failures that have nothing to do with each other: the likelier first"


def test_nothing_that_matches_is_no_finding() -> None:
    assert findings_of([], READING) == []
