"""Fit the two-class models behind TunedSVC."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from marginwise._processes import leave_no_processes, outcomes
from marginwise.criteria import Criterion
from marginwise.estimators._advice import advice
from marginwise.estimators._binary import BinaryModel, Member
from marginwise.estimators._calibration import ENOUGH, calibration
from marginwise.estimators._scale import EXACT, POLISHING, Scale
from marginwise.inference.ep_gradient import leave_one_out
from marginwise.inference.prediction import GaussianPosterior
from marginwise.likelihoods import as_slack
from marginwise.model import Model
from marginwise.priors import Prior
from marginwise.problem import Problem
from marginwise.search import Trace
from marginwise.stacking import Component, Stack, climb, settle, shortened, with_restarts
from marginwise.status import CONVERGED, Status
from marginwise.svm import Solution, solve_problem
from marginwise.tuning import Tuning, tune

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

#: Below this many rows BLAS runs in one thread, and so it does while tuning with a limited rank: matrices are so small
#: that threads only wait for each other.
_FEW_ROWS = 1000


_NONE: Array = np.empty(0)


@dataclass(frozen=True, eq=False)
class Recipe:
    """How a model is tuned.

    Attributes
    ----------
    criterion, freedom, prior
        As in TunedSVC.
    seed : int
        Draws folds and random starts.
    aside : array of bool, shape (n,)
        Rows that searches do not see: their error stops them.
    svm_weights : array of shape (n,)
        Weights of the rows in the SVM, which has no probabilities that the importance of the classes could shift.
    options : dict
        Passed on to ``tune``.
    scale : Scale
        The rank of Gram matrices where rows are many.
    """

    criterion: Criterion
    freedom: str | float
    prior: Prior
    seed: int
    aside: Mask
    svm_weights: Array
    options: dict[str, Any] = field(default_factory=dict)
    scale: Scale = EXACT


def fit_all(
    problems: Sequence[Problem], samples: Sequence[Problem], recipe: Recipe, n_jobs: int | None
) -> list[BinaryModel]:
    """Return the model of each problem, tuned on its sample, which may be the problem itself.

    With several problems, each is one job on one thread, whatever ``n_jobs``. Ctrl-C leaves no process behind.
    """
    with leave_no_processes(n_jobs):
        return _fit_each(problems, samples, recipe, n_jobs)


def _fit_each(
    problems: Sequence[Problem], samples: Sequence[Problem], recipe: Recipe, n_jobs: int | None
) -> list[BinaryModel]:
    if len(problems) == 1:
        with threadpool_limits(1 if problems[0].n < _FEW_ROWS else None, user_api="blas"):
            return [_fit(problems[0], samples[0], recipe, n_jobs)]
    pairs = zip(problems, samples, strict=True)
    parallel = Parallel(n_jobs=n_jobs, return_as="generator")
    models = list(outcomes(parallel, [delayed(_fit_alone)(*pair, recipe) for pair in pairs]))
    # Jobs elsewhere return copies of the inputs, which are the same for all.
    shared = problems[0].X if models[0].svm_points is None else samples[0].X
    return [replace(model, X=shared) for model in models]


def model_at(problem: Problem, sample: Problem, recipe: Recipe, hyperparameters: Model) -> BinaryModel:
    """Return the model with these hyperparameters alone, as if a search had ended there."""
    tuning = Tuning(hyperparameters, np.nan, Trace(()), CONVERGED, ())
    return _assembled(problem, sample, recipe, Stack((Component(1.0, 0.0, tuning),), None))


def _fit_alone(problem: Problem, sample: Problem, recipe: Recipe) -> BinaryModel:
    with threadpool_limits(1, user_api="blas"):
        return _fit(problem, sample, recipe, 1)


def _fit(problem: Problem, sample: Problem, recipe: Recipe, n_jobs: int | None) -> BinaryModel:
    """Tune on the sample, or on the rows that are not set aside, and train on all."""
    aside, options = recipe.aside, recipe.options
    if not aside.any():
        stack = _tuned(sample, recipe, n_jobs, options)
        return _assembled(problem, sample, recipe, stack if sample is problem else Stack(stack.components, None))
    inside, outside = problem.subset(np.flatnonzero(~aside)), problem.subset(np.flatnonzero(aside))
    tuning_rows = inside if sample is problem else sample
    stopped = {**options, "validation": (outside.X, outside.y, outside.weights)}
    stack = _tuned(tuning_rows, recipe, n_jobs, stopped)
    if tuning_rows is not inside:
        stack = Stack(stack.components, None)
    # Held-out probabilities: of the rows inside as ever, of those set aside from models that never saw them.
    slack, scale = as_slack(recipe.criterion.likelihood), recipe.scale
    positive, own = np.zeros(outside.n), np.zeros(inside.n)
    for component in stack.components:
        posterior = scale.posterior(inside, tuning_rows.X, component.hyperparameters, slack)
        positive += component.weight * posterior.predict_proba(outside.X)[:, 1]
        own += component.weight * _leave_one_out(posterior)
    held_out = np.empty(problem.n)
    held_out[~aside] = own if stack.held_out is None else stack.held_out
    held_out[aside] = np.where(outside.y > 0, positive, 1.0 - positive)
    return _assembled(problem, sample, recipe, Stack(stack.components, held_out))


def _tuned(problem: Problem, recipe: Recipe, n_jobs: int | None, options: dict[str, Any]) -> Stack:
    with threadpool_limits(None if recipe.scale.rank is None else 1, user_api="blas"):
        return _climbed(problem, recipe, n_jobs, options)


def _climbed(problem: Problem, recipe: Recipe, n_jobs: int | None, options: dict[str, Any]) -> Stack:
    prior, criterion, seed = recipe.prior, recipe.criterion, recipe.seed
    rows = problem
    # k-means does not depend on a length scale that all inputs share.
    problem = recipe.scale.for_tuning(rows, prior.mean(rows.X.shape[1], isotropic=True))
    common = {"prior": prior, "seed": seed, "n_jobs": n_jobs, **options}
    if recipe.freedom == "auto":
        stack = climb(problem, criterion, **common)
    else:
        stack = settle(problem, criterion, spread=float(recipe.freedom), **common)
    if recipe.scale.rank is None:
        return stack
    return replace(stack, components=tuple(_polished(rows, recipe, one, options) for one in stack.components))


def _polished(rows: Problem, recipe: Recipe, component: Component, options: dict[str, Any]) -> Component:
    """Search on from where the climb ended, with inducing inputs chosen for these hyperparameters.

    The climb is short where rows are many, for the exact Gram matrix's sake; here an evaluation costs little.
    """
    start, spread = component.hyperparameters, component.spread
    problem = recipe.scale.for_tuning(rows, start)
    tuning = tune(
        problem.X,
        problem.y,
        recipe.criterion,
        prior=replace(recipe.prior, spread=spread) if spread > 0 else recipe.prior,
        start=start,
        isotropic=spread == 0,
        sample_weight=problem.weights,
        inducing=problem.inducing,
        examples=problem.counted,
        random_state=recipe.seed,
        **shortened(options, POLISHING),
    )
    return replace(component, tuning=with_restarts(component.tuning, tuning))


def _assembled(problem: Problem, sample: Problem, recipe: Recipe, stack: Stack) -> BinaryModel:
    """Return the model of a stack: its posteriors' sites, its SVM, and advice."""
    main = max(stack.components, key=lambda component: component.weight)
    parts = [_trained(problem, sample.X, recipe, component, component is main) for component in stack.components]
    solution, coefficients, points = next(part.svm for part in parts if part.svm is not None)
    own = stack.held_out
    if own is None:
        own = np.sum([part.member.weight * part.leave_one_out for part in parts], axis=0)
    held_out = np.where(problem.y > 0, own, 1.0 - own)
    corrected = calibration(held_out, problem.y, problem.weights) if problem.n > ENOUGH else None
    # Sites belong to all rows; inducing inputs speak for themselves.
    held = problem if points is None else sample
    return BinaryModel(
        *(held.X, held.y, held.weights),
        as_slack(recipe.criterion.likelihood),
        tuple(part.member for part in parts),
        solution.support,
        coefficients,
        held_out if corrected is None else corrected.of_probability(held_out),
        advice(
            [component.tuning for component in stack.components],
            [*(part.status for part in parts), solution.status],
            recipe.criterion,
            recipe.options.get("max_evaluations"),
        ),
        points,
        corrected,
    )


class _Part(NamedTuple):
    """What is kept of a trained component: no n×m matrix outlives its training."""

    member: Member
    status: Status
    leave_one_out: Array
    svm: tuple[Solution, Array, Array | None] | None  # with coefficients, and points other than support vectors


def _trained(problem: Problem, rows: Array, recipe: Recipe, component: Component, with_svm: bool) -> _Part:
    """Train a component on the problem, with inducing inputs from ``rows`` if any."""
    h, slack = component.hyperparameters, as_slack(recipe.criterion.likelihood)
    posterior = recipe.scale.posterior(problem, rows, h, slack)
    part = _Part(_member(component, posterior), posterior.status, _leave_one_out(posterior), None)
    if not with_svm:
        return part
    covariance = posterior.gaussian.prior
    weighted = replace(posterior.problem, weights=recipe.svm_weights)
    solution = solve_problem(weighted, h, slack, covariance=covariance)
    points, coefficients = covariance.expansion(weighted.y * solution.alpha)
    low_rank = posterior.problem.inducing is not None
    return part._replace(svm=(solution, coefficients, points if low_rank else None))


def _member(component: Component, posterior: GaussianPosterior) -> Member:
    evidence = np.nan if posterior.log_evidence is None else posterior.log_evidence
    parts = (component.weight, component.spread, component.tuning)
    if posterior.problem.inducing is None:
        return Member(*parts, *posterior.sites, evidence)
    predictor = posterior.predictor
    return Member(*parts, _NONE, _NONE, evidence, predictor.points, predictor.coefficients, predictor.gain)


def _leave_one_out(posterior: GaussianPosterior) -> Array:
    """Return the probability of each label given all other examples."""
    return np.exp(leave_one_out(posterior.gaussian, posterior.likelihood, posterior.problem).log_probability)
