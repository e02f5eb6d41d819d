"""Sets of labels that contain the true one with a given probability.

Conformal prediction with the probability of a label as its score (the least ambiguous sets: Sadinle, Lei & Wasserman
2019): a label is in the set if it is at least as probable as all but a share of the training labels were to models
without their rows. The scores of the training rows come from folds or leave-one-out distributions, those of new rows
from the model of all rows. That is the naive form of cross-conformal prediction (Vovk 2015; the jackknife of Barber et
al. 2021): no theorem promises its coverage, as split conformal prediction has one, but no rows are set aside.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from marginwise._arrays import Array, Mask
from marginwise._summary import summary
from marginwise.errors import Finding, InvalidInputError

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


def label_sets(proba: Array, conformity: Conformity | None, coverage: float) -> Mask:
    """Return which labels are in the set of each row: all that are probable enough, and always the most probable."""
    if not 0.0 < coverage < 1.0:
        raise InvalidInputError("coverage", coverage, "a number between 0 and 1")
    if conformity is None or not len(conformity.own):
        found = Finding("has no held-out probabilities, by which sets are calibrated")
        raise InvalidInputError("model", found, 'one fitted with ard="auto" or ard=0')
    sets = proba >= conformity.threshold(coverage)
    sets[np.arange(len(proba)), proba.argmax(axis=1)] = True
    return np.asarray(sets)
