"""Members that predict together: the weights under which held-out labels are most probable (Wolpert 1992), or votes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import log_softmax, logsumexp

from marginwise._arrays import Array
from marginwise._summary import summary
from marginwise.fitting.schedule import SCHEDULE

#: Part of the mean of all probabilities in a share of votes. It decides between equal votes, and no member has as
#: little weight, so that it never turns a majority.
_TIE_BREAK = 1e-6


@dataclass(frozen=True, eq=False)
class Vote:
    """Each member gives its weight to the class that it takes for the most probable one.

    Attributes
    ----------
    importance : array of shape (n_classes,)
        c: a class counts as c_k p_k, and members vote with that in mind.
    """

    importance: Array

    __repr__ = summary

    def log_shares(self, log_proba: Array, weights: Array) -> Array:
        """Return the logarithm of each class's share of the votes, shape (n, n_classes).

        From the members' log-probabilities, shape (n_members, n, n_classes). Shares contain a little of the mean of all
        probabilities, so that equal votes are decided by it and logarithms are finite.
        """
        logs = log_softmax(log_proba + np.log(self.importance / self.importance.max()), axis=2)
        ballots = np.zeros_like(logs)
        np.put_along_axis(ballots, logs.argmax(axis=2)[:, :, None], 1.0, axis=2)
        mixed = (1.0 - _TIE_BREAK) * ballots + _TIE_BREAK * np.maximum(np.exp(logs), np.finfo(float).tiny)
        return np.asarray(np.log(np.tensordot(weights, mixed, axes=1)))


def combined(log_proba: Array, weights: Array, vote: Vote | None) -> Array:
    """Return the members' log-probabilities, shape (n_members, n, n_classes), as one: their mean, or votes."""
    if vote is not None:
        return vote.log_shares(log_proba, weights)
    if len(log_proba) == 1:
        return log_proba[0]
    return np.asarray(logsumexp(log_proba, axis=0, b=weights[:, None, None]))


def stacking_weights(log_probability: Array, row_weights: Array, *, n_iterations: int = 300) -> Array:
    """Return the convex weights under which held-out labels are most probable; columns are the candidates.

    Maximises Σ_i w_i ln(p_i·q) + (c/m) Σ_k ln q_k, c pseudo-counts over m candidates, which is concave: each step of
    the EM algorithm increases it.
    """
    p = np.exp(log_probability - log_probability.max(axis=1, keepdims=True))
    counts, m = SCHEDULE.pseudo_counts, p.shape[1]
    weights = np.full(m, 1.0 / m)
    total = float(row_weights.sum()) + counts
    for _ in range(n_iterations):
        share = p * weights
        share /= share.sum(axis=1, keepdims=True)
        weights = (row_weights @ share + counts / m) / total
    return weights


def kept_weights(log_probability: Array, row_weights: Array) -> Array:
    """Return stacking weights of which none is too small to pay; those of candidates that are dropped are 0.

    The smallest is dropped and the others are found again, one by one: of several candidates that are alike each has a
    small weight, and all of them at once would be lost.
    """
    kept = np.arange(log_probability.shape[1])
    weights = stacking_weights(log_probability, row_weights)
    while weights.min() < SCHEDULE.least_weight and len(kept) > 1:
        kept = np.delete(kept, weights.argmin())
        weights = stacking_weights(log_probability[:, kept], row_weights)
    whole = np.zeros(log_probability.shape[1])
    whole[kept] = weights
    return whole
