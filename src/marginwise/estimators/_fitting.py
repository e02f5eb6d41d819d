"""Fit the model behind TunedSVC."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from marginwise._arrays import Array, Mask
from marginwise._runtime.processes import leave_no_processes
from marginwise._runtime.threads import one_thread
from marginwise.covariance import LowRankGaussian
from marginwise.criteria import Criterion
from marginwise.ensemble import Ensemble, TunedModel, Vote
from marginwise.estimators._advice import advice
from marginwise.estimators._binary import BinaryModel
from marginwise.estimators._calibration import ENOUGH, calibration
from marginwise.estimators._many import ClassModel
from marginwise.estimators._scale import EXACT, POLISHING, Scale
from marginwise.freedom import climb, settle
from marginwise.inference.ep.gradient import leave_one_out
from marginwise.inference.prediction import GaussianPosterior
from marginwise.likelihoods import Slack
from marginwise.many import EP, LEAST_SQUARES, MOST_SOFTMAX
from marginwise.model import Model
from marginwise.problem import ClassProblem, Problem
from marginwise.relay import with_restarts
from marginwise.search import Trace
from marginwise.search.fit_progress import stage
from marginwise.search.held_out import VALIDATION
from marginwise.status import CONVERGED, Status
from marginwise.svm import Solution, solve_low_rank
from marginwise.tuning import SearchSettings, Tuning, tune_problem


@dataclass(frozen=True, eq=False)
class Recipe:
    """How a model is tuned.

    Attributes
    ----------
    criterion : Criterion
    slack : Slack
        That of the SVM.
    freedom
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
    several : bool
        Whether the ends of all searches predict together, and not the best alone.
    vote : Vote or None
        How they vote; None if their probabilities are averaged.
    with_svm : bool
        Whether the SVM is to predict. If not it is trained no sooner than somebody asks for it.
    """

    criterion: Criterion
    slack: Slack
    freedom: str | float
    start: Model
    settings: SearchSettings
    aside: Mask
    svm_weights: Array
    scale: Scale = EXACT
    several: bool = False
    vote: Vote | None = None
    with_svm: bool = False


class Rows(NamedTuple):
    """The rows of a problem: all, to train on, and a sample to tune on where all are too many."""

    all: Problem
    sample: Problem | None

    @property
    def seen(self) -> Array:
        """The inputs that are in memory."""
        return self.all.X if self.sample is None else self.sample.X


def fit_model(rows: Rows, recipe: Recipe, n_jobs: int | None) -> BinaryModel | ClassModel:
    """Return the model of a table. Ctrl-C leaves no process behind."""
    with leave_no_processes(n_jobs):
        recipe = replace(recipe, settings=replace(recipe.settings, n_jobs=n_jobs))
        if recipe.aside.any():
            return _fit_with_validation(rows, recipe)
        ensemble = _tuned(rows.all if rows.sample is None else rows.sample, recipe)
        return _assembled(rows, recipe, ensemble if rows.sample is None else replace(ensemble, held_out=None))


def model_at(rows: Rows, recipe: Recipe, hyperparameters: Model) -> BinaryModel | ClassModel:
    """Return the model with these hyperparameters alone, as if a search had ended there."""
    tuning = Tuning(hyperparameters, np.nan, Trace(()), CONVERGED, ())
    method = LEAST_SQUARES if isinstance(rows.all, ClassProblem) else EP
    alone = replace(recipe, several=False, vote=None)
    return _assembled(rows, alone, Ensemble((TunedModel(1.0, 0.0, tuning, method),), None))


def _fit_with_validation(rows: Rows, recipe: Recipe) -> BinaryModel | ClassModel:
    """Let the error on the rows set aside stop the searches, and train on all."""
    aside, problem = recipe.aside, rows.all
    inside, outside = problem.subset(np.flatnonzero(~aside)), problem.subset(np.flatnonzero(aside))
    stopped = replace(recipe, settings=replace(recipe.settings, held_out={VALIDATION: outside}))
    ensemble = _tuned(inside if rows.sample is None else rows.sample, stopped)
    # Held-out probabilities: of the rows inside as ever, of those set aside from models that never saw them.
    seen = inside.X if rows.sample is None else rows.sample.X
    parts = [_left_out(inside, seen, recipe, model, len(ensemble.models), outside) for model in ensemble.models]
    own, others = zip(*parts, strict=True)
    held_out: Array = np.zeros((problem.n, problem.classes) if isinstance(problem, ClassProblem) else problem.n)
    held_out[~aside] = _together(ensemble.models, own, recipe.vote, inside)
    held_out[aside] = _together(ensemble.models, others, recipe.vote, outside)
    if ensemble.held_out is not None and rows.sample is None:
        held_out[~aside] = ensemble.held_out
    return _assembled(rows, recipe, replace(ensemble, held_out=held_out))


def _together(models: Sequence[TunedModel], parts: Sequence[Array], vote: Vote | None, problem: Problem) -> Array:
    """Return the probability that models together give to each label, or where these are many to each class.

    ``parts`` is what each of them gives.
    """
    if vote is not None:
        return vote.held_out(np.array(parts), np.array([model.weight for model in models]), problem.labels)
    total: Array = np.sum([model.weight * part for model, part in zip(models, parts, strict=True)], axis=0)
    return total


def _left_out(
    inside: Problem, seen: Array, recipe: Recipe, model: TunedModel, members: int, outside: Problem
) -> tuple[Array, Array]:
    """Return the probabilities of each example inside without itself, and of those outside."""
    if isinstance(inside, ClassProblem):
        posterior = recipe.scale.class_posterior(inside, seen, model)
        link = posterior.fitted_link()
        others = posterior.predictor.moments(outside.X)
        return np.exp(link.log_proba(*posterior.left_out)), np.exp(link.log_proba(*others))
    two = recipe.scale.posterior(inside, seen, model.hyperparameters, recipe.slack, members)
    return _leave_one_out(two), two.predict_proba(outside.X)[np.arange(outside.n), outside.labels]


def _tuned(problem: Problem, recipe: Recipe) -> Ensemble:
    """Return the ensemble of models tuned on these rows."""
    with one_thread(recipe.scale.rank is not None):
        # k-means does not depend on a length scale that all inputs share.
        small = recipe.scale.for_tuning(problem, recipe.start)
        if recipe.freedom == "auto":
            ensemble = climb(
                *(small, recipe.criterion, recipe.start, recipe.settings), several=recipe.several, vote=recipe.vote
            )
        else:
            spread = float(recipe.freedom)
            ensemble = settle(
                *(small, recipe.criterion, recipe.start, recipe.settings), spread=spread, several=recipe.several
            )
        if recipe.scale.rank is None:
            return ensemble
        # Members that differ in their methods alone share their search.
        found = {id(model.tuning): _polished(problem, recipe, model) for model in ensemble.models}
        return replace(ensemble, models=tuple(replace(m, tuning=found[id(m.tuning)]) for m in ensemble.models))


def _polished(rows: Problem, recipe: Recipe, model: TunedModel) -> Tuning:
    """Search on from where the climb ended, with inducing inputs chosen for these hyperparameters.

    The climb is short where rows are many, for the exact Gram matrix's sake; here an evaluation costs little.
    """
    start = model.tuning.hyperparameters
    problem = recipe.scale.for_tuning(rows, start)
    settings = replace(recipe.settings.with_spread(model.spread).going_on(POLISHING), n_jobs=1)
    tuning = tune_problem(problem, recipe.criterion, start, settings)
    return with_restarts(model.tuning, tuning)


def _assembled(rows: Rows, recipe: Recipe, ensemble: Ensemble) -> BinaryModel | ClassModel:
    """Return the trained models of an ensemble: what predictions need of their posteriors, the SVM, and advice."""
    stage("training")
    problem = rows.all
    ensemble = replace(ensemble, models=tuple(model.pruned() for model in ensemble.models))
    if isinstance(problem, ClassProblem):
        return _assembled_classes(rows, problem, recipe, ensemble)
    parts = [_trained(rows, recipe, model, ensemble) for model in ensemble.models]
    svm = next((part.svm for part in parts if part.svm is not None), None)
    own = ensemble.held_out
    if own is None:
        own = _together(ensemble.models, [part.leave_one_out for part in parts], recipe.vote, problem)
    held_out = np.where(problem.y > 0, own, 1.0 - own)
    many = problem.n > ENOUGH and recipe.vote is None  # votes are no probabilities that could be calibrated
    corrected = calibration(held_out, problem.y, problem.weights) if many else None
    # Sites belong to all rows; inducing inputs speak for themselves.
    held = problem if recipe.scale.rank is None or rows.sample is None else rows.sample
    return BinaryModel(
        *(held.X, held.y, held.weights),
        recipe.slack,
        tuple(part.model for part in parts),
        None if svm is None else svm.solution.support,
        None if svm is None else svm.coefficients,
        held_out if corrected is None else corrected.of_probability(held_out),
        advice(
            [model.tuning for model in ensemble.models],
            [part.status for part in parts],
            recipe.criterion,
            recipe.settings.limits.max_evaluations,
            recipe.several,
        ),
        None if svm is None else svm.points,
        corrected,
        recipe.svm_weights if svm is None and held is problem else None,
        recipe.vote,
    )


def _assembled_classes(rows: Rows, problem: ClassProblem, recipe: Recipe, ensemble: Ensemble) -> ClassModel:
    """Return the same for several classes."""
    members, left_out = [], []
    for model in ensemble.models:
        posterior = recipe.scale.class_posterior(problem, rows.seen, model)
        trained = model.trained_classes(posterior)
        members.append(trained)
        assert trained.link is not None
        if ensemble.held_out is None:
            left_out.append(np.exp(trained.link.log_proba(*posterior.left_out)))
    held_out = ensemble.held_out
    if held_out is None:
        held_out = _together(ensemble.models, left_out, recipe.vote, problem)
    held: Problem = problem
    svm_weights = recipe.svm_weights
    if rows.sample is not None and recipe.scale.rank is not None:  # inducing inputs speak for themselves
        held, svm_weights = rows.sample, rows.sample.weights
    return ClassModel(
        *(held.X, held.y, held.weights),
        np.bincount(problem.labels, problem.weights, problem.n_classes) / problem.weights.sum(),
        recipe.slack,
        tuple(members),
        held_out,
        advice(
            [model.tuning for model in ensemble.models],
            [_left_softmax_out(problem.n_classes)],
            recipe.criterion,
            recipe.settings.limits.max_evaluations,
            recipe.several,
        ),
        svm_weights,
        recipe.vote,
    )


def _left_softmax_out(n_classes: int) -> Status:
    """Return that the softmax likelihood was not tried, where classes are too many."""
    if n_classes <= MOST_SOFTMAX:
        return CONVERGED
    return Status(
        False,
        f"{n_classes} classes are predicted by least squares alone: the softmax likelihood, which suits classes that "
        f"overlap, is tried for up to {MOST_SOFTMAX}, to bound the time",
    )


class _SVM(NamedTuple):
    """An SVM whose latent function is a sum over the inducing inputs."""

    solution: Solution
    coefficients: Array
    points: Array


class _Trained(NamedTuple):
    """What is kept of the training of a model: no n×m matrix outlives it."""

    model: TunedModel
    status: Status
    leave_one_out: Array
    svm: _SVM | None


def _trained(rows: Rows, recipe: Recipe, model: TunedModel, ensemble: Ensemble) -> _Trained:
    """Train a model on all rows, with inducing inputs from those in memory if any.

    The SVM of the main one is trained now where it takes the features of all rows; see ``BinaryModel.svm``.
    """
    h = model.hyperparameters
    posterior = recipe.scale.posterior(rows.all, rows.seen, h, recipe.slack, len(ensemble.models))
    trained = _Trained(model.trained(posterior), posterior.status, _leave_one_out(posterior), None)
    if not recipe.with_svm or model is not ensemble.main or posterior.problem.inducing is None:
        return trained
    gaussian, y = posterior.gaussian, rows.all.y
    assert isinstance(gaussian, LowRankGaussian)
    solution = solve_low_rank(gaussian.prior, y, h.C * recipe.svm_weights, recipe.slack)
    solution.status.require()
    points, coefficients = gaussian.prior.expansion(y * solution.alpha)
    return trained._replace(svm=_SVM(solution, coefficients, points))


def _leave_one_out(posterior: GaussianPosterior) -> Array:
    """Return the probability of each label given all other examples."""
    return np.exp(leave_one_out(posterior.gaussian, posterior.likelihood, posterior.problem).log_probability)
