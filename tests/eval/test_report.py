from html.parser import HTMLParser

from eval.ceiling import shipped_ceiling
from eval.protocol import Predictions
from eval.report import failures, report_html
from eval.summary import summarise
from tests.eval.factory import predicted, run_of

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


def page(*runs: Predictions) -> str:
    return report_html(list(runs), [summarise(one, 50) for one in runs], shipped_ceiling())


def test_the_page_needs_nothing_from_elsewhere() -> None:
    seen = Seen()
    html = page(run())
    seen.feed(html)
    assert not {"script", "link", "img", "iframe"} & set(seen.tags)
    assert not seen.links
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
