"""Heads of labels: they set what people would set, know when to be silent, and give way only to better ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from knowledge.history.head_learner import LEAST_EXAMPLES, learn, lowest_cut
from knowledge.history.heads import NEVER, Family, Head, Line, suggest
from knowledge.history.record import Record
from knowledge.history.words import small_words, traits_of
from tests.knowledge.history.labelled import example, examples
from tests.knowledge.history.tiny import made, post


@pytest.fixture(scope="module")
def families() -> list[Family]:
    return learn(examples(240))


def heads_of(families: list[Family]) -> dict[str, Head]:
    return {head.label: head for family in families for head in family.heads}


def speaking(families: list[Family]) -> list[str]:
    return sorted(label for label, head in heads_of(families).items() if head.speaks)


def p_of(families: list[Family], title: str) -> dict[str, float]:
    traits = example(fresh(title)).traits
    found: dict[str, float] = {}
    for family in families:
        p = family.p(family.vocabulary.seen(traits), traits.vectors)
        found |= {head.label: float(one) for head, one in zip(family.heads, p, strict=True)}
    return found


def fresh(title: str, body: str = "Nothing else to say about it.") -> Record:
    return made([post("900", title, body, 900)])[0]


def set_on(families: list[Family], title: str, body: str = "") -> list[str]:
    return [one.head.label for one in suggest(families, example(fresh(title, body)).traits)]


def test_a_report_gets_the_label_that_people_set_on_such_reports(families: list[Family]) -> None:
    assert speaking(families) == ["bug", "feature", "question"]
    assert set_on(families, "The exporter crashes with a null pointer", "Now it dies with an error.") == [
        "bug"
    ]
    assert set_on(families, "How can I tune the exporter?", "Is there a way to see it?") == ["question"]
    assert all(head.right >= 0.9 * head.tested >= 4 for head in heads_of(families).values())


def test_a_label_with_too_few_examples_has_no_head() -> None:
    few = list(examples(240))
    few[:29] = [replace(one, labels=one.labels | {"rare"}) for one in few[:29]]
    assert "rare" not in heads_of(learn(few))
    few[29] = replace(few[29], labels=few[29].labels | {"rare"})
    assert "rare" in heads_of(learn(few)) and LEAST_EXAMPLES == 30


def test_labels_set_by_lot_are_never_set() -> None:
    assert speaking(learn(examples(240, mixed=1.0))) == []


def test_a_label_that_most_issues_have_is_not_set_for_that_alone() -> None:
    drawn = np.random.default_rng(3).random(300) < 0.7
    usual = [
        replace(one, labels=frozenset({"major"} if hit else {"minor"}))
        for one, hit in zip(examples(300), drawn, strict=True)
    ]
    assert speaking(learn(usual)) == []


def test_a_head_whose_time_is_over_is_silent() -> None:
    turned = [
        replace(one, labels=frozenset({"wish"})) if n >= 192 and "feature" in one.labels else one
        for n, one in enumerate(examples(240))
    ]
    assert speaking(learn(turned)) == ["bug", "question"]


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
        p = p_of(learn([*before, *now]), "The parser crashes with a null pointer")
        return p["failure"] - p["crash"]

    assert lead(years=6) > lead(years=0) + 0.1


def test_what_nobody_judged_neither_teaches_nor_counts() -> None:
    def of_bots(unsure: frozenset[str]) -> list[Family]:
        """A bot set "bug" on most crashes, and people did on the others."""
        return learn(
            [
                replace(one, labels=frozenset(), unsure=unsure) if n % 3 and "bug" in one.labels else one
                for n, one in enumerate(examples(360))
            ]
        )

    title = "The parser crashes with a null pointer"
    assert p_of(of_bots(frozenset({"bug"})), title)["bug"] > 0.9
    assert p_of(of_bots(frozenset()), title)["bug"] < 0.7


def test_labels_that_came_with_the_report_teach_but_prove_nothing() -> None:
    given = [replace(one, given=frozenset({"bug"}) & one.labels) for one in examples(240)]
    bug = heads_of(learn(given))["bug"]
    assert bug.examples > 50 and (bug.tested, bug.speaks) == (0, False)


def test_of_labels_that_people_never_set_together_one_is_set(families: list[Family]) -> None:
    [family] = families
    assert family.labels == {"bug", "feature", "question"}
    eager = [replace(family, heads=tuple(replace(head, threshold=0.0) for head in family.heads))]
    assert (
        len(set_on(eager, "Please support crashes with a null pointer?", "Is there an option? It dies.")) == 1
    )
    p = p_of(families, "Please support crashes with a null pointer?")
    assert sum(p.values()) <= 1


def test_an_issue_may_have_none_of_the_labels_that_exclude_each_other() -> None:
    bare = [
        replace(one, labels=frozenset({"other"})) if "question" in one.labels else one
        for one in examples(240)
    ]
    unlabelled = [replace(one, labels=one.labels - {"other"}, given=frozenset()) for one in bare]
    families = learn(unlabelled)
    assert {head for family in families for head in family.labels} == {"bug", "feature"}
    assert (
        set_on(families, "How can I tune the exporter?", "I read the guide. Is there a way to see it?") == []
    )
    assert set_on(families, "The exporter crashes with a null pointer", "Now it dies with an error.") == [
        "bug"
    ]


def test_labels_that_go_together_are_set_together() -> None:
    both = [
        replace(one, labels=one.labels | {"severe"}) if "bug" in one.labels else one for one in examples(240)
    ]
    assert set(set_on(learn(both), "The parser crashes with a null pointer")) == {"bug", "severe"}


def test_the_line_that_speaks_most_for_a_label_moves_its_head_most(families: list[Family]) -> None:
    lines = ["Weekly report", "We use it in three teams.", "It dies with an error each night."]
    traits = example(fresh(lines[0], "\n".join(lines[1:]))).traits
    [told] = suggest(families, traits)
    moved = told.moved_by(traits, lines)
    assert told.head.label == "bug" and moved.index(max(moved)) == 2 and max(moved) > 0


def bent(families: list[Family], factor: float) -> list[Family]:
    """The same heads, surer of themselves; with 0 they know nothing."""
    return [
        replace(
            family,
            heads=tuple(
                replace(head, line=Line(head.line.slope * factor, head.line.offset * factor))
                for head in family.heads
            ),
            rest=Line(family.rest.slope * factor, family.rest.offset * factor),
        )
        for family in families
    ]


def test_a_new_head_replaces_the_old_one_only_if_it_is_better_on_recent_issues(
    families: list[Family],
) -> None:
    perfect = bent(families, 3)
    [kept] = learn(examples(240), perfect)
    assert kept.vocabulary is perfect[0].vocabulary and speaking([kept]) == ["bug", "feature", "question"]
    [new] = learn(examples(240), bent(families, 0))
    assert new.vocabulary is not families[0].vocabulary


def test_an_old_head_that_stays_is_silent_once_it_is_wrong(families: list[Family]) -> None:
    lately = [*examples(240)[:192], *examples(240, mixed=0.6)[192:]]
    # Less sure of itself, so that it loses less by the labels that are drawn by lot now.
    [modest] = bent(families, 0.15)
    modest = replace(modest, heads=tuple(replace(head, threshold=0.4) for head in modest.heads))
    assert len(set_on([modest], "The exporter crashes with a null pointer", "It dies with an error.")) == 1
    [kept] = learn(lately, [modest])
    assert kept.vocabulary is modest.vocabulary
    assert any(not head.speaks for head in kept.heads)


def test_an_old_head_gives_way_where_its_label_has_a_new_one(families: list[Family]) -> None:
    # "bug" splits off a family of its own, since it now goes with "question", too.
    mixed = [
        replace(one, labels=one.labels | {"question"}) if "bug" in one.labels and n % 2 else one
        for n, one in enumerate(examples(240))
    ]
    after = learn(mixed, bent(families, 3))
    labels = [head.label for family in after for head in family.heads if head.speaks]
    assert len(labels) == len(set(labels))


def test_learning_twice_gives_the_same(families: list[Family]) -> None:
    for one, other in zip(heads_of(families).values(), heads_of(learn(examples(240))).values(), strict=True):
        assert (one.threshold, one.line, one.bias) == (other.threshold, other.line, other.bias)
        assert np.array_equal(one.weights, other.weights)


def test_no_examples_no_heads() -> None:
    assert learn([]) == [] and learn(examples(20)) == []


def test_a_cut_needs_enough_right_labels_above_it() -> None:
    p = np.linspace(1, 0.5, 20)
    right = np.array([True] * 12 + [False] * 8)
    assert lowest_cut(p, right, 5, 0.3) == pytest.approx((p[12] + p[13]) / 2), "one mistake in thirteen"
    assert lowest_cut(p, right, 5, 0.3, margin=0.5) == pytest.approx((p[11] + p[12]) / 2)
    assert lowest_cut(p[:4], right[:4], 5, 0.3) == NEVER
    assert lowest_cut(p[:5], right[:5], 5, 0.9) == NEVER, "no better than setting it always"
    assert lowest_cut(np.zeros(0), np.zeros(0, bool), 5, 0.3) == NEVER


@pytest.mark.parametrize(
    ("right", "of", "stays"), [(5, 6, True), (7, 10, False), (89, 100, True), (88, 100, False)]
)
def test_on_newer_issues_one_mistake_is_chance(right: int, of: int, stays: bool) -> None:
    # All equally likely: there is one cut.
    truth = np.arange(of) < right
    assert (lowest_cut(np.full(of, 0.8), truth, 3, 0.1, forgiven=1) <= 1) == stays


@pytest.mark.parametrize(
    ("right", "of", "usual", "stays"),
    [(4, 5, 0.4, True), (3, 4, 0.4, False), (5, 6, 0.6, False), (6, 6, 0.6, True)],
)
def test_no_mistake_is_chance_in_four_labels_or_with_a_label_that_most_issues_have(
    right: int, of: int, usual: float, stays: bool
) -> None:
    truth = np.arange(of) < right
    assert (lowest_cut(np.full(of, 0.8), truth, 3, usual, forgiven=1) <= 1) == stays


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
