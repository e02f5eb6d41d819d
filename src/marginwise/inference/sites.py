"""Posteriors by methods that put Gaussian sites in the place of the likelihood: EP, and the variational one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from marginwise.covariance.base import SiteCovariance
from marginwise.covariance.gaussian import Sites
from marginwise.errors import InvalidInputError
from marginwise.inference.base import Posterior
from marginwise.inference.ep.gradient import evidence_gradient
from marginwise.inference.ep.result import SiteApproximation
from marginwise.inference.ep.run import TOLERANCE, run_ep
from marginwise.inference.gaussian import GaussianPosterior
from marginwise.inference.variational import run_variational
from marginwise.likelihoods.base import Likelihood
from marginwise.model import Model
from marginwise.problem import Problem

BY_SITES: dict[str, Callable[..., SiteApproximation]] = {"ep": run_ep, "variational": run_variational}


def site_posterior(
    problem: Problem,
    hyperparameters: Model,
    likelihood: Likelihood,
    method: str = "ep",
    *,
    start: Posterior | Sites | None = None,
    tolerance: float = TOLERANCE,
    with_gradient: bool = True,
    norm: Literal["max", "rms"] = "max",
    covariance: SiteCovariance | None = None,
) -> GaussianPosterior:
    """Return the posterior of a checked problem by a method that puts sites in the place of the likelihood.

    ``covariance`` is the problem's, if it is kept in another way than by default. With the norm "rms" the tolerance of
    expectation propagation is that of the root mean square over the sites, not of the worst one. Without
    ``with_gradient`` that of the evidence, which costs as much as a few sweeps, is left out.
    """
    if covariance is None:
        made = problem.covariance if method == "ep" else problem.dense_covariance
        covariance = made(hyperparameters)
    model = likelihood.weighted(hyperparameters.C, problem.weights).blurred(covariance.residual)
    options = {"norm": norm} if method == "ep" else {}
    result = BY_SITES[method](
        covariance, problem.y, model, start=sites_of(start, problem), tolerance=tolerance, **options
    )
    gradient = evidence_gradient(result, model) / problem.weights.sum() if with_gradient else None
    mean, variance = result.gaussian.latent_moments()
    return GaussianPosterior(
        problem=problem,
        hyperparameters=hyperparameters,
        latent_mean=mean,
        latent_variance=variance,
        log_evidence=result.log_evidence,
        gradient=gradient,
        status=result.status,
        diagnostics={"sweeps": result.sweeps, "residual": result.residual},
        gaussian=result.gaussian,
        likelihood=model,
    )


def sites_of(start: Posterior | Sites | None, problem: Problem) -> Sites | None:
    """Return the sites to start from: those of a posterior near by, or themselves."""
    if start is None:
        return None
    sites = start if isinstance(start, Sites) else getattr(start, "sites", None)
    if not isinstance(sites, Sites) or len(sites.tau) != problem.n:
        raise InvalidInputError("start", start, f"a posterior with sites for {problem.n} examples")
    return sites
