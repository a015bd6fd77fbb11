"""The comment in a real Chromium, as wide and as large as GitHub sets it: one screen before the folds."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from bot.github.offline import simulate
from bot.runtime.core import NamedCore
from knowledge.engine import Knowledge, triage
from knowledge.report import Report
from knowledge.triage import Triage
from tests.browser.chromium import Page

SCREEN = 860
"""Pixels of height that a 1080-line screen leaves below the bars of browser and page."""
STYLE = """
body { margin: 0 } article { width: 746px; font: 14px/1.5 sans-serif }
p, ul, ol, pre { margin: 0 0 16px } ul, ol { padding-left: 2em } li + li { margin-top: .25em }
pre { padding: 16px; overflow: auto; font: 85%/1.45 monospace } code { font: 85% monospace; padding: .2em .4em }
"""


class Core:
    def __init__(self, knowledge: Knowledge) -> None:
        self._knowledge = knowledge

    def triage(self, report: Report) -> Triage:
        return triage(report, self._knowledge)


def height(page: Page, comment: str) -> float:
    """Pixels that the comment takes before its folds."""
    html = MarkdownIt("commonmark").render(comment.split("<details>")[0])
    page.value(f"document.head.innerHTML = {json.dumps(f'<style>{STYLE}</style>')}")
    page.value(f"document.body.innerHTML = {json.dumps(f'<article>{html}</article>')}")
    return float(page.value("document.querySelector('article').getBoundingClientRect().height"))


@pytest.mark.shared
def test_comments_on_real_reports_fit_one_screen_before_the_folds(
    page: Page, knowledge: Knowledge, shared: Path
) -> None:
    with gzip.open(shared / "real" / "reports.jsonl.gz", "rt") as lines:
        rows = [json.loads(line) for number, line in enumerate(lines) if number % 60 == 7]
    core = NamedCore(Core(knowledge), knowledge.taxonomy)
    heights = {}
    for row in rows:
        issue = {"number": 1, "title": row["title"], "body": row["body"], "user": {"login": "u"}}
        payload = {"action": "opened", "repository": {"id": 1, "full_name": "o/r"}, "issue": issue}
        found = simulate(payload, core, "mode: comment\ncomment_on: always\n")
        if found.comment:
            heights[row["id"]] = height(page, found.comment)
    assert len(heights) > len(rows) / 2
    print(f"{len(heights)} comments, heights {sorted(map(round, heights.values()))}")
    assert {id_: h for id_, h in heights.items() if h > SCREEN} == {}
