"""Log-odds recalibrated by the examples left out, where there are enough of them to tell.

The likelihood of an SVM has one shape, whatever the noise of the data is like. With few examples that is a help; with
many it shows: probabilities are a little off in places, and the leave-one-out probabilities say where. They are sorted
into a few groups of equal size, and the log-odds of each group become those of its labels, in between on straight lines
(histogram binning: Zadrozny & Elkan 2001, made monotone by pooling adjacent violators: Ayer et al. 1955).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import isotonic_regression
from scipy.special import expit, log_expit, logit

from marginwise._arrays import Array, Indices
from marginwise.fitting.schedule import SCHEDULE
from marginwise.multiplicity import units_of

#: Number of groups.
_GROUPS = 10

#: Examples that a group counts as already seen, with labels as predicted: none has only one label.
_PSEUDO_COUNTS = 5.0

#: Parts of the examples that are recalibrated by all others.
_PARTS = 4


@dataclass(frozen=True, eq=False)
class Calibration:
    """Straight lines between knots; beyond them the last correction stays.

    Attributes
    ----------
    odds, corrected : arrays
        Mean log-odds of each group, ascending, and what they become.
    """

    odds: Array
    corrected: Array

    def __call__(self, log_proba: Array) -> Array:
        """Return the recalibrated log-probabilities of two classes, shape (n, 2)."""
        log_odds = log_proba[:, 1] - log_proba[:, 0]
        beyond = log_odds - np.clip(log_odds, self.odds[0], self.odds[-1])
        corrected = np.interp(log_odds, self.odds, self.corrected) + beyond
        return log_expit(np.column_stack([-corrected, corrected])).astype(log_proba.dtype, copy=False)


def calibration(log_proba: Array, labels: Indices, weights: Array) -> Calibration:
    """Return the calibration of log-probabilities of two classes for examples that were left out.

    Of very many examples, some at even steps of their order.
    """
    some = evenly(len(labels))
    log_proba, labels, weights = log_proba[some], labels[some], weights[some]
    odds = log_proba[:, 1] - log_proba[:, 0]
    probability = expit(odds)
    order = np.argsort(odds, kind="stable")
    reached = np.cumsum(weights[order])
    groups = np.minimum((_GROUPS * (reached - 0.5 * weights[order]) / reached[-1]).astype(int), _GROUPS - 1)
    sums = np.array(
        [
            np.bincount(groups, weights[order] * column[order], _GROUPS)
            for column in (np.ones_like(odds), odds, probability, labels == 1)
        ]
    )
    total, odds_sum, expected, seen = sums[:, sums[0] > 0.0]
    share = (seen + _PSEUDO_COUNTS * expected / total) / (total + _PSEUDO_COUNTS)
    share = isotonic_regression(share, weights=total).x
    return Calibration(odds_sum / total, _log_odds(share))


def evenly(n: int) -> slice:
    """Return as many of n rows, at even steps, as weights of members and calibrations are found from."""
    return slice(None, None, max(1, -(-n // SCHEDULE.judged_rows)))


def cross_calibrated(log_proba: Array, labels: Indices, weights: Array, groups: Indices | None = None) -> Array:
    """Return log-probabilities of examples that were left out, each recalibrated by others than its own part of them.

    A calibration that has seen an example knows a little of its label, and of those of its group.
    """
    units = units_of(groups, len(labels))
    part = (np.random.default_rng(0).permutation(units.max() + 1) % _PARTS)[units]
    corrected = np.empty_like(log_proba)
    for k in range(_PARTS):
        others = part != k
        corrected[~others] = calibration(log_proba[others], labels[others], weights[others])(log_proba[~others])
    return corrected


def _log_odds(probability: Array) -> Array:
    tiny = np.finfo(float).tiny
    return logit(np.clip(probability, tiny, 1.0 - np.finfo(float).epsneg))
