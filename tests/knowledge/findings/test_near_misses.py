"""What only looks like a known failure, and posts of other fields, never lead to its being said unasked."""

from __future__ import annotations

import random
import tomllib
from pathlib import Path

import pytest

from knowledge.engine import Knowledge, triage
from knowledge.findings.failure import load_catalogue
from knowledge.findings.source import Example, entry_files, read_examples
from knowledge.findings.unasked import of_another_field
from knowledge.report import Report
from knowledge.training.train import other_field_records
from tests.knowledge.findings.tiny import report

POSTS = tomllib.loads((Path(__file__).parent / "data" / "other_fields.toml").read_text("utf-8"))["post"]
SAMPLE = 150
SEED = 8
OTHERS = 0.06
"""Share of near misses on which an entry is said that they aren't marked as: mostly one that nobody has marked yet."""


def said(report: Report, knowledge: Knowledge) -> list[str]:
    return [finding.id for finding in triage(report, knowledge).findings if finding.sure]


@pytest.fixture(scope="module", params=[SAMPLE, pytest.param(None, marks=pytest.mark.long)])
def near_misses(request: pytest.FixtureRequest, knowledge: Knowledge) -> list[tuple[Example, list[str]]]:
    """A sample of all near misses with what is said of each; all of them in `make test-long`."""
    examples = [e for file in entry_files() for e in read_examples(file) if e.kind == "near_miss"]
    chosen = random.Random(SEED).sample(examples, request.param or len(examples))
    return [(e, said(Report(f"{e.failure}/near", e.title, e.body), knowledge)) for e in chosen]


@pytest.mark.timeout(900)
def test_a_near_miss_never_leads_to_the_entry_that_it_only_looks_like(
    near_misses: list[tuple[Example, list[str]]],
) -> None:
    assert not [(e.failure, e.title) for e, ids in near_misses if e.failure in ids]
    others = [(e.failure, ids) for e, ids in near_misses if {*ids} - {e.actual}]
    assert len(others) <= OTHERS * len(near_misses), others


def test_a_near_miss_of_another_entry_is_said_to_be_that_one(
    near_misses: list[tuple[Example, list[str]]],
) -> None:
    """Otherwise silence alone would pass the test above."""
    marked = [e.actual in ids for e, ids in near_misses if e.actual]
    assert sum(marked) >= 0.4 * len(marked)


@pytest.mark.parametrize("post", POSTS, ids=lambda post: post["title"])
def test_an_invented_post_of_another_field_gets_no_known_failure(
    post: dict[str, str], knowledge: Knowledge
) -> None:
    assert said(Report("post", post["title"], post["body"]), knowledge) == []


@pytest.mark.parametrize("step", [6, pytest.param(1, marks=pytest.mark.long)])
def test_posts_that_teach_the_gate_get_no_known_failure(step: int, knowledge: Knowledge) -> None:
    posts = [record.report for record in other_field_records()][1::step]
    assert not [(post.title, ids) for post in posts if (ids := said(post, knowledge))]


def test_the_same_line_is_said_where_the_report_is_of_our_field(knowledge: Knowledge) -> None:
    node = POSTS[0]
    ours = (
        "torchrun --nproc_per_node=4 train.py\n\nRuntimeError: The server socket has failed to listen on any "
    )
    ours += "local network address. port: 29500, useIpv6: false, code: -98, name: EADDRINUSE, message: address in use"
    assert said(Report("a", "second job on the node does not start", ours), knowledge) == [
        "c10d-port-29500-in-use"
    ]
    body = f"{node['body']}\n\nThe server shows the loss of a PyTorch training job on 8 GPUs."
    told = report(body, node["title"])
    assert not of_another_field(load_catalogue()["c10d-port-29500-in-use"], told)
