"""The matcher: order, what is sure, and its file: kept, newer entries, damage."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from knowledge.errors import ModelError
from knowledge.findings.failure import Failure
from knowledge.findings.matcher import Matcher, load_matcher, save_matcher
from knowledge.findings.pairs import NAMES
from tests.knowledge.findings.tiny import BARE, catalogue, entry, report

A = entry("a", patterns=("Address already in use",))
B = entry("b")
ENTRIES: dict[str, Failure] = {"a": A, "b": B}
TAKEN = report("```\nRuntimeError: Address already in use\n```")


def weights(**given: float) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.array([given.get(name, 0.0) for name in NAMES])


MATCHER = Matcher(catalogue(A, B, rarity={"a": 2.0}), weights(constant=-2.0, line_in_log=4.0), 0.85)


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    file = tmp_path / "matcher.npz"
    save_matcher(MATCHER, {"encoder": "m1"}, file)
    return file


def changed(file: Path, **changes: object) -> None:
    """Write the file again with other values in its description; None leaves a key out."""
    with np.load(file) as arrays:
        held = {name: arrays[name] for name in arrays.files}
    info = {**json.loads(held["info"].tobytes()), **changes}
    info = {key: value for key, value in info.items() if value is not None}
    held["info"] = np.frombuffer(json.dumps(info).encode(), np.uint8)
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **held)
    file.write_bytes(buffer.getvalue())


def test_the_most_probable_comes_first_and_is_sure_from_the_threshold_on() -> None:
    first, second = MATCHER.matches(TAKEN, BARE, {})
    assert (first.failure.id, first.lines, first.sure) == ("a", (2,), True)
    assert first.p == pytest.approx(1 / (1 + np.exp(-2)))
    assert (second.failure.id, second.sure) == ("b", False)
    strict = Matcher(MATCHER.catalogue, MATCHER.weights, 0.9)
    assert not any(m.sure for m in strict.matches(TAKEN, BARE, {}))


def test_what_is_less_probable_than_asked_for_is_left_out() -> None:
    assert [m.failure.id for m in MATCHER.matches(TAKEN, BARE, {}, least=0.5)] == ["a"]


def test_a_kept_matcher_says_the_same(kept: Path) -> None:
    loaded = load_matcher(ENTRIES, "m1", kept)
    assert loaded.threshold == MATCHER.threshold
    ours, theirs = (m.catalogue.pairs(TAKEN, BARE, {}) for m in (MATCHER, loaded))
    assert ours.ids == theirs.ids
    assert np.allclose(ours.values, theirs.values, atol=0.02)
    said = [(m.failure.id, m.lines, m.sure) for m in loaded.matches(TAKEN, BARE, {})]
    assert said == [(m.failure.id, m.lines, m.sure) for m in MATCHER.matches(TAKEN, BARE, {})]


def test_an_entry_newer_than_the_matcher_is_found_by_its_pattern(kept: Path) -> None:
    newer = entry("newer", patterns=("frobnicate failed",))
    loaded = load_matcher({**ENTRIES, "newer": newer}, "m1", kept)
    first, *_ = loaded.matches(report("```\nRuntimeError: frobnicate failed\n```"), BARE, {})
    assert (first.failure.id, first.lines, first.sure) == ("newer", (2,), True)
    assert loaded.matches(TAKEN, BARE, {})[0].failure.id == "a"


def test_an_entry_whose_text_changed_is_the_one_that_is_shown(kept: Path) -> None:
    loaded = load_matcher({"a": entry("a", title="A new title", patterns=A.patterns), "b": B}, "m1", kept)
    assert loaded.matches(TAKEN, BARE, {})[0].failure.title == "A new title"


def damaged(content: bytes, how: str) -> bytes:
    if how == "cut":
        return content[: len(content) // 2]
    if how == "changed":
        middle = content.index(b"vectors.npy") + 40
        return (
            content[:middle] + bytes(b ^ 0xFF for b in content[middle : middle + 8]) + content[middle + 8 :]
        )
    return {"empty": b"", "text": b"not a file of numpy\n" * 20}[how]


@pytest.mark.parametrize("how", ["empty", "text", "cut", "changed"])
def test_a_damaged_file_is_named_with_the_remedy(kept: Path, how: str) -> None:
    kept.write_bytes(damaged(kept.read_bytes(), how))
    with pytest.raises(ModelError, match=r"Can't read matcher\.npz.*make train-findings"):
        load_matcher(ENTRIES, "m1", kept)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"Can't read matcher\.npz"):
        load_matcher(ENTRIES, "m1", tmp_path / "matcher.npz")


@pytest.mark.parametrize("key", ["encoder", "names", "threshold", "ids"])
def test_a_file_that_lacks_a_part_is_refused(kept: Path, key: str) -> None:
    changed(kept, **{key: None})
    with pytest.raises(ModelError, match="Can't read"):
        load_matcher(ENTRIES, "m1", kept)


def test_a_matcher_of_another_encoder_or_of_other_features_is_refused(kept: Path) -> None:
    with pytest.raises(ModelError, match="a different encoder or different features"):
        load_matcher(ENTRIES, "m2", kept)
    changed(kept, names=[*NAMES[:-1], "something else"])
    with pytest.raises(ModelError, match="a different encoder or different features"):
        load_matcher(ENTRIES, "m1", kept)


def test_a_matcher_that_knows_an_entry_that_is_gone_is_refused(kept: Path) -> None:
    with pytest.raises(ModelError, match="was trained on entries that no longer exist: b"):
        load_matcher({"a": A}, "m1", kept)
