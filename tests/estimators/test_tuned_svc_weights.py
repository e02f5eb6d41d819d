"""Weights and copies: what counts more is no repetition, and does not make the model believe in itself."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import logit
from sklearn.datasets import make_classification
from sklearn.metrics import balanced_accuracy_score

from marginwise import MarginSVC, TunedSVC
from zoo import blobs

pytestmark = [
    pytest.mark.filterwarnings("ignore::marginwise.errors.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::marginwise.errors.TableWarning"),
]

X, Y = make_classification(900, 6, n_informative=4, n_redundant=0, weights=[0.85], flip_y=0.04, random_state=3)
TRAIN, NEW, NEW_Y = (X[:250], Y[:250]), X[250:], Y[250:]
RARE = TRAIN[1] == 1


def fitted(rows=slice(None), weights=None, **options) -> TunedSVC:
    # Its kernel is not the subject: that of the paper, which is the quickest.
    return TunedSVC(kernel="rbf", random_state=0, **options).fit(TRAIN[0][rows], TRAIN[1][rows], weights)


@pytest.fixture(scope="module")
def plain() -> TunedSVC:
    return fitted()


def surveyed(n: int, seed: int):
    """A table of few distinct inputs, with both labels at most of them."""
    rng = np.random.default_rng(seed)
    inputs = rng.integers(0, 3, size=(n, 2)).astype(float)
    return inputs, (rng.uniform(size=n) < 0.15 + 0.35 * inputs[:, 0]).astype(int)


@pytest.mark.parametrize("factor", [2, 0.3])
def test_a_common_factor_changes_nothing(plain, factor):
    model = fitted(weights=np.full(250, factor))
    assert_allclose(model.predict_proba(NEW), plain.predict_proba(NEW), atol=1e-6)
    assert model.expected_log_loss_ == pytest.approx(plain.expected_log_loss_, abs=1e-6)


def test_a_common_number_of_repetitions_changes_nothing():
    inputs, labels = surveyed(120, 0)
    once, thrice = (TunedSVC(0, random_state=0).fit(np.tile(inputs, (k, 1)), np.tile(labels, k)) for k in (1, 3))
    assert_allclose(thrice.predict_proba(inputs), once.predict_proba(inputs), atol=1e-9)


def test_rows_given_three_times_are_a_class_weight_of_three(plain):
    rows = np.repeat(np.arange(250), np.where(RARE, 3, 1))
    copied, weighted = fitted(rows), fitted(class_weight={1: 3})
    assert_allclose(copied.predict_proba(NEW), weighted.predict_proba(NEW), atol=1e-6)
    for model in (copied, weighted):
        expected = plain.decision_function(NEW) + np.log(3)  # the odds of the rarer class are three times as large
        assert_allclose(model.decision_function(NEW), expected, atol=1e-5)
        assert model.expected_log_loss_ == pytest.approx(weighted.expected_log_loss_, abs=1e-6)


@pytest.mark.parametrize("weights", ["copies", "log-normal"])
def test_the_expected_error_stays_honest(weights):
    rng = np.random.default_rng(0)
    rows = np.sort(rng.integers(0, 250, size=500)) if weights == "copies" else np.arange(250)
    given = rng.lognormal(-0.5, 1.0, size=250) if weights == "log-normal" else None
    model = fitted(rows, given)
    weight = np.bincount(rows, minlength=250) if given is None else given
    error = np.mean(model.predict(NEW) != NEW_Y)
    by_rows = np.sqrt(error * (1 - error) * (weight @ weight) / weight.sum() ** 2)
    assert by_rows < model.expected_error_se_ < 2.5 * by_rows
    assert abs(model.expected_error_ - error) < 3 * model.expected_error_se_
    assert error < 1.3 * np.mean(fitted().predict(NEW) != NEW_Y)


def test_balanced_classes_are_balanced(plain):
    model = fitted(class_weight="balanced")
    ours, before = (balanced_accuracy_score(NEW_Y, one.predict(NEW)) for one in (model, plain))
    assert ours > before
    counts = np.bincount(TRAIN[1])
    assert_allclose(logit(model.predict_proba(NEW)[:, 1]), plain.decision_function(NEW) + np.log(counts[0] / counts[1]))


def test_three_classes_are_weighted():
    """Probabilities become proportional to weight times probability, and the decision is for the largest."""
    table = blobs(90, 2, shift=1.0)
    labels = np.where(table.X[:, 1] > 0.7, "c", np.where(table.y > 0, "b", "a"))
    weights = {"a": 0.1, "b": 2.0, "c": 7.0}
    plain, weighted = (TunedSVC(0, class_weight=one, random_state=0).fit(table.X, labels) for one in (None, weights))
    new = blobs(200, 2, seed=4).X
    expected = plain.predict_proba(new) * list(weights.values())
    assert_allclose(weighted.predict_proba(new), expected / expected.sum(axis=1, keepdims=True), atol=1e-6)
    best = weighted.decision_function(new).argmax(axis=1)
    np.testing.assert_array_equal(weighted.classes_[best], weighted.predict(new))


def test_the_svm_is_trained_with_the_weights():
    model = fitted(class_weight={0: 1, 1: 3}, ard=0, predictor="svm", standardize=False)
    weights = np.where(RARE, 3.0, 1.0)
    h = model.hyperparameters_
    svm = MarginSVC(h.C, kernel=h.kernel).fit(*TRAIN, weights / weights.mean())
    assert_allclose(model.decision_function(NEW), svm.decision_function(NEW), atol=1e-6)
    unweighted = MarginSVC(h.C, kernel=h.kernel).fit(*TRAIN)
    assert np.abs(model.decision_function(NEW) - unweighted.decision_function(NEW)).max() > 0.1


def test_repetitions_of_discrete_inputs_are_examples():
    """Each answer is one of them, whatever it weighs: the estimate is that of the answers, not of the inputs."""
    inputs, labels = surveyed(150, 1)
    new, answers = surveyed(4000, 2)
    weights = np.random.default_rng(3).lognormal(-0.125, 0.5, size=150)
    for given in (None, weights):
        model = TunedSVC(random_state=0).fit(inputs, labels, given)
        assert np.mean(model.predict(new) != answers) < 0.32
        assert abs(model.expected_error_ - 0.28) < 0.1


def test_large_counts_are_as_quick_as_small_ones():
    counts = np.full(100, 10**6) - np.arange(100)
    model = TunedSVC(random_state=0, max_evaluations=10).fit(TRAIN[0][:100], TRAIN[1][:100], counts)
    same = TunedSVC(random_state=0, max_evaluations=10).fit(TRAIN[0][:100], TRAIN[1][:100])
    assert_allclose(model.predict_proba(NEW), same.predict_proba(NEW), atol=1e-2)


def test_unequal_weights_are_worth_fewer_examples():
    """In each class their mean is the same, and their sum (Σw)²/Σw² where classes weigh the same."""
    rng = np.random.default_rng(0)
    weights = rng.lognormal(size=250)
    total = [fitted(weights=given, ard=0).ensemble_.sample_weight.sum() for given in (None, weights)]
    own = weights / (np.bincount(TRAIN[1], weights) / np.bincount(TRAIN[1]))[TRAIN[1]]
    assert_allclose(total, [250, own.sum() ** 2 / (own @ own)])
