"""Fitting an ensemble: what it holds, what it says of rows left out, and what does not change it."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest

import zoo
from fits import BLEND, RBF, config_of, fitted
from marginwise import TunedSVC
from marginwise.criteria import as_criterion
from marginwise.fitting import searching
from marginwise.fitting.candidates import candidates
from marginwise.fitting.config import TrainingData
from marginwise.fitting.fit import ensemble_at, fit_ensemble
from marginwise.fitting.screening import selection_names
from marginwise.kernels import Blend
from marginwise.likelihoods import as_slack
from marginwise.priors import Prior
from marginwise.problem import MulticlassProblem, as_problem
from marginwise.search.restarts import tune_problem
from marginwise.search.settings import SearchSettings


def few_inputs(n: int, d: int):
    X = np.random.default_rng(5).normal(size=(n, d))
    return as_problem(X, np.where(np.sin(2 * X[:, 0]) + 0.3 * X[:, 1] > 0, 1.0, -1.0))


def declared(n_inputs: int = 5, n_classes: int = 2, **options):
    """The candidates of a table."""
    given = {"ard": "auto", "criterion": None, "svm": False, "exact": True} | options
    kernel, shape = given.pop("kernel", BLEND), (given.pop("n", 100), n_inputs)
    return candidates(kernel, shape, n_classes, columns=None, slack=as_slack("linear"), prior=Prior(), **given)


#: Of the kernel, each of which is tried alone.
TERMS = ["k0", "klin", "k1"]


@pytest.mark.parametrize(
    ("options", "criterion", "labels", "terms"),
    [
        ({}, "ls-loo", ["least-squares", "softmax"], TERMS),
        ({"n_classes": 3}, "ls-loo", ["least-squares", "softmax"], TERMS),
        ({"n_classes": 300}, "ls-loo", ["least-squares"], TERMS),
        ({"svm": True}, "ep-loo", ["slack"], []),
        ({"svm": True, "n_classes": 3}, "ls-loo", ["least-squares", "softmax"], []),
        ({"criterion": as_criterion("ep-evidence")}, "ep-evidence", ["slack"], TERMS),
        ({"criterion": as_criterion("ep-loo"), "n_classes": 3}, "ep-loo", ["least-squares", "softmax"], TERMS),
        ({"ard": 0.3}, "ls-loo", ["least-squares", "softmax"], []),
        ({"exact": False}, "ls-loo", ["least-squares", "softmax"], []),
        ({"kernel": RBF}, "ls-loo", ["least-squares", "softmax"], []),
    ],
)
def test_declared_candidates(options, criterion, labels, terms):
    found = declared(**options)
    main, *others = found.families
    assert criterion in main.criterion.name
    assert not main.auxiliary
    assert [one.name for one in main.labels] == labels
    assert [set(one.start.kernel.present) - {"koff"} for one in others] == [{name} for name in terms]
    for one in others:
        assert one.auxiliary
        assert (one.criterion, one.labels) == (main.criterion, main.labels[-1:])
    assert found.gated == ("ard" not in options)


def test_spreads_need_two_length_scales():
    assert declared(n_inputs=5).spreads == (0.3, 1.0)
    assert declared(n_inputs=1).spreads == ()
    assert declared(n_inputs=5, ard=0.7).spreads == (0.7,)
    assert declared(n_inputs=5, ard=0.0).spreads == ()


def test_more_inputs_than_rows_are_screened():
    assert declared(n_inputs=60, n=100).screens == selection_names()
    assert declared(n_inputs=50, n=100).screens == ()
    assert declared(n_inputs=60, n=100, ard=1.0).screens == ()
    assert declared(n_inputs=60, n=100, exact=False).screens == ()


def test_few_relevant_inputs_are_given_a_spread_and_many_are_not():
    free = fitted(few_inputs(160, 8), seed=1)
    assert max(member.spread for member in free.members) > 0
    assert sum(member.weight for member in free.members if member.spread > 0) > 0.6
    even = fitted(zoo.twonorm(160), seed=1)
    assert even.members
    for stack in (free, even):
        assert stack.weights.sum() == pytest.approx(1.0)
        assert ((stack.held_out > 0) & (stack.held_out < 1)).all()
        np.testing.assert_allclose(stack.held_out.sum(axis=1), 1.0)


def test_each_term_alone_is_a_member_beside_the_sum(schedule):
    schedule(least_weight=0.0)  # whatever was a candidate is there
    problem = zoo.twonorm(100)
    stack = fitted(problem, kernel=BLEND, seed=1)
    alone = [member for member in stack.members if member.candidate.auxiliary]
    assert not stack.main.candidate.auxiliary
    assert stack.weights.sum() == pytest.approx(1.0)
    for member, family in zip(alone, declared(20).families[1:], strict=True):
        assert member.tuning.hyperparameters.kernel.present == family.start.kernel.present
        assert (member.spread, member.labels) == (0.0, "softmax")
        # Its search is cut short: near to where a longer one ends.
        own = tune_problem(problem, as_criterion("ls-loo"), family.start, SearchSettings(prior=Prior()))
        assert member.tuning.value == pytest.approx(own.value, abs=0.002)


@pytest.mark.slow
@pytest.mark.parametrize(("draw", "bound"), [("curved", -0.001), ("straight", 0.006)])
def test_it_helps_where_terms_are_not_called_for_and_does_little_harm_where_they_are(draw, bound, monkeypatch, full):
    """Log-loss on new rows, the mean of several tables: with it minus without it."""
    if not full:
        pytest.skip("fits 16 models: with --full")

    def made(n, rng):
        X = rng.normal(size=(n, 4))
        f = 4.0 - (X**2).sum(axis=1) if draw == "curved" else 3.0 * X[:, 0] - 2.0 * X[:, 1]
        return X, np.where(f + rng.logistic(size=n) > 0, 1, -1)

    def loss(seed):
        rng = np.random.default_rng(seed)
        (X, y), (new, labels) = made(80, rng), made(4000, rng)
        probability = TunedSVC(random_state=seed, standardize=False).fit(X, y).predict_proba(new)
        return -np.log(probability[np.arange(len(labels)), (labels > 0).astype(int)]).mean()

    with_it = np.array([loss(seed) for seed in range(8)])
    monkeypatch.setattr(Blend, "single_terms", lambda kernel: ())
    difference = with_it - [loss(seed) for seed in range(8)]
    assert difference.mean() < bound


def test_the_result_does_not_depend_on_the_number_of_workers():
    problem = zoo.blobs(60, 3)
    one, two = (fitted(problem, seed=3, n_jobs=n) for n in (1, 2))
    np.testing.assert_array_equal(one.held_out, two.held_out)
    assert [member.hyperparameters for member in one.members] == [member.hyperparameters for member in two.members]


@pytest.mark.parametrize(("ard", "known"), [("auto", True), (1.0, False)])
def test_too_few_examples_for_folds(ard, known):
    """With one length scale leave-one-out distributions tell what to expect; with several they would flatter."""
    problem = as_problem([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0], [1.0, 2.0]], [1, -1, -1, -1])
    stack = fitted(problem, ard=ard)
    assert {member.spread for member in stack.members} == {0.0 if ard == "auto" else ard}
    assert stack.weights.sum() == pytest.approx(1.0)
    assert np.isfinite(stack.held_out).all() == known
    assert np.isnan(stack.held_out).any() != known


@pytest.mark.parametrize("n_classes", [2, 3])
def test_noise_is_not_taken_for_more_with_free_length_scales(n_classes):
    """What is expected on new rows is honest: 200 or 300 columns of noise, and each fold has searched by itself."""
    n, d = (60, 200) if n_classes == 2 else (90, 300)
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(n, d)), np.arange(n) % n_classes
    with pytest.warns(UserWarning, match="do not help to tell the classes apart"):
        model = TunedSVC(ard=1.0, max_evaluations=15, random_state=0).fit(X, y)
    chance = 1.0 - 1.0 / n_classes
    assert abs(model.expected_error_ - chance) < 3.0 * np.sqrt(chance * (1.0 - chance) / n)
    ensemble = model.ensemble_
    loss = -np.log(ensemble.held_out[np.arange(n), ensemble.codes])
    assert loss.mean() == pytest.approx(model.expected_log_loss_)
    assert loss.mean() > np.log(n_classes) - 3.0 * loss.std() / np.sqrt(n)


def test_rows_set_aside_are_left_out_by_folds_as_all_others():
    problem = zoo.blobs(60, 2)
    aside = np.arange(60) % 5 == 0
    config = replace(config_of(problem, ard=0.3), validation=aside)
    stack = fit_ensemble(TrainingData(problem, None), config, 1)
    np.testing.assert_allclose(stack.held_out.sum(axis=1), 1.0)
    assert len(stack.X) == 60  # trained on all
    assert "validation" in stack.main.tuning.trace[0].errors


def test_equal_rows_of_both_labels_are_not_easier_for_rows_set_aside(rng):
    """Part of them would be: without the rows of one label, those of the other are beyond doubt."""
    X = np.repeat(np.arange(6.0), 40)[:, None]
    y = rng.random(240) < 0.5
    model = TunedSVC(validation_fraction=0.25, random_state=0, max_evaluations=10)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that nothing was learnt
        model.fit(X, y)
    assert model.expected_error_ > 0.5 - 3.0 * np.sqrt(0.25 / 240)


@pytest.mark.parametrize("rows", [60, 40])
def test_searches_with_free_length_scales_are_restarted_when_all_optima_are_wanted(rows, monkeypatch, schedule):
    schedule(coarse_rows=rows)
    made = []
    plain = tune_problem

    def watched(problem, criterion, start, settings):
        tuning = plain(problem, criterion, start, settings)
        made.append((problem.n, start.is_isotropic, len(tuning.restarts)))
        return tuning

    monkeypatch.setattr(searching, "tune_problem", watched)
    given = {"criterion": as_criterion("ep-loo"), "ard": 1.0, "restarts": 2}
    problem = zoo.blobs(60, 3)
    best = fitted(problem, **given)
    assert made[0] == (rows, True, 3)
    assert {number for _, isotropic, number in made if not isotropic} == {1}
    assert len(best.members) == 1
    made.clear()
    several = fitted(problem, all_optima=True, **given)
    assert made[0] == (rows, True, 3)
    assert [one for one in made if one[2] == 3 and not one[1]] == [(rows, False, 3)]
    after = made[made.index((rows, False, 3)) + 1 :]
    assert after == ([] if rows == 60 else [(60, False, 1)] * len(several.members))  # each goes on, on all rows
    assert several.weights.sum() == pytest.approx(1.0)
    assert all(len(member.tuning.restarts) == 3 for member in several.members)


def test_an_ensemble_as_if_a_search_had_ended_there():
    problem = zoo.blobs(40, 2)
    config = config_of(problem)
    model = Prior().mean(2, isotropic=True)
    found = ensemble_at(TrainingData(problem, None), config, model)
    [member] = found.members
    assert member.hyperparameters == model
    assert member.weight == 1.0
    trained = config.declared.main.labels[0].train(problem, model)
    np.testing.assert_allclose(found.log_proba(problem.X), trained.predictor.log_proba(problem.X), atol=1e-9)
    np.testing.assert_allclose(found.held_out, np.exp(trained.log_left_out))


def test_low_rank_members_keep_their_points():
    stack = fitted(zoo.blobs(80, 2), ard=0.0, rank=15)
    assert all(member.few_points is not None and len(member.few_points.points) == 15 for member in stack.members)
    assert stack.n_points == 15
    assert np.isfinite(stack.held_out).all()


def test_the_evidence_is_that_of_the_slack_likelihood():
    problem = zoo.blobs(40, 2)
    assert np.isfinite(fitted(problem, ard=0.0, svm=True).main.log_evidence)
    stack = fitted(problem, ard=0.0)
    for member in stack.members:
        assert np.isfinite(member.log_evidence) == (member.labels == "slack")


def test_three_classes_have_no_slack_likelihood():
    y = np.arange(60.0) % 3
    X = np.random.default_rng(0).normal(size=(60, 2)) + 2.0 * np.eye(3)[y.astype(int)][:, :2]
    stack = fitted(MulticlassProblem(X, y, np.ones(60), n_classes=3))
    assert {member.labels for member in stack.members} <= {"least-squares", "softmax"}
    assert stack.held_out.shape == (60, 3)


def test_copies_with_both_labels_are_wrong_in_half_of_the_cases_not_in_all():
    """A fold that leaves out more of one label has seen more of the other, which means of probabilities would show."""
    rng = np.random.default_rng(0)
    X = rng.integers(-1, 2, size=(240, 1)).astype(float)
    y = np.where(X[:, 0] == 0, rng.permutation(240) % 2, X[:, 0] > 0)
    errors = [TunedSVC(ard=0, kernel="rbf", random_state=seed).fit(X, y).expected_error_ for seed in range(6)]
    half = 0.5 * np.mean(X == 0)
    assert max(errors) < half + 0.1
    assert np.mean(errors) == pytest.approx(half, abs=0.05)
