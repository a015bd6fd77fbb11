"""`.github/distriage.yml`: how a repository wants to be served. JSON Schema: docs/distriage.schema.json."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from knowledge.errors import UserError
from knowledge.triage import AxisName

CONFIG_PATH = ".github/distriage.yml"

Mode = Literal["shadow", "label", "comment", "both"]
Language = Literal["en", "de"]
Section = Literal["evidence", "fixes", "cases", "missing", "script"]
Share = Annotated[float, Field(ge=0, le=1)]
Name = Annotated[str, Field(min_length=1, max_length=100)]


class ConfigError(UserError):
    """The file cannot be used; the message names the place, never repeats a value."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Thresholds(_Part):
    """How probable a claim must be; the core must claim it besides."""

    type: Share = Field(default=0.5, description="that it is a fault (or a question) at all")
    stage: Share = 0.5
    symptom: Share = 0.5
    cause: Share = 0.5
    fix: Share = Field(default=0.1, description="a fix pattern is listed from this probability on")
    label: Share = Field(default=0.7, description="a label is set from this probability on")


class Ignore(_Part):
    """Issues that are none of the bot's business."""

    authors: list[Name] = Field(default=[], max_length=200)
    labels: list[Name] = Field(default=[], max_length=200)
    bots: bool = Field(default=True, description="issues opened by bots")


class NoiseBudget(_Part):
    """More than `max_dismissed` of the last `of_last` comments dismissed: it falls back to shadow."""

    max_dismissed: int = Field(default=4, ge=0, le=100)
    of_last: int = Field(default=20, ge=1, le=100)


class RepoConfig(_Part):
    """The whole file; every key may be left out."""

    mode: Mode = Field(default="shadow", description="shadow stores the triage and writes nothing")
    language: Language = Field(default="en", description="of the comment's own words")
    framework: Literal["pytorch", "tensorflow", "horovod", "deepspeed", "megatron", "colossalai"] | None = (
        Field(default=None, description="of the reports here, where the text does not say")
    )
    thresholds: Thresholds = Thresholds()
    labels: dict[AxisName, dict[Name, Name]] = Field(
        default={}, description="axis, id of the taxonomy, label to set"
    )
    create_labels: bool = Field(default=False, description="create mapped labels that do not exist")
    ignore: Ignore = Ignore()
    min_length: int = Field(default=40, ge=0, le=10_000, description="characters of title and body together")
    sections: list[Section] = ["evidence", "fixes", "cases", "missing", "script"]
    ask_below_threshold: bool = Field(
        default=False, description="ask for missing information even when nothing can be said"
    )
    noise: NoiseBudget = NoiseBudget()
    report_errors_to: int | None = Field(
        default=None, ge=1, description="issue number where one comment tells of errors in this file"
    )

    @property
    def comments(self) -> bool:
        """Whether the mode has comments written."""
        return self.mode in {"comment", "both"}

    @property
    def sets_labels(self) -> bool:
        """Whether the mode has labels set."""
        return self.mode in {"label", "both"}


class _PlainLoader(yaml.SafeLoader):
    """No aliases: a few of them can stand for gigabytes."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise ConfigError("the file uses YAML aliases", "Write the values out.")
        return super().compose_node(parent, index)


def parse_config(text: str, ids: Callable[[AxisName], frozenset[str]]) -> RepoConfig:
    """The configuration in a file's text; empty means all defaults. `ConfigError` says where it is wrong."""
    try:
        data = yaml.load(text, Loader=_PlainLoader)
        config = RepoConfig.model_validate({} if data is None else data)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" in line {mark.line + 1}" if mark else ""
        raise ConfigError(f"the file is no YAML{where}", "See docs/github.md.") from error
    except RecursionError as error:
        raise ConfigError("the file is nested too deeply", "See docs/github.md.") from error
    except ValidationError as error:
        raise ConfigError(_first_error(error), "See docs/distriage.schema.json.") from error
    except (ValueError, OverflowError) as error:
        # A date or a number that YAML recognises and Python cannot hold.
        raise ConfigError("a value in the file cannot be read", "See docs/github.md.") from error
    for axis, mapping in config.labels.items():
        if not mapping.keys() <= ids(axis):
            raise ConfigError(f"labels.{axis} names an id that the taxonomy has not", "See docs/taxonomy.md.")
    return config


def _first_error(error: ValidationError) -> str:
    # Only names of the schema may be repeated: everything else in the file is somebody's text.
    first = error.errors(include_input=False, include_url=False)[0]
    known = [str(part) for part in first["loc"] if isinstance(part, int) or part in _KNOWN]
    return f"{'.'.join(known) or 'the file'}: {first['type'].replace('_', ' ')}"


_KNOWN = {name for model in (RepoConfig, Thresholds, Ignore, NoiseBudget) for name in model.model_fields} | {
    "type",
    "stage",
    "symptom",
    "cause",
    "fix",
}
