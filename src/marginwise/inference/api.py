"""The posterior of a problem by any method: the one entry, and the choice of the method."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from marginwise.covariance.base import SiteCovariance
from marginwise.covariance.gaussian import Sites
from marginwise.errors import InvalidInputError, NotConvergedError, choose
from marginwise.hyperparameters import as_model
from marginwise.inference.base import Posterior
from marginwise.inference.ep.gradient import evidence_gradient
from marginwise.inference.ep.result import SiteApproximation
from marginwise.inference.ep.run import TOLERANCE, run_ep
from marginwise.inference.laplace import laplace_posterior
from marginwise.inference.prediction import GaussianPosterior
from marginwise.inference.sampling.run import hmc_posterior, sample_posterior
from marginwise.inference.variational import run_variational
from marginwise.kernels.base import Kernel
from marginwise.likelihoods import as_likelihood
from marginwise.likelihoods.base import Likelihood
from marginwise.likelihoods.slack import SLACKS, Slack
from marginwise.model import Model, Values
from marginwise.problem import Problem, as_problem
from marginwise.status import Status


def posterior(
    X: npt.ArrayLike,
    y: npt.ArrayLike,
    hyperparameters: Model | Values,
    slack: Likelihood | str = "linear",
    method: str = "ep",
    *,
    kernel: Kernel | None = None,
    likelihood: str = "slack",
    sample_weight: npt.ArrayLike | None = None,
    inducing: npt.ArrayLike | None = None,
    **options: Any,
) -> Posterior:
    """Return the distribution of the latent function given the data.

    Parameters
    ----------
    X, y : array-like
        Inputs of shape (n, d), and labels -1 or +1.
    hyperparameters : Hyperparameters
        Those of the prior and of the likelihood; or C, where another kernel than the paper's is given.
    slack : Likelihood or str
        "linear" or "quadratic", the slacks of eq. (lh). For "ep" and "variational" any other likelihood, too: "probit"
        or "logistic", which make it a Gaussian process classifier and don't depend on C, or an object.
    method : str
        "ep", expectation propagation; "variational", the nearest Gaussian in Kullback–Leibler divergence; "laplace",
        a Gaussian around the SVM; "sample", many guided chains; "hmc", the paper's Hybrid Monte Carlo.
    kernel : Kernel, optional
        A kernel of ``marginwise.kernels`` with its hyperparameters, in the place of the paper's.
    likelihood : str
        "slack", that of ``slack``; "normalised", the same divided by its sum over the two labels; or the name of
        another one.
    sample_weight : array-like, optional
        Positive weights; weight 2 is the same as the row given twice.
    inducing : array-like of shape (m, d), optional
        Inducing inputs: the Gram matrix is then of low rank, for tables with many rows. For "ep" and "sample".
    **options
        Passed on to the method: ``start`` (a posterior near by) for "ep", "variational" and "sample", ``tolerance``
        for the first two, ``a`` for "laplace", ``seed``, ``precision``, ``evidence`` and more for the samplers,
        whose posteriors also tell the standard error of a prediction: ``probability_and_error``.

    Returns
    -------
    Posterior

    Examples
    --------
    >>> from marginwise import Hyperparameters
    >>> result = posterior([[0.0], [1.0], [2.0]], [-1, 1, 1], Hyperparameters(C=2))
    >>> result.predict_proba([[1.5]]).round(2)
    array([[0.03, 0.97]])
    """
    problem, model = as_problem(X, y, sample_weight, inducing), as_model(hyperparameters, kernel)
    chosen = as_likelihood(slack)
    if likelihood != "slack":
        chosen = as_likelihood(f"normalised-{chosen.name}" if likelihood == "normalised" else likelihood)
    choose("method", method, METHODS)
    with np.errstate(all="ignore"):  # what comes of it is looked at
        try:
            return _finite(_by_method(problem, model, chosen, method, options))
        except (ArithmeticError, np.linalg.LinAlgError) as error:
            raise NotConvergedError(
                f"there is no posterior by the method {method!r} at {model}: {type(error).__name__}, {error}"
            ) from error


def _by_method(problem: Problem, model: Model, chosen: Likelihood, method: str, options: dict[str, Any]) -> Posterior:
    if method in _BY_SITES:
        return site_posterior(problem, model, chosen, method, **options)
    if not isinstance(chosen, Slack):
        raise InvalidInputError("likelihood", chosen.name, f"{' or '.join(SLACKS)} for the method {method!r}")
    if "start" in options:
        options["start"] = _sites(options["start"], problem)
    return _OTHERS[method](problem, model, chosen, **options)


def _finite(result: Posterior) -> Posterior:
    """Return a posterior; one with numbers that are not finite has a status that says so."""
    numbers = (result.latent_mean, result.latent_variance, result.log_evidence, result.gradient)
    if result.status.ok and not all(np.isfinite(part).all() for part in numbers if part is not None):
        return replace(result, status=Status(False, "some of its numbers are not finite"))
    return result


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
    result = _BY_SITES[method](
        covariance, problem.y, model, start=_sites(start, problem), tolerance=tolerance, **options
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


def _sites(start: Posterior | Sites | None, problem: Problem) -> Sites | None:
    """Return the sites to start from: those of a posterior near by, or themselves."""
    if start is None:
        return None
    sites = start if isinstance(start, Sites) else getattr(start, "sites", None)
    if not isinstance(sites, Sites) or len(sites.tau) != problem.n:
        raise InvalidInputError("start", start, f"a posterior with sites for {problem.n} examples")
    return sites


_BY_SITES: dict[str, Callable[..., SiteApproximation]] = {"ep": run_ep, "variational": run_variational}
_OTHERS: dict[str, Callable[..., Posterior]] = {
    "laplace": laplace_posterior,
    "sample": sample_posterior,
    "hmc": hmc_posterior,
}
METHODS = (*_BY_SITES, *_OTHERS)
