"""Expectation propagation for one latent value per point (Minka 2001; Rasmussen & Williams 2006, section 3.6).

The sites are moved towards their fixed point all at once while far away, by Newton's method on the fixed-point
equations once near, and one at a time where these fail: with many repeated rows of both labels.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from marginwise._arrays import Array
from marginwise._runtime.interrupts import safe_point
from marginwise.covariance.base import SiteCovariance
from marginwise.covariance.gaussian import Sites
from marginwise.inference.ep.mixing import Mixer
from marginwise.inference.ep.moves import Moves, SitePoint
from marginwise.inference.ep.result import SiteApproximation
from marginwise.likelihoods.base import WeightedLikelihood
from marginwise.status import CONVERGED, Status

#: Residual at which EP has converged: the evidence, stationary there, is exact to rounding, its gradient to 1e-8.
TOLERANCE = 1e-7

#: These, and those of the moves, were chosen by ``benchmarks/expectation_propagation.py``.
#: Residuals at which Newton's method is tried where nothing else helps, and at which a start is worse than none.
_NEAR, _FAR = 0.2, 5.0

#: Updates of all sites at once that do not bring the residual down by this factor, before other moves are tried.
_PATIENCE, _SLOW = 6, 0.6


class Regime(NamedTuple):
    """What suits a way to keep the covariance.

    Attributes
    ----------
    near : float
        Residual below which a step of Newton's method costs less than the updates of all sites that it saves.
    relaxed : float
        Error of the means below which updates of all sites are mixed with earlier ones.
    accuracy : float
        Residual below which going on would be pointless.
    """

    near: float
    relaxed: float
    accuracy: float


DENSE = Regime(near=0.2, relaxed=0.05, accuracy=0.0)

#: A product for Newton's method costs as much as an update of all sites, which brings the residual down by a factor of
#: about four where rows are many. What the approximation itself changes is larger than this accuracy by far.
APPROXIMATE = Regime(near=0.0, relaxed=0.05, accuracy=1e-6)

#: What features of single precision can reach. Updates of so many sites can't be mixed from farther away: they add up
#: and lead astray.
SINGLE = Regime(near=0.0, relaxed=1e-2, accuracy=1e-3)

#: One site at a time, this part of each update is taken, because whole ones can run in circles; every
#: ``_CIRCLE`` sweeps it is made smaller.
_PART, _CIRCLE = 0.9, 25


def run_ep(  # noqa: C901  which move comes next depends on all before: one loop shows it
    covariance: SiteCovariance,
    y: Array,
    likelihood: WeightedLikelihood,
    *,
    start: Sites | None = None,
    tolerance: float = TOLERANCE,
    norm: Literal["max", "rms"] = "max",
    max_sweeps: int = 500,
) -> SiteApproximation:
    """Return the fixed point of expectation propagation, started from the sites of ``start`` if given.

    The likelihood must be blurred by the covariance's residual, if it has one. The tolerance is that of the worst site,
    or of the root mean square if ``norm`` is "rms": of very many sites a few may need as many sweeps as all others
    together.
    """

    def left(point: SitePoint) -> float:
        return point.rms_residual if norm == "rms" else point.residual

    moves = Moves(covariance, y, likelihood)
    point = None if start is None else moves.point(start.tau, start.nu)
    if point is None or point.residual > _FAR:
        point = moves.prior()
    best = point
    sweeps = together = alone = 0  # all updates, those of all sites at once, those of one site at a time
    regime = DENSE if covariance.is_dense else SINGLE if covariance.single else APPROXIMATE
    tolerance = max(tolerance, regime.accuracy)
    goal = regime.near  # below it Newton's method is tried, but not at the prior, far from everything
    mixer = Mixer(regime.relaxed)
    while left(point) > tolerance and sweeps < max_sweeps:
        safe_point()
        sweeps += 1
        if point.residual < goal and point.gaussian.tau.any():
            moved = moves.newton(point, tolerance)
            if moved is None:
                if point.residual <= point.rounding:
                    break
                goal = 0.5 * point.residual
        elif together < _PATIENCE:
            moved = moves.all_at_once(point, mixer)
            together += _PATIENCE if moved is None else int(moved.rms_residual > _SLOW * point.rms_residual)
            if together >= _PATIENCE:
                goal = goal or _NEAR
        else:
            moved = moves.one_at_a_time(best if alone == 0 else point, _PART * 0.8 ** (alone // _CIRCLE))
            alone += 1
            if moved is None:
                break
        point = moved or point
        best = min(best, point, key=lambda one: one.rms_residual)
    point = best
    status = CONVERGED
    if left(point) > max(tolerance, point.rounding):
        status = Status(
            False,
            f"expectation propagation stopped after {sweeps} sweeps with moments that differ by "
            f"{point.residual:.1e} standard deviations; try a smaller C·k0 or shorter length scales",
        )
    return SiteApproximation(
        point.gaussian, point.tilted, _log_evidence(point, likelihood), status, point.residual, sweeps
    )


def _log_evidence(point: SitePoint, likelihood: WeightedLikelihood) -> float:
    """Return ln Q(Y|X): Rasmussen & Williams (2006), eq. 3.65, with the quadratic terms collected in b = K⁻¹μ."""
    gaussian = point.gaussian
    b, v = gaussian.dual_mean, gaussian.cavity_variance
    local = point.tilted.value - 0.5 * np.log(gaussian.free) + 0.5 * v * b * b
    kappa = likelihood.log_kappa * float(likelihood.weights.sum())
    return float(local.sum()) - 0.5 * float(gaussian.mean @ b) - 0.5 * gaussian.log_det + kappa
