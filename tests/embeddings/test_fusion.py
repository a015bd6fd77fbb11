import pytest

from embeddings.lexical import fuse

LEXICAL = [("a", 30.0), ("b", 9.0), ("c", 2.0)]
SEMANTIC = [("b", 0.8), ("d", 0.7), ("a", 0.4)]


def test_a_key_that_both_lists_name_early_comes_first() -> None:
    assert [key for key, _ in fuse([LEXICAL, SEMANTIC])] == ["b", "a", "d", "c"]


def test_first_in_every_list_scores_one() -> None:
    ((key, score),) = fuse([[("a", 5.0)], [("a", 0.1)]])
    assert (key, round(score, 12)) == ("a", 1.0)


def test_scores_follow_the_formula() -> None:
    assert dict(fuse([LEXICAL, SEMANTIC]))["d"] == pytest.approx((1 / 62) / (2 / 61))


def test_a_heavier_list_decides() -> None:
    assert fuse([LEXICAL, SEMANTIC], weights=[3, 1])[0][0] == "a"


def test_a_list_without_weight_still_names_its_keys_last() -> None:
    assert [key for key, _ in fuse([LEXICAL, SEMANTIC], weights=[1, 0])] == ["a", "b", "c", "d"]


def test_lists_without_any_weight_score_nothing() -> None:
    assert fuse([LEXICAL], weights=[0]) == [("a", 0.0), ("b", 0.0), ("c", 0.0)]


def test_only_the_first_place_of_a_key_counts() -> None:
    assert fuse([[("a", 3.0), ("a", 2.0), ("b", 1.0)]]) == fuse([[("a", 3.0), ("b", 1.0)]])


def test_equal_scores_keep_the_order_of_the_lists() -> None:
    assert [key for key, _ in fuse([[("z", 1.0)], [("a", 1.0)]])] == ["z", "a"]


def test_k_bounds_the_list() -> None:
    assert len(fuse([LEXICAL, SEMANTIC], k=2)) == 2


def test_no_hits_fuse_to_none() -> None:
    assert fuse([]) == []
    assert fuse([[], []]) == []


@pytest.mark.parametrize("weights", [[1.0], [1.0, -1.0]])
def test_weights_that_do_not_fit_are_refused(weights: list[float]) -> None:
    with pytest.raises(ValueError, match="weights"):
        fuse([LEXICAL, SEMANTIC], weights)
