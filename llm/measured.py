"""What a measurement of the LLM left behind: weights fitted on its answers, and whether it is asked at all.

One file for each model, its duties and the wording of the questions; another model starts unmeasured.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from dataclasses import dataclass
from pathlib import Path

import re2

from knowledge.errors import DataError
from llm.config import LlmConfig
from llm.fusion import FusionWeights
from llm.fusion_file import as_toml, load_weights
from llm.texts import digest
from llm.values import RANKING

_ODD = re2.compile(r"[^A-Za-z0-9.]+")


@dataclass(frozen=True, slots=True)
class Measured:
    """Fitted weights, and by `eval.summary` whether the LLM is asked: `why` is a sentence."""

    weights: FusionWeights
    use: bool
    why: str


def measured_file(data_dir: Path, config: LlmConfig) -> Path:
    """Where the measurement of the configured model stands, or would stand."""
    named = [config.model, config.answers_as, sorted(set(config.duties) & set(RANKING)), digest()]
    key = hashlib.sha256(json.dumps(named).encode()).hexdigest()[:12]
    name = _ODD.sub("-", config.model).strip("-.")[:60]
    return data_dir / "llm" / f"measured-{name}-{key}.toml"


def read_measured(data_dir: Path, config: LlmConfig) -> Measured | None:
    """The measurement of the configured model; None where it was not measured. DataError when it is damaged."""
    file = measured_file(data_dir, config)
    if not file.exists():
        return None
    weights = load_weights(file)
    decision = tomllib.loads(file.read_text("utf-8")).get("decision", {})
    if not isinstance(decision.get("use"), bool):
        raise DataError(f"{file}: no decision.", "Delete it, or recreate it with `bot eval --fit-fusion`.")
    return Measured(weights, decision["use"], str(decision.get("why", "")))


def write_measured(data_dir: Path, config: LlmConfig, measured: Measured) -> Path:
    """Write it as a file to read and change by hand; returns where."""
    file = measured_file(data_dir, config)
    file.parent.mkdir(parents=True, exist_ok=True)
    tables = {"decision": {"use": measured.use, "why": measured.why}}
    part = file.with_suffix(".part")
    part.write_text(as_toml(measured.weights, tables), "utf-8")
    part.replace(file)
    return file
