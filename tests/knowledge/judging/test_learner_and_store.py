"""The judge as learned, against kernel ridge done by hand; and as stored."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from knowledge.errors import ModelError
from knowledge.judging.axes import axis_ids
from knowledge.judging.blocks import COMPARED, Exemplars, Weighting, gram_of, likeness
from knowledge.judging.features import Features, hashed, lines_block, text_block, title_block
from knowledge.judging.judge import Judge, load_judge, save_judge
from knowledge.judging.learner import LINEAR, TrainingItem, learn
from knowledge.report import Report
from knowledge.taxonomy import Taxonomy, load_taxonomy
from tests.eval.factory import UNTAUGHT

WORDS = {
    "A.1": ["build", "cmake", "compile", "header"],
    "B.2": ["init", "waits", "rendezvous", "address"],
    "D.2.1": ["hang", "step", "allreduce", "stalled"],
}
STAGE = {"A.1": "A", "B.2": "B", "D.2.1": "D"}


def features(words: list[str], repository: str, seed: int) -> Features:
    vector = np.random.default_rng(seed).normal(size=16).astype(np.float32)
    vector[:8] /= np.linalg.norm(vector[:8])
    vector[8:] /= np.linalg.norm(vector[8:])
    report = Report(f"{repository}#{seed}", " ".join(words), "### Environment\n" + " ".join(words))
    return Features(
        hashed(dict.fromkeys(words, 1.0), 1 << 15),
        hashed(dict.fromkeys(words[:2], 1.0), 1 << 13),
        title_block(report),
        text_block(report),
        lines_block(report),
        vector,
    )


def item(symptom: str, number: int) -> TrainingItem:
    rng = np.random.default_rng(number)
    words = [str(w) for w in rng.choice(WORDS[symptom], 3, replace=False)] + [f"noise{number % 7}"]
    labels = {"type": "fault", "stage": STAGE[symptom], "symptom": symptom}
    labels |= {"cause": "network_environment", "fix": "network", "distributed": "distributed"}
    shares = {axis: {label: 1.0} for axis, label in labels.items()}
    return TrainingItem(f"g{number}", features(words, "o/r", number), shares, {}, 0.8, True)  # type: ignore[arg-type]


def question(number: int) -> TrainingItem:
    own = features(["how", "do", "i", "tune"], "o/r", 500 + number)
    return TrainingItem(
        f"q{number}", own, {"type": {"howto": 1.0}, "topic": {"performance": 1.0}}, {}, 0.8, True
    )


@pytest.fixture(scope="module")
def taxonomy() -> Taxonomy:
    return load_taxonomy()


@pytest.fixture(scope="module")
def items() -> list[TrainingItem]:
    made = [item(symptom, n) for n, symptom in enumerate([*WORDS] * 14)]
    return [*made, *(question(n) for n in range(15))]


@pytest.fixture(scope="module")
def judge(items: list[TrainingItem], taxonomy: Taxonomy) -> Judge:
    return learn(items, taxonomy, UNTAUGHT)


def test_the_judge_tells_what_it_learned(judge: Judge) -> None:
    for symptom, words in WORDS.items():
        judged = judge.judge(features(words[:3], "o/r", 900), {})
        assert judged["symptom"].ranking[0][0] == symptom
        assert judged["stage"].ranking[0][0] == STAGE[symptom]
    asked = judge.judge(features(["how", "do", "i", "tune"], "o/r", 901), {})
    assert asked["type"].ranking[0][0] == "howto"


def test_likeness_to_exemplars_equals_the_kernel_matrix(items: list[TrainingItem]) -> None:
    all_features = [one.features for one in items]
    weighting = Weighting.of(all_features)
    matrix = likeness(np.asarray(sum(gram_of(all_features, weighting, name) for name in COMPARED)))
    exemplars = Exemplars.of(all_features[1:], weighting)
    np.testing.assert_allclose(exemplars.likeness(all_features[0], weighting), matrix[0, 1:], atol=1e-5)


def test_a_report_of_unknown_words_alone_is_judged(judge: Judge) -> None:
    strange = features(["xyzzy", "plugh"], "other/place", 902)
    judged = judge.judge(strange, {})
    assert all(np.isfinite(judgement.p).all() for judgement in judged.values())
    assert judged["symptom"].p.sum() == pytest.approx(1)


def test_a_stored_judge_says_the_same(judge: Judge, taxonomy: Taxonomy, tmp_path: Path) -> None:
    save_judge(judge, tmp_path / "judge.npz", {"sources": {}})
    loaded, about = load_judge(taxonomy, tmp_path / "judge.npz", UNTAUGHT)
    assert about == {"sources": {}}
    for words in WORDS.values():
        seen = features(words[1:], "o/r", 903)
        before, after = judge.judge(seen, {}), loaded.judge(seen, {})
        for axis, judgement in before.items():
            np.testing.assert_allclose(after[axis].p, judgement.p, atol=0.01)


def test_storing_twice_gives_the_same_bytes(judge: Judge, tmp_path: Path) -> None:
    for name in ("one", "two"):
        save_judge(judge, tmp_path / name, {})
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_a_damaged_file_is_told_with_its_remedy(taxonomy: Taxonomy, tmp_path: Path) -> None:
    (tmp_path / "judge.npz").write_bytes(b"PK\x03\x04 cut short")
    with pytest.raises(ModelError, match="make train"):
        load_judge(taxonomy, tmp_path / "judge.npz", UNTAUGHT)


def test_words_count_by_themselves_and_with_their_repository() -> None:
    here = title_block(Report("a/b#1", "bug in launcher", ""))
    there = title_block(Report("c/d#1", "bug in launcher", ""))
    nowhere = title_block(Report("-", "bug in launcher", ""))
    shared = set(here.index.tolist()) & set(there.index.tolist())
    assert shared == set(nowhere.index.tolist())
    assert len(here.index) == 2 * len(nowhere.index)


def test_every_axis_has_a_head_over_its_ids(judge: Judge, taxonomy: Taxonomy) -> None:
    for axis, head in judge.heads.items():
        assert head.ids == axis_ids(taxonomy, axis)
        assert (head.alpha is None) == (axis in LINEAR)
