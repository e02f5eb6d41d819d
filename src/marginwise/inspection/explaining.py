"""Why a row is predicted as it is: what each of its cells contributes."""

from __future__ import annotations

from typing import Any

from marginwise.errors import Finding, InvalidInputError
from marginwise.estimators._explanation import Explanation


def explain(model: Any, X: Any, background: Any = None, *, interactions: bool = False) -> Explanation:
    """Return what each column contributes to the latent function at each row: exact Shapley values, in log-odds.

    The latent function is that of ``latent_mean_and_variance``: one for two classes, one for each class of more. It is
    what probabilities are made of before its own uncertainty, recalibration of many rows and class weights count; the
    average over members is that of their latent functions. Values are in the columns of the user's table, whatever
    inputs a category or a column with gaps is for the model. A missing cell is a cell like others: what is explained is
    what the model makes of it.

    Nothing is sampled: a kernel is a sum of products over columns, and the sum over all coalitions is an integral that
    quadrature gives exactly. Time grows with rows × background rows × points of the model ×
    columns², divided by 2.

    Parameters
    ----------
    model : TunedSVC
        Fitted, with ``predictor="posterior"``.
    X : table of n rows
        Rows to explain.
    background : table, optional
        Rows whose cells stand for those that are not told. None is up to 100 training rows, always the same ones, at
        even steps of their weights. One row asks why predictions differ from that row's.
    interactions : bool, default=False
        Whether to split values into pair interactions, too.

    Returns
    -------
    Explanation
        For a model with local blocks, coalitions are values of the function of the row's own block.

    Examples
    --------
    >>> import numpy as np
    >>> from marginwise import TunedSVC
    >>> from marginwise.inspection import explain
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> model = TunedSVC(ard=1, random_state=0).fit(X, X[:, 0] > 0)
    >>> why = explain(model, [[2.0, 0.0], [-2.0, 0.0]])
    >>> bool(why.values[0, 0] > 1), bool(why.values[1, 0] < -1)
    (True, True)
    >>> bool(np.allclose(why.latent, model.latent_mean_and_variance([[2.0, 0.0], [-2.0, 0.0]])[0]))
    True
    """
    if not hasattr(model, "explain"):
        found = Finding(f"is a {type(model).__name__}")
        raise InvalidInputError("model", found, "a fitted TunedSVC; of a pipeline, its last step")
    explained: Explanation = model.explain(X, background, interactions=interactions)
    return explained
