"""One list of frameworks, and no other file that names one it does not hold."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from knowledge.evidence.facts_table import framework_of
from knowledge.frameworks import built_on, framework_id, framework_ids, frameworks

KNOWLEDGE = Path(__file__).parents[2] / "knowledge"
FACTS = tomllib.loads((KNOWLEDGE / "evidence" / "facts_found.toml").read_text("utf-8"))


def test_ids_spellings_packages_and_repositories_name_one_framework_each() -> None:
    ids = framework_ids()
    assert len(set(ids)) == len(ids)
    words = [
        {w.casefold() for w in (f.id, f.name, *f.spellings, *f.packages, *f.repositories)}
        for f in frameworks()
    ]
    assert sum(map(len, words)) == len(set().union(*words))


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("megatron", "megatron-lm"),
        ("Megatron-LM", "megatron-lm"),
        ("colossalai", "colossal-ai"),
        ("lightning", "pytorch-lightning"),
        ("tf", "tensorflow"),
        ("ray", "ray"),
        ("caffe", None),
    ],
)
def test_a_spelling_means_its_framework(word: str, expected: str | None) -> None:
    assert framework_id(word) == expected


def test_what_frameworks_are_built_on_is_one_of_them() -> None:
    assert {one.built_on for one in frameworks() if one.built_on} == {"pytorch"}
    assert built_on("pytorch") >= {"pytorch", "megatron-lm", "colossal-ai", "pytorch-lightning", "deepspeed"}
    assert not built_on("pytorch") & {"horovod", "ray", "keras", "tensorflow"}


def test_what_is_read_out_of_reports_is_on_the_list() -> None:
    assert set(FACTS["framework"]) <= set(framework_ids())


def test_repositories_are_those_of_the_list() -> None:
    ours = {repository: one.id for one in frameworks() for repository in one.repositories}
    assert ours
    assert {repository: framework_of(f"{repository}#1") for repository in ours} == ours


def test_signatures_and_advice_use_ids_of_the_list() -> None:
    texts = [
        row.get("framework", "")
        for path in sorted((KNOWLEDGE / "fixes" / "texts").glob("*.toml"))
        for rows in tomllib.loads(path.read_text("utf-8")).values()
        for row in rows
    ]
    assert any(texts)
    assert set(texts) <= {*framework_ids(), ""}
