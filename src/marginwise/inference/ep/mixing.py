"""Anderson's acceleration of the updates of all sites (Walker & Ni 2011): products with a Jacobian are not needed."""

from __future__ import annotations

import numpy as np

from marginwise._arrays import Array
from marginwise.covariance.gaussian import Sites

#: Earlier updates that are looked back on.
_DEPTH = 5

#: A mixed precision is kept within this factor of the one that the update leads to.
_FACTOR = 3.0


#: Factor by which the error of the means below which updates are mixed is brought down at a time, and in all.
_MORE, _MOST = 0.2, 0.04


class Mixer:
    """Looks back on the last updates for the combination of them that would have changed the sites least.

    When that makes matters worse, it begins anew and takes half of each update: then sites can't run in circles.

    Attributes
    ----------
    relaxed : float
        Root mean square error of the means, in standard deviations, below which updates may be mixed. Where the
        updates of many sites add up, as with very few of one label, it takes a smaller one.
    """

    def __init__(self, relaxed: float) -> None:
        self.relaxed, self._least = relaxed, _MOST * relaxed
        self._sites: list[Array] = []
        self._changes: list[Array] = []
        self._rms_residual, self._part = np.inf, 1.0

    def interrupt(self) -> None:
        """Begin anew after the means are relaxed; if mixed updates led astray, relax them further from now on."""
        if self._sites:
            self.relaxed = max(_MORE * self.relaxed, self._least)
        self._forget()

    def _forget(self) -> None:
        self._sites.clear()
        self._changes.clear()
        self._rms_residual = np.inf

    def mix(self, sites: Sites, matched: Sites, variance: Array, rms_residual: float) -> Sites:
        """Return the sites to go on from, where the update of ``sites`` leads to ``matched``.

        Changes are weighed in units of the Gaussian's ``variance`` and standard deviations; ``rms_residual`` is their
        size.
        """
        if rms_residual > self._rms_residual:
            self._forget()
            self._part = 0.5
        self._rms_residual = rms_residual
        unit = np.concatenate([variance, np.sqrt(variance)])
        here, there = np.concatenate(sites), np.concatenate(matched)
        self._sites.append(here)
        self._changes.append(there - here)
        del self._sites[: -_DEPTH - 1], self._changes[: -_DEPTH - 1]
        if len(self._sites) == 1:
            return Sites(*np.split(here + self._part * (there - here), 2))
        steps = np.diff(self._sites, axis=0)
        turns = np.diff(self._changes, axis=0)
        shares = np.linalg.lstsq((turns * unit).T, self._changes[-1] * unit, rcond=1e-12)[0]
        mixed = here + self._part * (there - here) - shares @ (steps + self._part * turns)
        tau, nu = np.split(mixed, 2)
        bounds = np.sort([matched.tau / _FACTOR, matched.tau * _FACTOR], axis=0)
        return Sites(np.clip(tau, bounds[0], bounds[1]), nu)
