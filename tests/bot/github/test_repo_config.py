"""The repository's own file: read strictly, never in the way."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft7Validator
from typer.testing import CliRunner

from bot.cli.app import app as cli
from bot.gate.markdown import violations
from bot.github.repo_config import ConfigError, RepoConfig, config_notes, parse_config, schema_text
from bot.render.comment import render_config_error
from knowledge.taxonomy import load_taxonomy
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
        (
            "mode: bothh",
            "line 1: `mode: bothh` is not allowed; did you mean `both`? Allowed: `shadow`, `label`",
        ),
        ("\nmode:", "line 2: `mode` has no value; allowed: `shadow`, "),
        ("mode: both\nlables: {}", "line 2: `lables` is not a known key; did you mean `labels`?"),
        ("thresholds: {sympton: 1}", "`thresholds.sympton` is not a known key; did you mean `symptom`?"),
        (
            "thresholds:\n  symptom: 2",
            "line 2: `thresholds.symptom: 2` is out of range; it must be at most 1",
        ),
        ("framework: caffe", "line 1: `framework: caffe` is not allowed; allowed: `pytorch`, `tensorflow`"),
        (
            "labels:\n  symptom:\n    D.2.9: hang",
            "line 3: `labels.symptom` has no id `D.2.9`; did you mean `",
        ),
        ("labels: {mood: {bad: x}}", "`labels.mood` is not a known key; allowed: `type`, `stage`"),
        (f"labels: {{symptom: {{D.2.1: {'x' * 51}}}}}", "has over 50 characters"),
        ("sections:\n- evidence\n- fixs", "line 3: `sections.1: fixs` is not allowed; did you mean `fixes`?"),
        ("ignore: {bots: maybe}", "`ignore.bots: maybe` must be a valid boolean"),
        ("min_length: ten", "line 1: `min_length: ten` must be a valid integer"),
        ("noise: 3", "line 1: `noise` must contain keys with values"),
        ("1: 2", "line 1: `1` is not a known key"),
        ("- a\n- b", "line 1: the file must contain keys with values"),
        ("mode: true", "line 1: `mode: true` is not allowed; allowed: `shadow`, "),
        (f"min_length: '{'9' * 5000}'", "must be valid (Unable to parse"),
        ("min_length: [1]", "line 1: `min_length` must be a valid integer"),
        ("own_labels:\n  exclusive: [3]", "line 2: `own_labels.exclusive.0: 3` must be a valid string"),
        ("own_labels:\n  exclusive:\n  - a: b", "line 3: `own_labels.exclusive.0` must be a valid list"),
        ("own_labels: {onyl: []}", "`own_labels.onyl` is not a known key; did you mean `only`?"),
        (f"labels:\n  type:\n    true: {'x' * 51}", "line 2: the label `xxx"),
        ("mode: [", "line 1: this is not valid YAML"),
        ("a: &a [1]\nb: *a", "line 2: YAML aliases are not allowed"),
        ("[" * 20_000, "nested"),
        ("mode: 2001-99-99", "invalid date or number"),
        ("min_length: " + "9" * 6000, "invalid date or number"),
        ("? [a]\n: b", "line 1: this is not valid YAML"),
        ("!!python/object/apply:os.system [ls]", "line 1: this is not valid YAML"),
    ],
)
def test_a_broken_file_says_where_and_what_would_do(text: str, words: str) -> None:
    with pytest.raises(ConfigError) as error:
        parse_config(text, IDS)
    assert words in str(error.value)
    assert "docs/" not in str(error.value)


def test_all_errors_are_named_at_once_in_the_order_of_the_file() -> None:
    with pytest.raises(ConfigError) as error:
        parse_config(
            "lables: {}\nthresholds:\n  fix: -1\nlabels:\n  symptom: {D.2.11: hang}\nmode: bothh\n", IDS
        )
    lines = [one.partition(":")[0] for one in error.value.problems]
    assert lines == ["line 1", "line 3", "line 5", "line 6"]
    assert "has no id `D.2.11`" in error.value.problems[2]


def test_a_key_given_twice_is_an_error_wherever_it_stands() -> None:
    with pytest.raises(ConfigError) as error:
        parse_config("mode: both\nnoise:\n  of_last: 3\n  of_last: 4\nmode: label\n", IDS)
    assert list(error.value.problems) == [
        "line 1: `mode` is repeated on line 5",
        "line 3: `noise.of_last` is repeated on line 4",
    ]


def test_a_file_full_of_errors_names_the_first_ten() -> None:
    with pytest.raises(ConfigError) as error:
        parse_config("\n".join(f"key{n}: 1" for n in range(30)), IDS)
    assert len(error.value.problems) == 11
    assert error.value.problems[-1] == "and 20 more"


def test_what_an_error_repeats_of_the_file_is_inert_in_a_comment() -> None:
    with pytest.raises(ConfigError) as error:
        parse_config("'@everyone <img>': 1\nmode: '#1 `@all` https://evil.example/x'", IDS)
    draft = render_config_error(str(error.value))
    assert "@everyone" in draft.body
    assert violations(draft.body, draft.links) == []


@pytest.mark.parametrize(
    ("word", "id_"),
    [
        *((one, one) for one in ("keras", "ray", "pytorch-lightning", "mxnet", "megatron-lm", "colossal-ai")),
        ("megatron", "megatron-lm"),
        ("colossalai", "colossal-ai"),
        ("PyTorch", "pytorch"),
    ],
)
def test_frameworks_are_those_that_the_core_reads(word: str, id_: str) -> None:
    assert parse_config(f"framework: {word}", IDS).framework == id_


def test_what_was_read_by_a_former_version_stays_readable() -> None:
    kept = {"mode": "comment", "language": "de", "framework": "megatron"}
    kept |= {"labels": {"symptom": {"D.2.1": "x" * 60}}}
    config = RepoConfig.model_validate_json(json.dumps(kept))
    assert (config.mode, config.framework) == ("comment", "megatron-lm")


def test_a_language_is_accepted_and_noted_as_without_effect() -> None:
    text = "mode: comment\nlanguage: de\n"
    assert parse_config(text, IDS) == RepoConfig(mode="comment")
    assert config_notes(text) == ["line 2: `language` is ignored: comments are in English only"]


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        ("mode: comment\nlanguage: de\n", 0, "note: line 2: `language` is ignored"),
        ("mode: comment\n", 0, "is valid (mode: comment)"),
        ("mode: bothh\nlables: {}\n", 1, "line 2: `lables` is not a known key"),
        ("labels: {symptom: {D.2.1: hang}}\n", 0, "is valid"),
    ],
)
def test_a_file_is_checked_before_it_is_committed(tmp_path: Path, text: str, code: int, words: str) -> None:
    file = tmp_path / "distriage.yml"
    file.write_text(text)
    ended = CliRunner().invoke(cli, ["config", "check", str(file)])
    assert (ended.exit_code, words in ended.output) == (code, True)


def test_a_broken_file_leaves_the_last_good_one_in_force(world: World) -> None:
    world.configure("mode: comment\n")
    world.opened(world.issue())
    world.configure("mode: [")
    issue = world.issue("Second", "It hangs at the first barrier after loading")
    assert world.opened(issue).kind == "written"
    cache = world.store.configs[world.repo.id]
    assert cache.error is not None
    assert "not valid YAML" in cache.error


def test_a_file_that_an_earlier_version_refused_is_read_again(world: World) -> None:
    world.configure("mode: comment\n")
    world.opened(world.issue())
    read = world.store.configs[world.repo.id]
    world.store.save_config(world.repo.id, replace(read, good_text=None, error="`mode` is not a known key"))
    assert (
        world.opened(world.issue("Second", "It hangs at the first barrier after loading")).kind == "written"
    )
    assert world.store.configs[world.repo.id] == read


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
    assert "can't be used" in note.body
    world.configure(f"mode: comment\nreport_errors_to: {meta.number}\n")
    world.opened(world.issue("Hang again", "It hangs at the first barrier after loading"))
    assert "is valid again" in world.ours(meta)[0].body
    assert len(meta.comments) == 1


def test_maintainers_are_told_in_label_mode_too(world: World) -> None:
    meta = world.issue("Triage bot", "Notes about the configuration of the bot go here")
    world.configure(f"mode: label\nreport_errors_to: {meta.number}\n")
    world.opened(world.issue())
    world.configure("mode: [")
    world.opened(world.issue("Hang", "It hangs at the first barrier after loading"))
    [note] = world.ours(meta)
    assert "can't be used" in note.body


def test_a_note_that_github_refused_once_is_written_later(world: World) -> None:
    meta = world.issue("Triage bot", "Notes about the configuration of the bot go here")
    world.configure(f"mode: comment\nreport_errors_to: {meta.number}\n")
    world.opened(world.issue())
    world.configure("mode: [")
    world.fake.faults = once("POST", f"/issues/{meta.number}/comments", Fault("502"))
    world.opened(world.issue("Hang", "It hangs at the first barrier after loading"))
    assert world.ours(meta) == []
    world.opened(world.issue("Hang again", "It hangs at the first barrier after loading"))
    [note] = world.ours(meta)
    assert "can't be used" in note.body


def test_of_a_file_over_64_kib_the_last_good_one_holds(world: World) -> None:
    meta = world.issue("Triage bot", "Notes about the configuration of the bot go here")
    world.configure(f"mode: comment\nreport_errors_to: {meta.number}\n")
    world.opened(world.issue())
    world.configure("mode: both\n" + "# a long comment\n" * 5000)
    issue = world.issue("Hang", "It hangs at the first barrier after loading")
    assert world.opened(issue).kind == "written"
    [note] = world.ours(meta)
    assert "64 KiB" in note.body


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
    world.fake.faults = lambda method, path: Fault("502") if "/contents/" in path else None
    issue = world.issue("Second", "It hangs at the first barrier after loading")
    assert world.opened(issue).kind == "written"


def test_a_removed_file_means_shadow_again(world: World) -> None:
    world.configure("mode: comment\n")
    world.opened(world.issue())
    world.repo.files.clear()
    assert world.opened(world.issue("Second", "It hangs at the first barrier of it")).kind == "shadow"


def test_the_schema_in_the_docs_is_that_of_the_code() -> None:
    assert (DOCS / "distriage.schema.json").read_text() == schema_text()


def test_the_schema_is_fit_for_schemastore() -> None:
    schema = json.loads(schema_text())
    Draft7Validator.check_schema(schema)
    assert schema["$id"] == "https://json.schemastore.org/distriage.json"
    assert schema["$schema"] == "http://json-schema.org/draft-07/schema#"
    assert "$defs" not in schema_text()


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ("mode: both\nthresholds: {cause: 0.7}\nlabels: {symptom: {D.2.1: hang}}\n", True),
        ("mode: bothh\n", False),
        ("lables: {}\n", False),
        ("thresholds: {cause: 3}\n", False),
        ("thresholds: {cuase: 0.3}\n", False),
        ("sections: [evidence, fixs]\n", False),
    ],
)
def test_an_editor_and_the_service_agree_on_what_is_valid(text: str, fits: bool) -> None:
    assert Draft7Validator(json.loads(schema_text())).is_valid(yaml.safe_load(text)) == fits
    taxonomy = load_taxonomy()
    try:
        parse_config(text, lambda axis: frozenset(taxonomy.ids(axis)))
    except ConfigError:
        assert not fits
    else:
        assert fits


def test_every_example_in_the_docs_is_valid() -> None:
    schema = Draft7Validator(json.loads(schema_text()))
    blocks = (DOCS / "github.md").read_text().split("```yaml\n")[1:]
    assert blocks
    for block in blocks:
        schema.validate(yaml.safe_load(block.split("```")[0]))


@pytest.mark.parametrize("part", ["thresholds", "ignore", "noise", "own_labels"])
def test_an_unknown_key_is_named_with_those_of_its_part(part: str) -> None:
    with pytest.raises(ConfigError) as error:
        parse_config(f"{part}: {{zzz: 1}}", IDS)
    assert f"`{part}.zzz` is not a known key; allowed: " in str(error.value)


def test_own_labels_are_allowed_by_pattern_and_grouped() -> None:
    rules = parse_config(
        "own_labels: {only: ['sub-*', bug], never: [SUB-x], exclusive: ['sub-*', [bug, stale]]}", IDS
    )
    assert rules.own_labels is not None
    allowed = [name for name in ("sub-a", "sub-X", "Bug", "feature") if rules.own_labels.allows(name)]
    assert allowed == ["sub-a", "Bug"]
    assert [rules.own_labels.groups(name) for name in ("sub-a", "bug", "feature")] == [[0], [1], []]


@pytest.mark.parametrize(
    ("mode", "comments", "labels"),
    [("shadow", False, False), ("label", False, True), ("comment", True, False), ("both", True, True)],
)
def test_a_mode_is_comments_labels_or_both(mode: str, comments: bool, labels: bool) -> None:
    config = parse_config(f"mode: {mode}", IDS)
    assert (config.comments, config.sets_labels) == (comments, labels)
