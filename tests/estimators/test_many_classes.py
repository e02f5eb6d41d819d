"""TunedSVC with more than two classes: hard cases, and what must hold whatever the table."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_blobs, make_classification

from marginwise import TunedSVC
from marginwise.errors import ConvergenceWarning

QUICK = {"ard": 0, "max_evaluations": 8, "random_state": 0}


def _fit(X, y, **options) -> TunedSVC:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sample_weight = options.pop("sample_weight", None)
        return TunedSVC(**(QUICK | options)).fit(X, y, sample_weight)


def _check(model: TunedSVC, X, classes) -> np.ndarray:
    """Check what holds for every model, and return the probabilities."""
    p = model.predict_proba(X)
    assert p.shape == (len(X), len(classes))
    assert np.isfinite(p).all()
    assert (p > 0.0).all()
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-9)
    np.testing.assert_array_equal(model.classes_, classes)
    np.testing.assert_array_equal(model.predict(X), model.classes_[p.argmax(axis=1)])
    np.testing.assert_array_equal(model.decision_function(X).argmax(axis=1), p.argmax(axis=1))
    return p


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(n_samples=90, centers=[[0, 0], [4, 0], [0, 4], [4, 4]], random_state=1)


@pytest.mark.parametrize("rare", [1, 2, 3])
def test_a_class_of_few_rows_is_not_lost(blobs, rare):
    X, y = blobs
    kept = np.concatenate([np.flatnonzero(y != 3), np.flatnonzero(y == 3)[:rare]])
    model = _fit(X[kept], y[kept], ard="auto")
    p = _check(model, X, [0, 1, 2, 3])
    assert p[y == 3, 3].mean() > (1.0 if rare == 1 else 2.0) * p[y != 3, 3].mean()


def test_one_in_a_thousand():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], [300, 250, 1])
    X = rng.normal(size=(len(y), 3)) + 3.0 * np.eye(3)[y]
    p = _check(_fit(X, y), X, [0, 1, 2])
    assert p[:-1, 2].mean() < 0.02
    assert p[-1, 2] > 1.3 * p[:-1, 2].mean()


def test_a_class_that_is_one_point_repeated(blobs):
    X, y = blobs
    X = np.where((y == 2)[:, None], [[0.0, 4.0]], X)
    model = _fit(X, y)
    p = _check(model, X, [0, 1, 2, 3])
    assert (model.predict(X[y == 2]) == 2).all()
    assert p[y == 2, 2].min() > 0.5


def test_sixty_classes():
    X, y = make_blobs(n_samples=250, centers=60, n_features=5, center_box=(-30, 30), random_state=0)
    model = _fit(X, y)
    _check(model, X, np.arange(60))
    assert model.score(X, y) > 0.95
    assert 0.0 <= model.expected_error_ < 0.2


def test_very_many_classes_are_left_to_least_squares_with_a_word(schedule):
    schedule(softmax_classes=5)
    X, y = make_blobs(n_samples=60, centers=6, n_features=3, random_state=0)
    with pytest.warns(ConvergenceWarning, match="6 classes are predicted by least squares alone"):
        model = TunedSVC(ard=0, random_state=0).fit(X, y)
    assert [member.labels for member in model.ensemble_.members] == ["least-squares"]


def test_weights_are_repetitions(blobs):
    X, y = blobs
    counts = 1 + np.arange(len(y)) % 3
    weighted = _fit(X, y, sample_weight=counts)
    repeated = _fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), rtol=1e-9)


def test_class_weights_shift_probabilities(blobs):
    X, y = blobs
    plain, shifted = _fit(X, y), _fit(X, y, class_weight={0: 5.0})
    p = plain.predict_proba(X)
    p[:, 0] *= 5.0
    np.testing.assert_allclose(shifted.predict_proba(X), p / p.sum(axis=1, keepdims=True), rtol=1e-6)
    _check(shifted, X, [0, 1, 2, 3])


@pytest.mark.parametrize("ard", ["auto", 0.3])
def test_the_number_of_processes_changes_nothing(ard):
    X, y = load_iris(return_X_y=True)
    alone, two = (_fit(X, y, ard=ard, n_jobs=n) for n in (1, 2))
    np.testing.assert_array_equal(alone.predict_proba(X), two.predict_proba(X))


def test_the_order_of_rows_changes_nothing(blobs):
    X, y = blobs
    order = np.random.default_rng(2).permutation(len(y))
    np.testing.assert_allclose(_fit(X, y).predict_proba(X), _fit(X[order], y[order]).predict_proba(X), rtol=1e-9)


def test_predictions_by_low_rank_are_near_the_exact_ones():
    X, y = make_classification(300, 6, n_informative=4, n_classes=3, random_state=0)
    exact, low = _fit(X, y), _fit(X, y, rank=250)
    assert np.abs(exact.predict_proba(X) - low.predict_proba(X)).mean() < 0.05
    _check(low, X, [0, 1, 2])


def test_rows_that_are_too_many_to_tune_on_train_the_model():
    X, y = make_classification(700, 5, n_informative=4, n_redundant=0, n_classes=3, random_state=1)
    model = _fit(X, y, rank=40, subset=200)
    assert len(model.ensemble_.held_out) == 700
    assert model.score(X, y) > 0.6


def test_estimates_of_error_and_log_loss_are_near_those_of_new_rows():
    X, y = make_classification(1500, 6, n_informative=5, n_redundant=0, n_classes=4, flip_y=0.1, random_state=3)
    model = _fit(X[:300], y[:300], ard="auto", max_evaluations=50)
    p = model.predict_proba(X[300:])
    own = -np.log(p[np.arange(1200), y[300:]])
    deviation = own.std() * np.sqrt(1 / 300 + 1 / 1200)
    assert abs(model.expected_log_loss_ - own.mean()) < 3.0 * deviation
    error = 1.0 - model.score(X[300:], y[300:])
    assert abs(model.expected_error_ - error) < 3.0 * np.sqrt(error * (1 - error) / 300)


def test_svms_of_pairs_predict(blobs):
    X, y = blobs
    model = _fit(X, y, predictor="svm")
    p = model.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert model.score(X, y) > 0.9
    assert model.decision_function(X).shape == (90, 4)


@pytest.mark.parametrize("criterion", ["ep-loo", "laplace-evidence", "ls-loo"])
def test_other_criteria_are_summed_over_pairs(blobs, criterion):
    X, y = blobs
    model = _fit(X, y, criterion=criterion)
    _check(model, X, [0, 1, 2, 3])
    assert model.score(X, y) > 0.9


def test_rows_set_aside_stop_the_search(blobs):
    X, y = blobs
    model = _fit(X, y, validation_fraction=0.3)
    _check(model, X, [0, 1, 2, 3])
    assert "validation" in model.trace_[0].errors


def test_latent_functions_have_one_column_for_each_class(blobs):
    X, y = blobs
    mean, variance = _fit(X, y).latent_mean_and_variance(X)
    assert mean.shape == variance.shape == (90, 4)
    assert (variance > 0).all()
    assert (mean.argmax(axis=1) == y).mean() > 0.9


def test_irrelevant_inputs_are_told_apart():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(300, 6))
    y = np.digitize(X[:, 0] + 0.2 * rng.normal(size=300), [-0.5, 0.5])
    model = _fit(X, y, ard="auto", max_evaluations=50)
    assert model.feature_importances_.argmax() == 0
    assert model.feature_importances_[0] > 0.5
    assert sum(model.feature_importances_) == pytest.approx(1.0)


def test_a_copy_predicts_the_same(blobs):
    X, y = blobs
    model = _fit(X, y, ard="auto")
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(X), model.predict_proba(X))
