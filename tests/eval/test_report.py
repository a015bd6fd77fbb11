import re
from collections.abc import Sequence
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path

from eval.ceiling import shipped_ceiling
from eval.compare import changed
from eval.origin import Part, data_of, issue_url, keep_part, origin_of, read_parts
from eval.protocol import Predictions
from eval.report import comparison_html, failures, report_html
from eval.summary import summarise
from tests.eval.factory import MADE, predicted, run_of

HOSTILE = "<script>alert(1)</script> & \"quotes\" 'too' </svg>"


class Seen(HTMLParser):
    """Tags and attributes of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value or "" for name, value in attributes if name in ("src", "href", "data", "action")]


def run(title: str = "a title") -> Predictions:
    cases = [
        predicted(
            f"o/r#{n}",
            ["A.1"] if n % 2 else ["D.1.2"],
            {"A.1": 0.5 + n / 100, "D.1.2": 0.5 - n / 100},
            title=title,
            near=[["A.1"]],
            answer_set=["A.1"],
        )
        for n in range(40)
    ]
    return run_of(cases)


def page(*runs: Predictions, parts: Sequence[Part] = ()) -> str:
    summaries = [summarise(one, 50) for one in runs]
    return report_html(list(runs), summaries, shipped_ceiling(), origin=MADE, parts=parts)


def test_the_page_needs_nothing_from_elsewhere() -> None:
    seen = Seen()
    html = page(run())
    seen.feed(html)
    assert not {"script", "link", "img", "iframe"} & set(seen.tags)
    # Links lead to issues or within the page; nothing is loaded.
    assert all(link.startswith(("#", "https://github.com/")) for link in seen.links)
    assert "@import" not in html and "url(" not in html


def test_plots_stand_in_the_page() -> None:
    seen = Seen()
    seen.feed(page(run()))
    assert seen.tags.count("svg") == 4


def test_texts_of_reports_are_shown_and_never_run() -> None:
    seen = Seen()
    html = page(run(HOSTILE))
    seen.feed(html)
    assert "script" not in seen.tags
    assert "&lt;script&gt;alert(1)" in html


def test_systems_stand_side_by_side() -> None:
    html = page(run(), run().model_copy(update={"system": "majority"}))
    assert "Systems side by side" in html and "<td>majority</td>" in html


def test_it_reads_in_the_dark() -> None:
    assert "prefers-color-scheme: dark" in page(run())


def test_failures_are_confident_and_of_different_kinds() -> None:
    made = [predicted(f"o/r#{n}", ["A.1"], {"B.1": 0.9 - n / 1000, "A.1": 0.01}) for n in range(20)]
    made.append(predicted("o/r#99", ["C.1"], {"B.1": 0.2, "C.1": 0.1}))
    chosen = failures(run_of(made), shipped_ceiling())
    assert len(chosen) == 10
    assert [one.case.id for one in chosen[:3]] == ["o/r#0", "o/r#99", "o/r#1"]
    assert chosen[0].claimed and "claimed, and wrong" in chosen[0].remarks
    assert "the label is ranked second" in chosen[0].remarks


def test_a_run_without_failures_says_so() -> None:
    html = page(run_of([predicted("o/r#1", ["A.1"], {"A.1": 1.0})]))
    assert "There are none" in html


def test_types_alone_are_told_by_repository() -> None:
    cases = [
        predicted(
            f"{'ab'[n % 2]}/r#{n}", ["fault" if n % 3 else "howto"], {"fault": 0.9, "howto": 0.1}, axis="type"
        )
        for n in range(12)
    ]
    only_types = run_of(cases).model_copy(update={"types_only": True})
    summary = summarise(only_types, 50)
    # In both repositories 4 of 6 are faults, all found: F1 of faults 0.8, of how-tos 0.
    assert summary.type_f1_by_repository == {"a/r": 0.4, "b/r": 0.4}
    assert summary.mean_type_f1 == 0.4
    assert "a/r 0.400" in page(only_types)


def test_the_page_says_when_by_what_and_on_which_data_it_was_made() -> None:
    html = page(run())
    for value in (MADE.made, MADE.version, MADE.commit, MADE.command, MADE.data):
        assert value in html


def test_an_origin_names_the_command_the_version_and_the_commit() -> None:
    made = origin_of(["eval", "--data", "my file.jsonl"], "mine", datetime(2026, 11, 23, 10, 5, tzinfo=UTC))
    assert made.command == "bot eval --data 'my file.jsonl'"
    assert made.made == "2026-11-23 10:05 UTC"
    assert made.version.startswith("distriage")
    assert re.fullmatch(r"([0-9a-f]{40}(-dirty)?)?", made.commit)


def test_the_data_s_digest_tells_other_labels_and_not_another_order() -> None:
    cases = run().cases
    relabelled = [cases[0].model_copy(update={"labels": {"symptom": ["C.1"]}}), *cases[1:]]
    assert data_of([], cases) == data_of([], cases[::-1])
    assert data_of([], cases) != data_of([], relabelled)


def test_failures_and_near_cases_lead_to_their_issues() -> None:
    html = page(run())
    assert 'href="https://github.com/o/r/issues/38"' in html
    assert issue_url("o/r#12") == "https://github.com/o/r/issues/12"
    assert issue_url('x"onmouseover=1#2') == "" == issue_url("report.md")


def test_the_confusion_matrix_is_square_and_circles_say_how_many_cases() -> None:
    made = [predicted(f"o/r#{n}", ["A.1"], {"B.1": 0.7, "A.1": 0.2}) for n in range(9)]
    html = page(run_of(made))
    frame = re.search(r'width="([\d.]+)" height="([\d.]+)" class="frame"', html)
    assert frame and frame[1] == frame[2] == "60.0"
    assert ">n=9<" in html


def test_the_axes_of_all_plots_of_one_kind_are_the_same() -> None:
    two = [
        one.model_copy(
            update={
                "labels": {**one.labels, "type": ["fault"]},
                "axes": {**one.axes, "type": run().cases[0].axes["symptom"].model_copy(
                    update={"ranking": [("fault", 0.9)], "answer": ["fault"], "answer_set": []}
                )},
            }
        )
        for one in run().cases
    ]  # fmt: skip
    plots = re.findall(r"<title>Risk-coverage curve.*?</svg>", page(run_of(two)))
    tops = [re.findall(r'class="tick end">([\d.]+)<', plot)[-1] for plot in plots]
    assert len(tops) == 2 and len(set(tops)) == 1 and float(tops[0]) > 0


def test_other_measurements_in_the_folder_are_shown_with_their_own_origin(tmp_path: Path) -> None:
    own = MADE.model_copy(update={"command": "bot eval duplicates tracker.jsonl --report out/"})
    part = Part(
        title="Duplicates", notes=["8 reports."], head=["", "R@1"], rows=[["distriage", "0.52"]], origin=own
    )
    keep_part(part, "duplicates", tmp_path / "out")
    assert read_parts(tmp_path / "out") == [part]
    html = page(run(), parts=[part])
    assert "8 reports." in html and "<td>0.52</td>" in html and own.command in html


def test_two_runs_are_compared_on_a_page_with_the_cases_that_moved() -> None:
    a = run()
    gained = [
        predicted(case.id, case.labels["symptom"], {case.labels["symptom"][0]: 0.9}) for case in a.cases[:10]
    ]
    b = a.model_copy(update={"cases": [*gained, *a.cases[10:]], "origin": MADE})
    moved = changed(a, b)
    assert [(one.id, one.a, one.b, one.better) for one in moved["symptom"]] == [
        (f"o/r#{n}", "A.1", "D.1.2", True) for n in (0, 2, 4, 6, 8)
    ]
    html = comparison_html(a, b, MADE)
    seen = Seen()
    seen.feed(html)
    assert not {"script", "link", "img"} & set(seen.tags)
    assert "https://github.com/o/r/issues/8" in html and "5 only B, 0 only A" in html
    assert "does not say when" in html and MADE.commit in html
