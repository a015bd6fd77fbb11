"""What advice needs is compared with the reporter's release, or with the time of the report."""

from __future__ import annotations

from dataclasses import replace

import pytest

from knowledge.evidence import Reading, read_report
from knowledge.findings.failure import load_catalogue
from knowledge.findings.releases import (
    fits_time,
    has_already,
    has_release,
    in_order,
    named,
    newer_release,
    released,
    written,
)
from knowledge.report import Report
from tests.knowledge.findings.tiny import TABLE


def of(text: str, opened: str = "") -> Reading:
    return read_report(replace(Report("r", "It fails", text), opened=opened), TABLE)


def test_release_dates_grow_with_releases() -> None:
    assert in_order()


@pytest.mark.parametrize(
    ("clause", "report", "fits"),
    [
        ("Set `static_graph=True`.", "PyTorch version: 1.7.1", False),
        ("Set `static_graph=True`.", "PyTorch version: 1.11.0", True),
        ("Set `static_graph=True`.", "two nodes", True),
        ("Use `self.log(..., sync_dist=True)`.", "pytorch-lightning==0.7.1", False),
        ("Use `self.log(..., sync_dist=True)`.", "pytorch-lightning==1.3.0", True),
        ("Since torch 2.6 `torch.load` reads weights alone.", "torch==1.13.1", False),
        ("PyTorch 1.10 and older need it.", "torch==1.13.1", True),
        # Somebody may upgrade to what exists.
        ("Upgrade to DeepSpeed 0.14.1.", "deepspeed==0.12.0", True),
    ],
)
def test_a_feature_must_exist_in_the_release_that_the_report_states(
    clause: str, report: str, fits: bool
) -> None:
    assert fits_time(clause, of(report)) is fits


def test_what_came_out_after_the_report_does_not_fit_even_as_an_upgrade() -> None:
    assert not fits_time("Upgrade to DeepSpeed 0.14.1.", of("It hangs.", opened="2021-03-04"))
    assert fits_time("Upgrade to DeepSpeed 0.14.1.", of("It hangs.", opened="2024-09-04"))


def test_without_a_date_the_newest_release_that_is_stated_dates_the_report() -> None:
    assert written(of("torch==1.4.0")) == "2021-01"
    assert not fits_time("Set `strategy=...` (Lightning).", of("torch==1.4.0"))
    assert written(of("no version")) is None


def test_a_release_between_two_known_ones_counts_as_the_one_before() -> None:
    needs = list(named("Run `pip install 'torch>=1.12.1'`."))
    assert [(n.component, str(n.release), n.upgrade) for n in needs] == [("torch", "1.12.1", True)]
    assert released("torch", needs[0].release) == "2022-06"


def test_an_upgrade_to_what_the_reporter_has_is_no_advice() -> None:
    assert has_already('Run `pip install "accelerate>=1.3.0"`.', of("accelerate==1.4.0"))
    assert not has_already('Run `pip install "accelerate>=1.3.0"`.', of("accelerate==0.34.0"))
    assert not has_already('Run `pip install "accelerate>=1.3.0"`.', of("no version"))


def test_fixed_in_is_compared_with_the_reporters_release() -> None:
    entry = load_catalogue()["zero3-pop-from-empty-deque"]
    assert has_release(entry.fixed_in, of("deepspeed==0.19.2"))
    assert newer_release(entry.fixed_in, of("deepspeed==0.16.0"))
    assert not newer_release(entry.fixed_in, of("no version"))
