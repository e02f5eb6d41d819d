"""The posterior by sampling: moments, evidence gradient with standard errors, and predictions averaged over draws."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

from marginwise._arrays import Array, Indices
from marginwise._runtime.jit import compiled
from marginwise.covariance.gaussian import Sites
from marginwise.inference.base import Posterior, normalised
from marginwise.inference.sampling.collect import Collection
from marginwise.inference.sampling.prior import SampledPrior
from marginwise.likelihoods.slack import Slack
from marginwise.likelihoods.tilted import tilted_slack
from marginwise.problem import check_inputs

#: Numbers held at a time while label probabilities are averaged over draws (16 MB).
_AT_ONCE = 2**21


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class SampledPosterior(Posterior):
    """The posterior as draws from it. Build it with ``sampling.sample_posterior`` or ``sampling.hmc_posterior``.

    Attributes
    ----------
    slack : Slack
        The slack of the likelihood.
    prior : SampledPrior
        The prior of the latent values.
    collection : Collection
        What the sampler left: draws, as many as memory allows, and what diagnostics need.
    sites : Sites or None
        Sites of the Gaussian that guided the sampler: what a run near by can be started from.
    """

    slack: Slack
    prior: SampledPrior
    collection: Collection
    sites: Sites | None

    def latent_mean_and_variance(self, X_new: npt.ArrayLike) -> tuple[Array, Array]:
        """Return mean and variance of the latent function at new points."""
        cross, left = self._at(X_new)
        variance = np.empty(len(left))
        for rows, means in self._blocks(cross):
            variance[rows] = left[rows] + means.var(axis=1)
        return cross.T @ self.prior.coefficients(self.collection.dual_mean), variance

    def log_label_probability(self, X_new: npt.ArrayLike) -> Array:
        """Return ln Q(y|x, D), columns y = -1, +1, averaged over the posterior and not normalised over the labels.

        Given a draw the latent value at x is normal, so that its likelihood has a closed form; this is averaged.
        """
        return self._log_average(self._log_sums(X_new)) + self.slack.log_kappa(self.hyperparameters.C)

    def probability_and_error(self, X_new: npt.ArrayLike) -> tuple[Array, Array]:
        """Return P(y|x, D) as ``predict_proba`` does, and its Monte Carlo standard error, shape (n,), one for both.

        From the spread of the means over independent groups of draws, the chains, to first order in their deviations:
        correlations along a chain are in it. NaN if there is only one draw.
        """
        log_sums = self._log_sums(X_new)
        log_q = self._log_average(log_sums)
        P, sizes = normalised(log_q), np.bincount(self.collection.groups)
        if len(sizes) < 2:
            return P, np.full(len(P), np.nan)
        # P₊ = q₊/(q₊ + q₋): deviations of dq₊ and dq₋ make one of P₊P₋(dq₊/q₊ - dq₋/q₋).
        relative = np.exp(log_sums - np.log(sizes) - log_q[:, :, None])
        deviation = P.prod(axis=1)[:, None] * (relative[:, 1] - relative[:, 0])
        return P, deviation.std(axis=1, ddof=1) / np.sqrt(len(sizes))

    def to_arviz(self) -> Any:
        """Return the evidence gradient's summands, chain by chain, as ArviZ's data structure for its diagnostics.

        Needs the package ``arviz``.
        """
        import arviz

        c = self.collection
        posterior = dict(zip(c.names, c.terms.transpose(0, 2, 1), strict=True))
        stats = {"acceptance_rate": c.acceptance.T, "energy_error": c.energy_error.T}
        groups = {"posterior": posterior, "sample_stats": stats}
        if int(arviz.__version__.split(".")[0]) < 1:
            return arviz.from_dict(**groups)
        return arviz.from_dict(groups)

    def _log_sums(self, X_new: npt.ArrayLike) -> Array:
        """Return ln of the sums of likelihoods over groups of draws, shape (n, 2, groups)."""
        cross, left = self._at(X_new)
        groups, C = self.collection.groups, self.hyperparameters.C
        sums = np.empty((len(left), 2, 1 + groups.max()))
        for rows, means in self._blocks(cross):
            for column, y in enumerate((-1.0, 1.0)):
                sums[rows, column] = _log_sums_of_groups(self.slack.power, y * means, left[rows], C, groups)
        return sums

    def _log_average(self, log_sums: Array) -> Array:
        return np.asarray(logsumexp(log_sums, axis=2)) - np.log(self.collection.duals.shape[1])

    def _blocks(self, cross: Array) -> Iterator[tuple[slice, Array]]:
        """Yield rows and the latent means there given each draw, few enough rows at a time."""
        coefficients = self.prior.coefficients(self.collection.duals)
        step = max(1, _AT_ONCE // coefficients.shape[1])
        for start in range(0, cross.shape[1], step):
            rows = slice(start, start + step)
            yield rows, cross[:, rows].T @ coefficients

    def _at(self, X_new: npt.ArrayLike) -> tuple[Array, Array]:
        """Return the covariances with new points, and the variance that is left there given a draw."""
        points = check_inputs(X_new, "X_new")
        kernel, known = self.hyperparameters.kernel, self.problem.inducing
        cross = kernel.cross(self.problem.X if known is None else known, points)
        variance = kernel.diagonal(points)
        return cross, self.prior.conditional_variance(cross, variance)


@compiled
def _log_sums_of_groups(power: int, means: Array, variances: Array, C: float, groups: Indices) -> Array:
    """Return ln of the sum over the s of a group of ∫ N(f; means[i, s], variances[i]) exp[-C l_p(f)] df, for each i."""
    n, draws = means.shape
    largest = np.full((n, 1 + groups.max()), -np.inf)
    total = np.zeros_like(largest)
    for i in range(n):
        variance = max(variances[i], 1e-18)  # at a known point the likelihood itself, to rounding
        for s in range(draws):
            g = groups[s]
            log_z = tilted_slack(power, means[i, s], variance, C)[0]
            if log_z > largest[i, g]:
                total[i, g] = total[i, g] * math.exp(largest[i, g] - log_z) + 1.0
                largest[i, g] = log_z
            else:
                total[i, g] += math.exp(log_z - largest[i, g])
    return largest + np.log(total)
