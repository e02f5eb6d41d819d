"""TunedSVC(combine=…): the ends of searches from random starts predict together."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.utils.estimator_checks import (
    check_classifiers_train,
    check_estimators_pickle,
    check_fit_idempotent,
    check_sample_weight_equivalence_on_dense_data,
)

import zoo
from marginwise import TunedSVC, load_benchmark, load_model, save_model
from marginwise.errors import ConvergenceWarning, InvalidInputError
from marginwise.fitting.schedule import SCHEDULE
from tiers import first_quick

pytestmark = [
    pytest.mark.filterwarnings("ignore::marginwise.errors.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::marginwise.errors.TableWarning"),
]

#: A criterion and a ard with several local optima.
MANY = {"ard": np.inf, "kernel": "rbf", "criterion": "laplace-evidence", "slack": "quadratic", "random_state": 0}


def views(seed: int, n: int):
    """Return six noisy views of the label: any of them will do, and all together do best."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2, 1.0, -1.0)
    return y[:, None] + 1.5 * rng.normal(size=(n, 6)), y


def apart(model: TunedSVC, X) -> np.ndarray:
    """Return the probabilities of each member alone, shape (n_members, n, n_classes)."""
    stack = model.ensemble_
    found = []
    for member in stack.members:
        single = clone(model)
        vars(single).update(vars(model))
        single.ensemble_ = replace(stack, members=(replace(member, weight=1.0),), vote=None)
        found.append(single.predict_proba(X))
    return np.array(found)


@pytest.fixture(scope="module")
def crabs():
    return load_benchmark("crabs")


@pytest.fixture(scope="module", params=["mean", "vote"])
def fitted(request, crabs):
    return TunedSVC(restarts=4, combine=request.param, **MANY).fit(crabs.X_train, crabs.y_train)


def expected(model: TunedSVC, X) -> np.ndarray:
    """Return the probabilities by hand."""
    probability, weights = apart(model, X), model.ensemble_.weights
    if model.combine == "vote":
        probability = 1.0 * (probability == probability.max(axis=2, keepdims=True))
    return sum(weight * part for weight, part in zip(weights, probability, strict=True))


def test_probabilities_are_the_mean_or_the_share_of_votes(fitted, crabs):
    assert len(fitted.ensemble_.members) > 2
    assert fitted.ensemble_.weights.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(fitted.predict_proba(crabs.X_test), expected(fitted, crabs.X_test), atol=3e-6)


def test_labels_agree_with_probabilities(fitted, crabs):
    probability = fitted.predict_proba(crabs.X_test)
    np.testing.assert_array_equal(fitted.predict(crabs.X_test), fitted.classes_[probability.argmax(axis=1)])
    np.testing.assert_array_equal(fitted.decision_function(crabs.X_test) > 0, probability[:, 1] > 0.5)


def test_all_searches_are_reported_and_held_out_labels_are_predicted_together(fitted):
    assert len(fitted.restarts_) == 5
    assert {len(run.start.kernel.values) for run in fitted.restarts_} == {2 + len(fitted.length_scales_)}
    held_out = fitted.ensemble_.held_out
    assert ((held_out > 0) & (held_out < 1)).all()
    assert 0.0 <= fitted.expected_error_ < 0.2


def test_a_saved_model_predicts_the_same(fitted, crabs, tmp_path):
    save_model(fitted, tmp_path / "model.skops")
    again = load_model(tmp_path / "model.skops")
    assert again.get_params()["combine"] == fitted.combine
    np.testing.assert_array_equal(again.predict_proba(crabs.X_test), fitted.predict_proba(crabs.X_test))


@pytest.mark.parametrize("combine", first_quick(["vote", "mean"]))
def test_neither_processes_nor_a_clone_change_anything(combine):
    X, y = views(0, 40)
    one = TunedSVC(restarts=2, combine=combine, n_jobs=1, **MANY).fit(X, y)
    two = clone(one).set_params(n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))
    assert one.get_params() | {"n_jobs": 2} == two.get_params()


@pytest.mark.slow
def test_several_local_optima_together_have_fewer_errors():
    """Than the best by its criterion, and than they have by themselves, in the sum over three tables."""
    errors = {"best": 0.0, "mean": 0.0, "vote": 0.0, "alone": 0.0}
    for seed in range(3):
        (X, y), (Z, z) = views(seed, 40), views(100 + seed, 2000)
        for combine in ("mean", "vote"):
            model = TunedSVC(restarts=6, combine=combine, **MANY).fit(X, y)
            errors[combine] += 1 - model.score(Z, z)
        wrong = ((apart(model, Z)[:, :, 1] > 0.5) != (z > 0)).mean(axis=1)
        errors["alone"] += model.ensemble_.weights @ wrong
        errors["best"] += wrong[np.argmax([member.tuning.value for member in model.ensemble_.members])]
    assert max(errors["mean"], errors["vote"]) < min(errors["best"], errors["alone"]) - 0.01


@pytest.mark.parametrize("combine", ["mean", "vote"])
def test_one_optimum_is_one_member(combine):
    problem = zoo.blobs(60, 3)
    options = {"ard": 0, "criterion": "ep-loo", "restarts": 3, "random_state": 0}
    best, together = (TunedSVC(combine=way, **options).fit(problem.X, problem.y) for way in ("best", combine))
    assert len(together.ensemble_.members) == 1
    np.testing.assert_array_equal(together.predict(problem.X), best.predict(problem.X))
    np.testing.assert_array_equal(together.hyperparameters_.to_vector(), best.hyperparameters_.to_vector())
    if combine == "mean":
        np.testing.assert_array_equal(together.predict_proba(problem.X), best.predict_proba(problem.X))


@pytest.mark.parametrize("combine", ["mean", "vote"])
def test_optima_share_the_weight_of_their_candidate(combine):
    X = np.random.default_rng(5).normal(size=(100, 4))
    y = np.where(np.sin(2 * X[:, 0]) + 0.3 * X[:, 1] > 0, 1.0, -1.0)
    options = {"kernel": "rbf", "random_state": 1, "restarts": 2}
    best, together = (TunedSVC(combine=way, **options).fit(X, y) for way in ("best", combine))
    before, after = best.ensemble_, together.ensemble_
    shared = dict.fromkeys(((member.spread, member.labels) for member in before.members), 0.0)
    for member in after.members:
        shared[member.spread, member.labels] += member.weight
    assert list(shared.values()) == pytest.approx([member.weight for member in before.members])
    np.testing.assert_allclose(together.predict_proba(X), expected(together, X), atol=3e-6)
    if combine == "mean":
        np.testing.assert_array_equal(before.held_out, after.held_out)  # the folds judge the candidates
    else:
        assert len(np.unique(after.held_out.round(5))) <= 2 ** len(shared) * SCHEDULE.n_folds  # each with its weights


@pytest.mark.parametrize("ard", [1.0, "auto"])
@pytest.mark.parametrize("combine", ["mean", "vote"])
def test_more_than_two_classes(combine, ard):
    X, y = load_iris(return_X_y=True)
    X, y = X[::2], y[::2]
    model = TunedSVC(ard, kernel="rbf", restarts=2, combine=combine, random_state=0).fit(X, y)
    probability = model.predict_proba(X)
    np.testing.assert_allclose(probability, expected(model, X), atol=3e-6)
    np.testing.assert_array_equal(model.predict(X), model.classes_[probability.argmax(axis=1)])
    assert model.score(X, y) > 0.9
    assert model.expected_error_ < 0.15


def test_votes_are_given_with_class_weights_in_mind():
    problem = zoo.blobs(80, 3, shift=0.7)
    options = {"restarts": 3, "combine": "vote", "class_weight": {-1.0: 1.0, 1.0: 6.0}}
    model = TunedSVC(**options, **MANY).fit(problem.X, problem.y)
    odds = apart(model, problem.X)
    by_hand = np.array([np.argmax([p[:, 0], p[:, 1]], axis=0) for p in odds])  # members alone know the weights
    share = model.ensemble_.weights @ by_hand
    np.testing.assert_allclose(model.predict_proba(problem.X)[:, 1], share, atol=3e-6)
    assert (model.predict(problem.X) == 1.0).mean() > 0.6


@pytest.mark.parametrize("combine", ["mean", "vote"])
def test_low_rank_rows_set_aside_and_gaps(combine):
    X, y = views(1, 150)
    X[::7, 2] = np.nan
    options = {"kernel": "rbf", "restarts": 2, "combine": combine, "random_state": 0, "validation_fraction": 0.2}
    model = TunedSVC(1.0, rank=20, **options).fit(X, y)
    assert all(len(member.few_points.points) == 20 for member in model.ensemble_.members)
    probability = model.predict_proba(X)
    np.testing.assert_array_equal(model.predict(X), model.classes_[probability.argmax(axis=1)])
    np.testing.assert_array_equal(probability.argmax(axis=1), expected(model, X).argmax(axis=1))
    assert model.expected_error_ < 0.25


def test_dask_tables():
    da = pytest.importorskip("dask.array")
    X, y = views(2, 120)
    options = {"ard": 1.0, "kernel": "rbf", "rank": 15, "restarts": 2, "combine": "vote", "random_state": 0}
    model = TunedSVC(**options).fit(da.from_array(X, chunks=(40, 6)), y)
    np.testing.assert_allclose(model.predict_proba(X), expected(model, X), atol=3e-6)
    assert model.score(X, y) > 0.8


@pytest.mark.filterwarnings("default::marginwise.errors.ConvergenceWarning")
def test_searches_that_did_not_converge_are_told_of():
    X, y = views(0, 40)
    with pytest.warns(ConvergenceWarning, match="3 of 3 searches had not converged, and the best"):
        model = TunedSVC(1.0, criterion="ep-loo", restarts=2, combine="mean", max_evaluations=3, random_state=0).fit(
            X, y
        )
    assert len(model.ensemble_.members) == 1


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"combine": "mean"}, "restarts of 1 or more"),
        ({"combine": "vote", "restarts": 0}, "restarts of 1 or more"),
        ({"combine": "median", "restarts": 1}, "combine"),
        ({"combine": 1, "restarts": 1}, "combine"),
        ({"combine": "vote", "restarts": 1, "predictor": "svm"}, 'predictor="posterior"'),
    ],
)
def test_bad_combinations_are_refused(parameters, message):
    problem = zoo.blobs(20, 2)
    with pytest.raises(InvalidInputError, match=message):
        TunedSVC(**parameters).fit(problem.X, problem.y)


@pytest.mark.parametrize("combine", ["mean", "vote"])
def test_scikit_learn_conventions(combine):
    estimator = TunedSVC(0, kernel="rbf", restarts=1, combine=combine, random_state=0)
    check_classifiers_train("TunedSVC", clone(estimator))
    check_estimators_pickle("TunedSVC", clone(estimator))
    check_fit_idempotent("TunedSVC", clone(estimator))
    check_sample_weight_equivalence_on_dense_data("TunedSVC", clone(estimator))
