"""How far predictions of ordered classes are from the truth: in probabilities, and in classes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from marginwise._arrays import Array, Indices
from marginwise.estimators._ordered import medians


class OrderScores(NamedTuple):
    """How far predictions of ordered classes are from the truth.

    Attributes
    ----------
    ranked_probability_score : float
        Σ_k (F_k - O_k)²/(K - 1), the mean over the rows: F_k is the probability of the k lowest of K classes, and O_k
        is 1 if the true class is one of them, otherwise 0 (Epstein 1969; divided by K - 1, so that it is between 0,
        perfect, and 1). Unlike the log-loss it grows with the distance of the probability from the true class.
    mean_absolute_error : float
        The mean distance of the median class from the true one, counted in classes.
    base_ranked_probability_score, base_mean_absolute_error : float
        The same scores of always predicting the shares of the classes, or their median.

    Examples
    --------
    >>> import numpy as np
    >>> from marginwise.inspection import order_scores
    >>> scores = order_scores(np.array([[0.5, 0.5, 0.0], [0.0, 0.2, 0.8]]), np.array([0, 2]))
    >>> round(scores.ranked_probability_score, 4), scores.mean_absolute_error
    (0.0725, 0.0)
    """

    ranked_probability_score: float
    mean_absolute_error: float
    base_ranked_probability_score: float
    base_mean_absolute_error: float


def order_scores(probability: Array, places: Indices, weights: Array | None = None) -> OrderScores:
    """Return how far predictions of ordered classes are from the truth.

    Parameters
    ----------
    probability : array of shape (n, n_classes)
        Class probabilities, columns from the lowest class to the highest.
    places : array of int, shape (n,)
        The true classes, 0 for the lowest.
    weights : array of shape (n,), optional
        How often each row counts.

    Returns
    -------
    OrderScores

    Examples
    --------
    >>> import numpy as np
    >>> from marginwise.inspection import order_scores
    >>> order_scores(np.eye(3), np.array([0, 1, 2])).ranked_probability_score
    0.0
    """
    weights = np.ones(len(places)) if weights is None else weights
    shares = np.bincount(places, weights, probability.shape[1]) / weights.sum()
    base = np.tile(shares, (len(places), 1))
    scores = (*_scores(probability, places, weights), *_scores(base, places, weights))
    return OrderScores(*scores)


def _scores(probability: Array, places: Indices, weights: Array) -> tuple[float, float]:
    reached = probability.cumsum(axis=1)[:, :-1]
    happened = places[:, None] <= np.arange(reached.shape[1])
    ranked = np.mean((reached - happened) ** 2, axis=1)
    away = np.abs(medians(probability) - places)
    return float(np.average(ranked, weights=weights)), float(np.average(away, weights=weights))
