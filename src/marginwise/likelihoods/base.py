"""What a likelihood of a label given the latent value is, and what approximations of the posterior ask of it.

A likelihood is a function t(f; C) of the margin f = yθ. All that is asked of it is, under a normal density N(m, v), the
logarithm of Z = E[t^w] or the mean E[w ln t], and derivatives: see :class:`Moments`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from marginwise._arrays import Array


class Moments(NamedTuple):
    """A function L(m, v) of a likelihood and of N(m, v) with its derivatives, one entry for each point.

    L is ln Z (``tilted``) or E[w ln t] (``expected``). Derivatives with respect to v follow from those with respect
    to m: ∂Z/∂v = ½∂²Z/∂m², ∂E/∂v = ½∂²E/∂m².

    Attributes
    ----------
    value : array of shape (n,)
        L.
    slope : array of shape (n,)
        ∂L/∂m; the mean of the tilted density is m + v·slope.
    shrink : array of shape (n,)
        -v ∂²L/∂m².
    keep : array of shape (n,)
        Variance of the density in units of v, without cancellation: tilted 1 - shrink, otherwise 1.
    third, fourth : arrays of shape (n,)
        ∂³L/∂m³ and ∂⁴L/∂m⁴.
    value_c, slope_c, curvature_c : arrays of shape (n,)
        ∂L/∂C, ∂²L/∂m∂C and ∂³L/∂m²∂C.

    Examples
    --------
    >>> import numpy as np
    >>> from marginwise.likelihoods import LINEAR
    >>> moments = LINEAR.tilted(np.array([0.0]), np.array([1.0]), 2.0, np.ones(1))
    >>> moments.value.round(3), moments.keep.round(3)
    (array([-1.148]), array([0.475]))
    """

    value: Array
    slope: Array
    shrink: Array
    keep: Array
    third: Array
    fourth: Array
    value_c: Array
    slope_c: Array
    curvature_c: Array


class Likelihood(ABC):
    """A likelihood as a function t(f; C) of the margin, independent of any data.

    Attributes
    ----------
    name : str
        The name in messages; also accepted as a string if it is a key of ``LIKELIHOODS``.
    has_penalty : bool
        Whether it depends on C. If not, moments ignore C and searches keep it fixed.

    Examples
    --------
    >>> import numpy as np
    >>> from marginwise.likelihoods import Logistic
    >>> Logistic().tilted(np.zeros(1), np.ones(1), 1.0, np.ones(1)).value.round(3)  # ln ½
    array([-0.693])
    """

    name: str
    has_penalty: bool = True

    @abstractmethod
    def tilted(self, f: Array, v: Array, C: float, weights: Array) -> Moments:
        """Return ln ∫ N(z; f_i, v_i) t(z; C)^w_i dz and its derivatives in the mean margins f and in C."""

    @abstractmethod
    def expected(self, f: Array, v: Array, C: float, weights: Array) -> Moments:
        """Return ∫ N(z; f_i, v_i) w_i ln t(z; C) dz and its derivatives."""

    def log_kappa(self, C: float) -> float:
        """Return ln κ(C), a constant factor that the moments leave out; 0 for what is normalised as it is."""
        return 0.0

    def log_kappa_derivative(self, C: float) -> float:
        """Return d ln κ / dC."""
        return 0.0

    def weighted(self, C: float, weights: Array) -> WeightedLikelihood:
        """Return the likelihood κ(C)^w t(f; C)^w of examples with these weights."""
        return WeightedLikelihood(self, C, weights)


@dataclass(frozen=True, eq=False)
class WeightedLikelihood:
    """The likelihood κ(C)^w t(f; C)^w of the labels of some examples; build one with :meth:`Likelihood.weighted`.

    Attributes
    ----------
    likelihood : Likelihood
        The function t.
    C : float
        Slack penalty.
    weights : array of shape (n,)
        Weight 2 is equivalent to giving the point twice.
    blur : array of shape (n,) or None
        Variances b_i: the likelihood of a latent value a_i is ∫ N(θ; a_i, b_i) t(y_iθ)^w_i dθ. None is no blur.

    Examples
    --------
    >>> import numpy as np
    >>> from marginwise.likelihoods import LINEAR
    >>> twice = LINEAR.weighted(2.0, np.array([2.0]))
    >>> twice.tilted(np.zeros(1), np.ones(1), np.ones(1)).value.round(3)
    array([-1.459])
    """

    likelihood: Likelihood
    C: float
    weights: Array
    blur: Array | None = None

    @property
    def log_kappa(self) -> float:
        """ln κ(C) of eq. (lh), which the moments leave out."""
        return self.likelihood.log_kappa(self.C)

    @property
    def log_kappa_c(self) -> float:
        """d ln κ / dC."""
        return self.likelihood.log_kappa_derivative(self.C)

    def tilted(self, m: Array, v: Array, y: Array) -> Moments:
        """Return ln ∫ N(θ; m_i, v_i) t(y_iθ)^w_i dθ and its derivatives."""
        whole = v if self.blur is None else v + self.blur
        moments = _in_latent_values(self.likelihood.tilted(y * m, whole, self.C, self.weights), y)
        if self.blur is None:
            return moments
        # shrink = -v ∂²ln Z/∂m² and keep = 1 - shrink are in units of the cavity's own variance.
        own = v / whole
        return moments._replace(shrink=moments.shrink * own, keep=moments.keep + moments.shrink * (1.0 - own))

    def expected(self, m: Array, v: Array, y: Array) -> Moments:
        """Return ∫ N(θ; m_i, v_i) w_i ln t(y_iθ) dθ and its derivatives."""
        return _in_latent_values(self.likelihood.expected(y * m, v, self.C, self.weights), y)

    def unweighted(self, n: int) -> WeightedLikelihood:
        """Return the same likelihood for ``n`` other points of weight one."""
        return replace(self, weights=np.ones(n), blur=None)

    def with_weight_one(self) -> WeightedLikelihood:
        """Return the same likelihood for the same points, each counted once."""
        return replace(self, weights=np.ones_like(self.weights))

    def blurred(self, blur: Array | None) -> WeightedLikelihood:
        """Return the same likelihood blurred by these variances."""
        return replace(self, blur=blur)


def _in_latent_values(moments: Moments, y: Array) -> Moments:
    """Return moments in latent values from those in margins: odd derivatives change sign with the label."""
    return moments._replace(slope=y * moments.slope, third=y * moments.third, slope_c=y * moments.slope_c)
