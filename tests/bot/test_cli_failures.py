"""`bot failures`: list, show, search and check the shipped catalogue; start a new entry."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from bot.cli.app import app
from knowledge.errors import InputError
from knowledge.findings.compile import AREAS, problems, read_catalogue
from knowledge.findings.failure import load_catalogue

ENTRY = next(e for e in load_catalogue().values() if e.fixed_in and e.area == "nccl")


def run(*args: str) -> Result:
    return CliRunner().invoke(app, ["failures", *args], env={"COLUMNS": "200"})


def said(*args: str) -> str:
    done = run(*args)
    assert done.exit_code == 0, done.exception
    return " ".join(done.stdout.split())


def refused(*args: str) -> InputError:
    error = run(*args).exception
    assert isinstance(error, InputError)
    return error


def test_list_names_every_entry_below_its_area() -> None:
    text = said("list")
    assert [entry.id for entry in load_catalogue().values() if entry.id not in text] == []
    used = {entry.area for entry in load_catalogue().values()}
    assert [f"{name} ({area})" in text for area, name in AREAS.items()] == [area in used for area in AREAS]


def test_list_of_one_area_leaves_the_others_out() -> None:
    text = said("list", "nccl")
    assert ENTRY.id in text
    others = (e.id for e in load_catalogue().values() if e.area not in ("nccl",))
    assert not any(f"{id} " in f"{text} " for id in others)


def test_an_unknown_area_is_refused_with_those_there_are() -> None:
    assert "nccl" in str(refused("list", "nckl"))


@pytest.mark.parametrize("id", [ENTRY.id, ENTRY.id.upper()])
def test_show_has_every_part_of_an_entry(id: str) -> None:
    text = said("show", id)
    places = [
        text.index(part) for part in ("What happens", "Why", "Check", "Fix", "Not this when", "Sources")
    ]
    assert places == sorted(places)
    assert ENTRY.title in text
    assert all(source in text for source in ENTRY.sources)
    assert "Fixed in:" in text


def test_an_unknown_entry_is_refused_with_those_near_it() -> None:
    assert ENTRY.id in str(refused("show", ENTRY.id[:-1]))
    assert "bot failures search" in str(refused("show", "qqqqqqqqqqqq"))


def test_search_finds_an_entry_by_its_title_and_keeps_to_the_count() -> None:
    assert said("search", ENTRY.title).startswith(f"{ENTRY.id}: ")
    assert len(run("search", "NCCL timeout", "--count", "3").stdout.splitlines()) == 3
    assert said("search", "qqqqqqqqqqqq") == "Nothing found."


def test_check_passes_the_shipped_catalogue() -> None:
    entries, examples = read_catalogue()
    counted = f"{len(entries)} entries, {sum(map(len, examples.values()))} examples"
    assert said("check") == f"{counted}: no problems."


def test_a_new_entry_is_a_template_that_check_refuses_until_it_is_filled_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("knowledge.findings.source.FOLDER", tmp_path)
    assert "bot failures check" in said("new", "nccl", "nccl-odd-thing")
    entries, examples = read_catalogue(tmp_path)
    assert (list(entries), entries["nccl-odd-thing"].area) == (["nccl-odd-thing"], "nccl")
    assert {e.kind for e in examples["nccl-odd-thing"]} == {"telltale", "plain", "noisy", "near_miss"}
    said_wrong = "\n".join(problems(entries, examples))
    assert "no source with an address" in said_wrong
    assert said_wrong.count("is empty") == len(examples["nccl-odd-thing"])

    monkeypatch.setattr("knowledge.findings.compile.read_catalogue", lambda: (entries, examples))
    done = run("check")
    assert done.exit_code == 1
    assert "nccl-odd-thing: " in done.stdout


@pytest.mark.parametrize(
    ("area", "id", "words"),
    [
        ("nckl", "a-b", "There is no area 'nckl'"),
        ("nccl", "taken", "exists"),
        ("nccl", "../../outside", "isn't a valid ID"),
        ("nccl", "Upper", "isn't a valid ID"),
        ("nccl", "two--dashes", "isn't a valid ID"),
        ("nccl", "with space", "isn't a valid ID"),
    ],
)
def test_a_new_entry_needs_an_area_and_a_free_id(
    area: str, id: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("knowledge.findings.source.FOLDER", tmp_path / "failures")
    (tmp_path / "failures" / "cuda").mkdir(parents=True)
    (tmp_path / "failures" / "cuda" / "taken.md").write_text("x", "utf-8")
    before = sorted(tmp_path.rglob("*"))
    assert words in str(refused("new", area, id))
    assert sorted(tmp_path.rglob("*")) == before
