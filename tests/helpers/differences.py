"""Central differences, and the slow obvious forms of what criteria are tested against."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from marginwise.criteria import Criterion
from marginwise.hyperparameters import Hyperparameters
from marginwise.model import Model
from marginwise.problem import Problem

#: Steps tried in turn. A long one suffers from curvature and from kinks near by, a short one from rounding: a
#: right gradient agrees with one of them, a wrong one with none.
STEPS = (1e-5, 1e-6, 1e-4, 1e-7)

#: Relative error at which no further step is tried.
ENOUGH = 1e-7


def differences(function: Callable[[np.ndarray], float], at: np.ndarray, step: float) -> np.ndarray:
    """Return the central differences of ``function`` in each coordinate."""
    slopes = []
    for k in range(len(at)):
        move = np.zeros(len(at))
        move[k] = step
        slopes.append((function(at + move) - function(at - move)) / (2 * step))
    return np.array(slopes)


def gradient_error(criterion: Criterion, problem: Problem, hyperparameters: Model) -> float:
    """Return the largest error of the gradient by the best of the steps, relative to its largest entry."""
    evaluation = criterion.evaluate(problem, hyperparameters)
    assert evaluation.status.ok, evaluation.status.message
    assert evaluation.gradient is not None

    def value(logs: np.ndarray) -> float:
        return criterion.evaluate(problem, hyperparameters.with_vector(logs), evaluation.state).value

    scale = np.abs(evaluation.gradient).max() or 1.0
    error = np.full(len(evaluation.gradient), np.inf)
    for step in STEPS:
        slopes = differences(value, hyperparameters.to_vector(), step)
        error = np.minimum(error, np.abs(slopes - evaluation.gradient))
        if error.max() <= ENOUGH * scale:
            break
    return float(error.max() / scale)


def scaled(hyperparameters: Hyperparameters, factor: float) -> Hyperparameters:
    """Return the hyperparameters of the kernel times ``factor`` and C divided by it."""
    h = hyperparameters
    return Hyperparameters(h.C / factor, h.k0 * factor, h.koff * factor, h.length_scales)


def repeated(problem: Problem, times: np.ndarray) -> tuple[Problem, Problem]:
    """Return the problem with each row given ``times`` times, each an example, and the one with these as weights."""
    rows = np.repeat(np.arange(problem.n), times)
    numbers = times.astype(float)
    return problem.subset(rows), Problem(problem.X, problem.y, numbers, examples=numbers)
