"""`.github/distriage.yml`: how a repository wants to be served. JSON Schema: docs/distriage.schema.json."""

from __future__ import annotations

import difflib
import json
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import yaml
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import ErrorDetails, PydanticCustomError

from bot.render.comment import Level
from knowledge.errors import UserError
from knowledge.frameworks import framework_id, framework_ids
from knowledge.text.quote import clean, shorten
from knowledge.text.words import listed
from knowledge.triage import AxisName

__all__ = ["CONFIG_PATH", "ConfigError", "LlmMode", "Mode", "RepoConfig", "config_notes", "parse_config"]


# What is wrong with a configuration file: key, line, value, what is allowed and what was probably meant. Pure.
#
# The texts name things in backticks, so that the gate shows them as code wherever they are posted.

MOST = 10
"""Problems that are named; the rest are counted."""
_VALUE_CHARS = 40
_OF_KEYS = frozenset({"extra_forbidden", "invalid_key"})
_MAPPING = frozenset({"model_type", "dict_type", "model_attributes_type"})
_OPENINGS = ("Input should ", "String should ", "List should ", "Value should ")

KeyPath = tuple[int | str, ...]


class ConfigError(UserError):
    """The file cannot be used; `problems` holds one sentence for each thing that is wrong with it."""

    def __init__(self, problems: list[str]) -> None:
        shown = problems[:MOST]
        if len(problems) > MOST:
            shown.append(f"and {len(problems) - MOST} more")
        super().__init__("; ".join(shown))
        self.problems = tuple(shown)


class Places:
    """Where the keys and values of a YAML document are."""

    def __init__(self, root: yaml.Node | None) -> None:
        self._root = root

    def line(self, path: KeyPath) -> int | None:
        """The line (from 1) of the key or list item that a path leads to; of what is around it when there is none."""
        node, line = self._root, None if self._root is None else self._root.start_mark.line + 1
        for part in path:
            found = _child(node, part)
            if found is None:
                break
            node, line = found
        return line

    def found(self, path: KeyPath) -> KeyPath:
        """As much of a path as the document has: where a value may have several forms, pydantic adds theirs."""
        node = self._root
        for n, part in enumerate(path):
            found = _child(node, part)
            if found is None:
                return path[:n]
            node = found[0]
        return path

    def repeated(self) -> list[tuple[KeyPath, str]]:
        """Keys that a mapping holds twice: YAML readers silently take the last one."""
        return list(_repeated(self._root, ()))


def _repeated(node: yaml.Node | None, path: KeyPath) -> Iterator[tuple[KeyPath, str]]:
    if isinstance(node, yaml.SequenceNode):
        for n, value in enumerate(node.value):
            yield from _repeated(value, (*path, n))
    if not isinstance(node, yaml.MappingNode):
        return
    seen: set[str] = set()
    # A key is a scalar: a file with any other is not read at all.
    for key, value in node.value:
        where = (*path, key.value)
        if key.value in seen:
            yield (
                where,
                f"{code('.'.join(map(str, where)))} is repeated on line {key.start_mark.line + 1}",
            )
        seen.add(key.value)
        yield from _repeated(value, where)


def _child(node: yaml.Node | None, part: int | str) -> tuple[yaml.Node, int] | None:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value == str(part):
                return value, key.start_mark.line + 1
    if isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
        return node.value[part], node.value[part].start_mark.line + 1
    return None


def problems_of(
    errors: Iterable[ErrorDetails],
    places: Places,
    keys: Mapping[str, Collection[str]],
    more: Iterable[tuple[KeyPath, str]] = (),
) -> list[str]:
    """Validation errors and `more` as sentences, in the file's order.

    `keys`: those known within each part ("" is the top).
    """
    placed = [(_place(error, places), error) for error in errors]
    found = [*((path, _sentence(path, error, keys)) for path, error in placed), *more]
    return [
        at(places.line(path), said) for path, said in sorted(found, key=lambda one: places.line(one[0]) or 0)
    ]


def _place(error: ErrorDetails, places: Places) -> KeyPath:
    path = tuple(part for part in error["loc"] if part != "[key]")
    about_key = len(path) < len(error["loc"]) or error["type"] in _OF_KEYS
    return path if about_key else places.found(path)


def _sentence(path: KeyPath, error: ErrorDetails, keys: Mapping[str, Collection[str]]) -> str:
    value, is_key = error["input"], "[key]" in error["loc"]
    name, last = ".".join(map(str, path)), str(path[-1]) if path else ""
    if error["type"] == "extra_forbidden":
        return f"{code(name)} is not a known key{_meant(last, keys['.'.join(map(str, path[:-1]))])}"
    if error["type"] == "invalid_key":
        return f"{code(name)} is not a known key{_meant(last, keys[''])}"
    if error["type"] == "literal_error":
        allowed = re.findall(r"'([^']*)'", str(error.get("ctx", {}).get("expected", "")))
        if is_key:
            return f"{code(name)} is not a known key{_meant(last, allowed)}"
        what = f"{code(name)} has no value" if value is None else f"{_named(name, value)} is not allowed"
        return what + _meant(str(value), allowed)
    if error["type"] in _MAPPING:
        return f"{code(name) if path else 'the file'} must contain keys with values"
    rule = _rule(error["msg"])
    bounded = isinstance(value, int | float) and rule.startswith(("be at most", "be at least"))
    return f"{_named(name, value)} {'is out of range; it ' if bounded else ''}must {rule}"


def unknown_id(axis: str, given: str, known: Collection[str]) -> str:
    """A mapped id that the taxonomy does not have."""
    near = difflib.get_close_matches(given, sorted(known), n=3, cutoff=0.0)
    return f"{code(f'labels.{axis}')} has no id {code(given)}; did you mean {listed(map(code, near), 'or')}?"


def at(line: int | None, said: str) -> str:
    """A sentence with the line that it is about."""
    return said if line is None else f"line {line}: {said}"


def code(text: str) -> str:
    """Somebody's text in backticks: one line, redacted, short, without what could end the code."""
    line = " ".join(clean(text).replace("`", "'").split())
    return f"`{shorten(line, _VALUE_CHARS) or '-'}`"


def _named(name: str, value: object) -> str:
    """`key: value`, or the key alone where the value is a list or mapping."""
    if isinstance(value, bool):
        value = str(value).lower()
    if value is None or isinstance(value, list | dict):
        return code(name)
    return code(f"{name}: {value}")


def _meant(given: str, known: Collection[str]) -> str:
    """The nearest of the known words, and all of them."""
    near = difflib.get_close_matches(given.casefold(), known, n=1, cutoff=0.6)
    allowed = ", ".join(code(word) for word in known)
    return f"; did you mean {code(near[0])}? Allowed: {allowed}" if near else f"; allowed: {allowed}"


def _rule(message: str) -> str:
    message = message.partition(", unable to ")[0]
    opening = next((o for o in _OPENINGS if message.startswith(o)), None)
    if opening is None:
        return f"be valid ({message[:80]})"
    rule = message.removeprefix(opening)
    return rule.replace("less than or equal to", "at most").replace("greater than or equal to", "at least")


CONFIG_PATH = ".github/distriage.yml"

Mode = Literal["shadow", "label", "comment", "both"]
LlmMode = Literal["off", "ids", "draft", "comment"]
"""YAML reads a bare `off` as false, so that is accepted for it."""
Section = Literal["evidence", "fixes", "cases", "missing", "script"]
Share = Annotated[float, Field(ge=0, le=1)]
Name = Annotated[str, Field(min_length=1, max_length=100)]
LABEL_CHARS = 50
"""GitHub's own limit. The model allows more, so that what was read before stays readable."""
_LABEL_MOST = 100
Label = Annotated[
    str, Field(min_length=1, max_length=_LABEL_MOST, json_schema_extra={"maxLength": LABEL_CHARS})
]
IGNORED = {
    "language": "comments are in English only",
    "ask_below_threshold": "remove `missing` from `sections` to turn off requests for information",
}
"""Keys of former versions: accepted, without effect, and why."""


def _framework(word: object) -> str:
    found = framework_id(word) if isinstance(word, str) else None
    if found is None:
        expected = ", ".join(f"'{id_}'" for id_ in framework_ids())
        raise PydanticCustomError("literal_error", "Input should be {expected}", {"expected": expected})
    return found


Framework = Annotated[
    str, BeforeValidator(_framework), WithJsonSchema({"enum": list(framework_ids()), "type": "string"})
]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Thresholds(_Part):
    """How probable a claim must be; the core must claim it besides."""

    type: Share = Field(default=0.5, description="that it is a failure (or a question) at all")
    stage: Share = 0.5
    symptom: Share = 0.5
    cause: Share = 0.5
    fix: Share = Field(default=0.1, description="minimum probability for listing a fix pattern")
    label: Share = Field(default=0.7, description="minimum probability for setting a label")


class Ignore(_Part):
    """Issues that are none of the bot's business."""

    authors: list[Name] = Field(default=[], max_length=200)
    labels: list[Name] = Field(default=[], max_length=200)
    bots: bool = Field(default=True, description="issues opened by bots")


class NoiseBudget(_Part):
    """More than `max_dismissed` of the last `of_last` comments dismissed: it falls back to shadow."""

    max_dismissed: int = Field(default=4, ge=0, le=100)
    of_last: int = Field(default=20, ge=1, le=100)


Pattern = Annotated[str, Field(min_length=1, max_length=100)]
"""A label's name; * stands for anything in it."""


class OwnLabels(_Part):
    """Labels that are learned from what people set here (docs/history.md)."""

    only: list[Pattern] = Field(default=["*"], max_length=200, description="labels that may be set")
    never: list[Pattern] = Field(default=[], max_length=200, description="of these, the ones that are not")
    exclusive: list[Pattern | Annotated[list[Pattern], Field(min_length=1, max_length=200)]] = Field(
        default=[],
        max_length=50,
        description="groups, each a pattern or a list of patterns: of a group an issue has one label at most",
    )

    def allows(self, label: str) -> bool:
        """Whether the label may be set."""
        return _fits(label, self.only) and not _fits(label, self.never)

    def groups(self, label: str) -> list[int]:
        """The numbers of the groups that the label belongs to."""
        lists = [[group] if isinstance(group, str) else group for group in self.exclusive]
        return [n for n, patterns in enumerate(lists) if _fits(label, patterns)]


def _fits(label: str, patterns: list[str]) -> bool:
    # Brackets are part of names ("[dist]"), so of a shell's patterns only the star is one.
    name = label.casefold()
    return any(
        re.fullmatch(".*".join(map(re.escape, one.casefold().split("*"))), name) is not None
        for one in patterns
    )


class RepoConfig(_Part):
    """The whole file; every key may be left out."""

    mode: Mode = Field(default="shadow", description="shadow stores the triage and writes nothing")
    framework: Framework | None = Field(
        default=None, description="default framework of reports that name none"
    )
    comment_on: Level = Field(
        default="findings",
        description="findings: known failures and explained version conflicts; claims: also a symptom or cause that "
        "is claimed; always: the best guess for every failure",
    )
    llm: Annotated[LlmMode, BeforeValidator(lambda value: "off" if value is False else value)] = Field(
        default="draft",
        description="what an LLM, where the service has one, does here. off: nothing; ids: it moves probabilities; "
        "draft: it also writes an answer for the maintainers; comment: a verified answer is the comment",
    )
    thresholds: Thresholds = Thresholds()
    labels: dict[AxisName, dict[Name, Label]] = Field(
        default={}, description="axis, taxonomy id, label to set"
    )
    own_labels: OwnLabels | None = Field(
        default=None,
        description="set labels as people set them here before; null: they are only shown on the maintainers' page",
    )
    request_label: Label | None = Field(
        default="needs-info",
        description="label while the comment asks for something; set where the repository has it; null: none",
    )
    create_labels: bool = Field(default=False, description="create mapped labels that do not exist")
    ignore: Ignore = Ignore()
    min_length: int = Field(
        default=40, ge=0, le=10_000, description="minimum length of title plus body, in characters"
    )
    sections: list[Section] = ["evidence", "fixes", "cases", "missing", "script"]
    noise: NoiseBudget = NoiseBudget()
    report_errors_to: int | None = Field(
        default=None, ge=1, description="number of the issue where one comment reports errors in this file"
    )

    @model_validator(mode="before")
    @classmethod
    def _without_ignored(cls, data: Any) -> Any:
        return {key: data[key] for key in data if key not in IGNORED} if isinstance(data, dict) else data

    @property
    def comments(self) -> bool:
        """Whether the mode has comments written."""
        return self.mode in {"comment", "both"}

    @property
    def has_answers(self) -> bool:
        """Whether an LLM may write an answer at all."""
        return self.llm in {"draft", "comment"}

    @property
    def sets_labels(self) -> bool:
        """Whether the mode has labels set."""
        return self.mode in {"label", "both"}


SCHEMA_ID = "https://json.schemastore.org/distriage.json"
"""Where SchemaStore serves the schemas that it hosts; editors find the file by its name."""


def schema_text() -> str:
    """The schema as it is published: draft 7, as SchemaStore asks, with its address."""
    schema = RepoConfig.model_json_schema(ref_template="#/definitions/{model}")
    definitions = schema.pop("$defs")
    published = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$id": SCHEMA_ID,
        **schema,
        "title": "distriage configuration",
        "description": f"Configuration of distriage for one repository: {CONFIG_PATH}",
        "definitions": definitions,
    }
    return json.dumps(published, indent=2) + "\n"


class _PlainLoader(yaml.SafeLoader):
    """No aliases: a few of them can stand for gigabytes."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            line = self.get_mark().line + 1
            raise ConfigError([at(line, "YAML aliases are not allowed; write the values out")])
        return super().compose_node(parent, index)


def parse_config(text: str, ids: Callable[[AxisName], frozenset[str]]) -> RepoConfig:
    """The configuration in a file's text; empty means all defaults. `ConfigError` names all that is wrong."""
    data, places = _read(text)
    wrong = [*_wrong_labels(data, ids), *places.repeated()]
    try:
        config = RepoConfig.model_validate({} if data is None else data)
    except ValidationError as error:
        found = problems_of(error.errors(include_url=False), places, _KEYS, wrong)
        raise ConfigError(found) from error
    if wrong:
        raise ConfigError(problems_of((), places, _KEYS, wrong))
    return config


def _wrong_labels(data: Any, ids: Callable[[AxisName], frozenset[str]]) -> list[tuple[KeyPath, str]]:
    """Ids that the taxonomy does not have, labels that GitHub does not take; what is no text is left to the model."""
    labels = data.get("labels") if isinstance(data, dict) else None
    found: list[tuple[KeyPath, str]] = []
    for axis in get_args(AxisName):
        mapping = labels.get(axis) if isinstance(labels, dict) else None
        for id_, label in mapping.items() if isinstance(mapping, dict) else ():
            if isinstance(id_, str) and id_ not in ids(axis):
                found.append((("labels", axis, id_), unknown_id(axis, id_, ids(axis))))
            if isinstance(label, str) and LABEL_CHARS < len(label) <= _LABEL_MOST:
                said = f"the label {code(label)} has over {LABEL_CHARS} characters"
                found.append((("labels", axis, str(id_)), said))
    return found


def config_notes(text: str) -> list[str]:
    """What a file that can be read says in vain, one sentence each."""
    data, places = _read(text)
    given = [key for key in IGNORED if isinstance(data, dict) and key in data]
    return [at(places.line((key,)), f"{code(key)} is ignored: {IGNORED[key]}") for key in given]


def _read(text: str) -> tuple[Any, Places]:
    loader: Any = None
    try:
        loader = _PlainLoader(text)
        node = loader.get_single_node()
        return (None if node is None else loader.construct_document(node)), Places(node)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 1 if mark else None
        raise ConfigError([at(line, "this is not valid YAML")]) from error
    except RecursionError as error:
        raise ConfigError(["the file is nested too deeply"]) from error
    except (ValueError, OverflowError) as error:
        # A date or a number that YAML recognises and Python cannot hold.
        raise ConfigError(["the file contains an invalid date or number"]) from error
    finally:
        if loader is not None:
            loader.dispose()


_PARTS: dict[str, type[BaseModel]] = {
    "": RepoConfig,
    "thresholds": Thresholds,
    "ignore": Ignore,
    "noise": NoiseBudget,
    "own_labels": OwnLabels,
}
_KEYS = {part: tuple(model.model_fields) for part, model in _PARTS.items()}


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(schema_text(), "utf-8")
