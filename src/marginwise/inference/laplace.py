"""The Laplace approximation of the posterior around its maximum, the SVM.

ln Q(Y|X) ≈ ln Q* - ½ ln det(I + LK), ln Q* = -½ Σ α_i y_iθ*_i - Σ C_i l_p(y_iθ*_i) + n ln κ(C), eq. (p*yx), with
L_i the curvature of the slack at the marginal support vectors, eq. (lapnv) or (laplace_qu), and 0 elsewhere. The latent
values are normal around θ* with covariance (K⁻¹ + L)⁻¹.
"""

from __future__ import annotations

import numpy as np

from marginwise.errors import NotConvergedError
from marginwise.inference.gaussian import GaussianPosterior
from marginwise.likelihoods.slack import Slack
from marginwise.model import Model
from marginwise.problem import Problem, merge_repeated
from marginwise.svm.api import solve_svm

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
    curved = solution.marginal
    tau = np.zeros(merged.n)
    tau[curved] = slack.root_curvature(solution.alpha[curved], penalties[curved], a).root ** 2
    # Sites with b = K⁻¹μ = y∘α have the mean θ*.
    gaussian = covariance.gaussian(tau, merged.y * solution.alpha + tau * solution.latent)
    if gaussian is None:
        raise NotConvergedError(
            "the Laplace approximation has no covariance: the Gram matrix is so nearly singular that rounding makes "
            "I + LK indefinite; try a smaller C·k0 or shorter length scales"
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
        gaussian=gaussian,
        likelihood=slack.weighted(hyperparameters.C, merged.weights),
    )
