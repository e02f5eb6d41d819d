"""Tables with more rows than the exact matrix takes: what is trained, with what weights, and what it finds."""

from __future__ import annotations

import pickle
from dataclasses import fields, replace
from itertools import combinations

import numpy as np
import pytest

from marginwise import TunedSVC
from marginwise.covariance.features import Features
from marginwise.fitting.rank import local_size, numbers_kept
from marginwise.fitting.schedule import SCHEDULE
from marginwise.fitting.stacking import kept_weights
from marginwise.inference.prediction import LocalPredictor

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
    assert len({(id(member.tuning), id(member.partition)) for member in members}) == len(members)
    assert len({(id(member.tuning), member.labels) for member in members}) == len({id(m.tuning) for m in members})
    assert sum(member.weight for member in members) == pytest.approx(1.0)
    assert all(member.partition is not None for member in members)


def test_two_classes_are_trained_in_several_partitions(table, schedule) -> None:
    """With the same inducing inputs and hyperparameters, but for a C that is larger, for each search."""
    schedule(**SMALL, least_weight=0.0, partitions=3, usual_local=50, most_local=100, least_local=50)
    ensemble = TunedSVC(random_state=0).fit(*table).ensemble_
    of_search: dict[int, list] = {}
    for member in ensemble.members:
        of_search.setdefault(id(member.tuning), []).append(member)
    assert len(of_search) == 2
    for members in of_search.values():
        blocks = [member.partition.assign(member.inputs(ensemble.X)) for member in members]
        assert len(blocks) == 3
        for one, other in combinations(blocks, 2):
            assert ((one[:, None] == one) ^ (other[:, None] == other)).any()
        assert len({id(member.inducing) for member in members}) == 1
        assert len({member.hyperparameters for member in members}) == 1
    schedule(partitions=1)
    [alone, *_] = TunedSVC(random_state=0).fit(*table).ensemble_.members
    assert alone.hyperparameters.kernel == ensemble.members[0].hyperparameters.kernel
    assert SCHEDULE.partitions_C * alone.hyperparameters.C == ensemble.members[0].hyperparameters.C


def test_partitions_of_a_view_share_their_features(table, schedule, monkeypatch) -> None:
    """They are computed once for each view, and what is predicted is what each member says by itself."""
    schedule(**SMALL, least_weight=0.0, partitions=2, usual_local=50, most_local=100, least_local=50)
    ensemble = TunedSVC(random_state=0).fit(*table).ensemble_
    assert ensemble._same_as_before == (False, True, False, True)
    assert ensemble.basis_size == max(len(member.inducing) for member in ensemble.members) < ensemble.n_points
    new = ensemble.X[::7] + 0.1
    alone = [
        one.latent_mean_and_variance(member.inputs(new))
        for member, one in zip(ensemble.members, ensemble.predictors, strict=True)
    ]
    calls, at = [], Features.at
    monkeypatch.setattr(Features, "at", lambda self, X: calls.append(len(X)) or at(self, X))
    shared = [moments for _, moments in ensemble._moments(new)]
    assert calls == [len(new)] * 2
    for found, expected in zip(shared, alone, strict=True):
        np.testing.assert_array_equal(found[0], expected[0])
        np.testing.assert_array_equal(found[1], expected[1])
    one = ensemble.predictors[0]
    assert isinstance(one, LocalPredictor)
    again = pickle.loads(pickle.dumps(one))
    assert set(vars(again)) == {field.name for field in fields(one)}
    np.testing.assert_array_equal(again.latent_mean(new), one.latent_mean(new))


@pytest.mark.parametrize("members", [1, 2, 8])
@pytest.mark.parametrize("n_classes", [2, 5])
def test_blocks_fit_into_memory(members: int, n_classes: int) -> None:
    """With more rows they get smaller, and then there are none at all."""
    sizes = [(n, local_size(n, n_classes, members)) for n in np.geomspace(2000, 10**6, 200).astype(int).tolist()]
    for n, (m, partitions) in sizes:
        assert m == 0 or m >= SCHEDULE.least_local
        assert numbers_kept(n, m, members * partitions) <= SCHEDULE.local_numbers
    parts = [partitions if m else 0 for _, (m, partitions) in sizes]
    assert parts == sorted(parts, reverse=True)
    assert set(parts) == ({0, 2} if n_classes == 2 else {0, 1})


def fine_and_coarse(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """A line, and ripples that few rows cannot follow."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, size=(n, 2))
    odds = 2.0 * X[:, 0] + 2.5 * np.sin(14.0 * X[:, 0]) * np.sin(14.0 * X[:, 1])
    return X, (rng.uniform(size=n) < 1.0 / (1.0 + np.exp(-odds))).astype(int)


def growth_of(model: TunedSVC) -> set[float]:
    """C beyond what was found on few rows, where that is known to be the softmax likelihood's own."""
    return {member.hyperparameters.C / member.tuning.hyperparameters.C for member in model.ensemble_.members}


def test_latent_functions_may_be_larger_where_rows_are_many(schedule) -> None:
    """C is doubled while all rows, left out, get more probable."""
    schedule(exact_rows=100, near_rows=150, wide_rows=300, wide_local=60, usual_local=60, most_local=60, least_local=40)
    train, (X_new, y_new) = fine_and_coarse(3000, 0), fine_and_coarse(4000, 1)
    growths, losses, expected = [], [], []
    for rows in (10**9, 1000):
        schedule(grow_from=rows)
        model = TunedSVC(0.3, random_state=0).fit(*train)
        growths.append(growth_of(model))
        losses.append(-np.log(model.predict_proba(X_new)[np.arange(4000), y_new]).mean())
        expected.append(model.expected_log_loss_)
    assert max(growths[1]) > max(growths[0])
    assert expected[1] < expected[0]
    assert losses[1] < losses[0]


def test_normal_scores_that_are_straight_lines_are_no_member(schedule) -> None:
    """They are the inputs again: searched and trained for nothing."""
    schedule(**SMALL)
    rng = np.random.default_rng(0)
    X = (rng.uniform(size=(700, 6)) < 0.4).astype(float)
    y = (X[:, 0] + X[:, 1] + rng.normal(size=700) > 1.0).astype(int)
    assert all(member.view is None for member in TunedSVC(random_state=0).fit(X, y).ensemble_.members)
    assert any(
        member.view
        for member in TunedSVC(random_state=0).fit(np.exp(2.0 * rng.normal(size=(700, 2))), y).ensemble_.members
    )


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
