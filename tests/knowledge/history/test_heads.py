"""Heads of labels: they set what people would set, know when to be silent, and give way only to better ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from knowledge.history.heads import LEAST_EXAMPLES, NEVER, Head, learn, lowest_cut, suggest
from knowledge.history.record import Record
from knowledge.history.words import small_words, traits_of
from tests.knowledge.history.labelled import example, examples
from tests.knowledge.history.tiny import made, post


@pytest.fixture(scope="module")
def heads() -> list[Head]:
    return learn(examples(240))


def fresh(title: str, body: str = "Nothing else to say about it.") -> Record:
    return made([post("900", title, body, 900)])[0]


def set_on(heads: list[Head], title: str, body: str = "") -> list[str]:
    return [one.head.label for one in suggest(heads, example(fresh(title, body)).traits)]


def test_a_report_gets_the_label_that_people_set_on_such_reports(heads: list[Head]) -> None:
    assert [head.label for head in heads if head.speaks] == ["bug", "feature", "question"]
    assert set_on(heads, "The exporter crashes with a null pointer", "Now it dies with an error.") == ["bug"]
    assert set_on(heads, "How can I tune the exporter?", "Is there a way to see it?") == ["question"]
    assert all(head.right >= 0.9 * head.tested >= 4 for head in heads)


def test_a_label_with_too_few_examples_has_no_head() -> None:
    few = list(examples(240))
    few[:29] = [replace(one, labels=one.labels | {"rare"}) for one in few[:29]]
    assert "rare" not in [head.label for head in learn(few)]
    few[29] = replace(few[29], labels=few[29].labels | {"rare"})
    assert "rare" in [head.label for head in learn(few)] and LEAST_EXAMPLES == 30


def test_labels_set_by_lot_are_never_set(heads: list[Head]) -> None:
    assert [head.label for head in learn(examples(240, mixed=1.0)) if head.speaks] == []


def test_a_label_that_most_issues_have_is_not_set_for_that_alone() -> None:
    drawn = np.random.default_rng(3).random(300) < 0.7
    usual = [
        replace(one, labels=frozenset({"major"} if hit else {"minor"}))
        for one, hit in zip(examples(300), drawn, strict=True)
    ]
    assert [head.label for head in learn(usual) if head.speaks] == []


def test_a_head_whose_time_is_over_is_silent() -> None:
    turned = [
        replace(one, labels=frozenset({"wish"})) if n >= 192 and "feature" in one.labels else one
        for n, one in enumerate(examples(240))
    ]
    spoken = {head.label: head.speaks for head in learn(turned)}
    assert spoken == {"bug": True, "feature": False, "question": True}


def test_recent_issues_count_more_than_old_ones() -> None:
    def lead(years: int) -> float:
        """By how much the label of recent crashes is likelier than the one that crashes had before."""
        before = [
            replace(
                one,
                opened=one.opened and one.opened.replace(year=one.opened.year - years),
                labels=frozenset({"crash" if "bug" in one.labels else "other"}),
            )
            for one in examples(120)
        ]
        now = [
            replace(one, labels=frozenset({"failure" if "bug" in one.labels else "other"}))
            for one in examples(120)
        ]
        traits = example(fresh("The parser crashes with a null pointer")).traits
        p = {h.label: h.p(h.vocabulary.seen(traits), traits.vectors) for h in learn([*before, *now])}
        return p["failure"] - p["crash"]

    assert lead(years=6) > lead(years=0) + 0.1


def test_what_nobody_judged_neither_teaches_nor_counts(heads: list[Head]) -> None:
    by_bot = [
        replace(one, labels=frozenset(), unsure=frozenset({"bug"}))
        if n % 3 == 0 and "bug" in one.labels
        else one
        for n, one in enumerate(examples(240))
    ]
    assert {head.label for head in learn(by_bot) if head.speaks} == {"bug", "feature", "question"}
    as_wrong = [replace(one, unsure=frozenset()) for one in by_bot]
    spoiled = {head.label: head for head in learn(as_wrong)}
    fair = {head.label: head for head in learn(by_bot)}
    assert spoiled["bug"].tested == 0 or spoiled["bug"].expected < fair["bug"].expected


def test_labels_that_came_with_the_report_teach_but_prove_nothing() -> None:
    given = [replace(one, given=frozenset({"bug"}) & one.labels) for one in examples(240)]
    bug = next(head for head in learn(given) if head.label == "bug")
    assert bug.examples > 50 and (bug.tested, bug.speaks) == (0, False)


def test_of_labels_that_people_never_set_together_one_is_set(heads: list[Head]) -> None:
    bug = next(head for head in heads if head.label == "bug")
    assert bug.rivals == {"feature", "question"}
    traits = example(
        fresh("Please support crashes with a null pointer?", "Is there an option? It dies.")
    ).traits
    eager = [replace(head, threshold=0.0) for head in heads]
    assert len(suggest(eager, traits)) == 1


def test_labels_that_go_together_are_set_together() -> None:
    both = [
        replace(one, labels=one.labels | {"severe"}) if "bug" in one.labels else one for one in examples(240)
    ]
    assert set(set_on(learn(both), "The parser crashes with a null pointer")) == {"bug", "severe"}


def test_the_line_that_speaks_most_for_a_label_moves_its_head_most(heads: list[Head]) -> None:
    lines = ["Weekly report", "We use it in three teams.", "It dies with an error each night."]
    record = fresh(lines[0], "\n".join(lines[1:]))
    traits = traits_of(record.title, record.body, record.small, record.vectors)
    bug = next(head for head in heads if head.label == "bug")
    seen = bug.vocabulary.seen(traits)
    moved = [bug.moved_by(seen, line, in_title=not n) for n, line in enumerate(lines)]
    assert moved.index(max(moved)) == 2 and max(moved) > 0


def test_a_new_head_replaces_the_old_one_only_if_it_is_better_on_recent_issues(heads: list[Head]) -> None:
    old = learn(examples(240)[:120])
    after = {head.label: head for head in learn(examples(240), old)}
    for before in old:
        kept = after[before.label].vocabulary is before.vocabulary
        assert kept or after[before.label].examples > before.examples
    perfect = [replace(head, slope=head.slope * 3, offset=head.offset * 3) for head in heads]
    assert all(
        head.vocabulary is heads[0].vocabulary and head.slope == perfect[n].slope
        for n, head in enumerate(learn(examples(240), perfect))
    )
    useless = [replace(head, slope=0.0, offset=0.0) for head in heads]
    assert all(head.slope > 0 for head in learn(examples(240), useless))


def test_an_old_head_that_stays_is_silent_once_it_is_wrong(heads: list[Head]) -> None:
    turned = [
        replace(one, labels=frozenset({"other"})) if n >= 300 else one for n, one in enumerate(examples(360))
    ]
    assert not any(head.speaks for head in learn(turned, heads) if head.label == "bug")


def test_learning_twice_gives_the_same(heads: list[Head]) -> None:
    for one, other in zip(heads, learn(examples(240)), strict=True):
        assert (one.threshold, one.slope, one.bias) == (other.threshold, other.slope, other.bias)
        assert np.array_equal(one.weights, other.weights)


def test_no_examples_no_heads() -> None:
    assert learn([]) == [] and learn(examples(20)) == []


def test_a_cut_needs_enough_right_labels_above_it() -> None:
    p = np.linspace(1, 0.5, 20)
    right = np.array([True] * 12 + [False] * 8)
    assert lowest_cut(p, right, 5, 0.3) == pytest.approx((p[12] + p[13]) / 2)
    assert lowest_cut(p[:4], right[:4], 5, 0.3) == NEVER
    assert lowest_cut(p[:5], right[:5], 5, 0.9) == NEVER, "no better than setting it always"
    one_wrong = np.array([True, True, False, True, True])
    assert lowest_cut(p[:5], one_wrong, 5, 0.1) == NEVER
    assert lowest_cut(p[:5], one_wrong, 5, 0.1, expected=0.97) == pytest.approx(0.5)
    assert lowest_cut(np.zeros(0), np.zeros(0, bool), 5, 0.3) == NEVER


def test_small_words_tell_a_question_and_hold_no_text() -> None:
    asked, said = small_words("How can I stop it?", ""), small_words("It can stop", "")
    assert len(set(np.frombuffer(asked, "<u4")) - set(np.frombuffer(said, "<u4"))) >= 4
    secret = small_words("x", "hunter2 is the password")
    assert b"hunter" not in secret and b"password" not in secret


def test_a_record_made_before_small_words_were_kept_still_has_the_rest() -> None:
    record = replace(fresh("How can I tune the parser?"), small=b"")
    traits = traits_of(record.title, record.body, record.small, record.vectors)
    assert len(traits.blocks["small"].index) == 0 and len(traits.blocks["words"].index) > 0
    assert set_on(learn(examples(240)), "x") == []
