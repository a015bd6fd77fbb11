"""The LLM's systems under the evaluation's protocol, against a fake server."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr

from bot.runtime.llm_setup import llm_access
from bot.settings import Settings
from eval.llm_systems import LlmSystem, open_llm_systems
from eval.protocol import TrainingSet
from eval.systems import Refitted
from knowledge.errors import UserError
from knowledge.taxonomy import load_taxonomy
from knowledge.training.items import Prepared
from knowledge.training.records import shipped_records
from tests.embeddings.fake_encoder import FakeEncoder
from tests.eval.factory import UNTAUGHT, prepared
from tests.llm.fake_server import MODEL, Answer, FakeLlm, serve
from tests.llm.second_readers import sensible


@pytest.fixture(scope="module")
def items() -> list[Prepared]:
    human = [record for record in shipped_records() if record.source == "human"]
    return prepared(*human[:90])


@pytest.fixture
def llm() -> FakeLlm:
    made = FakeLlm()
    made.brain = sensible
    return made


@pytest.fixture
def systems(llm: FakeLlm, tmp_path: Path, items: list[Prepared]) -> Iterator[dict[str, LlmSystem]]:
    local = Refitted(UNTAUGHT)
    local.fit(TrainingSet(items[3:], items[3:], load_taxonomy()))
    with serve(llm) as url:
        settings = Settings(
            data_dir=tmp_path,
            llm_base_url=url,
            llm_model=MODEL,
            llm_api_key=SecretStr("key-1"),
            llm_timeout=5,
        )
        with open_llm_systems(local, FakeEncoder(), llm_access(settings), fits=None) as made:
            yield made


def test_the_fused_system_gives_probabilities_and_cases_of_the_fold(
    systems: dict[str, LlmSystem], items: list[Prepared]
) -> None:
    verdicts = systems["distriage+llm"].rank(items[:3])
    known = {item.record.report.id for item in items[3:]}
    for verdict in verdicts:
        assert set(verdict.axes) == {"type", "distributed", "stage", "symptom", "cause", "fix"}
        assert sum(p for _, p in verdict.axes["symptom"].ranking) == pytest.approx(1, abs=0.01)
        assert set(verdict.neighbours) <= known


def test_the_llm_alone_ranks_without_probabilities(
    systems: dict[str, LlmSystem], items: list[Prepared]
) -> None:
    (verdict,) = systems["llm"].rank(items[:1])
    assert {p for _, p in verdict.axes["symptom"].ranking} == {0.0}
    assert not verdict.axes["symptom"].answer
    assert verdict.neighbours == ()


def test_no_reply_leaves_every_axis_unscored(
    systems: dict[str, LlmSystem], llm: FakeLlm, items: list[Prepared]
) -> None:
    llm.brain = lambda body: Answer("no")
    (verdict,) = systems["llm"].rank(items[:1])
    assert verdict.axes == {}


def test_without_an_llm_the_remedy_is_told(tmp_path: Path) -> None:
    with (
        pytest.raises(UserError, match="No LLM is configured"),
        open_llm_systems(
            Refitted(UNTAUGHT), FakeEncoder(), llm_access(Settings(data_dir=tmp_path)), fits="llm"
        ),
    ):
        pass


def test_a_server_that_is_not_there_ends_the_run_at_once(tmp_path: Path, items: list[Prepared]) -> None:
    local = Refitted(UNTAUGHT)
    local.fit(TrainingSet(items[8:], items[8:], load_taxonomy()))
    settings = Settings(
        data_dir=tmp_path, llm_base_url="http://127.0.0.1:9/v1", llm_model=MODEL, llm_timeout=1
    )
    with (
        open_llm_systems(local, FakeEncoder(), llm_access(settings), fits=None) as made,
        pytest.raises(UserError, match="gives no answer: unreachable"),
    ):
        made["llm"].rank(items[:8])


def test_fresh_asks_again_what_the_cache_holds(llm: FakeLlm, tmp_path: Path, items: list[Prepared]) -> None:
    local = Refitted(UNTAUGHT)
    local.fit(TrainingSet(items[3:], items[3:], load_taxonomy()))
    with serve(llm) as url:
        settings = Settings(data_dir=tmp_path, llm_base_url=url, llm_model=MODEL)
        for fresh, asked in ((False, 1), (False, 1), (True, 2)):
            with open_llm_systems(local, FakeEncoder(), llm_access(settings), fits=None, fresh=fresh) as made:
                made["llm"].rank(items[:1])
            assert len(llm.requests) == asked
