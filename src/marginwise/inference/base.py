"""What every approximation of the posterior returns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from marginwise._arrays import Array
from marginwise._summary import summary
from marginwise.status import CONVERGED, Status

if TYPE_CHECKING:
    from marginwise.model import Model
    from marginwise.problem import Problem


@dataclass(frozen=True, eq=False, kw_only=True)
class Posterior(ABC):
    """The distribution of the latent function given the data. Subclasses are final.

    Attributes
    ----------
    problem, hyperparameters
        The problem and the hyperparameters that it is the posterior of.
    latent_mean, latent_variance : arrays of shape (n,)
        Moments of the latent function at the training points.
    log_evidence : float or None
        ln Q(Y|X), not divided by n; None if the method does not compute it.
    gradient : array or None
        Derivatives of E(Y|X) = ln Q(Y|X)/n with respect to log C and the logarithms of the kernel's
        hyperparameters (n is the sum of the weights).
    log_evidence_se, gradient_se : float, array or None
        Standard errors of sampled values; None otherwise.
    status : Status
        Whether the method ended as it should.
    diagnostics : dict
        Information on the quality of the approximation.

    Examples
    --------
    >>> from marginwise import Hyperparameters, posterior
    >>> result = posterior([[0.0], [1.0], [2.0]], [-1, 1, 1], Hyperparameters(C=2))
    >>> result.latent_mean.shape, round(result.log_evidence, 2)
    ((3,), -3.8)
    """

    problem: Problem
    hyperparameters: Model
    latent_mean: Array
    latent_variance: Array
    log_evidence: float | None = None
    gradient: Array | None = None
    log_evidence_se: float | None = None
    gradient_se: Array | None = None
    status: Status = CONVERGED
    diagnostics: dict[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        return summary(self, "problem", "hyperparameters", "log_evidence", "gradient", "status", "diagnostics")

    @abstractmethod
    def latent_mean_and_variance(self, X_new: npt.ArrayLike) -> tuple[Array, Array]:
        """Return mean and variance of the latent function at new points."""

    @abstractmethod
    def log_label_probability(self, X_new: npt.ArrayLike) -> Array:
        """Return ln Q(y|x, D), columns y = -1, +1, averaged over the posterior and not normalised over the labels."""

    def predict_proba(self, X_new: npt.ArrayLike) -> Array:
        """Return P(y|x, D), columns y = -1, +1: Q(y|x, D) normalised over the two labels (Sollich 2002)."""
        return normalised(self.log_label_probability(X_new))

    def dont_know(self, X_new: npt.ArrayLike) -> Array:
        """Return 1 - Σ_y Q(y|x, D), the probability that the model gives to neither label (Sollich 2002)."""
        return np.maximum(-np.expm1(np.logaddexp.reduce(self.log_label_probability(X_new), axis=1)), 0.0)


def normalised(log_q: Array) -> Array:
    """Return probabilities of the two labels from logarithms, shape (n, 2), of what they are proportional to."""
    odds = log_q[:, 1] - log_q[:, 0]
    return np.exp(-np.logaddexp(0.0, np.column_stack([odds, -odds])))
