"""The value of the evidence by sampling: a ladder of distributions from a Gaussian to the posterior.

With a reference N(m, Σ), the logarithm ln Z₀ of its normaliser and the remainder R (see ``leapfrog.Residual``),

    ln Q(Y|X) = n ln κ(C) + ln Z₀ + ln E[e^{-R}],    E over N(m, Σ),

which is climbed in steps, π_a ∝ N(θ; m, Σ) e^{-aR}, a: 0 → 1.

Each step is as far from the last as its samples, reweighted, still carry the next; between neighbours the ratio of
normalisers is estimated by Bennett's acceptance ratio (Bennett 1976), the best there is from samples of both. A chain
goes through all rungs by itself, so that chains are independent and resampling them gives the standard error.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from marginwise._arrays import Array
from marginwise.inference.sampling.guided import FIRST_STEP_SIZE, ReferenceHMC, ReferenceState
from marginwise.inference.sampling.reference import GaussianReference
from marginwise.inference.sampling.sampler import Target

#: Share of the effective number of samples that must be left when samples of a step are reweighted to the next.
_CARRY = 0.5
_N_BOOTSTRAP = 200
_MAX_RUNGS = 200


@dataclass(frozen=True, eq=False)
class EvidenceEstimate:
    """ln ∫ Q(θ) exp[-Σ_i C_i l_p(y_iθ_i)] dθ, the log evidence without n ln κ(C).

    Attributes
    ----------
    value, standard_error : float
    rungs : array
        The values of a, from 0 to 1.
    state : ReferenceState
        The chains on the last step, which is the posterior.
    """

    value: float
    standard_error: float
    rungs: Array
    state: ReferenceState


def estimate_evidence(
    target: Target,
    reference: GaussianReference,
    rng: np.random.Generator,
    *,
    n_chains: int,
    n_steps: int,
) -> EvidenceEstimate:
    """Go from the reference to the posterior step by step; ``n_steps`` moves are recorded on each."""
    sampler = ReferenceHMC(target, reference, n_chains=n_chains)
    draws = [reference.draw(rng, n_chains) for _ in range(n_steps)]
    energies = np.array([sampler.residual_energy(place) for place in draws])  # R, shape (steps, chains)
    place, step_size = None, FIRST_STEP_SIZE
    rungs, ratios = [0.0], []
    lower: Array = energies
    counts = rng.multinomial(n_chains, np.full(n_chains, 1.0 / n_chains), size=_N_BOOTSTRAP).astype(float)
    while rungs[-1] < 1.0:
        if len(rungs) > _MAX_RUNGS:
            raise ArithmeticError("the posterior is too far from its Gaussian reference")
        a = _next_rung(lower, rungs[-1])
        sampler = ReferenceHMC(target, reference, n_chains=n_chains, temper=a)
        if place is None:
            place = sampler.select(rng, draws)
        state = sampler.warm_up(rng, sampler.start(place, step_size), brief=len(rungs) > 1)
        upper = np.empty_like(lower)
        for k in range(n_steps):
            state, _ = sampler.step(rng, state)
            upper[k] = state.residual_energy / a
        ratios.append(_bennett((a - rungs[-1]) * lower, (a - rungs[-1]) * upper, counts))
        rungs.append(a)
        place, step_size, lower = state.place, state.step_size, upper
    totals = np.sum(ratios, axis=0)
    return EvidenceEstimate(
        value=reference.log_normaliser + float(totals[0]),
        standard_error=float(totals[1:].std(ddof=1)),
        rungs=np.array(rungs),
        state=state,
    )


def _next_rung(energies: Array, a: float) -> float:
    """Return the largest next step for which reweighting keeps the wanted share of the effective samples."""

    def share(b: float) -> float:
        weights = np.exp(-(b - a) * (energies - energies.min()))
        return float(weights.sum() ** 2 / (weights @ weights) / len(weights))

    energies = energies.ravel()
    if share(1.0) >= _CARRY:
        return 1.0
    low, high = a, 1.0
    for _ in range(40):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if share(middle) >= _CARRY else (low, middle)
    return max(low, math.nextafter(a, 2.0))


def _bennett(lower: Array, upper: Array, counts: Array) -> Array:
    """Return ln(Z_upper/Z_lower) from the differences in energy of samples of both rungs, shape (steps, chains).

    The root c of Σ_lower 1/(1 + e^{w - c}) = Σ_upper 1/(1 + e^{c - w}) is -ln(Z_upper/Z_lower) (Bennett 1976, eq. 12,
    for equal numbers of samples); the difference of both sides increases with c. The first entry is for all chains, the
    others for each row of ``counts``, which says how often each chain is taken: their roots are so near that one step
    of Newton's method reaches them.
    """

    def excess(c: float) -> Array:
        return np.asarray((expit(c - lower) - expit(upper - c)).sum(axis=0))

    low, high = min(lower.min(), upper.min()) - 1.0, max(lower.max(), upper.max()) + 1.0
    c = float(brentq(lambda c: excess(c).sum(), low, high, xtol=1e-10))
    accept, refuse = expit(c - lower), expit(upper - c)
    slope = (accept * (1.0 - accept) + refuse * (1.0 - refuse)).sum(axis=0)
    return np.concatenate([[-c], (counts @ excess(c)) / (counts @ slope) - c])
