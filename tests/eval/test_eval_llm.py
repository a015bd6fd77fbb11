"""The LLM's systems under the evaluation's protocol, against a fake server."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr

from bot.runtime.llm_setup import llm_access
from bot.settings import Settings
from eval.llm_cassette import recording, replaying
from eval.llm_part import LlmPart, llm_part
from eval.llm_systems import LlmSystem, open_llm_systems
from eval.protocol import TrainingSet
from eval.systems import Refitted
from knowledge.errors import UserError
from knowledge.taxonomy import load_taxonomy
from knowledge.training.items import Prepared
from knowledge.training.records import shipped_records
from llm.values import RANKING
from tests.embeddings.fake_encoder import FakeEncoder
from tests.eval.factory import UNTAUGHT, predicted, prepared, run_of
from tests.llm.fake_server import MODEL, Answer, FakeLlm, serve
from tests.llm.second_readers import duty_of, sensible

SHIPPED = Path(__file__).parents[2] / "eval" / "cassette.jsonl.gz"


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


def table_of(system: LlmSystem, items: list[Prepared]) -> LlmPart:
    """What `bot eval` tells of the LLM after these reports."""
    cases = [
        predicted(item.record.report.id, ["A.1"], {"A.1": 1.0}).model_copy(update={"usage": verdict.usage})
        for item, verdict in zip(items, system.rank(items), strict=True)
    ]
    part = llm_part({"distriage+llm": system.finished(run_of(cases, "distriage+llm"))})
    assert part is not None
    return part


def test_every_duty_is_measured_at_the_server_and_again_from_the_recorded_answers(
    llm: FakeLlm, tmp_path: Path, items: list[Prepared]
) -> None:
    local = Refitted(UNTAUGHT)
    local.fit(TrainingSet(items[3:], items[3:], load_taxonomy()))
    file = tmp_path / "answers.jsonl"
    with serve(llm) as url:
        settings = Settings(
            data_dir=tmp_path, llm_base_url=url, llm_model=MODEL, llm_price_input=1.0, llm_price_output=10.0
        )
        access = llm_access(settings, writer=True)
        assert access is not None
        with open_llm_systems(local, FakeEncoder(), recording(file, access), fits=None) as made:
            live = table_of(made["distriage+llm"], items[:3])
    asked = len(llm.requests)
    with open_llm_systems(local, FakeEncoder(), replaying(file, 1.0, 10.0), fits=None) as made:
        replayed = table_of(made["distriage+llm"], items[:3])
    assert len(llm.requests) == asked, "a replay asks nobody"
    duties = live.duties["distriage+llm"]
    assert list(duties) == ["reader", "adjudicator", "writer", "verifier"]
    assert sum(one.calls for one in duties.values()) == asked
    for one in duties.values():
        assert (one.tokens_in, one.tokens_out) == (1000 * one.calls, 100 * one.calls)
        assert one.cost == pytest.approx(0.002 * one.calls)
        assert one.p50 and one.p95
    assert live.duty_notes() == replayed.duty_notes() == []
    for row, again in zip(live.duty_rows(), replayed.duty_rows(), strict=True):
        assert row[:-1] == again[:-1]
        assert (row[-1], again[-1]) == (f"{row[2]} asked", f"{row[2]} recorded")


def test_the_shipped_cassette_is_said_to_lack_figures_and_three_duties(items: list[Prepared]) -> None:
    local = Refitted(UNTAUGHT)
    local.fit(TrainingSet(items[3:], items[3:], load_taxonomy()))
    with open_llm_systems(local, FakeEncoder(), replaying(SHIPPED, 1.0, 10.0), fits=None) as made:
        part = table_of(made["distriage+llm"], items[:3])
    assert [row[1:] for row in part.duty_rows()] == [["adjudicator", "3", "0", *["–"] * 6, "0"]]
    assert part.duty_notes() == [
        "distriage+llm, adjudicator: 3 of 3 answers come from the cassette, without tokens and seconds.",
        "No recorded answers of the reader, the writer, and the verifier.",
    ]


def test_the_writer_is_asked_only_on_request(
    systems: dict[str, LlmSystem], llm: FakeLlm, items: list[Prepared]
) -> None:
    part = table_of(systems["distriage+llm"], items[:3])
    assert list(part.duties["distriage+llm"]) == ["reader", "adjudicator"]
    assert {duty_of(body) for body in llm.requests} == {"reader", "adjudicator"}
    assert part.duty_notes()[-1] == "Not asked: the writer and the verifier; --writer measures them."


def test_answers_of_the_writer_alone_are_nothing_to_fit_on(
    llm: FakeLlm, tmp_path: Path, items: list[Prepared]
) -> None:
    llm.brain = lambda body: Answer("no") if duty_of(body) in RANKING else sensible(body)
    local = Refitted(UNTAUGHT)
    local.fit(TrainingSet(items[3:], items[3:], load_taxonomy()))
    with serve(llm) as url:
        settings = Settings(data_dir=tmp_path, llm_base_url=url, llm_model=MODEL)
        with open_llm_systems(local, FakeEncoder(), llm_access(settings, writer=True), fits=None) as made:
            part = table_of(made["distriage+llm"], items[:3])
            assert made["distriage+llm"].rows == []
    assert part.duties["distriage+llm"]["writer"].failed == 0
    assert part.duties["distriage+llm"]["reader"].failed == 3


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
        pytest.raises(UserError, match="doesn't answer: unreachable"),
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
