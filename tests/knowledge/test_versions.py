"""Version facts: the shipped table, reading of ugly versions, conflicts."""

from __future__ import annotations

from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from knowledge.errors import DataError
from knowledge.versions import VersionFact, find_conflicts, load_facts
from knowledge.versions.facts import cuda_of_torch, parse_version, read_facts, surely_in


def ids(versions: dict[str, str]) -> list[str]:
    return [fact.id for fact in find_conflicts(versions)]


def test_the_table_is_large_enough_and_every_fact_has_its_own_source_and_text() -> None:
    facts = load_facts()
    assert len(facts) >= 40
    assert len({fact.text for fact in facts}) == len(facts)
    assert all(fact.text.count(". ") == 1 and fact.text.endswith(".") for fact in facts)


@pytest.mark.parametrize("fact", load_facts(), ids=lambda f: f.id)
def test_a_fact_fires_on_its_example_and_on_nothing_near(fact: VersionFact) -> None:
    assert fact in find_conflicts(fact.fires)
    assert fact not in find_conflicts(fact.quiet)


@pytest.mark.parametrize("fact", load_facts(), ids=lambda f: f.id)
def test_a_fine_example_is_fine_for_every_fact(fact: VersionFact) -> None:
    assert ids(dict(fact.quiet)) == []


@pytest.mark.parametrize("fact", load_facts(), ids=lambda f: f.id)
def test_one_component_alone_is_never_a_conflict(fact: VersionFact) -> None:
    for component, version in fact.fires.items():
        if component != "torch":  # a torch version may name its CUDA, which is a second component
            assert ids({component: version}) == []


@pytest.mark.parametrize(
    "components",
    [
        {"tensorflow", "cuda"},
        {"tensorflow", "python"},
        {"torch", "python"},
        {"horovod", "torch"},
        {"horovod", "openmpi"},
        {"horovod", "nccl"},
        {"deepspeed", "torch"},
        {"cuda", "gcc"},
        {"cuda", "driver"},
        {"torch", "numpy"},
        {"tensorflow", "protobuf"},
        {"horovod", "cmake"},
    ],
    ids=lambda c: " x ".join(sorted(c)),
)
def test_pairs_that_reports_are_full_of_are_covered(components: set[str]) -> None:
    assert any({r.component for r in fact.when} == components for fact in load_facts())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1.13.1+cu117", "1.13.1"),
        ("10.1.243", "10.1.243"),
        ("v0.19.0", "0.19.0"),
        ("2.0-rc0", "2.0rc0"),
        ("2.4.0a0+07cecf4168.nv24.05", "2.4.0a0"),
        ("1.6.0b20191102", "1.6.0b20191102"),
        ("1.5.1.post0", "1.5.1.post0"),
        ("450.51.05", "450.51.5"),
        ("3.8.10 (default, Sep 28 2021, 16:10:42)", "3.8.10"),
        ("'7.5.0-3ubuntu1~18.04'", "7.5.0"),
        ("2.18.5+cuda11.0", "2.18.5"),
        ("3.6.x", "3.6"),
        ("11", "11"),
    ],
)
def test_ugly_versions_are_read(text: str, expected: str) -> None:
    assert parse_version(text) == Version(expected)


@pytest.mark.parametrize(
    "text", ["unknown", "", "   ", "N/A", "latest", "Could not collect", "\ud800", "-", "cuda"]
)
def test_what_is_no_version_is_ignored(text: str) -> None:
    assert parse_version(text) is None
    assert ids({"torch": text, "numpy": "2.0.0"}) == []


def test_an_endless_version_is_cut() -> None:
    assert ids({"torch": "9" * 100_000, "numpy": "1." * 100_000}) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2.1.2+cu121", "12.1"),
        ("1.5.0+cu92", "9.2"),
        ("1.8.1+cu102", "10.2"),
        ("2.1.0+cpu", None),
        ("2.1.0", None),
    ],
)
def test_the_cuda_of_a_torch_build_is_read(text: str, expected: str | None) -> None:
    assert cuda_of_torch(text) == expected


@pytest.mark.parametrize(
    ("version", "spec", "expected"),
    [
        ("3", "<3.8", False),
        ("3.7", "<3.8", True),
        ("3.8", "<3.8", False),
        ("11", ">=11,<12", True),
        ("11", ">=11.1", False),
        ("1.6", "==1.6.0", False),
        ("1.6.0", "==1.6.0", True),
        ("2.0rc0", ">=2.0", False),
        ("2.0rc0", "<2.0", False),
        ("2.0rc0", ">=1.13", True),
        ("2.0rc0", "<2.1", True),
        ("2.0rc0", "<2.0.1", True),
        ("2.5.0.dev20240801", "<2.5", False),
        ("2.5.0.dev20240801", ">=2.5", False),
        ("2.5.0.dev20240801", ">=2.4,<2.6", True),
        ("2.1.0a0", "<2.1.1", True),
        ("2.1.0a0", "==2.1.*", False),
        ("1.13.0rc2", ">1.12.1", True),
        ("1.13.0rc2", "<=1.13", True),
        ("1.6.0b20191102", "==1.6.0", False),
        ("470", "<525.60.13", True),
        ("525", "<525.60.13", False),
    ],
)
def test_a_short_version_counts_only_where_the_rest_cannot_matter(
    version: str, spec: str, expected: bool
) -> None:
    assert surely_in(Version(version), SpecifierSet(spec)) is expected


def test_other_spellings_of_a_component_are_known() -> None:
    assert "numpy2-torch" in ids({"PyTorch": "v2.1.0+cu118", "NumPy": "2.0.1"})
    assert "lightning-2.4-torch" in ids({"pytorch_lightning": "2.4.0", "torch": "1.13"})


@pytest.mark.parametrize(
    "text", ["2.0.0.dev20230217+cu118", "2.0.0a0+git1234abc", "2.0.0rc2", "2.0.0a0+17f8.nv23.02"]
)
def test_of_a_pre_release_at_the_boundary_no_conflict_is_claimed(text: str) -> None:
    assert "deepspeed-torch-2.0" in ids({"torch": "2.0.0", "deepspeed": "0.7.7"})
    assert "deepspeed-torch-2.0" not in ids({"torch": text, "deepspeed": "0.7.7"})
    assert "deepspeed-torch-2.0" in ids({"torch": text.replace("2.0.0", "2.1.0"), "deepspeed": "0.7.7"})


ENTRY = """
[[fact]]
id = "made-up"
when = [{ component = "torch", spec = "<1" }, { component = "python", spec = ">=3" }]
text = "These two do not agree. Change one of them."
cause = "dependency"
fix = "dependency_version"
source = "https://example.org/notes"
explains = "no matching distribution"
fires = { torch = "0.4.1", python = "3.6.9" }
quiet = { torch = "1.0.0", python = "3.6.9" }
"""


def test_a_file_of_ones_own_is_read(tmp_path: Path) -> None:
    path = tmp_path / "facts.toml"
    path.write_text(ENTRY, encoding="utf-8")
    (fact,) = read_facts(path)
    assert [r.component for r in fact.when] == ["torch", "python"]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (ENTRY + ENTRY, "used more than once: made-up"),
        (ENTRY.replace('"<1"', '"below 1"'), "made-up: when.0.spec"),
        (ENTRY.replace('"<1"', '""'), "made-up: when.0.spec"),
        (ENTRY.replace('cause = "dependency"', 'cause = "moon"'), "unknown cause moon"),
        (ENTRY.replace('"dependency_version"', '"pray"'), "unknown fix pray"),
        (ENTRY.replace("https://", "http://"), "source"),
        (ENTRY.replace(', { component = "python", spec = ">=3" }', ""), "when"),
        (ENTRY + 'colour = "red"', "colour"),
        (ENTRY.replace('"no matching distribution"', '"(open"'), "made-up: explains"),
        ("[[fact]", "isn't valid TOML"),
        ("fact = 3", "must contain only"),
    ],
)
def test_a_bad_entry_is_refused_with_its_name(tmp_path: Path, text: str, complaint: str) -> None:
    path = tmp_path / "facts.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=complaint) as caught:
        read_facts(path)
    assert caught.value.remedy
