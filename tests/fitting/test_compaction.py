"""Ensembles of fewer points: nothing lost where all stay, errors as small as asked for where not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fits import BLEND, fitted
from marginwise.covariance.partition import Partition
from marginwise.fitting.compaction import Compaction, sensitivity, smallest
from marginwise.fitting.ensemble import Ensemble
from marginwise.fitting.labels import SoftmaxLabels
from marginwise.inference.prediction import LatentPredictor
from marginwise.problem import labelled_problem

RNG = np.random.default_rng(5)
X, NEW, DESIGN = RNG.normal(size=(120, 2)), RNG.normal(size=(300, 2)), RNG.normal(size=(900, 2))


@pytest.fixture(scope="module", params=[2, 3])
def ensemble(request: pytest.FixtureRequest) -> Ensemble:
    labels = np.digitize(X[:, 0] * X[:, 1] + 0.3 * np.random.default_rng(1).normal(size=len(X)), [0.0, 0.7])
    codes = np.minimum(labels, request.param - 1)
    return fitted(labelled_problem(X, codes, np.ones(len(X)), request.param), kernel=BLEND)


@pytest.fixture(scope="module")
def compaction(ensemble: Ensemble) -> Compaction:
    return Compaction(ensemble, DESIGN, 0.01)


def moved(ensemble: Ensemble, other: Ensemble) -> float:
    return float(np.abs(np.exp(other.log_proba(NEW)) - np.exp(ensemble.log_proba(NEW))).max())


def points(ensemble: Ensemble) -> int:
    return sum(map(ensemble.points_of, ensemble.members))


def test_with_all_points_and_the_whole_matrix_nothing_changes(ensemble: Ensemble, compaction: Compaction) -> None:
    made = compaction.at(None)
    assert made.is_whole
    assert moved(ensemble, made.at(None)) < 1e-9


def test_more_points_are_nearer(ensemble: Ensemble, compaction: Compaction) -> None:
    made = [compaction.at(level).at(None) for level in (1e-1, 1e-2, 1e-3)]
    errors, sizes = [moved(ensemble, one) for one in made], [points(one) for one in made]
    assert sizes == sorted(sizes)
    assert sizes[0] < 0.5 * points(ensemble)
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 0.02


def test_more_columns_are_nearer(ensemble: Ensemble, compaction: Compaction) -> None:
    whole = compaction.at(None)
    errors = [moved(ensemble, whole.at(share)) for share in (0.02, 0.125, 0.5)]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 1e-3
    few = whole.at(0.125).members[0].few_points
    assert isinstance(few, LatentPredictor)
    assert few.gain.shape == (len(few.points), int(0.125 * len(few.points)))


def test_sums_over_few_points_are_found_with_these_alone(ensemble: Ensemble) -> None:
    """A latent function that is a sum over eight of its points needs no others."""
    rng = np.random.default_rng(0)
    trained = []
    for one in ensemble.latent_functions:
        assert isinstance(one, LatentPredictor)
        coefficients = np.zeros_like(one.coefficients)
        coefficients[::15] = rng.normal(size=coefficients[::15].shape)
        trained.append(one.with_expansion(one.points, coefficients, one.gain))
    sparse = replace(ensemble).with_latent_functions(trained, np.empty(0))
    made = Compaction(sparse, DESIGN, 0.01).at(1e-6)
    before = [one.latent_mean(ensemble.members[k].inputs(NEW)) for k, one in enumerate(trained)]
    for member, mean in zip(made.at(None).members, before, strict=True):
        assert isinstance(member.few_points, LatentPredictor)
        assert len(member.few_points.points) <= 48  # greedy steps choose some in vain
        np.testing.assert_allclose(member.few_points.latent_mean(member.inputs(NEW)), mean, atol=1e-4 * np.ptp(mean))


def test_members_with_one_kernel_keep_sharing_their_points(ensemble: Ensemble) -> None:
    half = replace(ensemble.main, weight=0.5)
    two = replace(ensemble, members=(half, half))
    assert two._same_as_before == (False, True)
    assert Compaction(two, DESIGN, 0.01).at(1e-2).at(0.25)._same_as_before == (False, True)


def test_local_blocks_become_one_sum(ensemble: Ensemble) -> None:
    """With one block of rows the covariance is exact, and so is the matrix that inducing inputs at all rows have."""
    member = next(one for one in ensemble.members if isinstance(one.candidate.labels, SoftmaxLabels))
    problem = replace(ensemble.problem, inducing=X[:30], partition=Partition.of(X, np.ones(2), len(X)))
    local = member.candidate.labels.restored(problem, member.hyperparameters, member.stored)
    alone = replace(ensemble, members=(replace(member, weight=1.0, few_points=local),))
    compaction = Compaction(alone, DESIGN, 0.01)
    assert not compaction.is_exact_possible
    exact = compaction.at(1e-9).at(None)
    rows = member.inputs(NEW)
    ours = exact.members[0].few_points.latent_mean_and_variance(rows)
    for found, expected in zip(ours, local.latent_mean_and_variance(rows), strict=True):
        np.testing.assert_allclose(found, expected, atol=2e-3 * np.abs(expected).max())


def test_sensitivities_say_how_far_means_may_move(ensemble: Ensemble) -> None:
    """A step of tolerance/sensitivity stays within the tolerance, one that is 1.5 times as long does not."""
    tolerance = 0.01
    for member, one in zip(ensemble.members, ensemble.latent_functions, strict=True):
        mean, variance = one.latent_mean_and_variance(member.inputs(NEW))
        step = tolerance / sensitivity(one, mean, variance, tolerance)
        top = np.zeros_like(mean)
        if mean.ndim == 1:
            top += step
        else:
            top[np.arange(len(mean)), mean.argmax(axis=1)] = step

        def change(shift: np.ndarray, one=one, mean=mean, variance=variance) -> np.ndarray:
            return np.abs(np.exp(one.log_proba_of(mean + shift, variance)) - np.exp(one.log_proba_of(mean, variance)))

        near, beyond = (np.maximum(change(k * top), change(-k * top)).max(axis=1) for k in (1.0, 1.5))
        assert near.max() <= tolerance
        longest = step >= 0.99 * step.max()  # the longest that is tried
        assert (beyond[~longest] > tolerance).all()


@pytest.mark.parametrize("last", [-1, 0, 3, 9])
def test_the_last_that_is_accepted_is_found(last: int) -> None:
    asked: list[float] = []

    def accepted(value: float) -> bool:
        asked.append(value)
        return value <= last

    assert smallest(range(10), accepted) == (None if last < 0 else last)
    assert len(asked) <= 5
