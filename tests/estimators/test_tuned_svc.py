"""TunedSVC keeps scikit-learn's conventions, is sensible on poor tables, and its estimates of the error are honest."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.utils.estimator_checks import parametrize_with_checks

import zoo
from marginwise import MarginSVC, TunedSVC, load_benchmark
from marginwise.errors import InvalidInputError

pytestmark = [
    pytest.mark.filterwarnings("ignore::marginwise.errors.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::marginwise.errors.TableWarning"),
]


@parametrize_with_checks([TunedSVC(random_state=0)])
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def pima():
    return load_benchmark("pima")


@pytest.fixture(scope="module")
def fitted(pima):
    return TunedSVC(random_state=0).fit(pima.X_train, pima.y_train)


def test_beats_the_majority_and_knows_its_error(fitted, pima):
    error = 1 - fitted.score(pima.X_test, pima.y_test)
    assert error < 0.24  # a third of the test rows are positive
    assert abs(error - fitted.expected_error_) < 0.08  # two standard errors of 200 rows
    own = fitted.predict_proba(pima.X_test)[np.arange(332), (pima.y_test > 0).astype(int)]
    assert abs(-np.log(own).mean() - fitted.expected_log_loss_) < 0.12


@pytest.mark.parametrize("predictor", ["posterior", "svm"])
def test_predictions_agree_with_each_other(fitted, pima, predictor):
    model = TunedSVC(ard=0, predictor=predictor, random_state=0).fit(pima.X_train, pima.y_train)
    probability = model.predict_proba(pima.X_test)
    np.testing.assert_allclose(probability.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.predict(pima.X_test), model.classes_[probability.argmax(axis=1)])
    np.testing.assert_array_equal(model.decision_function(pima.X_test) > 0, probability[:, 1] > 0.5)


def test_svm_predictor_is_the_svm_with_these_hyperparameters(pima):
    model = TunedSVC(ard=0, predictor="svm", standardize=False, random_state=0).fit(pima.X_train, pima.y_train)
    svm = MarginSVC(model.C_, kernel=model.kernel_).fit(pima.X_train, pima.y_train)
    np.testing.assert_allclose(model.decision_function(pima.X_test), svm.decision_function(pima.X_test), atol=1e-8)


def test_attributes_are_plain_and_consistent(fitted):
    assert fitted.feature_importances_.sum() == pytest.approx(1.0)
    assert (fitted.feature_importances_ >= 0).all()
    assert len(fitted.length_scales_) == 7
    assert fitted.hyperparameters_.C == fitted.C_
    assert np.isfinite(fitted.criterion_value_)
    slack = fitted.ensemble_.main.labels == "slack"
    assert np.isfinite(fitted.log_evidence_) == slack  # the others have no evidence
    assert len(fitted.trace_) > 3
    mean, variance = fitted.latent_mean_and_variance(np.zeros((2, 7)))
    assert mean.shape == (2,)
    assert (variance > 0).all()


def test_irrelevant_inputs_are_found_out():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 6))
    y = np.sin(2 * X[:, 2]) > 0
    model = TunedSVC(random_state=0).fit(X, y)
    assert model.feature_importances_.argmax() == 2
    assert model.feature_importances_[2] > 0.5
    straight = TunedSVC(ard=0, random_state=0).fit(X, X[:, 1] + 0.1 * X[:, 2] > 0)
    assert straight.feature_importances_.argmax() == 1, "a linear effect is seen, with one length scale for all inputs"


def test_units_of_the_inputs_do_not_matter():
    problem = zoo.blobs(50, 3)
    units = np.array([1e-150, 1e150, 3.0])
    plain = TunedSVC(ard=0.3, random_state=0).fit(problem.X, problem.y)
    scaled = TunedSVC(ard=0.3, random_state=0).fit(problem.X * units, problem.y)
    np.testing.assert_allclose(
        plain.predict_proba(problem.X), scaled.predict_proba(problem.X * units), rtol=0, atol=1e-6
    )


def test_classes_one_against_the_rest():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    model = TunedSVC(random_state=0).fit(X[::2], names[::2])
    assert model.score(X[1::2], names[1::2]) > 0.92
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    assert model.decision_function(X).shape == (150, 3)


def test_a_pickled_model_predicts_the_same(fitted, pima):
    copy = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(copy.predict_proba(pima.X_test), fitted.predict_proba(pima.X_test))


@pytest.mark.parametrize(
    ("X", "y"),
    [
        ([[0.0], [1.0]], [0, 1]),
        (np.zeros((6, 2)), [0, 1, 0, 1, 0, 1]),
        (np.c_[np.arange(10.0), np.ones(10)], [0, 1] * 5),
        (np.repeat(np.arange(5.0)[:, None], 6, axis=0), [0, 1, 1] * 10),
        (np.random.default_rng(0).normal(size=(400, 2)), [1] + [0] * 399),
        (np.random.default_rng(0).normal(size=(20, 1000)), [0, 1] * 10),
    ],
    ids=["two rows", "all rows equal", "constant column", "opposite labels", "one of a kind", "wide"],
)
def test_poor_tables_give_a_sensible_model(X, y):
    model = TunedSVC(random_state=0).fit(X, y)
    probability = model.predict_proba(X)
    assert np.isfinite(probability).all()
    np.testing.assert_allclose(probability.sum(axis=1), 1.0)
    if np.mean(y) < 0.01:
        assert probability[:, 1].mean() < 0.1


@pytest.mark.slow
def test_ten_thousand_inputs_are_no_obstacle():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 10_000)), np.arange(80) % 2
    X[:, :300] += y[:, None]
    model = TunedSVC(random_state=0).fit(X[:50], y[:50])
    assert model.score(X[50:], y[50:]) > 0.8
    assert model.feature_importances_.shape == (10_000,)


def test_one_in_a_thousand(full):
    n = 1000 if full else 250
    X = np.random.default_rng(0).normal(size=(n, 2))
    model = TunedSVC(random_state=0).fit(X, np.arange(n) == 0)
    probability = model.predict_proba(X)[:, 1]
    assert probability.mean() == pytest.approx(1 / n, rel=0.5)
    assert model.expected_error_ <= 2 / n


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"ard": -1}, "ard is -1"),
        ({"predictor": "tree"}, "predictor is 'tree'"),
        ({"criterion": "guess"}, "criterion is 'guess'"),
        ({"criterion": "gacv", "slack": "quadratic"}, "slack is 'quadratic'"),
    ],
)
def test_errors_say_what_is_allowed(parameters, message):
    problem = zoo.blobs(12, 2)
    with pytest.raises(InvalidInputError, match=message):
        TunedSVC(**parameters).fit(problem.X, problem.y)
