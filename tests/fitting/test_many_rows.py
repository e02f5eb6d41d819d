"""Tables with more rows than the exact matrix takes: what is trained, with what weights, and what it finds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from marginwise import TunedSVC
from marginwise.fitting.stacking import kept_weights

SMALL = {"additive_from": 200, "exact_rows": 200, "wide_rows": 400, "wide_local": 60}


def steps(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows whose log-odds are a sum of steps in single columns."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2.0, 2.0, size=(n, 4))
    odds = 2.0 * np.sign(X[:, 0]) + 2.0 * (np.abs(X[:, 1]) > 1.0) - 1.0 + 1.5 * np.sign(np.sin(3.0 * X[:, 2]))
    return X, (rng.uniform(size=n) < 1.0 / (1.0 + np.exp(-odds))).astype(int)


@pytest.fixture(scope="module")
def table() -> tuple[np.ndarray, np.ndarray]:
    return steps(600, 0)


def test_one_label_model_is_trained_for_each_search(table, schedule) -> None:
    schedule(**SMALL)
    members = TunedSVC(random_state=0).fit(*table).ensemble_.members
    assert len({id(member.tuning) for member in members}) == len(members)
    assert sum(member.weight for member in members) == pytest.approx(1.0)
    assert all(member.partition is not None for member in members)


def test_weights_are_those_of_all_rows(table, schedule) -> None:
    """They make the leave-one-out probabilities of all rows as large as they can be, found again from these."""
    schedule(**SMALL)
    ensemble = TunedSVC(random_state=0).fit(*table).ensemble_
    problem, own = ensemble.problem, []
    for member in ensemble.members:
        rows = member.inputs(ensemble.X)
        seen = replace(problem, X=rows, inducing=member.inducing, partition=member.partition, single=True)
        done = member.candidate.labels.train(seen, member.hyperparameters)
        own.append(done.log_left_out[np.arange(problem.n), problem.labels])
    assert kept_weights(np.column_stack(own), problem.weights) == pytest.approx(ensemble.weights, abs=1e-6)


def test_a_sum_of_curves_is_told_from_interactions(table, schedule) -> None:
    schedule(**SMALL)
    shares = TunedSVC(random_state=0).fit(*table).term_shares_
    assert shares["additive"] > 0.5


def test_the_curves_pay_where_every_column_has_its_own(table, schedule) -> None:
    schedule(**SMALL)
    X_new, y_new = steps(3000, 1)
    losses = {}
    for kernel in ("auto", "rbf"):
        p = TunedSVC(random_state=0, kernel=kernel).fit(*table).predict_proba(X_new)
        losses[kernel] = -np.log(p[np.arange(3000), y_new]).mean()
    assert losses["auto"] < losses["rbf"] - 0.01


def test_length_scales_differ_freely_unless_other_rows_are_clearly_against_it(schedule) -> None:
    """Few of many columns matter, or none do."""
    schedule(exact_rows=200, near_rows=300, wide_rows=900, wide_local=60)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 12))
    some, none = np.sign(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=900)), rng.integers(0, 2, 900)
    spreads = [TunedSVC(random_state=0).fit(X, y).ensemble_.main.spread for y in (some, none)]
    assert spreads == [1.0, 0.3]
