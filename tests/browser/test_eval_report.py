"""The evaluation's page in a real Chromium, from a file, with no network."""

from __future__ import annotations

from pathlib import Path

import pytest

from eval.ceiling import shipped_ceiling
from eval.protocol import Predictions
from eval.report import comparison_html, report_html
from eval.summary import summarise
from tests.browser.chromium import Page
from tests.eval.factory import MADE, predicted, run_of

HOSTILE = "<script>document.title='run'</script><img src=x onerror=alert(1)>" + "w" * 300
KINDS = ("A.1", "A.2", "B.1", "D.1.2", "D.2.1")


def run(system: str) -> Predictions:
    cases = [
        predicted(
            f"o/r#{n}",
            [KINDS[n % 5]],
            {KINDS[n * n % 5]: 0.3 + n / 100, KINDS[n % 5] if n * n % 5 != n % 5 else "C.1": 0.1},
            answer_set=[KINDS[n % 5]],
            title=HOSTILE,
            near=[["A.1"], ["B.1"]],
        )
        for n in range(60)
    ]
    return run_of(cases, system)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    runs = [run("distriage"), run("tfidf")]
    made = tmp_path_factory.mktemp("report") / "report.html"
    summaries = [summarise(one, 100) for one in runs]
    made.write_text(report_html(runs, summaries, shipped_ceiling(), origin=MADE), "utf-8")
    made.with_name("comparison.html").write_text(comparison_html(*runs, MADE), "utf-8")
    return made


def test_it_opens_from_a_file_without_asking_for_anything(page: Page, file: Path) -> None:
    page.go(file.as_uri())
    assert page.value("document.title") == "How often distriage is right"
    assert page.value("performance.getEntriesByType('resource').length") == 0
    assert page.complaints == []


def test_plots_have_a_size_and_stay_in_the_page(page: Page, file: Path) -> None:
    page.go(file.as_uri())
    sizes = page.value("[...document.querySelectorAll('svg')].map(e => [e.clientWidth, e.clientHeight])")
    assert len(sizes) == 4
    assert all(width > 100 and height > 100 for width, height in sizes)
    assert page.value("document.documentElement.scrollWidth <= window.innerWidth")


def test_labels_do_not_run_out_of_their_plots(page: Page, file: Path) -> None:
    page.go(file.as_uri())
    outside = page.value(
        "[...document.querySelectorAll('svg')].flatMap(s => { const b = s.getBoundingClientRect();"
        " return [...s.querySelectorAll('text')].filter(t => { const r = t.getBoundingClientRect();"
        " return r.left < b.left - 1 || r.right > b.right + 1 || r.top < b.top - 1 || r.bottom > b.bottom + 1; })"
        ".map(t => t.textContent); })"
    )
    assert outside == []


def test_sections_fold_without_a_script(page: Page, file: Path) -> None:
    page.go(file.as_uri())
    assert page.value("document.querySelector('#axis-symptom svg').checkVisibility()") is True
    page.click("#axis-symptom summary")
    page.until("!document.querySelector('#axis-symptom svg').checkVisibility()")


def test_ten_failures_stand_there_with_their_evidence(page: Page, file: Path) -> None:
    page.go(file.as_uri())
    assert page.value("document.querySelectorAll('article.failure').length") == 10
    assert page.value("document.querySelectorAll('article.failure pre').length") == 10
    assert page.value("document.querySelectorAll('script, img').length") == 0


def test_a_comparison_stays_in_the_page_on_a_phone(page: Page, file: Path) -> None:
    page.see(390)
    page.go(file.with_name("comparison.html").as_uri())
    assert page.value("document.querySelectorAll('#differences tbody tr').length") == 2
    assert page.value("document.documentElement.scrollWidth <= window.innerWidth")
    assert page.complaints == []
