"""The elementwise parts of a leapfrog step for many chains at once, each fused into one pass over memory.

Arrays of chains have shape (n, chains): what belongs to an example is constant along a row, so that the inner loop
runs over contiguous memory. The only other work of a step is one matrix product.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from marginwise._jit import compiled_vector

Array = npt.NDArray[np.float64]


@compiled_vector
def force(
    x: Array,
    mean: Array,
    y: Array,
    penalties: Array,
    tau: Array,
    nu: Array,
    sharpness: Array,
    power: int,
    out: Array,
) -> None:
    """Write g = ∂R/∂θ at θ = mean + x, with the kink of the linear slack rounded over a width 1/sharpness."""
    n, chains = x.shape
    for i in range(n):
        for j in range(chains):
            theta = x[i, j] + mean[i]
            gap = 1.0 - y[i] * theta
            if power == 1:
                gap = min(max(gap * sharpness[i] + 0.5, 0.0), 1.0)
            else:
                gap = max(gap, 0.0)
            out[i, j] = nu[i] - tau[i] * theta - penalties[i] * y[i] * gap


@compiled_vector
def kick_and_turn(
    x: Array,
    q: Array,
    g: Array,
    image: Array,
    energy: Array,
    kick: float,
    angle: float,
    mean: Array,
    y: Array,
    penalties: Array,
    tau: Array,
    nu: Array,
    sharpness: Array,
    power: int,
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
            theta = place + mean[i]
            gap = 1.0 - y[i] * theta
            if power == 1:
                gap = min(max(gap * sharpness[i] + 0.5, 0.0), 1.0)
            else:
                gap = max(gap, 0.0)
            g[i, j] = nu[i] - tau[i] * theta - penalties[i] * y[i] * gap


@compiled_vector
def kick_energy(q: Array, g: Array, image: Array, energy: Array, kick: float) -> None:
    """Add to ``energy`` what a kick by -kick·Σg changes; q itself is not needed any more."""
    n, chains = q.shape
    for i in range(n):
        for j in range(chains):
            energy[j] += kick * g[i, j] * (0.5 * kick * image[i, j] - q[i, j])


@compiled_vector
def residual_energy(
    x: Array, mean: Array, y: Array, penalties: Array, tau: Array, nu: Array, power: int, out: Array
) -> None:
    """Add R(θ) = Σ_i [C_i l_p(y_iθ_i) - ½τ_iθ_i² + ν_iθ_i] at θ = mean + x to ``out``, one for each chain."""
    n, chains = x.shape
    for i in range(n):
        for j in range(chains):
            theta = x[i, j] + mean[i]
            gap = max(1.0 - y[i] * theta, 0.0)
            loss = gap if power == 1 else 0.5 * gap * gap
            out[j] += penalties[i] * loss + theta * (nu[i] - 0.5 * tau[i] * theta)


@compiled_vector
def keep_accepted(accepted: npt.NDArray[np.bool_], new: Array, old: Array) -> None:
    """Put the old columns back into ``new`` where the proposal was not accepted."""
    n, chains = new.shape
    for i in range(n):
        for j in range(chains):
            new[i, j] = new[i, j] if accepted[j] else old[i, j]
