"""What kind of doubt: how much of it is noise of the labels, and how much is ignorance of the model.

The entropy of the predicted label splits into the entropy that would remain if the latent function were known, and
what knowing it would tell, the mutual information of label and latent function (Houlsby et al. 2011; Depeweg et al.
2018): H[p(y|x)] = E_f H[p(y|f)] + I(y; f). More rows near by remove the second part, and never the first.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri
from scipy.stats import qmc

from marginwise._arrays import Array
from marginwise.inference.prediction import Predictor

#: Nodes of the quadrature for one latent function, and draws (a power of 2) for several.
_NODES, _DRAWS = 40, 256

#: Variance of a latent value that is known; label probabilities are integrals over it.
_KNOWN = 1e-12

#: Numbers in a block of probabilities, rows times draws times classes.
_NUMBERS = 2**22


class Doubt(NamedTuple):
    """Entropies of the predicted labels, in bits: 0 if one label is certain, 1 for a toss of a coin.

    Attributes
    ----------
    total : array of shape (n,)
        The entropy of the label, the sum of the other two.
    noise : array of shape (n,)
        What would be left of it if the latent function were known: labels overlap here.
    ignorance : array of shape (n,)
        What knowing the latent function would tell: more rows like this one would help.

    Examples
    --------
    >>> import numpy as np
    >>> from marginwise.inspection import Doubt
    >>> Doubt(total=np.array([0.9]), noise=np.array([0.8]), ignorance=np.array([0.1])).ignorance
    array([0.1])
    """

    total: Array
    noise: Array
    ignorance: Array


def doubt(moments: Sequence[tuple[Predictor, Array, Array]], weights: Array) -> Doubt:
    """Return the parts of the doubt from the moments of the members' latent functions and the members' weights."""
    mean, expected = None, 0.0
    for (one, m, v), weight in zip(moments, weights, strict=True):
        p, entropy = _averages(one, m, v)
        mean = weight * p if mean is None else mean + weight * p
        expected = expected + weight * entropy
    assert mean is not None
    total = _entropy(mean)
    noise = np.minimum(expected, total)
    return Doubt(total, noise, total - noise)


def _averages(one: Predictor, mean: Array, variance: Array) -> tuple[Array, Array]:
    """Return the mean of the class probabilities over the latent functions of a member, and that of their entropy."""
    variance = one.blurring(variance)
    K = 1 if mean.ndim == 1 else mean.shape[1]
    draws, shares = _draws(one.n_functions)
    # Of two classes with a function each, one is minus the other.
    directions = draws if one.n_functions == K else draws * np.array([-1.0, 1.0])
    step = max(1, _NUMBERS // (len(draws) * max(2, K)))
    parts = []
    for start in range(0, len(mean), step):
        m, s = mean[start : start + step], np.sqrt(variance[start : start + step])
        f = m.reshape(len(m), 1, K) + s[:, None, None] * directions
        flat = f.reshape(-1) if mean.ndim == 1 else f.reshape(-1, K)
        p = np.exp(one.log_proba_of(flat, np.full(len(flat), _KNOWN))).reshape(len(m), len(draws), -1)
        parts.append((np.einsum("s,nsk->nk", shares, p), _entropy(p) @ shares))
    return np.concatenate([p for p, _ in parts]), np.concatenate([h for _, h in parts])


@cache
def _draws(n_functions: int) -> tuple[Array, Array]:
    """Return points and weights that stand for independent normal variables: quadrature for one of them."""
    if n_functions == 1:
        nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
        return nodes[:, None], weights / weights.sum()
    half = ndtri(qmc.Sobol(n_functions, seed=0).random(_DRAWS // 2))
    return np.concatenate([half, -half]), np.full(_DRAWS, 1.0 / _DRAWS)


def _entropy(p: Array) -> Array:
    """Return the entropy in bits, along the last axis."""
    return -np.sum(p * np.log2(np.maximum(p, np.finfo(float).tiny)), axis=-1)
