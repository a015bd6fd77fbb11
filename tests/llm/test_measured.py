"""What a measurement leaves behind, and when a configured LLM is not asked."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bot.runtime.llm_setup import llm_config, open_second_reader, standing, why_silent
from bot.settings import Settings
from knowledge.engine import Knowledge
from knowledge.errors import DataError
from llm.fusion import FusionWeights, Measured, load_weights, measured_file, read_measured, write_measured
from llm.values import LlmConfig
from tests.llm.fake_server import FakeLlm
from tests.llm.questions import REPORT
from tests.llm.second_readers import sensible

CONFIG = LlmConfig("http://x", "org/big-7b:latest")
GAIN = Measured(load_weights(), True, "Significantly better: symptom top1 0.660 to 0.750.")
NONE = Measured(load_weights(), False, "No significant gain on 338 reports.")


def settings(folder: Path, **more: str) -> Settings:
    return Settings.model_validate(
        {"data_dir": folder, "llm_base_url": "http://x", "llm_model": CONFIG.model, **more}
    )


def test_it_is_read_back(tmp_path: Path) -> None:
    assert read_measured(tmp_path, CONFIG) is None
    file = write_measured(tmp_path, CONFIG, NONE)
    assert read_measured(tmp_path, CONFIG) == NONE
    assert file.name.startswith("measured-org-big-7b-latest-")
    assert not list(file.parent.glob("*.part"))


@pytest.mark.parametrize(
    "other", [{"model": "org/big-8b"}, {"duties": ("adjudicator",)}, {"answers_as": "gpt"}]
)
def test_it_holds_for_its_model_and_duties_alone(tmp_path: Path, other: dict[str, object]) -> None:
    write_measured(tmp_path, CONFIG, NONE)
    assert read_measured(tmp_path, replace(CONFIG, **other)) is None  # type: ignore[arg-type]
    assert read_measured(tmp_path, replace(CONFIG, base_url="http://elsewhere", timeout=3)) == NONE


def test_a_damaged_one_is_told_and_not_taken_for_none(tmp_path: Path) -> None:
    file = write_measured(tmp_path, CONFIG, NONE)
    file.write_text(file.read_text("utf-8").replace("use = false", "used = false"), "utf-8")
    with pytest.raises(DataError, match="no decision"):
        read_measured(tmp_path, CONFIG)
    file.write_text("[local]\n", "utf-8")
    with pytest.raises(DataError, match="no fusion weights"):
        read_measured(tmp_path, CONFIG)


def test_not_measured_it_is_asked_and_said_to_be_so(tmp_path: Path) -> None:
    assert "been measured" in str(standing(settings(tmp_path)))
    with open_second_reader(settings(tmp_path)) as reader:
        assert reader is not None


def test_measured_without_a_gain_it_is_not_asked(tmp_path: Path) -> None:
    write_measured(tmp_path, CONFIG, NONE)
    with open_second_reader(settings(tmp_path)) as reader:
        assert reader is None
    told = str(standing(settings(tmp_path)))
    assert "disabled" in told and NONE.why in told and "DISTRIAGE_LLM_USE=always" in told


def test_the_settings_have_the_last_word(tmp_path: Path) -> None:
    write_measured(tmp_path, CONFIG, NONE)
    with open_second_reader(settings(tmp_path, llm_use="always")) as reader:
        assert reader is not None
    config = llm_config(settings(tmp_path, llm_use="always"))
    assert config is not None and why_silent(config, NONE) is None


def test_measured_with_a_gain_it_is_asked_and_its_weights_hold(
    tmp_path: Path, llm: FakeLlm, config: LlmConfig, knowledge: Knowledge
) -> None:
    llm.brain = sensible
    deaf = dict.fromkeys(load_weights().account, 0.0)
    only_local = FusionWeights(dict.fromkeys(deaf, 1.0), deaf, deaf, {})
    asked = settings(tmp_path, llm_base_url=config.base_url, llm_model=config.model)
    found = llm_config(asked)
    assert found is not None
    write_measured(tmp_path, found, replace(GAIN, weights=only_local))
    with open_second_reader(asked) as reader:
        assert reader is not None
        done = reader.triage(REPORT, knowledge)
    assert done.note.used
    local = done.course.examined.judgement["symptom"]
    assert [r.id for r in done.triage.symptom.ranking] == [id_ for id_, _ in local.ranking]
    assert f"measured: {GAIN.why}" in str(standing(asked))


def test_without_an_llm_there_is_nothing_to_say(tmp_path: Path) -> None:
    assert standing(Settings(data_dir=tmp_path)) is None
    assert measured_file(tmp_path, CONFIG).exists() is False
