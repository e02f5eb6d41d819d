"""Sets of labels that contain the true one with a given probability.

Conformal prediction with the probability of a label as its score (the least ambiguous sets: Sadinle, Lei & Wasserman
2019): a label is in the set if it is at least as probable as all but a share of the training labels were to models
without their rows. Those models are not the one that predicts, so there is no theorem as for rows that were set aside:
this is the naive form of cross-conformal prediction (Vovk 2015; the jackknife of Barber et al. 2021). Two kinds of them
are at hand, and sets heed the more careful one:

- folds. They saw fewer rows, and are less sure than the model of all rows: their log-probabilities are multiplied by a
  factor (at least 1) that gives them the mean entropy of the next kind.
- leave-one-out distributions of the model itself. They are as sure as it is of new rows, but their hyperparameters
  were found with all rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import log_softmax

from marginwise._arrays import Array, Indices, Mask
from marginwise._summary import summary
from marginwise.errors import Finding, InvalidInputError

#: Largest factor of log-probabilities of folds.
_LARGEST_FACTOR = 4.0

#: Most numbers that are kept, at even steps of the weights.
_MOST = 5000


@dataclass(frozen=True, eq=False)
class Conformity:
    """How probable models without their rows found the training labels.

    Attributes
    ----------
    own : array
        Probabilities of the labels, ascending.
    below : array
        The share of the rows that are before each of them.
    size : float
        How many examples there are; of unequal weights, what they are worth (Kish 1965).
    """

    own: Array
    below: Array
    size: float

    __repr__ = summary

    @classmethod
    def of(cls, own: Array, weights: Array) -> Conformity:
        """Return that of rows with these weights."""
        order = np.argsort(own, kind="stable")
        shares = weights[order] / weights.sum()
        below = np.concatenate([[0.0], np.cumsum(shares)[:-1]])
        kept = np.unique(np.searchsorted(below, np.linspace(0.0, 1.0, _MOST), side="right") - 1)
        return cls(own[order][kept], below[kept], float(1.0 / (shares @ shares)) if len(shares) else 0.0)

    def threshold(self, coverage: float) -> float:
        """Return the probability from which on labels are in the sets; 0 if rows are too few to leave any out.

        Of n + 1 rows in random order the last is among the first k of all with probability k/(n + 1).
        """
        before = np.searchsorted(self.below, ((1.0 - coverage) * (self.size + 1.0) - 1.0) / self.size + 1e-12, "right")
        return float(self.own[before - 1]) if before > 0 else 0.0


def conformities(folds: Array, left_out: Array | None, codes: Indices, weights: Array) -> tuple[Conformity, ...]:
    """Return what sets are calibrated by, from log-probabilities of the training rows by folds and without each row."""
    if not len(codes):
        return ()
    rows = np.arange(len(codes))
    if left_out is None:
        kinds = [log_softmax(folds, axis=1)]
    else:
        kinds = [log_softmax(_factor(folds, left_out, weights) * folds, axis=1), log_softmax(left_out, axis=1)]
    return tuple(Conformity.of(np.exp(logs[rows, codes]), weights) for logs in kinds)


def _factor(folds: Array, left_out: Array, weights: Array) -> float:
    """Return the factor of log-probabilities that gives folds the mean entropy that leave-one-out has, at least 1."""

    def entropy(logs: Array) -> float:
        logs = log_softmax(logs, axis=1)
        return float(weights @ -np.einsum("ij,ij->i", np.exp(logs), np.maximum(logs, -1e3)))

    goal = entropy(left_out)
    if entropy(folds) <= goal:
        return 1.0
    if entropy(_LARGEST_FACTOR * folds) >= goal:
        return _LARGEST_FACTOR
    return float(brentq(lambda factor: entropy(factor * folds) - goal, 1.0, _LARGEST_FACTOR, xtol=1e-3))


def label_sets(proba: Array, conformity: Sequence[Conformity], coverage: float) -> Mask:
    """Return which labels are in the set of each row: all that are probable enough, and always the most probable."""
    if not 0.0 < coverage < 1.0:
        raise InvalidInputError("coverage", coverage, "a number between 0 and 1")
    if not conformity:
        found = Finding("has no held-out probabilities, by which sets are calibrated")
        raise InvalidInputError("model", found, 'one fitted with ard="auto" or ard=0')
    sets = proba >= min(one.threshold(coverage) for one in conformity)
    sets[np.arange(len(proba)), proba.argmax(axis=1)] = True
    return np.asarray(sets)
