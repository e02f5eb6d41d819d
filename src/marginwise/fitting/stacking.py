"""Members that predict together: the weights under which held-out labels are most probable (Wolpert 1992), or votes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import log_softmax

from marginwise._arrays import Array, Indices
from marginwise._summary import summary
from marginwise.fitting.schedule import SCHEDULE

#: Part of the mean of all probabilities in a share of votes. It decides between equal votes, and no member has as
#: little weight, so that it never turns a majority.
TIE_BREAK = 1e-6

#: Most steps of Newton's method, the gain in nats (twice) at which it has arrived, and the shortest part of a step.
_NEWTON_STEPS, _NEWTON_GAIN, _SHORTEST = 50, 1e-12, 1e-6


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
        mixed = (1.0 - TIE_BREAK) * ballots + TIE_BREAK * np.maximum(np.exp(logs), np.finfo(float).tiny)
        return np.asarray(np.log(np.tensordot(weights, mixed, axes=1)))


def combined(log_proba: Array, weights: Array, vote: Vote | None) -> Array:
    """Return the members' log-probabilities, shape (n_members, n, n_classes), as one: their mean, or votes."""
    if vote is not None:
        return vote.log_shares(log_proba, weights)
    if len(log_proba) == 1:
        return log_proba[0]
    with np.errstate(divide="ignore"):  # of a weight of 0
        log_weights = np.log(weights).astype(log_proba.dtype)[:, None, None]
    return np.asarray(np.logaddexp.reduce(log_proba + log_weights, axis=0))


def stacking_weights(log_probability: Array, row_weights: Array) -> Array:
    """Return the convex weights under which held-out labels are most probable; columns are the candidates.

    Maximises f(q) = Σ_i w_i ln(p_i·q) + (c/m) Σ_k ln q_k, c pseudo-counts over m candidates, which is concave. Because
    q·∇f = Σw + c for every q, the maximum with Σq = 1 is that of f(q) - (Σw + c) Σq over all q > 0: Newton's method
    with shorter steps where one would leave them or not increase it (Boyd & Vandenberghe 2004, 9.5).
    """
    p = np.exp(log_probability - log_probability.max(axis=1, keepdims=True))
    m = p.shape[1]
    count, total = SCHEDULE.pseudo_counts / m, float(row_weights.sum()) + SCHEDULE.pseudo_counts

    def value(q: Array) -> float:
        return float(row_weights @ np.log(p @ q) + count * np.log(q).sum() - total * q.sum())

    weights = np.full(m, 1.0 / m)
    reached = value(weights)
    for _ in range(_NEWTON_STEPS):
        share = p * weights / (p @ weights)[:, None]  # derivatives in ln q: all of one size
        gradient = row_weights @ share + count - total * weights
        curvature = (share * row_weights[:, None]).T @ share + count * np.eye(m)
        step = np.linalg.solve(curvature, gradient)
        if gradient @ step < _NEWTON_GAIN:
            break
        length = min(1.0, 0.9 / max(-step.min(), 0.9))
        while (there := value(weights * (1.0 + length * step))) < reached and length > _SHORTEST:
            length *= 0.5
        weights, reached = weights * (1.0 + length * step), there
    return weights / weights.sum()


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


def cross_fitted(log_proba: Array, labels: Indices, row_weights: Array, fold_of: Indices, vote: Vote | None) -> Array:
    """Return the members' log-probabilities as one, each fold with the weights that the labels of the others choose.

    A mixture whose weights were chosen on the rows that it is judged by looks better than it is.

    Parameters
    ----------
    log_proba : array of shape (n_members, n, n_classes)
        Of rows that were left out.
    labels, row_weights, fold_of : arrays of shape (n,)
        Their classes, weights, and the fold that left them out.
    vote : Vote or None
        How members vote; None if their probabilities are averaged.
    """
    if len(log_proba) == 1:
        return combined(log_proba, np.ones(1), vote)
    mixed = np.empty(log_proba.shape[1:])
    own = log_proba[:, np.arange(len(labels)), labels].T
    for fold in np.unique(fold_of):
        inside = fold_of == fold
        weights = kept_weights(own[~inside], row_weights[~inside])
        mixed[inside] = combined(log_proba[:, inside], weights, vote)
    return mixed
