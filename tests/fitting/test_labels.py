"""From a model to class probabilities: label models, and their scales."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import zoo
from marginwise.fitting.labels import (
    LeastSquaresLabels,
    OrderedLeastSquaresLabels,
    Scale,
    SlackLabels,
    SoftmaxLabels,
    ThresholdLabels,
)
from marginwise.hyperparameters import Hyperparameters
from marginwise.kernels import Blend
from marginwise.likelihoods import as_slack
from marginwise.model import Model
from marginwise.multiclass import best_softmax_C
from marginwise.multiclass.ordered import best_threshold_C
from marginwise.problem import MulticlassProblem, as_problem

TWO = zoo.blobs(40, 2)
WEIGHTED = as_problem(TWO.X, TWO.y, 1.0 + np.arange(40) % 3)
THREE = MulticlassProblem(TWO.X, np.arange(40.0) % 3, np.ones(40), n_classes=3)
H = Hyperparameters(0.8, 1.2, 0.3, [1.0, 2.0])
NEW = np.random.default_rng(1).normal(size=(25, 2))
SLACK = as_slack("linear")

CASES = [
    pytest.param(labels, problem, id=f"{labels.name} {name}")
    for labels in (LeastSquaresLabels(), SoftmaxLabels(), SlackLabels(SLACK), SlackLabels(as_slack("quadratic")))
    for name, problem in (("two", TWO), ("weighted", WEIGHTED), ("three", THREE))
    if problem.n_classes == 2 or labels.name != "slack"
]
ORDERED = (OrderedLeastSquaresLabels((1, 0, 2)), ThresholdLabels((1, 0, 2)))
CASES += [pytest.param(labels, THREE, id=f"{labels.name} three") for labels in ORDERED]


@pytest.mark.parametrize(("labels", "problem"), CASES)
def test_the_predictor_is_there_again_from_what_is_stored(labels, problem):
    trained = labels.train(problem, H)
    again = labels.restored(problem, H, trained.stored)
    np.testing.assert_allclose(again.log_proba(NEW), trained.predictor.log_proba(NEW), atol=1e-10)
    moments = (one.latent_mean_and_variance(NEW) for one in (again, trained.predictor))
    for one, other in zip(*moments, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-10)
    assert sum(part.size for part in trained.stored) <= 3 + problem.n * (1 + problem.n_classes)  # no n×n matrix


@pytest.mark.parametrize(("labels", "problem"), CASES)
def test_probabilities_are_normalised(labels, problem):
    trained = labels.train(problem, H)
    for logs in (trained.log_left_out, trained.predictor.log_proba(NEW)):
        assert logs.shape[1] == problem.n_classes
        np.testing.assert_allclose(np.exp(logs).sum(axis=1), 1.0, rtol=1e-9)
    assert len(trained.log_left_out) == problem.n
    assert trained.status.ok
    assert np.isfinite(trained.log_evidence) == (labels.name == "slack")


@pytest.mark.parametrize("labels", [LeastSquaresLabels(), SlackLabels(SLACK)], ids=lambda labels: labels.name)
def test_what_is_said_of_a_row_left_out_is_near_what_a_model_without_it_says(labels):
    """Not the same: for least squares the row had a part in the link and the offset, for the slack in the sites."""
    trained = labels.train(TWO, H)
    apart = []
    for i in range(TWO.n):
        rest = TWO.subset(np.delete(np.arange(TWO.n), i))
        apart.append(labels.train(rest, H).predictor.log_proba(TWO.X[i : i + 1])[0])
    difference = np.abs(np.exp(trained.log_left_out) - np.exp(apart))
    assert difference.mean() < 0.02
    assert difference.max() < 0.2  # a row that is far from all others moves the link


@pytest.mark.parametrize("labels", [LeastSquaresLabels(), SoftmaxLabels()], ids=lambda labels: labels.name)
def test_two_classes_are_a_case_of_many(labels):
    as_classes = MulticlassProblem(WEIGHTED.X, WEIGHTED.labels.astype(float), WEIGHTED.weights, n_classes=2)
    one, other = labels.train(WEIGHTED, H), labels.train(as_classes, H)
    np.testing.assert_allclose(one.log_left_out, other.log_left_out, atol=1e-12)
    np.testing.assert_allclose(one.predictor.log_proba(NEW), other.predictor.log_proba(NEW), atol=1e-12)


@pytest.mark.parametrize(("labels", "problem"), CASES)
def test_units_of_latent_values_are_those_of_log_odds(labels, problem):
    """By a difference where the latent value is 0, with no doubt about it."""
    if problem.n_classes > 2:
        return
    predictor = labels.train(problem, H).predictor
    h, nothing = 1e-5, np.full(2, 1e-12)
    step = np.array([h, -h])
    if labels.name != "slack":  # a latent function for each class, one minus the other, and an offset
        means = np.column_stack([-step, step]) - predictor.offset
        predictor = replace(predictor, link=replace(predictor.link, floor=1e-12))
    else:
        means = step
    logs = predictor.log_proba_of(means, nothing)
    odds = logs[:, 1] - logs[:, 0]
    latent, _ = predictor.latent_in_log_odds(means, nothing)
    assert latent.shape == (2,)
    assert odds[0] - odds[1] == pytest.approx(latent[0] - latent[1], rel=1e-3)


def test_scales():
    model = Model(2.0, Blend())
    assert Scale()(model) is model
    scaled = Scale(3.0)(model)
    assert scaled.C == 3.0
    assert scaled.kernel == model.kernel
    assert LeastSquaresLabels().scale(TWO, H) == SlackLabels(SLACK).scale(TWO, H) == (Scale(), None)


@pytest.mark.parametrize("problem", [TWO, THREE], ids=["two", "three"])
def test_the_scale_of_softmax_labels_is_the_best_C(problem):
    C, log_probability = best_softmax_C(problem, H)
    scale, told = SoftmaxLabels().scale(problem, H)
    assert (scale, told) == (Scale(C), log_probability)
    left_out = SoftmaxLabels().train(problem, scale(H)).log_left_out
    expected = problem.weights @ left_out[np.arange(problem.n), problem.labels]
    np.testing.assert_allclose(told, expected, rtol=1e-3)


def test_label_models_say_for_how_many_classes_they_are(schedule):
    schedule(softmax_classes=3)
    suited = [[n for n in range(2, 6) if one.suits(n)] for one in (SlackLabels(SLACK), SoftmaxLabels(), *ORDERED)]
    assert suited == [[2], [2, 3], [3, 4, 5], [3, 4, 5]]
    assert LeastSquaresLabels().suits(1000)


def test_the_scale_of_the_likelihood_with_thresholds_is_the_best_C():
    assert ORDERED[0].scale(THREE, H) == (Scale(), None)
    assert ORDERED[1].scale(THREE, H) == (Scale(best_threshold_C(THREE, H, (1, 0, 2))), None)
