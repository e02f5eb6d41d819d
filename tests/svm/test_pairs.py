"""Machines by pairs against single ones and scikit-learn's SVC; coupled probabilities against direct minimisation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.svm import SVC

from marginwise.hyperparameters import Hyperparameters
from marginwise.likelihoods import as_slack
from marginwise.svm import pairs as by_pairs
from marginwise.svm import solve
from marginwise.svm.pairs import couple, pairs_of, train_pairs, votes

H = Hyperparameters(3.0, 1.2, 0.5, [1.0, 0.7])


def clouds(n_classes: int, n: int, seed: int = 0):
    """Overlapping clouds in two inputs, each class with at least one row."""
    rng = np.random.default_rng(seed)
    codes = np.r_[np.arange(n_classes), rng.integers(0, n_classes, n - n_classes)]
    return rng.normal(size=(n, 2)) + rng.normal(size=(n_classes, 2))[codes], codes


def single(X, codes, weights, slack, i, j, Z):
    """Return the latent function of one pair, by the slow way."""
    rows = (codes == i) | (codes == j)
    y = np.where(codes[rows] == j, 1.0, -1.0)
    solution = solve(X[rows], y, H, slack, sample_weight=weights[rows])
    return H.kernel.cross(Z, X[rows]) @ (y * solution.alpha)


@pytest.mark.parametrize("slack", ["linear", "quadratic"])
def test_each_pair_is_the_machine_of_its_two_classes(slack):
    X, codes = clouds(5, 80)
    X[10:14], codes[10:14] = X[10], codes[10]  # repetitions
    rng = np.random.default_rng(1)
    weights, Z = rng.uniform(0.3, 3.0, 80), rng.normal(size=(12, 2))
    machines, solutions = train_pairs(X, codes, 5, weights, H, as_slack(slack))
    latent = machines.latent(Z)
    assert len(solutions) == 10
    for place, (i, j) in enumerate(zip(*pairs_of(5), strict=True)):
        np.testing.assert_allclose(latent[:, place], single(X, codes, weights, slack, i, j, Z), atol=1e-8)
    assert (np.diff(codes[machines.support]) >= 0).all()
    np.testing.assert_array_equal(machines.points, X[machines.support])
    assert machines.n_support.sum() == len(machines.support)


def test_a_gram_matrix_that_is_too_large_changes_nothing(monkeypatch):
    X, codes = clouds(4, 60)
    arguments = (X, codes, 4, np.ones(60), H, as_slack("linear"))
    plain = train_pairs(*arguments)[0]
    monkeypatch.setattr(by_pairs, "MAX_MEMORY", 1000)
    apart = train_pairs(*arguments)[0]
    np.testing.assert_array_equal(apart.support, plain.support)
    np.testing.assert_allclose(apart.coefficients, plain.coefficients, atol=1e-9)


def test_all_rows_as_inducing_inputs_give_the_same_machines():
    X, codes = clouds(4, 60)
    arguments = (X, codes, 4, np.ones(60), H, as_slack("quadratic"))
    exact, low_rank = train_pairs(*arguments)[0], train_pairs(*arguments, inducing=X)[0]
    assert low_rank.coefficients.shape == (6, 60)
    np.testing.assert_allclose(low_rank.latent(X), exact.latent(X), atol=1e-5)
    np.testing.assert_array_equal(low_rank.support, exact.support)


def test_agree_with_svc_when_the_offset_is_free():
    X, codes = clouds(6, 150)
    free = Hyperparameters(3.0, 1.0, 1e6, 0.8)
    machines, _ = train_pairs(X, codes, 6, np.ones(150), free, as_slack("linear"))
    theirs = SVC(C=3.0, gamma=1 / (2 * 0.8**2), tol=1e-8, decision_function_shape="ovo").fit(X, codes)
    np.testing.assert_allclose(machines.latent(X), -theirs.decision_function(X), atol=5e-4)
    theirs.decision_function_shape = "ovr"
    np.testing.assert_allclose(machines.decision(X), theirs.decision_function(X), atol=5e-4)
    np.testing.assert_array_equal(machines.support, theirs.support_)
    np.testing.assert_array_equal(machines.n_support, theirs.n_support_)
    np.testing.assert_allclose(machines.coefficients, -theirs.dual_coef_, atol=5e-4)


def test_blocks_of_rows_change_nothing(monkeypatch):
    X, codes = clouds(4, 60)
    machines, _ = train_pairs(X, codes, 4, np.ones(60), H, as_slack("linear"))
    whole, probability = machines.decision(X), np.random.default_rng(0).uniform(size=(60, 6))
    coupled = couple(probability, 4)
    monkeypatch.setattr(by_pairs, "_BLOCK_NUMBERS", 500)
    np.testing.assert_allclose(machines.decision(X), whole, atol=1e-12)
    np.testing.assert_allclose(couple(probability, 4), coupled, atol=1e-12)


def test_votes_count_pairs_and_ties_go_to_the_clearer_class():
    # pairs (0, 1), (0, 2), (1, 2); first row: 0 wins both; second: a circle in which 2 wins by more
    latent = np.array([[-1.0, -2.0, 5.0], [-0.5, 3.0, -0.5], [0.0, 0.0, 0.0]])
    values = votes(latent, 3)
    assert values.argmax(axis=1).tolist() == [0, 2, 0]
    np.testing.assert_array_equal(np.round(values), [[2, 0, 1], [1, 1, 1], [2, 1, 0]])
    assert (np.abs(values - np.round(values)) < 1 / 3).all()


@pytest.mark.parametrize("n_classes", [2, 3, 10, 40])
def test_coupling_gives_back_the_probabilities_that_pairs_come_from(n_classes):
    p = np.random.default_rng(0).dirichlet(np.full(n_classes, 0.3), size=20) + 1e-9
    p /= p.sum(axis=1, keepdims=True)
    first, second = pairs_of(n_classes)
    coupled = couple(p[:, second] / (p[:, first] + p[:, second]), n_classes)
    np.testing.assert_allclose(coupled, p, atol=1e-10)


@pytest.mark.parametrize("hard", [False, True])
def test_coupling_minimises_the_squared_disagreement(hard):
    rng = np.random.default_rng(1)
    pairs = rng.uniform(size=(10, 6))
    if hard:  # probabilities of exactly 0 and 1, circles among them
        pairs = np.round(2 * pairs) / 2
    first, second = pairs_of(4)
    for row, found in zip(pairs, couple(pairs, 4), strict=True):

        def disagreement(p, row=row):
            return np.sum((row * p[first] - (1 - row) * p[second]) ** 2)

        best = minimize(
            disagreement,
            np.full(4, 0.25),
            bounds=[(0, 1)] * 4,
            constraints={"type": "eq", "fun": lambda p: p.sum() - 1},
            options={"ftol": 1e-14},
        )
        assert found.sum() == pytest.approx(1.0)
        assert found.min() >= 0.0
        assert disagreement(found) <= best.fun + 1e-9
        np.testing.assert_allclose(found, best.x, atol=2e-4)


def test_coupling_of_certain_pairs_is_certain():
    first, second = pairs_of(5)
    order = np.array([3, 0, 4, 1, 2])  # class 3 beats all, class 0 all but 3, …
    rank = np.argsort(order)
    pairs = (rank[second] < rank[first]).astype(float)[None]
    np.testing.assert_allclose(couple(pairs, 5), [[0, 0, 0, 1, 0]], atol=1e-12)
