"""Effects of shuffled columns: known cases, and what relevances can't see."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from marginwise import TunedSVC
from marginwise.errors import InvalidInputError
from marginwise.inspection import permutation_effects
from peak_memory import peak_memory


class Rule:
    """A classifier that gives the second class the probability 0.9 where a function of the inputs is positive."""

    def __init__(self, function) -> None:
        self.function = function

    def predict_proba(self, X):
        p = np.where(self.function(X) > 0, 0.9, 0.1)
        return np.column_stack([1 - p, p])


def test_a_column_moves_the_prediction_as_often_as_its_cells_differ() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 2))
    X[:, 0] = np.where(np.arange(4000) % 4 == 0, 1.0, -1.0)  # a quarter: cells of two rows differ in 3/8 of the cases
    a, b = permutation_effects(Rule(lambda X: X[:, 0]), X)
    assert b == 0
    assert a == pytest.approx(0.8 * 3 / 8, abs=0.8 * 3 * np.sqrt(3 / 8 * 5 / 8 / 200))


def test_columns_of_words_are_shuffled_as_they_are() -> None:
    X = np.array([["r", 1.0], ["g", 2.0], ["b", None]] * 100, dtype=object)
    seen = []

    def function(X):
        seen.append(X)
        return np.where(X[:, 0] == "r", 1.0, -1.0)

    colour, size = permutation_effects(Rule(function), X)
    assert 0.2 < colour < 0.5
    assert size == 0
    assert set(np.vstack(seen)[:, 0]) == {"r", "g", "b"}


def test_no_row_keeps_its_own_cell() -> None:
    X = np.arange(50.0)[:, None]
    seen = []
    permutation_effects(Rule(lambda X: seen.append(X) or X[:, 0]), X, random_state=1)
    before, after = seen
    assert (before != after).all()


def test_linear_effects_are_seen() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2))
    y = X[:, 0] + 0.2 * rng.normal(size=120) > 0
    linear, noise = permutation_effects(TunedSVC(0.0, random_state=0).fit(X, y), X)
    assert linear > 5 * noise


def test_wide_tables_take_no_more_memory_than_twice_the_table_and_a_block() -> None:
    X = np.random.default_rng(0).normal(size=(30, 3000))
    seen = []

    def function(X):
        seen.append(len(X))
        return X[:, 7]

    assert peak_memory(lambda: permutation_effects(Rule(function), X)) < 2 * X.nbytes + 40 * 2**20
    assert max(seen) * 3000 <= 2**20  # numbers predicted at a time


def test_a_block_of_columns_gives_what_one_column_at_a_time_does(monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.random.default_rng(0).normal(size=(50, 7))
    rule = Rule(lambda X: X @ np.arange(7.0))
    together = permutation_effects(rule, X, random_state=3)
    monkeypatch.setattr("marginwise.inspection.permutation._NUMBERS", 1)
    np.testing.assert_array_equal(permutation_effects(rule, X, random_state=3), together)


def mixed(n: int = 60) -> tuple[dict[str, list], np.ndarray]:
    """Columns of a number, a word and a number that is sometimes missing; the first two tell the class."""
    rng = np.random.default_rng(0)
    number, word = rng.normal(size=n), rng.choice(["r", "g"], n)
    gaps = np.where(np.arange(n) % 7 == 0, np.nan, rng.normal(size=n))
    return {"a": number.tolist(), "b": word.tolist(), "c": gaps.tolist()}, number + 2 * (word == "r") > 1


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_data_frames_keep_their_types_and_give_what_arrays_do(library: str) -> None:
    module = pytest.importorskip(library)
    columns, y = mixed()
    frame = module.DataFrame(columns)
    if library == "pandas":
        frame["b"] = frame["b"].astype("category")
    else:
        frame = frame.with_columns(frame["b"].cast(module.Categorical))
    seen = []

    class Watched(TunedSVC):
        def predict_proba(self, X):
            seen.append(X)
            return super().predict_proba(X)

    found = permutation_effects(Watched(0.0, random_state=0).fit(frame, y), frame)
    assert all(list(X.dtypes) == list(frame.dtypes) and list(X.columns) == ["a", "b", "c"] for X in seen)
    X = np.array(list(zip(*columns.values(), strict=True)), dtype=object)
    expected = permutation_effects(TunedSVC(0.0, random_state=0).fit(X, y), X)
    np.testing.assert_allclose(found, expected, atol=1e-9)
    assert found[:2].min() > 3 * found[2]
    np.testing.assert_allclose(permutation_effects(TunedSVC(0.0, random_state=0).fit(X, y), X.tolist()), expected)


def test_sparse_tables_are_taken_as_dense_ones() -> None:
    X = np.random.default_rng(0).normal(size=(40, 3)) * (np.arange(40)[:, None] % 3 > 0)
    rule = Rule(lambda X: X @ np.arange(3.0))
    np.testing.assert_array_equal(permutation_effects(rule, csr_array(X)), permutation_effects(rule, X))


def test_the_random_state_decides() -> None:
    X = np.random.default_rng(0).normal(size=(300, 2))
    rule = Rule(lambda X: X[:, 0])

    def effect(random_state) -> float:
        return permutation_effects(rule, X, random_state)[0]

    assert effect(0) == effect(np.int64(0)) != effect(1)
    assert effect(np.random.RandomState(0)) == effect(np.random.RandomState(0)) != effect(np.random.RandomState(1))


@pytest.mark.parametrize(("X", "words"), [(np.ones((1, 2)), "has 1 row;"), (np.ones(5), "has 1 dimension;")])
def test_what_cannot_be_shuffled(X: np.ndarray, words: str) -> None:
    with pytest.raises(InvalidInputError, match=words):
        permutation_effects(Rule(lambda X: X[:, 0]), X)
