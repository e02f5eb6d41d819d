"""Control variates for the evidence gradients: functions of a draw whose posterior mean is exactly 0.

For a smooth vector field φ and h = θ̃ + v = -∂ln Q(θ|D)/∂θ, where v_i = C_i y_i l_p'(y_iθ_i), Stein's identity says
E[∇·φ - φ·h] = 0; for φ = Σψ(θ) and g = Σh it reads E[tr(Σ ∂ψ/∂θ) - ψ·g] = 0. To resemble the gradient's summand
f = -½ vᵀ(∂K/∂λ)θ̃ of eq. (lgrad), v is replaced by its linear fit E[v] + c∘(θ - m) under the reference N(m, Σ), in
which g stands for θ - m, because the two would be equal were the posterior the reference. With K⁻¹g = h - τ∘g,

    Z_λ = -½ ⟨∂K/∂λ, (c∘g)θ̃ᵀ + E[v](K⁻¹g)ᵀ - K⁻¹Σ diag(c)⟩,      E Z_λ = 0:

one product with Σ for each draw, and again a contraction with ∂K. For log koff, ∂K = koff 11ᵀ makes it a product of
sums, computed chain by chain. So are the virial, φ = θ, and φ = Σψ for some functions ψ_i(θ_i), which between them make
up Z_λ of log k0 as well, where K meets K⁻¹.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from marginwise._arrays import Array
from marginwise._runtime.jit import compiled_vector
from marginwise.inference.sampling.reference import GaussianReference
from marginwise.inference.sampling.sampler import Draws, Target


class _Examples(NamedTuple):
    """What the compiled pass needs to know of each example; ``v`` is E[v]."""

    y: Array
    mean: Array
    variance: Array
    c: Array
    v: Array


class Controls(NamedTuple):
    """The control variates of the draws of one step.

    ``chains``, shape (11, chains), are control variates each. ``scaled`` = c∘g and ``dual`` = K⁻¹g, of shape
    (n, chains), are what Z_λ of the length scales is made of.
    """

    chains: Array
    scaled: Array
    dual: Array


class ControlVariates:
    """The control variates of a target, built on a reference near to it."""

    def __init__(self, target: Target, reference: GaussianReference, koff: float) -> None:
        self._reference, self._koff = reference, koff
        c, self.mean_slope = _linear_fit(target, reference)
        self._examples = _Examples(target.y, reference.mean, reference.variance, c, self.mean_slope)
        self._offset_trace = float(c @ (1.0 - reference.times_covariance(reference.tau[:, None])[:, 0]))

    def constant(self) -> tuple[Array, Array, Array]:
        """Return K⁻¹Σ diag(c), which Z_λ contains whatever the draw, as A, B and a with ABᵀ + diag(a)."""
        c, reference = self._examples.c, self._reference
        left, right = -reference.tau[:, None] * reference.factor, c[:, None] * reference.factor  # K⁻¹Σ = I - TΣ
        return left, right, c if reference.own is None else c * (1.0 - reference.tau * reference.own)

    def at(self, draws: Draws, slope: Array) -> Controls:
        """Return the control variates of draws with slopes v."""
        h = draws.dual_latent + slope
        g = self._reference.times_covariance(h)
        dual = h - self._reference.tau[:, None] * g
        scaled = self._examples.c[:, None] * g
        z_koff = (-0.5 * self._koff) * (
            scaled.sum(axis=0) * draws.dual_latent.sum(axis=0)
            + self.mean_slope.sum() * dual.sum(axis=0)
            - self._offset_trace
        )
        virial = self._reference.prior.rank - np.einsum("ij,ij->j", draws.latent, h)
        return Controls(np.vstack([z_koff, virial, _elementwise(draws.latent, g, self._examples)]), scaled, dual)


def _linear_fit(target: Target, reference: GaussianReference) -> tuple[Array, Array]:
    """Return c = E[dv/dθ] and E[v] under the marginals of the reference: the first two terms of v's Hermite series."""
    expected = target.slack.weighted(1.0, target.penalties).expected(reference.mean, reference.variance, target.y)
    return expected.shrink / reference.variance, -expected.slope


@compiled_vector
def _elementwise(latent: Array, g: Array, e: _Examples) -> Array:
    """Return Σ_i (Σ_ii ψ_i' - ψ_ig_i) for nine functions ψ, one column for each chain.

    They are the parts of the linear fit, c(θ - m), cm and E[v]; the slope -y s((1 - yθ)/w) of the linear slack with
    its step rounded off to s(t) = ½[1 + t/√(1 + t²)] over w = ½σ and 1½σ; that of the quadratic slack; θ - m; y; cy.
    """
    n, chains = latent.shape
    sums = np.zeros((9, chains))
    for i in range(n):
        y, mean, variance, c, v = e.y[i], e.mean[i], e.variance[i], e.c[i], e.v[i]
        sd = np.sqrt(variance)
        for j in range(chains):
            theta, pull = latent[i, j], g[i, j]
            linear = variance - (theta - mean) * pull
            sums[0, j] += c * linear
            sums[1, j] -= c * mean * pull
            sums[2, j] -= v * pull
            gap = 1.0 - y * theta
            t = 2.0 * gap / sd
            root = 1.0 / np.sqrt(1.0 + t * t)
            sums[3, j] += sd * root * root * root + 0.5 * y * pull * (1.0 + t * root)
            t = gap / (1.5 * sd)
            root = 1.0 / np.sqrt(1.0 + t * t)
            sums[4, j] += sd / 3.0 * root * root * root + 0.5 * y * pull * (1.0 + t * root)
            inside = 1.0 if gap > 0.0 else 0.0
            sums[5, j] += inside * (variance + y * gap * pull)
            sums[6, j] += linear
            sums[7, j] -= y * pull
            sums[8, j] -= c * y * pull
    return sums
