"""Members that predict together: storage, ties, units, and what stands for all of them."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import logsumexp

import zoo
from fits import BLEND, fitted
from marginwise.fitting.ensemble import Ensemble
from marginwise.problem import MulticlassProblem, as_problem

TWO = zoo.blobs(120, 2)
THREE = MulticlassProblem(TWO.X, (TWO.X[:, 0] > -0.5).astype(float) + (TWO.X[:, 0] > 0.8), np.ones(120), n_classes=3)
NEW = np.random.default_rng(1).normal(size=(30, 2))


@pytest.fixture(scope="module", params=["two", "three", "low rank", "svm"])
def ensemble(request) -> Ensemble:
    problem = THREE if request.param == "three" else TWO
    options = {"low rank": {"rank": 12}, "svm": {"svm": True}}.get(request.param, {})
    return fitted(problem, ard=0.0, kernel=BLEND, seed=0, **options)


def test_a_pickle_has_no_square_matrices_and_predicts_the_same(ensemble):
    ensemble.log_proba(NEW)
    text = pickle.dumps(ensemble)
    assert len(text) < 8 * 120**2
    again = pickle.loads(text)
    assert "latent_functions" not in vars(again)
    np.testing.assert_allclose(again.log_proba(NEW), ensemble.log_proba(NEW), atol=1e-9)
    np.testing.assert_array_equal(again.best(NEW), ensemble.best(NEW))
    np.testing.assert_allclose(again.description.relevances, ensemble.description.relevances, atol=1e-9)
    np.testing.assert_array_equal(again.held_out, ensemble.held_out)
    assert "X=<" in repr(again)


def test_the_mean_of_the_members_by_hand(ensemble):
    apart = []
    for member in ensemble.members:
        alone = replace(ensemble, members=(replace(member, weight=1.0),))
        assert len(alone.latent_functions) == 1  # those of the others are not its own
        apart.append(alone.log_proba(NEW))
    mixed = logsumexp(apart, axis=0, b=ensemble.weights[:, None, None])
    np.testing.assert_allclose(ensemble.log_proba(NEW), mixed, atol=1e-9)
    assert ensemble.weights.sum() == pytest.approx(1.0)


def test_the_best_class_is_the_most_probable_where_it_is_said(ensemble):
    best, logs = ensemble.best(NEW), ensemble.log_proba(NEW)
    said = best >= 0
    assert said.mean() > 0.8
    np.testing.assert_array_equal(best[said], logs.argmax(axis=1)[said])


def test_latent_moments_are_those_of_the_mixture(ensemble):
    mean, variance = ensemble.latent(NEW)
    parts = [one.latent_in_log_odds(*one.latent_mean_and_variance(NEW)) for one in ensemble.latent_functions]
    means, variances = (np.array(part) for part in zip(*parts, strict=True))
    w = ensemble.weights.reshape(-1, *[1] * (means.ndim - 1))
    np.testing.assert_allclose(mean, (w * means).sum(axis=0), rtol=1e-6, atol=1e-6)
    second = (w * (variances + means**2)).sum(axis=0)
    np.testing.assert_allclose(variance, second - mean**2, rtol=1e-3, atol=1e-3)  # reduced columns
    assert mean.shape == ((30,) if ensemble.n_classes == 2 else (30, 3))


def test_log_odds_follow_the_latent_mean(ensemble):
    if ensemble.n_classes > 2:
        return
    mean, _ = ensemble.latent(NEW)
    logs = ensemble.log_proba(NEW)
    odds = logs[:, 1] - logs[:, 0]
    clear = np.abs(mean) > 0.5
    np.testing.assert_array_equal(np.sign(odds[clear]), np.sign(mean[clear]))
    assert np.corrcoef(odds, mean)[0, 1] > 0.9


def test_what_stands_for_all_has_the_largest_weight_of_the_main_kernel(ensemble):
    own = [member for member in ensemble.members if not member.candidate.auxiliary]
    assert ensemble.main.weight == max(member.weight for member in own)
    flipped = tuple(
        replace(member, weight=0.9 if member.candidate.auxiliary else 0.1 / len(own)) for member in ensemble.members
    )
    assert not replace(ensemble, members=flipped).main.candidate.auxiliary


def test_the_svm_is_trained_when_it_is_asked_for(ensemble):
    labels = ensemble.svm_decision(ensemble.X)
    predicted = (labels[:, 0] > 0).astype(int) if ensemble.n_classes == 2 else labels.argmax(axis=1)
    assert (predicted == ensemble.log_proba(ensemble.X).argmax(axis=1)).mean() > 0.9
    main = ensemble.main
    if main.labels == "slack":
        assert ensemble.svm_model == main.hyperparameters
    else:
        assert ensemble.svm_model.C == 4.0 * main.tuning.hyperparameters.C
        assert ensemble.svm_model.kernel == main.hyperparameters.kernel


def test_relevances_and_shares_have_sum_one(ensemble):
    assert ensemble.description.relevances.shape == (len(ensemble.members), 2)
    np.testing.assert_allclose(ensemble.description.relevances.sum(axis=1), 1.0)
    assert (ensemble.weights @ ensemble.description.relevances)[0] > 0.5
    assert sum(ensemble.description.term_shares.values()) == pytest.approx(1.0)


def test_the_svm_of_screened_inputs_sees_these_alone():
    """More columns than rows, of which one matters: the member that stands for all has few of them."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 80))
    problem = as_problem(X, np.where(X[:, 7] > 0, 1.0, -1.0))
    stack = fitted(problem, seed=0)
    assert stack.main.view is not None
    assert len(stack.main.view.inputs) < 80
    new = rng.normal(size=(500, 80))
    decision = stack.svm_decision(new)[:, 0]
    assert ((decision > 0) == (new[:, 7] > 0)).mean() > 0.9
    again = pickle.loads(pickle.dumps(stack))
    np.testing.assert_allclose(again.svm_log_proba(new), stack.svm_log_proba(new), atol=1e-9)
    np.testing.assert_allclose(again.log_proba(new), stack.log_proba(new), atol=1e-9)
