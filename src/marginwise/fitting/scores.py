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


def expected_scores(
    log_proba: Array,
    codes: Indices,
    weights: Array,
    examples: Array,
    wrong: Array | None = None,
    groups: Indices | None = None,
) -> ExpectedScores:
    """Return what rows that were left out tell, each of so many equal ``examples`` that have a weight together.

    ``wrong`` is the share of them that was taken for another class, where the probabilities are means over folds.
    Rows of one of the ``groups`` that were left out together err together: groups are independent, not rows.
    """
    if len(codes) == 0:
        return ExpectedScores()
    shares = weights / weights.sum()
    loss = -log_proba[np.arange(len(codes)), codes]
    base = -np.log(np.bincount(codes, shares)[codes])
    wrong = log_proba.argmax(axis=1) != codes if wrong is None else wrong
    error = min(1.0, float(shares @ wrong))  # rounding may add up to more
    worth = independent_examples(wrong, shares, examples, groups)
    near = (error * worth + 1.0) / (worth + 2.0)  # no error among few rows is not certain, either
    return ExpectedScores(
        error,
        float(shares @ loss),
        float(np.sqrt(near * (1.0 - near) / worth * _of_folds())),
        _standard_error(loss, shares, examples, groups),
        float(shares @ base),
        _standard_error(base - loss, shares, examples, groups),
    )


def independent_examples(wrong: Array, shares: Array, examples: Array, groups: Indices | None) -> float:
    """Return how many independent examples errors are worth; unequal weights are worth fewer (Kish 1965).

    Of groups, as many as would give the mean error the variance that it has: from the number of groups, if all rows of
    a group were right or wrong together, to that of rows. Without any error that can't be told, and groups are counted.
    """
    rows = 1.0 / float(shares**2 @ (1.0 / examples))
    if groups is None:
        return rows
    error, total = float(shares @ wrong), np.bincount(groups, shares)
    least = 1.0 / float(total @ total)
    variance = _variance(wrong, shares, examples, groups)
    return float(np.clip(error * (1.0 - error) / variance, min(least, rows), rows)) if variance > 0.0 else least


def _standard_error(values: Array, shares: Array, examples: Array, groups: Indices | None) -> float:
    return float(np.sqrt(_variance(values, shares, examples, groups) * _of_folds()))


def _variance(values: Array, shares: Array, examples: Array, groups: Indices | None) -> float:
    """Return the variance of a mean over independent examples, or over groups of them (Liang & Zeger 1986)."""
    deviations = values - shares @ values
    if groups is None:
        return float(shares**2 / examples @ deviations**2)
    by_group = np.bincount(groups, shares * deviations)
    n_groups = len(np.unique(groups))
    return float(by_group @ by_group) * n_groups / max(1.0, n_groups - 1.0)


def _of_folds() -> float:
    """Return by what the variance of a mean over rows that folds left out exceeds that over independent rows.

    Folds train on common rows, so that their means vary together, and a model that is trained on all rows is none of
    theirs. The variance S²/K of the mean of K folds becomes S² (1/K + 1/(K - 1)), 1/(K - 1) the ratio of test to
    training rows (the correction of Nadeau & Bengio 2003). ``benchmarks/honesty.py`` has how well that describes the
    differences from new rows.
    """
    return 1.0 + SCHEDULE.n_folds / (SCHEDULE.n_folds - 1.0)
