"""What to expect on new rows, from the probabilities of rows that were left out, with standard errors."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from marginwise._arrays import Array, Indices
from marginwise.fitting.schedule import SCHEDULE


class ExpectedScores(NamedTuple):
    """Error and log-loss on new rows; NaN where no row was left out.

    Attributes
    ----------
    error, log_loss : float
        The estimates.
    error_se, log_loss_se : float
        Their standard errors.
    base_log_loss : float
        The log-loss of always predicting the shares of the classes.
    gain_se : float
        Standard error of ``base_log_loss - log_loss``.
    """

    error: float = np.nan
    log_loss: float = np.nan
    error_se: float = np.nan
    log_loss_se: float = np.nan
    base_log_loss: float = np.nan
    gain_se: float = np.nan

    @property
    def learnt_nothing(self) -> bool:
        """Whether the log-loss is not below that of the shares by more than a standard error."""
        return self.base_log_loss - self.log_loss <= self.gain_se


def expected_scores(log_proba: Array, codes: Indices, weights: Array, n_classes: int) -> ExpectedScores:
    """Return what rows that were left out tell; a weight of 2 is the same as the row given twice."""
    total = float(weights.sum())
    if total == 0.0:
        return ExpectedScores()
    shares = weights / total
    loss = -log_proba[np.arange(len(codes)), codes]
    base = -np.log(np.bincount(codes, shares, n_classes)[codes])
    error = min(1.0, float(shares @ (log_proba.argmax(axis=1) != codes)))  # rounding may add up to more
    near = (error * total + 1.0) / (total + 2.0)  # no error among few rows is not certain, either
    return ExpectedScores(
        error,
        float(shares @ loss),
        _standard_error(near * (1.0 - near), total),
        _standard_error(_variance(loss, shares), total),
        float(shares @ base),
        _standard_error(_variance(base - loss, shares), total),
    )


def _variance(values: Array, shares: Array) -> float:
    return float(shares @ (values - shares @ values) ** 2)


def _standard_error(variance: float, total: float) -> float:
    """Return that of a mean over rows that folds left out, of which each has this variance.

    Folds train on common rows, so that their means vary together, and a model that is trained on all rows is none of
    theirs. The variance S²/K of the mean of K folds becomes S² (1/K + 1/(K - 1)), 1/(K - 1) the ratio of test to
    training rows (the correction of Nadeau & Bengio 2003); with S² = Kσ²/n that is σ²/n (1 + K/(K - 1)).
    ``benchmarks/honesty.py`` has how well that describes the differences from new rows.
    """
    folds = SCHEDULE.n_folds
    return float(np.sqrt(variance / total * (1.0 + folds / (folds - 1.0))))
