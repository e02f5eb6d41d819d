"""The posterior by sampling: moments, evidence gradient with standard errors, and predictions averaged over draws."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from marginwise._jit import compiled
from marginwise.covariance import Sites
from marginwise.inference.collect import Collection
from marginwise.inference.contract import Posterior
from marginwise.inference.gradient import Chainwise
from marginwise.inference.pivoted import PivotedGram
from marginwise.likelihoods import Slack
from marginwise.likelihoods.tilted import tilted_slack
from marginwise.problem import check_inputs

Array = npt.NDArray[np.float64]

#: Numbers held at a time while label probabilities are averaged over draws (16 MB).
_AT_ONCE = 2**21


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class SampledPosterior(Posterior):
    """The posterior as draws from it. Build it with ``sampling.sample_posterior`` or ``sampling.hmc_posterior``.

    Attributes
    ----------
    slack : Slack
        The slack of the likelihood.
    prior : PivotedGram
        The factor of the Gram matrix.
    collection : Collection
        What the sampler left: some draws, and what diagnostics need.
    sites : Sites or None
        Sites of the Gaussian that guided the sampler: what a run near by can be started from.
    """

    slack: Slack
    prior: PivotedGram
    collection: Collection
    sites: Sites | None

    def latent_mean_and_variance(self, X_new: npt.ArrayLike) -> tuple[Array, Array]:
        """Return mean and variance of the latent function at new points."""
        cross, left = self._at(X_new)
        return cross.T @ self.collection.dual_mean, left + (cross.T @ self.collection.duals).var(axis=1)

    def log_label_probability(self, X_new: npt.ArrayLike) -> Array:
        """Return ln Q(y|x, D), columns y = -1, +1, averaged over the posterior and not normalised over the labels.

        Given a draw the latent value at x is normal, so that its likelihood has a closed form; this is averaged.
        """
        cross, left = self._at(X_new)
        C = self.hyperparameters.C
        log_q = np.empty((cross.shape[1], 2))
        rows = max(1, _AT_ONCE // self.collection.duals.shape[1])
        for start in range(0, len(log_q), rows):
            block = slice(start, start + rows)
            means = cross[:, block].T @ self.collection.duals
            for column, y in enumerate((-1.0, 1.0)):
                log_q[block, column] = _log_mean_likelihood(self.slack.power, y * means, left[block], C)
        return log_q + self.slack.log_kappa(C)

    def to_arviz(self) -> Any:
        """Return the evidence gradient's summands, chain by chain, as ArviZ's data structure for its diagnostics.

        Needs the package ``arviz``.
        """
        import arviz

        c = self.collection
        posterior = dict(zip(Chainwise.of(self.hyperparameters.kernel).names, c.terms.transpose(0, 2, 1), strict=True))
        stats = {"acceptance_rate": c.acceptance.T, "energy_error": c.energy_error.T}
        groups = {"posterior": posterior, "sample_stats": stats}
        if int(arviz.__version__.split(".")[0]) < 1:
            return arviz.from_dict(**groups)
        return arviz.from_dict(groups)

    def _at(self, X_new: npt.ArrayLike) -> tuple[Array, Array]:
        """Return the covariances with new points, and the variance that is left there given a draw."""
        points = check_inputs(X_new, "X_new")
        kernel = self.hyperparameters.kernel
        cross, variance = kernel.cross(self.problem.X, points), kernel.diagonal(points)
        return cross, self.prior.conditional_variance(cross, variance)


@compiled
def _log_mean_likelihood(power: int, means: Array, variances: Array, C: float) -> Array:
    """Return ln of the mean over s of ∫ N(f; means[i, s], variances[i]) exp[-C l_p(f)] df, for each i."""
    n, draws = means.shape
    out = np.empty(n)
    for i in range(n):
        variance = max(variances[i], 1e-18)  # at a known point the likelihood itself, to rounding
        largest, total = -np.inf, 0.0
        for s in range(draws):
            log_z = tilted_slack(power, means[i, s], variance, C)[0]
            if log_z > largest:
                total = total * math.exp(largest - log_z) + 1.0
                largest = log_z
            else:
                total += math.exp(log_z - largest)
        out[i] = largest + math.log(total / draws)
    return out
