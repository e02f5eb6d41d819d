"""MarginSVC keeps scikit-learn's conventions and agrees with scikit-learn's own SVC where the two models meet."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

import zoo
from marginwise import MarginSVC
from marginwise.errors import InvalidInputError
from marginwise.hyperparameters import Hyperparameters
from marginwise.svm import solve


@parametrize_with_checks([MarginSVC(), MarginSVC(slack="quadratic", class_weight="balanced")])
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


def test_agrees_with_svc_when_the_offset_is_free():
    problem = zoo.blobs(120, 2, shift=0.7)
    ours = MarginSVC(C=3.0, k0=1.0, koff=1e6, length_scales=0.8).fit(problem.X, problem.y)
    theirs = SVC(C=3.0, gamma=1 / (2 * 0.8**2), tol=1e-8).fit(problem.X, problem.y)
    np.testing.assert_allclose(
        ours.decision_function(problem.X), theirs.decision_function(problem.X), rtol=0, atol=2e-4
    )
    # As koff grows the two bias terms become one: the difference falls in proportion to 1/koff.
    gaps = []
    for koff in (1e2, 1e3, 1e4):
        model = MarginSVC(C=3.0, k0=1.0, koff=koff, length_scales=0.8).fit(problem.X, problem.y)
        gaps.append(abs(model.decision_function(problem.X) - theirs.decision_function(problem.X)).max())
    assert gaps[0] / gaps[1] == pytest.approx(10, rel=0.3)
    assert gaps[1] / gaps[2] == pytest.approx(10, rel=0.3)


def test_decision_function_is_the_latent_function_of_solve():
    problem = zoo.blobs(50, 3)
    scales = [0.5, 1.0, 2.0]
    solution = solve(problem.X, problem.y, Hyperparameters(2.0, 1.5, 0.3, scales), "quadratic")
    model = MarginSVC(2.0, 1.5, 0.3, scales, slack="quadratic").fit(problem.X, problem.y)
    np.testing.assert_allclose(model.decision_function(problem.X), solution.latent, atol=1e-10)


def test_classes_by_pairs():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    model = make_pipeline(StandardScaler(), MarginSVC(C=5.0, length_scales=2.0)).fit(X, names)
    assert model.score(X, names) > 0.95
    values = model.decision_function(X)
    assert values.shape == (150, 3)
    np.testing.assert_array_equal(model.predict(X), model[-1].classes_[values.argmax(axis=1)])
    svm, inputs = model[-1], model[0].transform(X)
    lone = clone(svm).fit(inputs[y > 0], names[y > 0])
    np.testing.assert_allclose(svm.solutions_[2].latent, lone.decision_function(inputs[y > 0]), atol=1e-9)
    assert svm.dual_coef_.shape == (2, len(svm.support_))
    np.testing.assert_array_equal(svm.support_vectors_, inputs[svm.support_])
    np.testing.assert_array_equal(svm.n_support_, np.bincount(y[svm.support_]))


def test_two_classes_after_three_are_as_ever():
    problem = zoo.blobs(30, 2)
    model = MarginSVC().fit(problem.X, np.arange(30) % 3)
    fresh = MarginSVC().fit(problem.X, problem.y)
    again = model.fit(problem.X, problem.y)
    np.testing.assert_array_equal(again.decision_function(problem.X), fresh.decision_function(problem.X))


@pytest.mark.parametrize("sizes", [(1, 1, 1), (1, 2, 60), (3, 40, 2, 1)])
def test_no_class_is_lost_however_few_rows_it_has(sizes):
    y = np.repeat(np.arange(len(sizes)), sizes)
    X = np.random.default_rng(0).normal(scale=0.3, size=(len(y), 2)) + 3.0 * y[:, None]
    model = MarginSVC(C=100.0).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), y)
    assert (model.n_support_ > 0).all()


def test_copies_and_weights_are_the_same_with_many_classes():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), np.arange(40) % 4
    weights = rng.integers(0, 4, 40)
    weights[:4] = 1
    weighted = MarginSVC(C=2.0).fit(X, y, sample_weight=weights)
    copied = MarginSVC(C=2.0).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_allclose(weighted.decision_function(X), copied.decision_function(X), atol=1e-7)


def test_class_weight_multiplies_sample_weight():
    problem = zoo.blobs(60, 2)
    by_class = MarginSVC(class_weight={-1: 1.0, 1: 3.0}).fit(problem.X, problem.y)
    by_row = MarginSVC().fit(problem.X, problem.y, sample_weight=np.where(problem.y > 0, 3.0, 1.0))
    np.testing.assert_allclose(by_class.decision_function(problem.X), by_row.decision_function(problem.X))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"C": -1}, "C is -1; expected a positive finite number"),
        ({"length_scales": [1.0, 2.0, 3.0]}, "1 or 2 values, because X has 2 columns"),
        ({"slack": "cubic"}, "slack is 'cubic'; expected one of 'linear', 'quadratic'"),
    ],
)
def test_errors_say_what_is_allowed(parameters, message):
    problem = zoo.blobs(10, 2)
    with pytest.raises(InvalidInputError, match=message):
        MarginSVC(**parameters).fit(problem.X, problem.y)


def test_one_class_is_refused():
    with pytest.raises(ValueError, match="at least two classes"):
        MarginSVC().fit([[0.0], [1.0]], ["a", "a"])
