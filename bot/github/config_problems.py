"""What is wrong with a configuration file: key, line, value, what is allowed and what was probably meant. Pure.

The texts name things in backticks, so that the gate shows them as code wherever they are posted.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable, Mapping

import yaml
from pydantic_core import ErrorDetails

from knowledge.errors import UserError
from knowledge.text.quote import clean, shorten

MOST = 10
"""Problems that are named; the rest are counted."""
_VALUE_CHARS = 40
_MAPPING = frozenset({"model_type", "dict_type", "model_attributes_type"})
_OPENINGS = ("Input should ", "String should ", "List should ", "Value should ")

Path = tuple[int | str, ...]


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

    def line(self, path: Path) -> int | None:
        """The line (from 1) of the key or list item that a path leads to; of what is around it when there is none."""
        node, line = self._root, None if self._root is None else self._root.start_mark.line + 1
        for part in path:
            found = _child(node, part)
            if found is None:
                break
            node, line = found
        return line


def _child(node: yaml.Node | None, part: int | str) -> tuple[yaml.Node, int] | None:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value == str(part):
                return value, key.start_mark.line + 1
    if isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
        return node.value[part], node.value[part].start_mark.line + 1
    return None


def problems_of(
    errors: Iterable[ErrorDetails], places: Places, keys: Mapping[str, Collection[str]]
) -> list[str]:
    """Validation errors as sentences, in the file's order; `keys`: those known within each part ("" is the top)."""
    found = [(_place(error), _sentence(error, keys)) for error in errors]
    return [
        at(places.line(path), said) for path, said in sorted(found, key=lambda one: places.line(one[0]) or 0)
    ]


def _place(error: ErrorDetails) -> Path:
    return tuple(part for part in error["loc"] if part != "[key]")


def _sentence(error: ErrorDetails, keys: Mapping[str, Collection[str]]) -> str:
    path, value = _place(error), error["input"]
    name, last = ".".join(map(str, path)), str(path[-1]) if path else ""
    is_key = len(path) < len(error["loc"])
    if error["type"] == "extra_forbidden":
        return f"{code(name)} is not a known key{_meant(last, keys.get(name.removesuffix(last).rstrip('.'), ()))}"
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
    return f"{_named(name, value)} must {_rule(error['msg'])}"


def unknown_id(axis: str, given: str, known: Collection[str], places: Places) -> str:
    """A mapped id that the taxonomy does not have."""
    near = difflib.get_close_matches(given, sorted(known), n=3, cutoff=0.0)
    nearest = ", ".join(code(id_) for id_ in near)
    said = f"{code(f'labels.{axis}')} has no id {code(given)}; the nearest are {nearest}"
    return at(places.line(("labels", axis, given)), said)


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
    if not known:
        return ""
    near = difflib.get_close_matches(given.casefold(), known, n=1, cutoff=0.6)
    allowed = ", ".join(code(word) for word in known)
    return f"; did you mean {code(near[0])}? Allowed: {allowed}" if near else f"; allowed: {allowed}"


def _rule(message: str) -> str:
    opening = next((o for o in _OPENINGS if message.startswith(o)), None)
    return message.removeprefix(opening) if opening else f"be valid ({message[:80]})"
