"""Leave-one-out log-probability of the labels by least squares: closed form, for any number of classes."""

from __future__ import annotations

from typing import Any

import numpy as np

from marginwise._arrays import Array
from marginwise.covariance.groups import BlockDiagonal
from marginwise.criteria.base import Criterion, Evaluation
from marginwise.criteria.training import OWN_STATE
from marginwise.errors import InvalidInputError
from marginwise.model import Model
from marginwise.multiclass.link import LinkFit, SoftmaxLink, fit_link
from marginwise.multiclass.ordered_link import OrderedLinkFit
from marginwise.multiclass.posterior import ClassPosterior, least_squares
from marginwise.problem import Problem


class LeastSquaresLeaveOneOut(Criterion):
    """The mean leave-one-out log-probability of the labels where latent functions are found by least squares.

    One factorisation gives the moments of the latent function of each class without each example in turn; a softmax
    function turns them into probabilities, its steepness found at the same time (``marginwise.multiclass.link``).

    Examples
    --------
    >>> from marginwise import Hyperparameters, evaluate
    >>> round(evaluate("ls-loo", [[0.0], [1.0], [2.0], [3.0]], [-1, -1, 1, 1], Hyperparameters(C=2)).value, 3)
    -0.329
    """

    name = "ls-loo"
    direction = "maximise"
    slacks = ("quadratic",)
    smooth = True
    scale_free = True
    log_probability = True
    closed_form = True
    multiclass = True
    equation = "leave-one-out of Gaussian process regression on labels (Rasmussen & Williams 2006, 5.4.2, 6.5), softmax"

    def evaluate(self, problem: Problem, model: Model, state: Any = None, *, with_gradient: bool = True) -> Evaluation:
        """Return the mean log-probability, with the log prior of the link divided by n, and its gradient."""
        if not (state is None or isinstance(state, SoftmaxLink)):
            raise InvalidInputError("state", state, OWN_STATE)
        problem = problem.distinct
        posterior = least_squares(problem, model)
        fit = fit_link(*posterior.left_out, problem.labels, problem.weights, state)
        return evaluation(posterior, fit, with_gradient=with_gradient)


def evaluation(posterior: ClassPosterior, fit: LinkFit | OrderedLinkFit, *, with_gradient: bool) -> Evaluation:
    """Return the value of a link that suits the examples left out, per example, and its gradient."""
    n = float(posterior.problem.weights.sum())
    gradient = _gradient(posterior, fit.mean_bar, fit.variance_bar) / n if with_gradient else None
    return Evaluation(fit.value / n, gradient, state=fit.link, info={"link": fit.link})


def _gradient(posterior: ClassPosterior, mean_bar: Array, variance_bar: Array) -> Array:
    """Return the derivatives in log C and the kernel's, from those in the moments without one example.

    Backwards: what stays of the row's own site, the cavity, the marginals (v = σ²/β, m = μ - vb), the sites, which
    depend on C and, where the covariance leaves a residual, on the kernel.

    The value does not change if the kernel grows and C shrinks by the same factor. So the derivative in log C is the
    sum of those in the logarithms of the kernel's amplitudes, if it has any.
    """
    g, unit = posterior.gaussian, posterior.unit
    v = posterior.cavity.variance
    targets = posterior.eta / posterior.precision[:, None]
    weight = v * posterior.staying * posterior.precision
    shrink = 1.0 + weight
    left = posterior.left_out.mean - posterior.offset
    by_weight = (
        np.einsum("ij,ij->i", mean_bar, targets - left) - unit * variance_bar * v / shrink
    ) / shrink  # ∂/∂(v s ρ), v fixed elsewhere
    m_bar = mean_bar / shrink[:, None]
    v_bar = unit * variance_bar / shrink + by_weight * weight / v
    mu_bar, sigma_bar = _to_marginals(posterior, m_bar, v_bar)

    tau, residual = g.tau, g.prior.residual
    amplitudes = _amplitudes(posterior.model)
    residual_bar, by_log_c = np.zeros(0), 0.0
    if residual is not None or amplitudes is None:
        to_sites = _to_sites(posterior, m_bar, v_bar, mu_bar, sigma_bar)
        of_sites = 1.0 if residual is None else 1.0 - tau * residual
        by_log_c = float(by_weight @ weight + unit * variance_bar @ (v / shrink) + np.sum(to_sites * of_sites))
        residual_bar = v_bar - tau * to_sites
    by_kernel = g.contract_marginals(mu_bar, sigma_bar, residual_bar, posterior.nu)
    return np.concatenate([[by_log_c if amplitudes is None else amplitudes @ by_kernel], by_kernel])


def _to_marginals(posterior: ClassPosterior, m_bar: Array, v_bar: Array) -> tuple[Array, Array | BlockDiagonal]:
    """Return the derivatives in μ and σ², from those in the moments of the cavities; of groups, in μ and Σ."""
    free, b = posterior.gaussian.free, posterior.dual_mean
    if posterior.group_cavities is not None:
        return posterior.group_cavities.cotangents(m_bar, v_bar, b)
    return m_bar / free[:, None], (v_bar - np.einsum("ij,ij->i", m_bar, b)) / free**2


def _amplitudes(model: Model) -> Array | None:
    """Return how the logarithms of the kernel's hyperparameters grow with that of a factor of the kernel."""
    larger = model.kernel.scaled(2.0)
    return None if larger is None else np.log2(larger.values / model.kernel.values)


def _to_sites(
    posterior: ClassPosterior, m_bar: Array, v_bar: Array, mu_bar: Array, sigma_bar: Array | BlockDiagonal
) -> Array:
    """Return the derivatives in the logarithms of the sites' common factor, row by row."""
    g, b, own = posterior.gaussian, posterior.dual_mean, posterior.gaussian.cavity_variance
    if posterior.group_cavities is not None:
        tau_bar, nu_bar = posterior.group_cavities.to_sites(m_bar, v_bar, b)
    else:
        nu_bar = -own[:, None] * m_bar
        tau_bar = own**2 * (v_bar - np.einsum("ij,ij->i", m_bar, b))
    nu_bar += g.times_covariance(mu_bar)
    tau_bar -= g.times_squared(sigma_bar) + np.einsum("ij,ij->i", nu_bar, posterior.mean)
    return np.asarray(g.tau * tau_bar + np.einsum("ij,ij->i", nu_bar, posterior.nu))
