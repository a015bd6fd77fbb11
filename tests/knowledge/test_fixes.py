"""The advice texts: coverage, shape, real names, look-up by specificity; the support of a fix."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import knowledge.fixes as fixes
from knowledge.errors import UserError
from knowledge.fixes import FixText, advice_text, load_fix_texts, support
from knowledge.taxonomy import load_taxonomy

TEXTS = list(load_fix_texts().values())
FRAMEWORKS = {
    "horovod",
    "pytorch",
    "tensorflow",
    "keras",
    "deepspeed",
    "megatron-lm",
    "colossal-ai",
    "pytorch-lightning",
}
STANDS_ON = {
    "pytorch": {"pytorch"},
    "tensorflow": {"tensorflow"},
    "keras": {"keras", "tensorflow"},
    "horovod": {"horovod", "pytorch", "tensorflow"},
    "deepspeed": {"deepspeed", "pytorch"},
    "megatron-lm": {"megatron-lm", "pytorch"},
    "colossal-ai": {"colossal-ai", "pytorch"},
    "pytorch-lightning": {"pytorch-lightning", "pytorch"},
    "": set(),
}
NAME = re.compile(r"(?<![\w.-])--[a-z][\w-]+|[A-Za-z_]\w*(?:\.\w+)+|[A-Z][A-Z0-9]*_[A-Z0-9_]+")
KNOWN = tomllib.loads((Path(fixes.__file__).parent / "names.toml").read_text("utf-8"))


def place(text: FixText) -> str:
    return "-".join(part for part in (text.fix, text.symptom, text.framework) if part)


def names(text: str) -> Iterator[str]:
    for quoted in re.findall(r"`([^`]*)`", text):
        yield from NAME.findall(quoted)


def test_every_pattern_alone_has_a_text() -> None:
    assert all((fix, "", "") in load_fix_texts() for fix in load_taxonomy().ids("fix"))


def test_every_fix_seen_at_a_stage_has_a_text() -> None:
    missing = [
        (fix, stage)
        for stage in load_taxonomy().ids("stage")
        for fix in load_taxonomy().fix_counts(stage)
        if (fix, stage, "") not in load_fix_texts()
    ]
    assert missing == []


def test_every_fix_seen_twice_for_a_leaf_has_a_text() -> None:
    leaves = [symptom.id for symptom in load_taxonomy().symptoms if not symptom.merged_from]
    frequent = [
        (fix, leaf)
        for leaf in leaves
        for fix, count in load_taxonomy().fix_counts(leaf).items()
        if count >= 2
    ]
    assert len(frequent) == 107
    assert [pair for pair in frequent if (*pair, "") not in load_fix_texts()] == []


def test_ninety_texts_and_more_are_of_a_framework() -> None:
    by_framework = {one: [t for t in TEXTS if t.framework == one] for one in FRAMEWORKS}
    assert sum(len(texts) for texts in by_framework.values()) >= 180
    assert min(len(texts) for texts in by_framework.values()) >= 15


@pytest.mark.parametrize("text", TEXTS, ids=place)
def test_a_text_is_two_sentences_with_something_to_type(text: FixText) -> None:
    bare = re.sub(r"`[^`]*`", "x", text.text)
    assert len(re.findall(r"[.!?](?=\s|$)", bare)) in (2, 3)
    assert bare[-1] == "."
    assert "`" not in bare
    assert len(text.text) <= 400
    assert text.framework in {"", *FRAMEWORKS}


def test_no_text_and_no_sentence_of_length_stands_twice() -> None:
    sentences = [s for t in TEXTS for s in re.split(r"(?<=\.) (?=[A-Z`])", t.text) if len(s) > 60]
    assert len({t.text for t in TEXTS}) == len(TEXTS)
    assert sorted(s for s in set(sentences) if sentences.count(s) > 1) == []


@pytest.mark.parametrize("text", TEXTS, ids=place)
def test_a_text_uses_known_names_of_its_framework_only(text: FixText) -> None:
    allowed = {name for owner in {"any", *STANDS_ON[text.framework]} for name in KNOWN[owner]}
    assert [name for name in names(text.text) if name not in allowed] == []


def test_every_known_name_is_used() -> None:
    used = {name for text in TEXTS for name in names(text.text)}
    assert sorted(name for owned in KNOWN.values() for name in owned if name not in used) == []


def test_leaf_and_framework_come_first() -> None:
    assert "horovodrun" in advice_text("comm_config", "B.1", "horovod")
    assert advice_text("comm_config", "B.1", "Horovod") == advice_text("comm_config", "B.1", "horovod")


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (("comm_config", "B.1", "mxnet"), ("comm_config", "B.1", "")),
        (("comm_config", "B.1", None), ("comm_config", "B.1", "")),
        (("hardware", "D.1.7", "keras"), ("hardware", "D", "")),
        (("hardware", "D.other", None), ("hardware", "D", "")),
        (("hardware", "D.2", None), ("hardware", "D", "")),
        (("save_single_device", "A.1", "keras"), ("save_single_device", "", "")),
        (("network", None, "pytorch"), ("network", "", "")),
    ],
)
def test_the_look_up_falls_back_to_the_next_broader_text(
    given: tuple[str, str | None, str | None], found: tuple[str, str, str]
) -> None:
    assert advice_text(*given) == load_fix_texts()[found].text


@pytest.mark.parametrize("symptom", [*load_taxonomy().ids("symptom"), None])
@pytest.mark.parametrize("framework", [*sorted(FRAMEWORKS), None])
def test_every_combination_has_advice(symptom: str | None, framework: str | None) -> None:
    assert all(advice_text(fix, symptom, framework) for fix in load_taxonomy().ids("fix"))


def test_unknown_ids_are_told() -> None:
    with pytest.raises(UserError, match="'reboot' isn't in the taxonomy"):
        advice_text("reboot")
    with pytest.raises(UserError, match=r"'X\.1' isn't"):
        advice_text("network", "X.1")
    with pytest.raises(UserError):
        support("reboot")


@pytest.mark.parametrize(
    ("fix", "symptom", "count", "of", "scope"),
    [
        ("save_single_device", "D.1.6", 17, 21, "studied failures with this symptom"),
        ("network", "B", 26, 133, "studied failures at this stage"),
        ("hardware", "C.7", 0, 2, "studied failures with this symptom"),
        ("distributed_api", "D.other", 3, 9, "studied failures with this symptom"),
        ("other", None, 53, 569, "studied failures of any kind"),
    ],
)
def test_support_counts_the_faults_of_study_one(
    fix: str, symptom: str | None, count: int, of: int, scope: str
) -> None:
    found = support(fix, symptom)
    assert (found.count, found.of, found.scope) == (count, of, scope)
