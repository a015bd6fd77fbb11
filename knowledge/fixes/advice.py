"""Advice: the probable fix patterns, each with its support and two or three sentences of ours."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import astuple, dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType

from knowledge.errors import DataError
from knowledge.taxonomy import Taxonomy, load_taxonomy
from knowledge.triage import Advice, Axis, FixAdvice, Support


def support(fix: str, symptom: str | None = None) -> Support:
    """Distributed-specific faults of study 1 that were resolved by this fix, of all of this symptom.

    `symptom` is a leaf, D.other, an inner stage or a stage; None counts over all faults. A fault with
    several patterns counts for each. UserError for an unknown id.
    """
    taxonomy = load_taxonomy()
    taxonomy.cause_of_fix(fix)
    scope = taxonomy.scopes_of(symptom)[0]
    count, of = taxonomy.fix_counts(scope).get(fix, 0), taxonomy.faults_by_scope[scope]
    return Support(count=count, of=of, scope=f"studied failures {_named(scope)}")


def _named(scope: str) -> str:
    if scope == "all":
        return "of any kind"
    if scope in load_taxonomy().ids("symptom"):
        return "with this symptom"
    return "at this stage"


TEXTS = Path(__file__).parent / "texts"
COMPILED_TEXTS = Path(__file__).parent / "texts.json"
Key = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class FixText:
    """Two or three sentences of ours: what to do, and how to see that it worked.

    `symptom` is a leaf, an inner stage, a stage or "" (any); `framework` a framework's id or "" (any).
    """

    fix: str
    symptom: str
    framework: str
    text: str
    where: str
    """The file the text stands in."""


def advice_text(fix: str, symptom: str | None = None, framework: str | None = None) -> str:
    """The most specific text for a fix pattern; every pattern has at least its general one.

    Specificity: leaf with framework, leaf, inner stage (with framework first), stage (the same),
    framework, pattern alone. UserError for an unknown fix or symptom; an unknown framework counts as none.
    """
    texts = load_fix_texts()
    load_taxonomy().cause_of_fix(fix)
    for key in _keys(fix, symptom, (framework or "").lower()):
        if key in texts:
            return texts[key].text
    raise DataError(f"There is no advice for {fix}.", "Reinstall distriage: its data files are incomplete.")


@cache
def load_fix_texts() -> Mapping[Key, FixText]:
    """All shipped texts by (fix, symptom, framework). DataError when the compiled file is damaged."""
    try:
        texts = [FixText(*values) for values in json.loads(COMPILED_TEXTS.read_text("utf-8"))]
    except (OSError, ValueError, TypeError) as error:
        raise DataError(
            f"Can't read {COMPILED_TEXTS.name}: {error}.", "Run: python -m knowledge.findings.compile"
        ) from error
    return MappingProxyType({(text.fix, text.symptom, text.framework): text for text in texts})


def compiled_texts(texts: Iterable[FixText]) -> str:
    """The text of texts.json: one a line."""
    lines = (json.dumps(astuple(text), ensure_ascii=False) for text in texts)
    return "[\n" + ",\n".join(lines) + "\n]\n"


def read_fix_texts() -> Mapping[Key, FixText]:
    """All texts of the TOML files. DataError for an unknown id or a key that stands twice."""
    texts: dict[Key, FixText] = {}
    for path in sorted(TEXTS.glob("*.toml")):
        for row in tomllib.loads(path.read_text("utf-8"))["advice"]:
            text = FixText(**{"symptom": "", "framework": "", **row, "where": path.name})
            key = (text.fix, text.symptom, text.framework)
            if key in texts:
                raise DataError(
                    f"{path.name}: {key} already appears in {texts[key].where}.", "Keep one of them."
                )
            _check(text)
            texts[key] = text
    return MappingProxyType(texts)


def _keys(fix: str, symptom: str | None, framework: str) -> Iterator[Key]:
    scopes = [scope for scope in load_taxonomy().scopes_of(symptom) if scope != "all"]
    for scope in [*scopes, ""]:
        yield (fix, scope, framework)
        yield (fix, scope, "")


def _check(text: FixText) -> None:
    taxonomy = load_taxonomy()
    scopes = {"", *taxonomy.ids("symptom"), *taxonomy.ids("stage"), *(s.id for s in taxonomy.inner_stages)}
    if text.fix not in taxonomy.ids("fix") or text.symptom not in scopes:
        raise DataError(
            f"{text.where}: {text.fix!r} or {text.symptom!r} is not in the taxonomy.", "Fix the IDs."
        )


# Advice: the probable fix patterns, each with its support and two or three sentences of ours.

LEAST = 0.05
"""Below this probability a fix pattern is not worth a reader's time."""


def advise(
    axes: Mapping[str, Axis], framework: str | None, taxonomy: Taxonomy, *, top: int, fault: bool
) -> Advice:
    """For a fault: at most `top` (five) fix patterns, the most probable first. For a how-to: its topic."""
    if not fault:
        return Advice(fixes=[], topic=axes["topic"] if axes["type"].top == "howto" else None)
    symptom = axes["symptom"].top
    # Support is counted over what is claimed: "of this symptom" would claim one that cannot be told.
    counted = next((axes[axis].answer[0] for axis in ("symptom", "stage") if axes[axis].answer), None)
    names = {entry.id: entry.name for entry in taxonomy.fixes}
    fixes = [
        FixAdvice(
            id=ranked.id,
            name=names[ranked.id],
            p=ranked.p,
            support=support(ranked.id, counted),
            text=advice_text(ranked.id, symptom, framework),
        )
        for ranked in axes["fix"].ranking
        if ranked.p >= LEAST and ranked.id != "other"
    ]
    return Advice(fixes=fixes[: min(top, 5)])
