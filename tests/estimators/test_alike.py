"""A remark where rows that follow each other are far more alike than others, and hardly ever elsewhere."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris, load_wine, make_classification, make_moons
from sklearn.preprocessing import StandardScaler

from grouped import grouped_rows
from marginwise import TunedSVC
from marginwise.errors import GroupWarning
from marginwise.estimators._alike import alike_in_runs


def said(X: np.ndarray, y: np.ndarray) -> bool:
    return alike_in_runs(StandardScaler().fit_transform(X), y, np.arange(len(X)))


@pytest.mark.parametrize(("n_groups", "rows", "n_classes"), [(60, 3, 2), (40, 10, 2), (30, 40, 2), (120, 10, 4)])
def test_groups_that_follow_each_other_are_noticed(n_groups, rows, n_classes):
    for seed in range(5):
        X, y, _ = grouped_rows(n_groups, rows, seed, n_classes=n_classes)
        assert said(X, y)


def test_many_rows_are_looked_at_in_parts():
    X, y, _ = grouped_rows(600, 10, 0)
    assert said(X, y)
    order = np.random.default_rng(0).permutation(len(y))
    assert not said(X[order], y[order])


def test_a_random_order_tells_nothing():
    for seed in range(20):
        X, y, _ = grouped_rows(30, 10, seed)
        order = np.random.default_rng(seed).permutation(len(y))
        assert not said(X[order], y[order])


@pytest.mark.parametrize("load", [load_iris, load_wine, load_digits])
def test_tables_that_are_sorted_by_class_or_by_writer(load):
    assert not said(*load(return_X_y=True))


@pytest.mark.parametrize("shuffle", [True, False])
def test_made_up_tables(shuffle):
    for seed in range(10):
        assert not said(*make_classification(300, 6, shuffle=shuffle, random_state=seed))
        assert not said(*make_moons(300, shuffle=shuffle, noise=0.2, random_state=seed))


def test_sorted_rounded_and_repeated_rows(rng):
    y = rng.integers(2, size=400)
    X = rng.normal(size=(400, 2))
    assert not said(X[np.argsort(X[:, 0])], y)
    assert not said(np.round(X), y)
    assert not said(np.repeat(X[:100], 4, axis=0), np.repeat(y[:100], 4))
    assert not said(np.column_stack([np.repeat(np.arange(20), 20), X]), y)  # a column that rises, such as a number


def test_few_rows_tell_nothing():
    X, y, _ = grouped_rows(8, 5, 0)
    assert not said(X, y)


@pytest.mark.filterwarnings("ignore::marginwise.errors.ConvergenceWarning")
def test_a_fit_warns_and_is_quiet_when_told():
    X, y, groups = grouped_rows(30, 6, 3)
    model = TunedSVC(ard=0, kernel="rbf", random_state=0, max_evaluations=3)
    with pytest.warns(GroupWarning, match="rows that follow each other are far more alike than others"):
        model.fit(X, y)
    assert any("more alike" in remark for remark in model.summary().warnings)
    for given in (groups, np.arange(len(y))):  # and each row may be said to be a group of its own
        with warnings.catch_warnings():
            warnings.simplefilter("error", GroupWarning)
            model.fit(X, y, groups=given)
        assert not any("more alike" in remark for remark in model.summary().warnings)
