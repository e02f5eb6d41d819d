"""Why a row gets its prediction: what each of its cells contributes."""

from __future__ import annotations

from typing import Any

from marginwise.errors import Finding, InvalidInputError
from marginwise.estimators._explanation import Explanation


def explain(model: Any, X: Any, background: Any = None, *, interactions: bool = False) -> Explanation:
    """Return what each column contributes to the latent function at each row: exact Shapley values, in log-odds.

    The latent function is that of ``latent_mean_and_variance``: a single one for two classes, otherwise one for each
    class, averaged over the members of the ensemble. Probabilities also depend on its uncertainty, on class weights
    and, with many rows, on recalibration. Values belong to the columns of the user's table, even if a category or a
    column with missing values is several inputs of the model. A missing cell is explained like any other value.

    Nothing is sampled: the kernel is a sum of products over columns, so that the sum over all coalitions is an integral
    that quadrature computes exactly. The time is proportional to rows × background rows × points of the model ×
    columns²/2.

    Parameters
    ----------
    model : TunedSVC
        Fitted, with ``predictor="posterior"``.
    X : table of n rows
        Rows to explain.
    background : table, optional
        Rows whose cells replace those that are left out of a coalition. By default up to 100 training rows, always the
        same ones, evenly spaced by weight. With a single row, values explain the difference from that row's prediction.
    interactions : bool, default=False
        Whether to compute pair interactions as well.

    Returns
    -------
    Explanation
        For a model with local blocks, coalitions are evaluated with the function of the row's own block.

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
