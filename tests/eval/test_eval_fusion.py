"""From the LLM's answers in a cross-validated run to fitted weights and the decision whether it is asked."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bot.cli.evaluate_output import keep_fusion
from bot.runtime.llm_setup import llm_access, open_second_reader
from bot.settings import Settings
from eval.benchmark import Benchmark, EvalCase, split
from eval.llm_part import llm_part
from eval.llm_systems import NESTED, UNFITTED, LlmSystem, open_llm_systems, store
from eval.protocol import Predictions
from eval.session import checked_llm, run
from eval.summary import Worth
from eval.systems import Refitted
from knowledge.errors import UserError
from knowledge.judging.axes import labels_of
from knowledge.taxonomy import load_taxonomy
from knowledge.training.records import shipped_records
from llm.fit_fusion import LOCAL
from llm.fusion import read_measured
from llm.values import LlmConfig
from tests.embeddings.fake_encoder import FakeEncoder
from tests.eval.factory import UNTAUGHT, prepared
from tests.llm.fake_server import MODEL, Answer, Body, FakeLlm, serve
from tests.llm.second_readers import schema_of

pytestmark = pytest.mark.long

CASES = 130
Brain = Callable[[Body], Answer]


@pytest.fixture(scope="module")
def benchmark() -> Benchmark:
    human = [record for record in shipped_records() if record.source == "human"][:CASES]
    return Benchmark(
        tuple(EvalCase(one, one.record.report.id, True, True) for one in prepared(*human)), types_only=False
    )


def guesser(seed: int = 3) -> Brain:
    """A model that draws its rankings by lot."""
    drawn = random.Random(seed)

    def brain(body: Body) -> Answer:
        reply: dict[str, object] = {"reason": "It hangs.", "lines": [], "cases": []}
        for axis in ("type", "stage", "symptom", "cause", "fix"):
            ids = list(schema_of(body)[axis]["items"]["enum"])
            drawn.shuffle(ids)
            reply[axis] = ids
        return Answer(json.dumps(reply))

    return brain


def expert(benchmark: Benchmark) -> Brain:
    """A model that puts a right id first wherever it was shown one."""
    right = {case.prepared.reading.report.title: case.prepared.record.labels for case in benchmark.cases}
    guess = guesser()

    def brain(body: Body) -> Answer:
        reply = json.loads(guess(body).text)
        text = body["messages"][1]["content"].partition("0| ")[2]
        labels = right.get(text.partition("\n")[0])
        if labels is not None:
            for axis in ("type", "stage", "symptom", "cause", "fix"):
                first = [id_ for id_ in labels_of(labels, axis) if id_ in reply[axis]]
                reply[axis] = [*first, *(id_ for id_ in reply[axis] if id_ not in first)]
        return Answer(json.dumps(reply))

    return brain


def evaluated(
    benchmark: Benchmark, brain: Brain, folder: Path, *, fit_fusion: bool
) -> tuple[dict[str, Predictions], LlmSystem, Settings]:
    llm = FakeLlm()
    llm.brain = brain
    local = Refitted(UNTAUGHT)
    with serve(llm) as url:
        settings = Settings(
            data_dir=folder, llm_base_url=url, llm_model=MODEL, llm_duties="adjudicator", llm_concurrency=4
        )
        with open_llm_systems(
            local, FakeEncoder(), llm_access(settings), fits=None, fit_fusion=fit_fusion
        ) as made:
            system = made["distriage+llm"]
            folds = split(benchmark.cases, "cv", 3)
            runs = run([local, system], benchmark, folds, load_taxonomy(), "3-fold", "by hand")
    runs["distriage+llm"] = system.finished(runs["distriage+llm"])
    return runs, system, settings


def decided(runs: dict[str, Predictions]) -> Worth:
    part = llm_part(runs)
    assert part is not None and part.worth is not None
    return part.worth


def test_an_expert_is_fitted_kept_and_asked_from_then_on(benchmark: Benchmark, tmp_path: Path) -> None:
    runs, system, settings = evaluated(benchmark, expert(benchmark), tmp_path, fit_fusion=True)
    verdict = decided(runs)
    assert verdict.use is True, verdict.why
    file, measured = store(tmp_path, system.config, system.rows, verdict)
    assert file.exists() and read_measured(tmp_path, system.config) == measured
    assert measured.weights.of("symptom")[2] > 1
    assert measured.weights.provenance["cases"] == CASES
    with open_second_reader(settings) as reader:
        assert reader is not None
    # Whoever evaluates again must not be told figures of weights that saw the cases.
    again = open_llm_systems(Refitted(UNTAUGHT), FakeEncoder(), llm_access(settings), fits=None)
    with again as made:
        assert made["distriage+llm"].finished(runs["distriage"]).asked == runs["distriage+llm"].asked
    assert runs["distriage+llm"].asked is not None and runs["distriage+llm"].asked.weights == NESTED


def test_a_guesser_counts_nothing_changes_nothing_and_is_not_asked(
    benchmark: Benchmark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    runs, system, settings = evaluated(benchmark, guesser(), tmp_path, fit_fusion=True)
    verdict = decided(runs)
    assert verdict.use is False
    part = llm_part(runs)
    assert part is not None
    assert all(one.high >= 0 for one in part.against["distriage+llm"])
    monkeypatch.setenv("DISTRIAGE_DATA_DIR", str(tmp_path))
    keep_fusion(runs, [system])
    assert "acme-7b is now disabled" in capsys.readouterr().err
    measured = read_measured(tmp_path, system.config)
    assert measured is not None
    assert [measured.weights.of(axis) for axis in ("stage", "symptom", "cause", "fix")] == [LOCAL] * 4
    with open_second_reader(settings) as reader:
        assert reader is None


def test_without_a_fit_the_shipped_weights_are_used_and_named(benchmark: Benchmark, tmp_path: Path) -> None:
    few = Benchmark(benchmark.cases[:30])
    runs, system, _ = evaluated(few, guesser(), tmp_path, fit_fusion=False)
    asked = runs["distriage+llm"].asked
    assert asked is not None and asked.weights == UNFITTED
    assert len(system.rows) == 30


def test_too_little_is_not_kept(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="It answered about 3 reports"):
        store(tmp_path, LlmConfig("http://x", "m"), [], Worth(None, "It answered about 3 reports."))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("names", "options", "why"),
    [
        (["distriage+llm"], {"fit_fusion": True}, "with and without"),
        (["distriage", "llm"], {"fit_fusion": True}, "with and without"),
        (["distriage", "distriage+llm"], {"fit_fusion": True, "held_out": True}, "needs cross-validation"),
        (["distriage"], {"fresh": True}, "--fresh needs"),
        (["distriage", "llm"], {"writer": True}, "--writer needs the system distriage.llm"),
        (["distriage+llm"], {"writer": True, "cassette": Path("a.jsonl")}, "--writer calls the LLM"),
    ],
)
def test_options_that_need_other_systems_say_so(names: list[str], options: dict[str, Any], why: str) -> None:
    given: dict[str, Any] = {"fit_fusion": False, "fresh": False, "held_out": False, **options}
    with pytest.raises(UserError, match=why):
        checked_llm(names, **given)
