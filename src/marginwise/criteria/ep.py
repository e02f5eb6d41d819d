"""Criteria from expectation propagation: its evidence, and its leave-one-out predictive probability."""

from __future__ import annotations

from typing import Any

import numpy as np

from marginwise.covariance.gaussian import Sites
from marginwise.criteria.base import Criterion, Evaluation
from marginwise.criteria.training import OWN_STATE
from marginwise.errors import InvalidInputError
from marginwise.inference.ep.gradient import evidence_gradient, leave_one_out_with_gradient, mean_leave_one_out
from marginwise.inference.ep.run import TOLERANCE, run_ep
from marginwise.likelihoods.base import Likelihood
from marginwise.model import Model
from marginwise.problem import Problem
from marginwise.status import Status

#: Unlike the evidence, the leave-one-out probability is not stationary in the sites, and errs in proportion.
LOO_TOLERANCE = 1e-10


NO_GRADIENT = Status(
    False, "the fixed point of expectation propagation does not move smoothly here; a smaller C·k0 helps"
)


class EPEvidence(Criterion):
    """The normalised log evidence E(Y|X) in the approximation of expectation propagation.

    Parameters
    ----------
    slack : str or Likelihood, optional
        "linear", "quadratic", or any other likelihood.
    tolerance : float
        How exactly expectation propagation is to reach its fixed point, in standard deviations of the latent values.

    Examples
    --------
    >>> from marginwise import Hyperparameters, evaluate
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [-1, -1, 1, 1]
    >>> round(evaluate(EPEvidence("logistic"), X, y, Hyperparameters(C=2)).value, 3)
    -0.684
    """

    name = "ep-evidence"
    direction = "maximise"
    any_likelihood = True
    smooth = True
    log_probability = True
    equation = "eq. (pyx1), by expectation propagation (Minka 2001)"

    def __init__(self, slack: Likelihood | str | None = None, *, tolerance: float = TOLERANCE) -> None:
        super().__init__(slack)
        self.tolerance = tolerance

    def evaluate(self, problem: Problem, model: Model, state: Any = None, *, with_gradient: bool = True) -> Evaluation:
        """Return the evidence and its gradient."""
        covariance = problem.covariance(model)
        likelihood = self.likelihood.weighted(model.C, problem.weights).blurred(covariance.residual)
        result = run_ep(
            covariance, problem.y, likelihood, start=_check_start(state, problem.n), tolerance=self.tolerance
        )
        n = float(problem.weights.sum())
        gradient = evidence_gradient(result, likelihood) / n if with_gradient else None
        return Evaluation(result.log_evidence / n, gradient, result.status, result.sites, {"sweeps": result.sweeps})


class EPLeaveOneOut(Criterion):
    """The mean leave-one-out log-probability of the labels, from the cavities of expectation propagation.

    Z_i(±) is the normaliser of the likelihood of label ±y_i under the cavity of point i, the latent distribution
    without it; each probability Z_i(+)/[Z_i(+) + Z_i(-)] is normalised over the two labels. Where a row
    stands for several examples one of them is left out and predicted, otherwise the whole row.

    Parameters
    ----------
    slack : str or Likelihood, optional
        "linear", "quadratic", or any other likelihood.
    tolerance : float
        How exactly expectation propagation is to reach its fixed point, in standard deviations of the latent values.

    Examples
    --------
    >>> from marginwise import Hyperparameters, evaluate
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [-1, -1, 1, 1]
    >>> round(evaluate(EPLeaveOneOut("logistic"), X, y, Hyperparameters(C=2)).value, 3)
    -0.666
    """

    name = "ep-loo"
    direction = "maximise"
    any_likelihood = True
    smooth = True
    log_probability = True
    equation = "leave-one-out probability from EP's cavities (Opper & Winther 2000; Rasmussen & Williams 2006, 5.4.2)"

    def __init__(self, slack: Likelihood | str | None = None, *, tolerance: float = LOO_TOLERANCE) -> None:
        super().__init__(slack)
        self.tolerance = tolerance

    def evaluate(self, problem: Problem, model: Model, state: Any = None, *, with_gradient: bool = True) -> Evaluation:
        """Return the mean log-probability and its gradient."""
        problem = problem.distinct
        covariance = problem.covariance(model)
        likelihood = self.likelihood.weighted(model.C, problem.weights).blurred(covariance.residual)
        result = run_ep(
            covariance, problem.y, likelihood, start=_check_start(state, problem.n), tolerance=self.tolerance
        )
        info = {"sweeps": result.sweeps, "log_evidence": result.log_evidence}
        if not with_gradient:
            value = mean_leave_one_out(result, likelihood, problem)
            return Evaluation(value, None, result.status, result.sites, info)
        value, gradient = leave_one_out_with_gradient(result, likelihood, problem)
        if not np.isfinite(gradient).all():
            return Evaluation(value, None, NO_GRADIENT, result.sites, info)
        return Evaluation(value, gradient, result.status, result.sites, info)


def _check_start(state: Any, n: int) -> Sites | None:
    """Return what expectation propagation on ``n`` points may start from, if that is what it is."""
    if state is not None and not (isinstance(state, Sites) and len(state.tau) == n):
        raise InvalidInputError("state", state, OWN_STATE)
    return state
