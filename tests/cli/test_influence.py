"""Influences of columns: known cases, and what relevances can't see."""

from __future__ import annotations

import numpy as np
import pytest

from marginwise import TunedSVC
from marginwise.cli.influence import influences
from marginwise.datasets import Schema, Table
from peak_memory import peak_memory


class Rule:
    """A classifier that gives the second class the probability 0.9 where a function of the inputs is positive."""

    def __init__(self, function) -> None:
        self.function = function

    def predict_proba(self, X):
        p = np.where(self.function(X) > 0, 0.9, 0.1)
        return np.column_stack([1 - p, p])


def table(X, columns) -> Table:
    return Table(X, np.arange(len(X)) % 2, Schema.learnt(X)[0].named(columns))


def test_a_column_moves_the_prediction_as_often_as_its_cells_differ() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 2))
    X[:, 0] = np.where(np.arange(4000) % 4 == 0, 1.0, -1.0)  # a quarter: cells of two rows differ in 3/8 of the cases
    found = influences(Rule(lambda X: X[:, 0]), table(X, ["a", "b"]), seed=0)
    assert found["b"] == 0
    assert found["a"] == pytest.approx(0.8 * 3 / 8, abs=0.8 * 3 * np.sqrt(3 / 8 * 5 / 8 / 200))


def test_columns_of_words_are_shuffled_as_they_are() -> None:
    X = np.array([["r", 1.0], ["g", 2.0], ["b", None]] * 100, dtype=object)
    seen = []

    def function(X):
        seen.append(X)
        return np.where(X[:, 0] == "r", 1.0, -1.0)

    found = influences(Rule(function), table(X, ["colour", "size"]), seed=0)
    assert list(found) == ["colour", "size"]
    assert 0.2 < found["colour"] < 0.5
    assert found["size"] == 0
    assert set(np.vstack(seen)[:, 0]) == {"r", "g", "b"}


def test_no_row_keeps_its_own_cell() -> None:
    X = np.arange(50.0)[:, None]
    seen = []
    influences(Rule(lambda X: seen.append(X) or X[:, 0]), table(X, ["a"]), seed=1)
    before, after = seen
    assert (before != after).all()


def test_linear_effects_are_seen() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2))
    y = X[:, 0] + 0.2 * rng.normal(size=120) > 0
    data = table(X, ["linear", "noise"])
    found = influences(TunedSVC(0.0, random_state=0).fit(X, y), data, seed=0)
    assert found["linear"] > 5 * found["noise"]


def test_wide_tables_take_no_more_memory_than_twice_the_table_and_a_block() -> None:
    X = np.random.default_rng(0).normal(size=(30, 3000))
    wide = table(X, [f"f{a}" for a in range(3000)])
    seen = []

    def function(X):
        seen.append(len(X))
        return X[:, 7]

    assert peak_memory(lambda: influences(Rule(function), wide, seed=0)) < 2 * X.nbytes + 40 * 2**20
    assert max(seen) * 3000 <= 2**20  # numbers predicted at a time


def test_a_block_of_columns_gives_what_one_column_at_a_time_does(monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.random.default_rng(0).normal(size=(50, 7))
    rule, wide = Rule(lambda X: X @ np.arange(7.0)), table(X, "abcdefg")
    together = influences(rule, wide, seed=3)
    monkeypatch.setattr("marginwise.cli.influence._NUMBERS", 1)
    assert influences(rule, wide, seed=3) == together
