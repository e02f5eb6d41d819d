"""How certain the relevances of columns are."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from marginwise._arrays import Array
from marginwise._runtime.interrupts import hold_interrupts
from marginwise._runtime.threads import threads_for
from marginwise.errors import Finding, InvalidInputError
from marginwise.estimators._explaining import input_columns
from marginwise.fitting.relevance_draws import relevance_draws
from marginwise.priors import Prior


class RelevanceIntervals(NamedTuple):
    """Intervals of relevances.

    Attributes
    ----------
    low, high : arrays of shape (d,)
        Lower and upper ends, from 0 to 1. A column whose interval begins above 0 is relevant.

    Examples
    --------
    >>> import numpy as np
    >>> from marginwise.inspection import RelevanceIntervals
    >>> RelevanceIntervals(low=np.array([0.4, 0.0]), high=np.array([0.8, 0.2])).low > 0
    array([ True, False])
    """

    low: Array
    high: Array


def relevance_intervals(
    model: Any, *, coverage: float = 0.9, n_draws: int = 100, random_state: int = 0
) -> RelevanceIntervals:
    """Return intervals of the relevances of the columns (``feature_importances_``).

    Members are trained again, with labels drawn from their own probabilities and hyperparameters drawn from the
    curvature of criterion and prior at the optimum; differences between members count as well. The bias of smoothing is
    covered only in part. On synthetic tables with a known latent function, 90 % intervals contained 0 for a column that
    does not matter in 97 % of the cases, but the true relevance of a column that matters only in 73 %
    (``benchmarks/relevances.py``): that an interval begins above 0 is more reliable than where it ends.

    Parameters
    ----------
    model : TunedSVC
        Fitted.
    coverage : float, default=0.9
        How often an interval should contain the truth.
    n_draws : int, default=100
        How often members are trained. At most 1,000 rows are used, which makes the intervals of larger tables wider.
    random_state : int, default=0
        Seed of the draws.

    Returns
    -------
    RelevanceIntervals

    Examples
    --------
    >>> import numpy as np
    >>> from marginwise import TunedSVC
    >>> from marginwise.inspection import relevance_intervals
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> model = TunedSVC(ard=1, random_state=0).fit(X, X[:, 0] > 0)
    >>> found = relevance_intervals(model, n_draws=20)
    >>> (found.low > 0).tolist()
    [True, False, False]
    """
    if not hasattr(model, "explain"):
        found = Finding(f"is a {type(model).__name__}")
        raise InvalidInputError("model", found, "a fitted TunedSVC; of a pipeline, its last step")
    check_is_fitted(model)
    if not 0.0 < coverage < 1.0:
        raise InvalidInputError("coverage", coverage, "a number between 0 and 1")
    if not isinstance(n_draws, int | np.integer) or n_draws < 2:
        raise InvalidInputError("n_draws", n_draws, "at least 2")
    prior = Prior() if model.prior is None else model.prior
    with hold_interrupts(), threads_for(len(model.ensemble_.X)):
        draws = relevance_draws(model.ensemble_, input_columns(model), prior, int(n_draws), random_state)
    low, high = np.quantile(draws, [0.5 - 0.5 * coverage, 0.5 + 0.5 * coverage], axis=0)
    return RelevanceIntervals(low, high)
