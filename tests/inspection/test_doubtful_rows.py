"""Labels that were flipped are found, and rows between the classes are."""

from __future__ import annotations

import numpy as np
import pytest

from held_out_models import Predicted
from known_flips import FLIPPED, flipped
from marginwise import TunedSVC
from marginwise.errors import InvalidInputError, TableWarning
from marginwise.inspection import expected_label_issues, label_issues, uncertain_rows


@pytest.mark.parametrize("n_classes", [2, 3])
def test_flipped_labels_come_first(n_classes: int) -> None:
    X, codes = flipped(n_classes)
    X, y = np.vstack([X, X[:5]]), np.array(["a", "b", "c"])[np.r_[codes, codes[:5]]]  # some rows are repeated
    model = TunedSVC(ard=0, random_state=0).fit(X, y)
    found = label_issues(model, y)
    assert sorted(row for doubt in found[:4] for row in doubt.rows) == sorted([*FLIPPED, 123])  # row 3 has a copy
    for doubt in found[:4]:
        assert all(y[row] == doubt.label for row in doubt.rows)
        assert doubt.other == "abc"[(("abc".index(doubt.label)) - 1) % n_classes]
    assert [doubt.probability for doubt in found] == sorted(doubt.probability for doubt in found)
    assert all(doubt.probability < 0.1 for doubt in found)


def made_up() -> Predicted:
    probability = np.array([[0.95, 0.05], [0.02, 0.98], [0.5, 0.5], [0.6, 0.4]])
    return Predicted(np.array(["no", "yes"]), probability, np.array([1, 0, 0, 1]), np.array([1, 0, 3, 1, 2]))


def test_known_probabilities() -> None:
    model = made_up()
    found = label_issues(model, model.y)
    assert [(doubt.rows, doubt.label, doubt.probability) for doubt in found] == [
        ((0, 3), "no", 0.02),
        ((1,), "yes", 0.05),
    ]
    assert [(doubt.other, doubt.other_probability) for doubt in found] == [("yes", 0.98), ("no", 0.95)]
    assert [doubt.rows for doubt in label_issues(model, model.y, threshold=0.03)] == [(0, 3)]
    assert [doubt.rows for doubt in uncertain_rows(model, model.y, n=2)] == [(4,), (2,)]
    assert expected_label_issues(model, model.y) == pytest.approx(0.05 + 2 * 0.02)
    assert expected_label_issues(model, model.y, threshold=0.03) == pytest.approx(2 * 0.02)


def test_true_probabilities_make_as_many_label_issues_as_expected(rng: np.random.Generator) -> None:
    p = rng.beta(0.7, 0.7, 20_000)
    codes = (rng.uniform(size=len(p)) < p).astype(int)
    model = Predicted(np.array(["a", "b"]), np.c_[1 - p, p], codes, np.arange(len(p)))
    n, expected = len(label_issues(model, model.y)), expected_label_issues(model, model.y)
    assert abs(n - expected) < 4 * np.sqrt(expected)


def test_rows_without_held_out_probabilities_are_left_out_with_a_warning() -> None:
    model = made_up()
    model.row_groups_ = np.r_[-1, model.row_groups_]
    for function in (label_issues, uncertain_rows, expected_label_issues):
        with pytest.warns(TableWarning, match="1 row of 6 left out: no held-out probabilities"):
            function(model, model.y)
    with pytest.warns(TableWarning):
        assert [doubt.rows for doubt in label_issues(model, model.y)] == [(1, 4), (2,)]


@pytest.mark.parametrize("threshold", [0.0, 1.1, np.nan])
def test_thresholds_are_probabilities(threshold: float) -> None:
    model = made_up()
    for function in (label_issues, expected_label_issues):
        with pytest.raises(InvalidInputError, match="threshold is"):
            function(model, model.y, threshold)
    with pytest.raises(InvalidInputError, match="n is 0; expected at least 1"):
        uncertain_rows(model, model.y, n=0)
