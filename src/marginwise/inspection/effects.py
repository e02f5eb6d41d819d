"""How predictions depend on one column, on average over the others."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import check_is_fitted

from marginwise.errors import Finding, InvalidInputError
from marginwise.estimators._effects import Effect, effect_of


def effect(model: Any, column: str | int, *, grid: Any = None, background: Any = None) -> Effect:
    """Return the effect of a column: the partial dependence of the posterior, with its own uncertainty.

    The column is set to the same value in all background rows, and the mean change of the latent function is computed.
    It is a sum of values of a Gaussian process, so that its mean and variance are exact. If the model is a sum of
    functions of single columns, it is the function of this column. The probability is that of
    ``sklearn.inspection.partial_dependence`` on the same rows.

    Parameters
    ----------
    model : TunedSVC
        Fitted, with ``predictor="posterior"``.
    column : str or int
        The column, by name or position.
    grid : sequence, optional
        Values at which to compute the effect. By default 20 numbers over the middle 96 % of the training values, all
        distinct values if there are few, or all categories.
    background : table, optional
        Rows to average over. By default up to 100 training rows, always the same ones.

    Returns
    -------
    Effect

    Examples
    --------
    >>> import numpy as np
    >>> from marginwise import TunedSVC
    >>> from marginwise.inspection import effect
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> model = TunedSVC(ard=1, random_state=0).fit(X, X[:, 0] > 0)
    >>> found = effect(model, 0, grid=[-1.0, 0.0, 1.0])
    >>> bool(found.latent[0] < found.latent[1] < found.latent[2])
    True
    """
    if not hasattr(model, "ensemble_") and not hasattr(model, "explain"):
        found = Finding(f"is a {type(model).__name__}")
        raise InvalidInputError("model", found, "a fitted TunedSVC; of a pipeline, its last step")
    check_is_fitted(model)
    return effect_of(model, column, grid, background)
