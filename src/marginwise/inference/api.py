"""The posterior of a problem by any method: the one entry, and the choice of the method."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from marginwise.errors import InvalidInputError, NotConvergedError, choose
from marginwise.hyperparameters import as_model
from marginwise.inference.base import Posterior
from marginwise.inference.laplace import laplace_posterior
from marginwise.inference.sampling.run import hmc_posterior, sample_posterior
from marginwise.inference.sites import BY_SITES, site_posterior, sites_of
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
        Hyperparameters of the prior and the likelihood; or C, if ``kernel`` is given.
    slack : Likelihood or str
        "linear" or "quadratic", the slacks of eq. (lh). The methods "ep" and "variational" also accept any other
        likelihood: an object, or "probit" or "logistic", which do not depend on C and make this a Gaussian process
        classifier.
    method : str
        "ep", expectation propagation; "variational", the closest Gaussian in Kullback–Leibler divergence; "laplace",
        a Gaussian around the SVM solution; "sample", many guided Markov chains; "hmc", the paper's Hybrid Monte Carlo.
    kernel : Kernel, optional
        A kernel of ``marginwise.kernels`` with its hyperparameters, instead of the paper's.
    likelihood : str
        "slack", the likelihood of ``slack``; "normalised", the same divided by its sum over the two labels; or the name
        of another likelihood.
    sample_weight : array-like, optional
        Positive weights; weight 2 is equivalent to giving the row twice.
    inducing : array-like of shape (m, d), optional
        Inducing inputs, for "ep" and "sample": the Gram matrix then has low rank, for tables with many rows.
    **options
        Options of the method: ``start`` (a similar posterior) for "ep", "variational" and "sample", ``tolerance`` for
        the first two, ``a`` for "laplace", and ``seed``, ``precision``, ``evidence`` and more for the samplers, whose
        posteriors also give the standard error of a prediction, ``probability_and_error``.

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
    if method in BY_SITES:
        return site_posterior(problem, model, chosen, method, **options)
    if not isinstance(chosen, Slack):
        raise InvalidInputError("likelihood", chosen.name, f"{' or '.join(SLACKS)} for the method {method!r}")
    if "start" in options:
        options["start"] = sites_of(options["start"], problem)
    return _OTHERS[method](problem, model, chosen, **options)


def _finite(result: Posterior) -> Posterior:
    """Return a posterior; one with numbers that are not finite has a status that says so."""
    numbers = (result.latent_mean, result.latent_variance, result.log_evidence, result.gradient)
    if result.status.ok and not all(np.isfinite(part).all() for part in numbers if part is not None):
        return replace(result, status=Status(False, "some of its numbers are not finite"))
    return result


_OTHERS: dict[str, Callable[..., Posterior]] = {
    "laplace": laplace_posterior,
    "sample": sample_posterior,
    "hmc": hmc_posterior,
}
METHODS = (*BY_SITES, *_OTHERS)
