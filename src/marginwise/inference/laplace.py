"""The Laplace approximation of the posterior around its maximum, the SVM.

ln Q(Y|X) ≈ ln Q* - ½ ln det(I + LK), ln Q* = -½ Σ α_i y_iθ*_i - Σ C_i l_p(y_iθ*_i) + n ln κ(C), eq. (p*yx), with
L_i = 2π[α_i(C_i - α_i)/C_i]² for the marginal support vectors of linear slack, eq. (lapnv), and
L_i = C_i exp[-a/(1 - y_iθ*_i)] for the support vectors of quadratic slack, eq. (laplace_qu). The latent values are
normal around θ* with covariance (K⁻¹ + L)⁻¹.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from marginwise.errors import NotConvergedError
from marginwise.inference.likelihoods import slack_likelihood
from marginwise.inference.prediction import GaussianPosterior
from marginwise.model import Model
from marginwise.problem import Problem, merge_repeated
from marginwise.slack import Slack
from marginwise.svm import Solution, solve_svm

Array = npt.NDArray[np.float64]

#: Smoothing of l_2'' in the paper, section ztmc.
SMOOTHING = 0.1


def laplace_posterior(
    problem: Problem, hyperparameters: Model, slack: Slack, *, a: float = SMOOTHING
) -> GaussianPosterior:
    """Return the Laplace approximation; ``a`` smooths l_2'' and is not used for linear slack.

    Repeated rows are merged into one of their total weight: how their α is split between them is arbitrary.
    """
    merged, _, places = merge_repeated(problem, problem.repeats)
    covariance = merged.dense_covariance(hyperparameters)
    penalties = merged.penalties(hyperparameters.C)
    solution = solve_svm(covariance, merged.y, penalties, slack)
    tau = curvature(solution, penalties, slack, a)
    # Sites with b = K⁻¹μ = y∘α have the mean θ*.
    gaussian = covariance.gaussian(tau, merged.y * solution.alpha + tau * solution.latent)
    if gaussian is None:
        raise NotConvergedError(
            "the Laplace approximation has no covariance: the Gram matrix is so close to singular that rounding makes "
            "I + LK indefinite; a smaller C·k0 or shorter length scales help"
        )
    margin = merged.y * solution.latent
    log_maximum = (
        -0.5 * float(solution.alpha @ margin)
        - float(penalties @ slack.loss(margin))
        + float(merged.weights.sum()) * slack.log_kappa(hyperparameters.C)
    )
    return GaussianPosterior(
        problem=problem,
        hyperparameters=hyperparameters,
        latent_mean=gaussian.mean[places],
        latent_variance=gaussian.variance[places],
        log_evidence=log_maximum - 0.5 * gaussian.log_det,
        status=solution.status,
        diagnostics={"log_maximum": log_maximum, "curved": int(np.count_nonzero(tau))},
        X=merged.X,
        gaussian=gaussian,
        likelihood=slack_likelihood(slack, hyperparameters.C, merged.weights),
    )


def curvature(solution: Solution, penalties: Array, slack: Slack, a: float) -> Array:
    """Return L_i, the curvature of the smoothed negative log-likelihood at the maximum; 0 off the support."""
    result = np.zeros(len(penalties))
    if slack.power == 1:
        alpha, C = solution.alpha[solution.marginal], penalties[solution.marginal]
        result[solution.marginal] = 2.0 * math.pi * (alpha * (C - alpha) / C) ** 2
    else:
        alpha, C = solution.alpha[solution.support], penalties[solution.support]
        result[solution.support] = C * np.exp(-a * C / alpha)  # 1 - z = α/C
    return result
