"""The repository's own file: read strictly, never in the way."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from bot.github.repo_config import ConfigError, RepoConfig, parse_config
from tests.bot.fake_core import FakeCore
from tests.bot.fake_github import Fault, once
from tests.bot.world import World

DOCS = Path(__file__).parents[3] / "docs"
IDS = FakeCore().ids


def test_an_empty_file_means_shadow() -> None:
    assert parse_config("", IDS) == RepoConfig()
    assert RepoConfig().mode == "shadow"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("mode: loud", "mode"),
        ("mod: both", "the file"),
        ("thresholds: {symptom: 2}", "thresholds.symptom"),
        ("labels: {symptom: {Z.9: hang}}", "labels.symptom"),
        ("labels: {mood: {bad: x}}", "labels"),
        ("- a\n- b", "the file"),
        ("mode: [", "no YAML in line"),
        ("a: &a [1]\nb: *a", "aliases"),
        ("[" * 20_000, "nested"),
        ("mode: 2001-99-99", "cannot be read"),
        ("min_length: " + "9" * 6000, "cannot be read"),
        ("? [a]\n: b", "no YAML"),
        ("!!python/object/apply:os.system [ls]", "no YAML"),
    ],
)
def test_a_broken_file_says_where(text: str, words: str) -> None:
    with pytest.raises(ConfigError) as error:
        parse_config(text, IDS)
    assert words in str(error.value)


def test_an_error_repeats_nothing_of_the_file() -> None:
    with pytest.raises(ConfigError) as error:
        parse_config("'@everyone <img>': 1", IDS)
    assert "everyone" not in str(error.value)


def test_a_broken_file_leaves_the_last_good_one_in_force(world: World) -> None:
    world.configure("mode: comment\n")
    world.opened(world.issue())
    world.configure("mode: [")
    issue = world.issue("Second", "It hangs at the first barrier after loading")
    assert world.opened(issue).kind == "written"
    cache = world.store.configs[world.repo.id]
    assert cache.error is not None
    assert "no YAML" in cache.error


def test_a_file_broken_from_the_start_means_shadow(world: World) -> None:
    world.configure("mode: [")
    assert world.opened(world.issue()).kind == "shadow"


def test_maintainers_are_told_once_where_they_asked(world: World) -> None:
    meta = world.issue("Triage bot", "Notes about the configuration of the bot go here")
    world.configure(f"mode: comment\nreport_errors_to: {meta.number}\n")
    world.opened(world.issue())
    assert meta.comments == []
    world.configure("mode: [")
    for n in range(3):
        world.opened(world.issue(f"Hang {n}", "It hangs at the first barrier after loading"))
    [note] = world.ours(meta)
    assert "cannot be used" in note.body
    world.configure(f"mode: comment\nreport_errors_to: {meta.number}\n")
    world.opened(world.issue("Hang again", "It hangs at the first barrier after loading"))
    assert "can be read again" in world.ours(meta)[0].body
    assert len(meta.comments) == 1


def test_an_unchanged_file_is_not_sent_again(world: World) -> None:
    world.configure("mode: comment\n")
    world.opened(world.issue())
    before = world.store.configs[world.repo.id]
    world.opened(world.issue("Second", "It hangs at the first barrier after loading"))
    assert world.store.configs[world.repo.id] == before
    assert before.etag is not None


def test_while_the_file_cannot_be_fetched_the_known_one_holds(world: World) -> None:
    world.configure("mode: comment\n")
    world.opened(world.issue())
    world.fake.faults = once("GET", "/contents/", Fault("secondary"))
    issue = world.issue("Second", "It hangs at the first barrier after loading")
    assert world.opened(issue).kind == "written"


def test_a_removed_file_means_shadow_again(world: World) -> None:
    world.configure("mode: comment\n")
    world.opened(world.issue())
    world.repo.files.clear()
    assert world.opened(world.issue("Second", "It hangs at the first barrier of it")).kind == "shadow"


def test_the_schema_in_the_docs_is_that_of_the_code() -> None:
    shipped = json.loads((DOCS / "distriage.schema.json").read_text())
    assert shipped == RepoConfig.model_json_schema()


def test_every_example_in_the_docs_is_valid() -> None:
    schema = Draft202012Validator(RepoConfig.model_json_schema())
    blocks = (DOCS / "github.md").read_text().split("```yaml\n")[1:]
    assert blocks
    for block in blocks:
        schema.validate(yaml.safe_load(block.split("```")[0]))
