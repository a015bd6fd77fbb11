"""Whether probabilities say how often they come true: counted right, and true of the matcher as it ships."""

from __future__ import annotations

import math

import numpy as np
import pytest

from eval.findings import Seen, score_seen, see
from knowledge.engine import Knowledge
from knowledge.findings.failure import cited_issues, load_catalogue
from knowledge.report import issue_of
from knowledge.training.matching import calibration
from knowledge.training.records import failure_labels, shipped_records
from knowledge.training.reliability import reliability
from tests.knowledge.findings.test_learner import judged


def test_log_loss_is_that_of_what_came_true() -> None:
    found = reliability([0.9, 0.2], [True, False])
    assert found is not None
    assert found.log_loss == pytest.approx(-(math.log(0.9) + math.log(0.8)) / 2)
    assert (found.base, found.base_log_loss) == (0.5, pytest.approx(math.log(2)))


def test_the_calibration_error_weighs_each_tenth_of_the_scale_by_its_size() -> None:
    found = reliability([0.05] * 3 + [0.95], [False, False, True, False])
    assert found is not None
    assert [(b.mean, b.right, b.count) for b in found.bins] == [
        (pytest.approx(0.05), pytest.approx(1 / 3), 3),
        (0.95, 0.0, 1),
    ]
    assert found.ece == pytest.approx((abs(0.05 - 1 / 3) * 3 + 0.95) / 4)
    assert "0.95 said, 0.00 right, 1" in str(found)


def test_what_is_certain_and_wrong_costs_much_but_not_everything() -> None:
    found = reliability([1.0, 0.0], [False, True])
    assert found is not None and 10 < found.log_loss < 20
    assert reliability([], []) is None


def test_honest_probabilities_have_next_to_no_calibration_error_and_inflated_ones_do() -> None:
    random = np.random.default_rng(1)
    p = random.random(20_000)
    hits = (random.random(20_000) < p).tolist()
    honest, inflated = reliability(p.tolist(), hits), reliability(np.sqrt(p).tolist(), hits)
    assert honest is not None and inflated is not None
    assert honest.ece < 0.02 < 0.1 < inflated.ece
    assert honest.log_loss < inflated.log_loss < honest.base_log_loss


def test_calibration_counts_real_reports_alone_and_what_may_be_shown() -> None:
    reports = [judged("1", {"a"}), judged("2", set()), judged("3", {"b"}, real=False)]
    found = calibration(reports, [np.array([0.8, 0.005]), np.array([0.4, 0.1]), np.array([0.9, 0.9])])
    first, shown = found.values()
    assert first is not None and shown is not None
    assert (first.count, first.base) == (2, 0.5)
    assert (shown.count, shown.base) == (3, pytest.approx(1 / 3))


@pytest.fixture(scope="module", params=[4, pytest.param(1, marks=pytest.mark.long)])
def seen(request: pytest.FixtureRequest, knowledge: Knowledge) -> list[Seen]:
    """Every fourth case of the benchmark, of which the matcher learned nothing; all in `make test-long`."""
    labels, cited = failure_labels(), cited_issues(load_catalogue().values())
    reports = [record.report for record in shipped_records() if record.source in ("human", "pass")]
    scored = [r for r in reports if r.id in labels and issue_of(r.id) not in cited]
    return [see(r, labels[r.id], knowledge) for r in scored[:: request.param]]


def test_the_shipped_probabilities_are_calibrated_on_cases_that_taught_nothing(seen: list[Seen]) -> None:
    told = score_seen(seen).probabilities
    assert told is not None
    assert told.log_loss < 0.9 * told.base_log_loss, told
    assert told.ece < 0.08, told


def test_what_is_said_of_these_cases_is_right(seen: list[Seen]) -> None:
    score = score_seen(seen)
    assert score.precision.value is None or score.precision.value >= 0.9
    assert score.recall_at_3.value is not None and score.recall_at_3.value >= 0.7
