"""The measurement of `comment_on` on the panel: what is counted, and that no level posts less than the one before."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

from bot.github.offline import Simulation
from bot.render.comment import Level
from knowledge.engine import Knowledge
from tests.bot.github.panel import core_of, figures_of, panel, summed_up


def test_posted_comments_are_counted_with_their_length_before_the_folds() -> None:
    long = "One line.\n\n<details><summary>More</summary>\n\nAll of it.</details>"
    found = [
        Simulation("known_failure", "comment", True, comment=long),
        Simulation("claim", "comment", True, comment="A claim."),
        Simulation("claim", "comment", True, comment="Another claim."),
        Simulation("nothing_specific", "comment", False),
    ]
    figures = summed_up("claims", found)
    assert (figures.posted, figures.reports) == (3, 4)
    assert (figures.visible, figures.whole) == (9, 14)
    assert str(figures) == "| `claims` | 3 of 4 (75%) | 9 | 14 | claim 2, known_failure 1 |"


def test_nothing_posted_has_no_length() -> None:
    figures = summed_up("findings", [Simulation("not_a_report", "comment", False)])
    assert (figures.posted, figures.visible, figures.whole) == (0, 0, 0)


@pytest.mark.shared
def test_each_level_posts_where_the_one_before_does(knowledge: Knowledge, shared: Path) -> None:
    core, issues = core_of(knowledge), panel(shared)[::6]
    figures = [figures_of(level, issues, core) for level in get_args(Level)]
    posted = [one.posted for one in figures]
    assert posted == sorted(posted) and posted[0] < posted[-1]
    assert len(issues) == 10
