"""Fit the two-class model behind TunedSVC."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from marginwise.criteria import Criterion
from marginwise.estimators._binary import BinaryModel, Member
from marginwise.hyperparameters import Hyperparameters, log_bounds
from marginwise.inference.api import site_posterior
from marginwise.inference.ep_gradient import leave_one_out
from marginwise.inference.prediction import GaussianPosterior
from marginwise.priors import Prior
from marginwise.problem import Problem
from marginwise.stacking import Component, Stack, climb
from marginwise.svm import solve_problem
from marginwise.tuning import tune

Array = npt.NDArray[np.float64]


def fit_binary(
    problem: Problem,
    criterion: Criterion,
    *,
    freedom: str | float,
    prior: Prior,
    seed: int,
    n_jobs: int | None,
    **options: Any,
) -> BinaryModel:
    """Tune on the problem with the given freedom of the length scales, and keep all that predictions need."""
    if freedom == "auto":
        stack = climb(problem, criterion, prior=prior, seed=seed, n_jobs=n_jobs, **options)
    else:
        stack = _single(problem, criterion, float(freedom), prior, seed, n_jobs, options)
    posteriors = [site_posterior(problem, c.hyperparameters, criterion.slack) for c in stack.components]
    members = tuple(map(_member, stack.components, posteriors))
    main = max(members, key=lambda member: member.weight)
    solution = solve_problem(problem, main.hyperparameters, criterion.slack)
    own = _leave_one_out(posteriors[0], problem) if stack.held_out is None else stack.held_out
    return BinaryModel(
        problem.X,
        problem.y,
        problem.weights,
        criterion.slack,
        members,
        solution.support,
        (problem.y * solution.alpha)[solution.support],
        np.where(problem.y > 0, own, 1.0 - own),
        tuple(_warnings(stack, posteriors)),
    )


def _member(component: Component, posterior: GaussianPosterior) -> Member:
    evidence = np.nan if posterior.log_evidence is None else posterior.log_evidence
    return Member(component.weight, component.spread, component.tuning, *posterior.sites, evidence)


def _leave_one_out(posterior: GaussianPosterior, problem: Problem) -> Array:
    return np.exp(leave_one_out(posterior.gaussian, posterior.likelihood, problem.y).log_probability)


def _single(
    problem: Problem,
    criterion: Criterion,
    freedom: float,
    prior: Prior,
    seed: int,
    n_jobs: int | None,
    options: dict[str, Any],
) -> Stack:
    """Return a stack of one model: one length scale, then as much freedom as was asked for."""
    common = {"sample_weight": problem.weights, "n_jobs": n_jobs, "random_state": seed, **options}
    tuning = tune(problem.X, problem.y, criterion, prior=prior, isotropic=True, **common)
    if freedom > 0 and problem.X.shape[1] > 1:
        under = replace(prior, spread=freedom)
        common |= {"start": tuning.hyperparameters, "isotropic": False, "restarts": 0}
        tuning = tune(problem.X, problem.y, criterion, prior=under, **common)
    return Stack((Component(1.0, freedom, tuning),), None)


def _warnings(stack: Stack, posteriors: list[GaussianPosterior]) -> list[str]:
    messages = [posterior.status.message for posterior in posteriors if not posterior.status.ok]
    for component in stack.components:
        messages += _on_bounds(component.hyperparameters)
    return messages


def _on_bounds(hyperparameters: Hyperparameters) -> list[str]:
    """Say which of C, k0 and koff ended on a bound; a length scale on its bound only says that an input is useless."""
    vector = hyperparameters.to_vector()
    low, high = log_bounds(len(hyperparameters.length_scales))
    return [
        f"{name} = {np.exp(vector[i]):.3g} ended on its bound; the data do not determine it, "
        "a prior with a smaller standard deviation will"
        for i, name in enumerate(hyperparameters.names[:3])
        if min(vector[i] - low[i], high[i] - vector[i]) < 1e-6
    ]
