"""The elementwise parts of a leapfrog step for many chains at once, each fused into one pass over memory.

Arrays of chains have shape (n, chains): what belongs to an example is constant along a row, so that the inner loop
runs over contiguous memory. The only other work of a step is one matrix product.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from marginwise._arrays import Array, Mask
from marginwise._runtime.jit import compiled, compiled_vector
from marginwise.likelihoods.slack import rounded_force, slack_loss


class Residual(NamedTuple):
    """R(x) = Σ_i [C_i l_p(y_iθ_i) - ½τ_ix_i² + b_ix_i], θ = mean + x: by which the target differs from the reference.

    1/``sharpness`` is the distance from the kink of the linear slack at which the force begins to round it off (the
    energy never does); ``power`` is p.
    """

    mean: Array
    y: Array
    penalties: Array
    tau: Array
    b: Array
    sharpness: Array
    power: int


@compiled_vector
def _force(x: float, i: int, residual: Residual) -> float:
    gap = 1.0 - residual.y[i] * (residual.mean[i] + x)
    slope = rounded_force(residual.power, gap, residual.sharpness[i])
    return residual.b[i] - residual.tau[i] * x - residual.penalties[i] * residual.y[i] * slope


@compiled_vector
def force(x: Array, residual: Residual, out: Array) -> None:
    """Write ∂R/∂x, rounded off at the kink."""
    n, chains = x.shape
    for i in range(n):
        for j in range(chains):
            out[i, j] = _force(x[i, j], i, residual)


@compiled_vector
def kick_and_turn(
    x: Array, q: Array, g: Array, image: Array, energy: Array, kick: float, angle: float, residual: Residual
) -> None:
    """Kick q by -kick·Σg, turn (x, q) by ``angle``, write the force g at the new place; all in place.

    ``image`` is Σg. The turn conserves ½xᵀΣ⁻¹x + ½qᵀΣ⁻¹q; the kick changes it by -kick·gᵀq + ½kick²·gᵀΣg, which
    is added to ``energy``, one number for each chain.
    """
    n, chains = x.shape
    cos, sin = np.cos(angle), np.sin(angle)
    for i in range(n):
        for j in range(chains):
            pull, speed, place = image[i, j], q[i, j], x[i, j]
            energy[j] += kick * g[i, j] * (0.5 * kick * pull - speed)
            speed -= kick * pull
            q[i, j] = speed * cos - place * sin
            place = place * cos + speed * sin
            x[i, j] = place
            g[i, j] = _force(place, i, residual)


@compiled_vector
def kick_energy(q: Array, g: Array, image: Array, energy: Array, kick: float) -> None:
    """Add to ``energy`` what a kick by -kick·Σg changes; q itself is not needed any more."""
    n, chains = q.shape
    for i in range(n):
        for j in range(chains):
            energy[j] += kick * g[i, j] * (0.5 * kick * image[i, j] - q[i, j])


@compiled_vector
def residual_energy(x: Array, residual: Residual) -> Array:
    """Return R(x) for each chain."""
    n, chains = x.shape
    energy = np.zeros(chains)
    for i in range(n):
        for j in range(chains):
            loss = slack_loss(residual.power, 1.0 - residual.y[i] * (residual.mean[i] + x[i, j]))
            energy[j] += residual.penalties[i] * loss + x[i, j] * (residual.b[i] - 0.5 * residual.tau[i] * x[i, j])
    return energy


@compiled
def restore(accepted: Mask, new: Array, old: Array) -> None:
    """Put the old columns back into ``new`` where the proposal was not accepted."""
    n, chains = new.shape
    for i in range(n):
        for j in range(chains):
            new[i, j] = new[i, j] if accepted[j] else old[i, j]
