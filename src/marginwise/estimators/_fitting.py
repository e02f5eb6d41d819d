"""Fit the two-class models behind TunedSVC."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from marginwise._arrays import Array, Mask
from marginwise._runtime.processes import leave_no_processes, outcomes
from marginwise.criteria import Criterion
from marginwise.ensemble import Ensemble, TunedModel
from marginwise.estimators._advice import advice
from marginwise.estimators._binary import BinaryModel
from marginwise.estimators._calibration import ENOUGH, calibration
from marginwise.estimators._scale import EXACT, POLISHING, Scale
from marginwise.freedom import climb, settle, with_restarts
from marginwise.inference.ep.gradient import leave_one_out
from marginwise.inference.prediction import GaussianPosterior
from marginwise.likelihoods import Slack, as_slack
from marginwise.model import Model
from marginwise.problem import Problem
from marginwise.search import Trace
from marginwise.search.fit_progress import stage
from marginwise.search.held_out import VALIDATION
from marginwise.status import CONVERGED, Status
from marginwise.svm import Solution, solve_problem
from marginwise.tuning import SearchSettings, Tuning, tune_problem

#: Below this many rows BLAS runs in one thread, and so it does while tuning with a limited rank: matrices are so small
#: that threads only wait for each other.
_FEW_ROWS = 1000


@dataclass(frozen=True, eq=False)
class Recipe:
    """How a model is tuned.

    Attributes
    ----------
    criterion, freedom
        As in TunedSVC.
    start : Model
        Where searches begin: one length scale, the mean of the prior.
    settings : SearchSettings
        How they go on.
    aside : array of bool, shape (n,)
        Rows that searches do not see: their error stops them.
    svm_weights : array of shape (n,)
        Weights of the rows in the SVM, which has no probabilities that the importance of the classes could shift.
    scale : Scale
        The rank of covariances where rows are many.
    """

    criterion: Criterion
    freedom: str | float
    start: Model
    settings: SearchSettings
    aside: Mask
    svm_weights: Array
    scale: Scale = EXACT

    @property
    def slack(self) -> Slack:
        """That of the SVM."""
        return as_slack(self.criterion.likelihood)


class Rows(NamedTuple):
    """The rows of a two-class problem: all, to train on, and a sample to tune on where all are too many."""

    all: Problem
    sample: Problem | None

    @property
    def seen(self) -> Array:
        """The inputs that are in memory."""
        return self.all.X if self.sample is None else self.sample.X


def fit_all(problems: Sequence[Rows], recipe: Recipe, n_jobs: int | None) -> list[BinaryModel]:
    """Return the model of each problem.

    With several problems, each is one job on one thread, whatever ``n_jobs``. Ctrl-C leaves no process behind.
    """
    with leave_no_processes(n_jobs):
        if len(problems) == 1:
            with threadpool_limits(1 if problems[0].all.n < _FEW_ROWS else None, user_api="blas"):
                return [_fit(problems[0], recipe, n_jobs)]
        parallel = Parallel(n_jobs=n_jobs, return_as="generator")
        models = list(outcomes(parallel, [delayed(_fit_alone)(rows, recipe) for rows in problems]))
    # Jobs elsewhere return copies of the inputs, which are the same for all.
    shared = problems[0].all.X if models[0].svm_points is None else problems[0].seen
    return [replace(model, X=shared) for model in models]


def model_at(rows: Rows, recipe: Recipe, hyperparameters: Model) -> BinaryModel:
    """Return the model with these hyperparameters alone, as if a search had ended there."""
    tuning = Tuning(hyperparameters, np.nan, Trace(()), CONVERGED, ())
    return _assembled(rows, recipe, Ensemble((TunedModel(1.0, 0.0, tuning),), None))


def _fit_alone(rows: Rows, recipe: Recipe) -> BinaryModel:
    with threadpool_limits(1, user_api="blas"):
        return _fit(rows, recipe, 1)


def _fit(rows: Rows, recipe: Recipe, n_jobs: int | None) -> BinaryModel:
    """Tune on the sample, or on the rows that are not set aside, and train on all."""
    recipe = replace(recipe, settings=replace(recipe.settings, n_jobs=n_jobs))
    if recipe.aside.any():
        return _fit_with_validation(rows, recipe)
    ensemble = _tuned(rows.all if rows.sample is None else rows.sample, recipe)
    return _assembled(rows, recipe, ensemble if rows.sample is None else replace(ensemble, held_out=None))


def _fit_with_validation(rows: Rows, recipe: Recipe) -> BinaryModel:
    """Let the error on the rows set aside stop the searches, and train on all."""
    aside, problem = recipe.aside, rows.all
    inside, outside = problem.subset(np.flatnonzero(~aside)), problem.subset(np.flatnonzero(aside))
    stopped = replace(recipe, settings=replace(recipe.settings, held_out={VALIDATION: outside}))
    ensemble = _tuned(inside if rows.sample is None else rows.sample, stopped)
    # Held-out probabilities: of the rows inside as ever, of those set aside from models that never saw them.
    seen = inside.X if rows.sample is None else rows.sample.X
    positive, own = np.zeros(outside.n), np.zeros(inside.n)
    for model in ensemble.models:
        posterior = recipe.scale.posterior(inside, seen, model.hyperparameters, recipe.slack)
        positive += model.weight * posterior.predict_proba(outside.X)[:, 1]
        own += model.weight * _leave_one_out(posterior)
    held_out = np.empty(problem.n)
    from_folds = ensemble.held_out is not None and rows.sample is None
    held_out[~aside] = ensemble.held_out if from_folds else own
    held_out[aside] = np.where(outside.y > 0, positive, 1.0 - positive)
    return _assembled(rows, recipe, replace(ensemble, held_out=held_out))


def _tuned(problem: Problem, recipe: Recipe) -> Ensemble:
    """Return the ensemble of models tuned on these rows."""
    with threadpool_limits(None if recipe.scale.rank is None else 1, user_api="blas"):
        # k-means does not depend on a length scale that all inputs share.
        small = recipe.scale.for_tuning(problem, recipe.start)
        if recipe.freedom == "auto":
            ensemble = climb(small, recipe.criterion, recipe.start, recipe.settings)
        else:
            spread = float(recipe.freedom)
            ensemble = settle(small, recipe.criterion, recipe.start, recipe.settings, spread=spread)
        if recipe.scale.rank is None:
            return ensemble
        return replace(ensemble, models=tuple(_polished(problem, recipe, model) for model in ensemble.models))


def _polished(rows: Problem, recipe: Recipe, model: TunedModel) -> TunedModel:
    """Search on from where the climb ended, with inducing inputs chosen for these hyperparameters.

    The climb is short where rows are many, for the exact Gram matrix's sake; here an evaluation costs little.
    """
    start = model.hyperparameters
    problem = recipe.scale.for_tuning(rows, start)
    settings = replace(recipe.settings.with_spread(model.spread).going_on(POLISHING), n_jobs=1)
    tuning = tune_problem(problem, recipe.criterion, start, settings)
    return replace(model, tuning=with_restarts(model.tuning, tuning))


def _assembled(rows: Rows, recipe: Recipe, ensemble: Ensemble) -> BinaryModel:
    """Return the trained models of an ensemble: their posteriors' sites, the SVM, and advice."""
    stage("training")
    problem = rows.all
    ensemble = replace(ensemble, models=tuple(model.pruned() for model in ensemble.models))
    parts = [_trained(rows, recipe, model, model is ensemble.main) for model in ensemble.models]
    solution, coefficients, points = next(part.svm for part in parts if part.svm is not None)
    own = ensemble.held_out
    if own is None:
        own = np.sum([part.model.weight * part.leave_one_out for part in parts], axis=0)
    held_out = np.where(problem.y > 0, own, 1.0 - own)
    corrected = calibration(held_out, problem.y, problem.weights) if problem.n > ENOUGH else None
    # Sites belong to all rows; inducing inputs speak for themselves.
    held = problem if points is None or rows.sample is None else rows.sample
    return BinaryModel(
        *(held.X, held.y, held.weights),
        recipe.slack,
        tuple(part.model for part in parts),
        solution.support,
        coefficients,
        held_out if corrected is None else corrected.of_probability(held_out),
        advice(
            [model.tuning for model in ensemble.models],
            [*(part.status for part in parts), solution.status],
            recipe.criterion,
            recipe.settings.limits.max_evaluations,
        ),
        points,
        corrected,
    )


class _Trained(NamedTuple):
    """What is kept of the training of a model: no n×m matrix outlives it."""

    model: TunedModel
    status: Status
    leave_one_out: Array
    svm: tuple[Solution, Array, Array | None] | None  # with coefficients, and points other than support vectors


def _trained(rows: Rows, recipe: Recipe, model: TunedModel, with_svm: bool) -> _Trained:
    """Train a model on all rows, with inducing inputs from those in memory if any."""
    h = model.hyperparameters
    posterior = recipe.scale.posterior(rows.all, rows.seen, h, recipe.slack)
    trained = _Trained(model.trained(posterior), posterior.status, _leave_one_out(posterior), None)
    if not with_svm:
        return trained
    covariance = posterior.gaussian.prior
    weighted = replace(posterior.problem, weights=recipe.svm_weights)
    solution = solve_problem(weighted, h, recipe.slack, covariance=covariance)
    points, coefficients = covariance.expansion(weighted.y * solution.alpha)
    low_rank = posterior.problem.inducing is not None
    return trained._replace(svm=(solution, coefficients, points if low_rank else None))


def _leave_one_out(posterior: GaussianPosterior) -> Array:
    """Return the probability of each label given all other examples."""
    return np.exp(leave_one_out(posterior.gaussian, posterior.likelihood, posterior.problem).log_probability)
