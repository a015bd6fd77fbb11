"""What a replay would have written and what it says to switch on: as of its time, and with figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import date, timedelta

import pytest

from bot.history.label_store import Labelled
from bot.history.records import KeptIssue, LabelChange, Outcome
from bot.history.replay.advice import advice_of
from bot.history.replay.comments import Written
from bot.history.replay.labels import LabelRow, LabelSummary, labels_summary
from bot.history.replay.summary import Summary, midnight, replayed, summary
from bot.history.replay.told import told
from bot.history.search import still_open
from bot.ports import CoreFailed
from eval.history import Figures, figures
from eval.metrics import Estimate, wilson
from knowledge.findings.failure import load_catalogue
from knowledge.report import Report
from knowledge.triage import QuotedLine, Triage, VersionConflict
from knowledge.versions import load_facts
from tests.bot.fake_core import a_finding, a_triage
from tests.bot.history.memory_history import MemoryHistory
from tests.knowledge.history.labelled import examples
from tests.knowledge.history.tiny import AGAIN, DAY_ONE, OTHERS, made

NAME = "acme/train"
WEB = "https://github.example"
ENTRY = next(iter(load_catalogue()))
FACT = load_facts()[0]
CLOSED = Outcome(
    False, "closed", "completed", DAY_ONE + timedelta(days=90), closed_by="#1301", released="v0.9.2"
)


def history(
    outcomes: dict[str, Outcome],
    told: dict[str, tuple[str, ...] | None],
    conflicts: dict[str, tuple[str, ...]] | None = None,
) -> Written:
    """A history of the tiny reports; the last is the second again, word for word, and its copy is of 2025."""
    store = MemoryHistory()
    repo = store.begin(NAME, "words", 1, 1)
    copied = replace(AGAIN, id="7", opened=DAY_ONE + timedelta(days=300))
    for post, record in zip([*OTHERS, AGAIN, copied], made([*OTHERS, AGAIN, copied]), strict=True):
        record = replace(record, told=told.get(post.id, ()), conflicts=(conflicts or {}).get(post.id, ()))
        out = outcomes.get(post.id, still_open())
        issue = KeptIssue(post.id, post.title, "", "h", post.opened, out, record, text=post.body)
        store.save_page(repo.key, [issue])
    return Written(store, repo, WEB)


def made_of(written: Written, since: date | None = None, labels: LabelSummary | None = None) -> Summary:
    return summary(written, replayed(written.store, written.repo), labels, since)


def test_a_comment_says_how_an_earlier_issue_stood_at_the_time() -> None:
    found = made_of(history({"6": CLOSED}, {}), since=date(2024, 6, 1))
    [comment] = found.comments
    assert (comment.day, comment.issue.name, comment.issue.url) == (
        "2025-02-25",
        "#7",
        f"{WEB}/{NAME}/issues/7",
    )
    assert f"`{NAME}#6`" in comment.text and "It was closed by `#1301`, released in 0.9.2" in comment.text
    assert comment.later == []
    late = replace(CLOSED, closed_at=DAY_ONE + timedelta(days=400))
    [comment] = made_of(history({"6": late}, {}), since=date(2024, 6, 1)).comments
    assert "It is still open." in comment.text and "#1301" not in comment.text
    assert comment.later == ["#6 was later closed by `#1301`, released in 0.9.2."]


def test_known_failures_count_where_it_is_known_whether_they_were_told() -> None:
    found = made_of(history({}, {"1": (ENTRY,), "3": (ENTRY, "gone"), "4": None}))
    assert (found.failures.looked, found.failures.unknown, found.failures.named) == (6, 1, 2)
    assert found.failures.share == "33.3% (9.7–70.0%)", "Wilson's"
    [row] = found.failures.rows
    assert (row.id, row.count, [issue.name for issue in row.issues]) == (ENTRY, 2, ["#3", "#1"])
    texts = {comment.issue.name: comment.text for comment in found.comments}
    entry = load_catalogue()[ENTRY]
    assert f"This looks like a known failure: **{entry.title}**" in texts["#1"].replace("\\", "")
    assert found.commented == len(found.comments) == 4, "two of them for an earlier issue"
    page = told(found, 1)
    assert page.count("\n### ") == 1 and "... and 3 older ones" in page
    assert "1 issue was read by an older version" in page and "backfill --again" in page
    unread = made_of(history({}, {str(n): None for n in range(1, 9)}))
    assert unread.failures.looked == 0
    assert "No issue could be looked at yet." in told(unread, 1)


def quoting(report: Report) -> Triage:
    """A triage that quotes the report's own first line."""
    line = QuotedLine(line=1, text=report.body.splitlines()[0], role="root")
    found = a_finding(id=ENTRY, title="As fitted to the report", lines=[line])
    conflict = VersionConflict(id=FACT.id, text=FACT.text, source=FACT.source, explains_line=1)
    evidence = a_triage(report).evidence.model_copy(update={"lines": [line], "conflicts": [conflict]})
    return a_triage(report, findings=[found], evidence=evidence)


def test_where_texts_are_kept_a_comment_quotes_the_line_that_it_rests_on() -> None:
    asked: list[Report] = []

    def triage(report: Report) -> Triage:
        asked.append(report)
        return quoting(report)

    written = history({}, {"1": (ENTRY,), "3": (ENTRY,)})
    texts = {one.issue.name: one for one in made_of(replace(written, triage=triage)).comments}
    assert f"line 1: {OTHERS[2].body}" in texts["#3"].text and "As fitted to the report" in texts["#3"].text
    assert texts["#3"].quoted and not texts["#7"].quoted, "an earlier issue's comment quotes nothing"
    assert {(one.id, one.opened) for one in asked} == {
        (f"{NAME}#1", "2024-05-01"),
        (f"{NAME}#3", "2024-05-03"),
    }
    written.store.forget_texts()
    bare = {one.issue.name: one for one in made_of(replace(written, triage=triage)).comments}
    assert "line 1" not in bare["#3"].text and not bare["#3"].quoted
    assert load_catalogue()[ENTRY].title in bare["#3"].text.replace("\\", "")


def test_a_text_over_which_the_core_fails_is_as_if_none_were_kept() -> None:
    def fail(report: Report) -> Triage:
        raise CoreFailed("died")

    [comment, *_] = made_of(replace(history({}, {"3": (ENTRY,)}), triage=fail)).comments[::-1]
    assert comment.failures == 1 and not comment.quoted


def test_a_version_conflict_that_explains_an_error_is_a_reason_to_comment() -> None:
    written = history({}, {"4": (ENTRY,)}, {"3": (FACT.id,), "4": (FACT.id,), "5": ("gone",)})
    found = made_of(written)
    assert (found.commented, found.failures.named, found.failures.conflicts) == (4, 1, 1)
    texts = {one.issue.name: one for one in found.comments}
    assert "([source](" in texts["#3"].text and texts["#3"].about == "version conflict"
    assert texts["#4"].about == "known failure; version conflict"
    assert "Version conflicts: below 1 more." in told(found, 0)
    assert found.advice.choices[2].verdict == "read first"
    quoted = {one.issue.name: one.text for one in made_of(replace(written, triage=quoting)).comments}
    assert f"line 1: {OTHERS[2].body}" in quoted["#3"]
    assert quoted["#4"].count("line 1: ") == 1, "the known failure quotes it already"


def test_a_period_counts_only_what_was_opened_in_it_and_keeps_what_was_before() -> None:
    written = history({}, {"1": (ENTRY,)})
    whole, late = made_of(written), made_of(written, since=date(2025, 2, 1))
    assert (whole.since, whole.reports, whole.before) == ("2024-05-01", 7, 0)
    assert (late.reports, late.before, late.commented, late.failures.named) == (1, 6, 1, 0)
    assert late.heading == "Had distriage been on since February 1, 2025"
    assert [month.month for month in late.months] == ["2025-02"]
    assert Summary.of_json(asdict(late)) == late
    assert Summary.of_json({"name": NAME}) is None, "another version's"
    none = made_of(written, since=date(2026, 1, 1))
    assert (none.reports, none.comments, none.spoken) == (0, [], "–")


def test_all_alike_is_no_certainty() -> None:
    written = history({}, {})
    [one] = [r for r in replayed(written.store, written.repo) if r.record.id == "7"]
    one = replace(one, marked=(True,) * len(one.near), has_earlier=True)
    numbers = figures([one], 0.0)
    assert numbers.coverage.value == 1.0 and (numbers.coverage.low or 1.0) < 0.5


def shown(right: int, of: int) -> Figures:
    return Figures(200, 30, of, wilson(right, of), wilson(right, 30))


def with_labels(*names: str) -> LabelSummary:
    rows = [LabelRow(name, 20, "0.95 (0.76–0.99)", "0.50", "0%", True, (0.95, 0.76, 0.99)) for name in names]
    return LabelSummary(100, 50, "", 0, "0.95", "0.40", rows)


@pytest.mark.parametrize(
    ("labels", "earlier", "told", "verdicts", "proven", "agreed"),
    [
        (with_labels("bug"), shown(4, 12), 0, "switch on, read first, leave off", "label", "both"),
        (with_labels("bug"), shown(12, 12), 0, "switch on, switch on, leave off", "both", ""),
        (None, shown(12, 12), 0, "leave off, switch on, leave off", "comment", ""),
        (None, shown(12, 12), 3, "leave off, switch on, read first", "", "comment"),
        (None, shown(9, 9), 0, "leave off, read first, leave off", "", "comment"),
        (with_labels(), shown(0, 0), 0, "leave off, leave off, leave off", "", ""),
    ],
)
def test_what_to_switch_on_follows_from_the_figures(
    labels: LabelSummary | None, earlier: Figures, told: int, verdicts: str, proven: str, agreed: str
) -> None:
    written = history({}, dict.fromkeys("123"[:told], (ENTRY,)))
    found = replayed(written.store, written.repo)
    made = advice_of(labels, earlier, written.failures(found))
    assert ", ".join(choice.verdict for choice in made.choices) == verdicts
    for config, mode in ((made.proven, proven), (made.agreed, agreed)):
        assert config.startswith(f"mode: {mode}\n") if mode else not config
    if labels and labels.rows:
        assert 'own_labels:\n  only: ["bug"]' in (made.proven or made.agreed)


def labelled(after: timedelta, by: str = "ada") -> list[Labelled]:
    """Issues whose labels were set so long after they were opened."""

    def issue(n: int, labels: Sequence[str]) -> Labelled:
        one = EXAMPLES[n]
        assert one.opened is not None
        changes = tuple(LabelChange(label, True, by, True, one.opened + after) for label in labels)
        return Labelled(one.id, one.opened, one.traits, changes, ())

    return [issue(n, sorted(one.labels)) for n, one in enumerate(EXAMPLES)]


EXAMPLES = examples(200)


def test_a_label_teaches_only_once_it_is_set() -> None:
    in_time = labels_summary(labelled(timedelta(hours=1)))
    assert [row.set > 0 for row in in_time.rows] == [True] * len(in_time.rows)
    assert "by then" in in_time.how
    too_late = labels_summary(labelled(timedelta(days=9_000)))
    assert {row.set for row in too_late.rows} == {0} and {row.silent for row in too_late.rows} == {"100%"}
    assert "not known" in labels_summary(labelled(timedelta(0), by="")).how


def test_labels_are_tried_from_a_day_on() -> None:
    opened = EXAMPLES[150].opened
    assert opened is not None
    tried = labels_summary(labelled(timedelta(hours=1)), midnight(opened.date()))
    assert 50 <= tried.tried <= 55 and tried.rows[0].set > 0
    assert labels_summary(labelled(timedelta(hours=1)), midnight(date(2040, 1, 1))).tried == 0


def test_an_interval_is_said_with_each_share() -> None:
    found = Estimate(0.5, 0.2, 0.8, 10)
    made = advice_of(None, Figures(9, 3, 9, found, found), history({}, {}).failures([]))
    assert made.choices[1].reason.count("0.50 (0.20–0.80)") == 2
