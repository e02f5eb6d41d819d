"""Whether new rows are predicted worse than those that a model was tuned on: a test that may be looked at at any time.

Without drift the loss of a new row, predicted before the model saw it, is in random order with those of the rows
before it, which models without them predicted. So its rank among them, p = (1 + #{earlier losses ≥ its own})/(1 + n),
is nearly uniform and independent of what came before (Vovk, Nouretdinov & Gammerman 2003, "Testing exchangeability
on-line"). Bets f(p) = εp^(ε - 1) on small p multiply a capital that then grows only by luck: it is a martingale, and
reaches 1/α with a probability of at most α, however often one looks (Ville 1939).

Drift may begin late, after bets have lost. So with each update some capital begins anew, the k-th with 1/(k(k + 1)) of
all: a late beginning costs the logarithm of that, and α holds for all updates together.

Later models have seen more rows, and their losses are a little smaller: that makes alarms rarer.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from dataclasses import dataclass, field

import numpy as np
from scipy.special import logsumexp

from marginwise._arrays import Array, Indices

#: α, the probability of any alarm without drift, over all updates of a model.
LEVEL = 0.05

#: The bets' ε; the capital is spread evenly over them. ``benchmarks/update.py choose`` compares them.
_BETS = np.array([0.8, 0.9])

#: Rows after which capital may begin anew.
_APART = 25


@dataclass(frozen=True, eq=False)
class DriftTest:
    """The capital of the bets.

    Attributes
    ----------
    log_capital : array of shape (n_begun, n_bets)
        Of each beginning and bet, its own start being 0.
    begun : array of int, shape (n_begun,)
        The number of the row that each began with.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> before = rng.exponential(size=500)
    >>> same, worse = (DriftTest().after(before, factor * rng.exponential(size=200), 500) for factor in (1.0, 2.0))
    >>> same.alarm, worse.alarm, worse.since
    (False, True, 500)
    """

    log_capital: Array = field(default_factory=lambda: np.zeros((0, len(_BETS))))
    begun: Indices = field(default_factory=lambda: np.zeros(0, dtype=np.intp))

    def after(self, before: Array, new: Array, row: int) -> DriftTest:
        """Return the test after new losses, in their order, from a row on, where these were ``before`` them."""
        if not len(new):
            return self
        capital, begun = self.log_capital, self.begun
        if not len(begun) or row - begun[-1] >= _APART:
            capital, begun = np.vstack([capital, np.zeros(len(_BETS))]), np.append(begun, row)
        p = ranks(before, new)
        gained = (np.log(_BETS) + (_BETS - 1.0) * np.log(p)[:, None]).sum(axis=0)
        return DriftTest(capital + gained, begun)

    @property
    def _log_shares(self) -> Array:
        """The logarithm of the capital that each beginning began with."""
        k = np.arange(1.0, len(self.begun) + 1.0)
        return -np.log(k * (k + 1.0) * len(_BETS))[:, None]

    @property
    def log_evidence(self) -> float:
        """The logarithm of all capital, 0 at first; 1/(k + 1) of it has not begun yet after k beginnings."""
        waiting = -np.log(len(self.begun) + 1.0)
        return float(logsumexp(np.append(self.log_capital + self._log_shares, waiting)))

    @property
    def alarm(self) -> bool:
        """Whether so much capital would have been won by luck with a probability of at most the level."""
        return bool(self.log_evidence >= -np.log(LEVEL))

    @property
    def since(self) -> int:
        """The row that the beginning that has won most began with; after at least one update."""
        return int(self.begun[logsumexp(self.log_capital + self._log_shares, axis=1).argmax()])


def ranks(before: Array, new: Array) -> Array:
    """Return for each new number the share of those up to it, itself among them, that are not smaller."""
    ordered = np.sort(before)
    smaller = np.searchsorted(ordered, new, side="left")
    among: list[float] = []
    p = np.empty(len(new))
    for i, (value, below) in enumerate(zip(new.tolist(), smaller.tolist(), strict=True)):
        n = len(ordered) + i
        p[i] = (1.0 + n - below - bisect_left(among, value)) / (1.0 + n)
        insort(among, value)
    return p
