"""The value of the evidence by thermodynamic integration over C: a check on ``evidence``, independent and slower.

Without slack penalty every label is as likely as the other, so that ln Q(Y|X) = n ln κ(0) = -n ln 2 at C = 0; from
there eq. (cgrad) is integrated. Expectation propagation is exact at C = 0 and has an exact gradient of its own value,
so that only what it is wrong by needs to be integrated,

    ln Q(Y|X) = ln Q_EP(Y|X) + ∫₀^C ∂/∂C' [ln Q - ln Q_EP] dC',

by Gauss and Legendre's rule in t = ln(1 + C'/c): losses begin to fall where C' times the loss of a prior draw is about
1, at c = v^{-p/2} for a prior variance v, and then roughly as 1/C'. The standard error is that of sampling; the rule's
own error shows when the number of nodes is changed.
"""

from __future__ import annotations

import numpy as np

from marginwise.inference.ep.gradient import evidence_gradient
from marginwise.inference.ep.run import run_ep
from marginwise.inference.sampling.collect import Precision
from marginwise.inference.sampling.run import sample_posterior
from marginwise.likelihoods import Slack
from marginwise.model import Model
from marginwise.problem import Problem


def integrate_evidence(
    problem: Problem,
    hyperparameters: Model,
    slack: Slack,
    *,
    seed: int | np.random.Generator = 0,
    n_nodes: int = 8,
    precision: Precision | None = None,
) -> tuple[float, float]:
    """Return ln Q(Y|X) and its standard error."""
    rng = np.random.default_rng(seed)
    h, n = hyperparameters, float(problem.weights.sum())
    covariance = problem.dense_covariance(h)
    result = run_ep(covariance, problem.y, slack.weighted(h.C, problem.weights))
    value, variance = result.log_evidence, 0.0
    small = float(covariance.diagonal.mean()) ** (-0.5 * slack.power)
    end = float(np.log1p(h.C / small))
    nodes, weights = np.polynomial.legendre.leggauss(n_nodes)
    for node, weight, own in zip(nodes, weights, rng.spawn(n_nodes), strict=True):  # errors must be independent
        here = h.with_C(small * float(np.expm1(0.5 * end * (node + 1.0))))
        likelihood = slack.weighted(here.C, problem.weights)
        ep = run_ep(covariance, problem.y, likelihood)
        ep_slope = evidence_gradient(ep, likelihood)[0]
        sampled = sample_posterior(problem, here, slack, seed=own, start=ep.sites, precision=precision)
        estimate = sampled.collection.gradient
        share = 0.5 * end * float(weight) * (small + here.C) / here.C  # dC'/C' for the rule's weight in t
        value += share * float(n * estimate.gradient[0] - ep_slope)
        variance += (share * n * float(estimate.standard_error[0])) ** 2
    return value, float(np.sqrt(variance))
