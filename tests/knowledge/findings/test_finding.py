"""Which matches are shown, and how their lines are quoted."""

from __future__ import annotations

from knowledge.concluding import around, findings_of
from knowledge.evidence import read_report
from knowledge.findings.failure import Failure
from knowledge.findings.matcher import Match
from knowledge.report import Report
from knowledge.signatures import SignatureTable

READING = read_report(
    Report("r", "Port problem", "It fails:\n\n```\nRuntimeError: Address already in use\n```\n"),
    SignatureTable([]),
)


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


def test_none_is_shown_beside_one_ten_times_as_probable_nor_below_the_least() -> None:
    assert [f.id for f in findings_of([match("a", 0.6), match("b", 0.05)], READING)] == ["a"]
    assert [f.id for f in findings_of([match("a", 0.3), match("b", 0.05)], READING)] == ["a", "b"]
    assert [f.id for f in findings_of([match("a", 0.03)], READING)] == ["a"]
    assert findings_of([match("a", 0.03)], READING, least=0.05) == []


def test_a_near_miss_of_a_sure_finding_is_shown_only_with_a_line_of_its_own() -> None:
    sure = match("a", 0.95, sure=True, near=("b",))
    assert [f.id for f in findings_of([sure, match("b", 0.4)], READING)] == ["a"]
    assert [f.id for f in findings_of([sure, match("b", 0.4, lines=(4,))], READING)] == ["a", "b"]


def test_a_long_line_is_cut_between_words_around_what_tells() -> None:
    text = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi"
    start = text.index("theta")
    assert around(text, start, start + 5, 26) == "…eta theta iota kappa…"
    assert around(text, 0, 5, 26) == "alpha beta gamma delta…"
    assert around(text, len(text) - 2, len(text), 26).endswith("omicron pi")
    assert around("short", 0, 3, 26) == "short"
