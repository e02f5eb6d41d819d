"""How far outside its training rows a model is asked: the share of the prior variance that they leave at a row.

Taken are the terms of the kernel that forget: products over columns and steps, which say nothing of what is far away.
Straight lines and the constant reach everywhere and leave no trace of where rows have been. With R the correlations of
these terms, r those of a row with the training rows, and noise σ² in units of the prior variance, the share is

    s(x) = 1 - rᵀ(R + σ²I)⁻¹r,   and without row i itself  s_i = 1/[(R + σ²I)⁻¹]_ii - σ²

(Rasmussen & Williams 2006, eqs. 2.26 and 5.12), or, without its group g, the i-th of the diagonal of
[(R + σ²I)⁻¹]_gg⁻¹ less σ². It is near 0 among many training rows and 1 where there are none. The
noise decides how many neighbours it takes: a row near a single odd one should not pass for known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from marginwise._arrays import Array, Indices
from marginwise.covariance.groups import members_of
from marginwise.kernels import RBF, Kernel, Sum

#: σ², in units of the prior variance.
_NOISE = 0.01

#: Numbers in a block of correlations.
_NUMBERS = 2**22


@dataclass(frozen=True, eq=False)
class Surroundings:
    """Training rows, and what they leave open around them.

    Attributes
    ----------
    kernel : Kernel
        The terms that forget, whose prior variance is the same everywhere.
    points : array of shape (m, d)
        Training rows.
    root : array of shape (m, m)
        L⁻¹, lower triangular, LLᵀ = R + σ²I.
    left_out : array of shape (m,)
        The share of the prior variance at each of them without itself.
    weights : array of shape (m,)
        How often each of them counts.
    """

    kernel: Kernel
    points: Array
    root: Array
    left_out: Array
    weights: Array

    def share(self, X: Array) -> Array:
        """Return the share of the prior variance that is left at rows, from 0 to 1."""
        variance = self.kernel.diagonal(self.points[:1])[0]
        parts = []
        step = max(1, _NUMBERS // len(self.points))
        for start in range(0, len(X), step):
            half = self.root @ (self.kernel.cross(self.points, X[start : start + step]) / variance)
            parts.append(1.0 - np.einsum("ij,ij->j", half, half))
        return np.clip(np.concatenate(parts), 0.0, 1.0)

    def threshold(self, share: float) -> float:
        """Return what this share of the training rows is above, each without itself."""
        order = np.argsort(self.left_out)
        reached = np.cumsum(self.weights[order]) / self.weights.sum()
        place = min(int(np.searchsorted(reached, 1.0 - share)), len(order) - 1)
        return float(self.left_out[order[place]])


class Novelty(NamedTuple):
    """How far rows are from what the model has seen.

    Attributes
    ----------
    share : array of shape (n,)
        The share of the prior variance that the training rows leave at each row, from 0 to 1.
    threshold : float
        What only a few training rows are above, each without itself.

    Examples
    --------
    >>> import numpy as np
    >>> from marginwise.inspection import Novelty
    >>> Novelty(share=np.array([0.1, 0.9]), threshold=0.5).strange
    array([False,  True])
    """

    share: Array
    threshold: float

    @property
    def strange(self) -> Array:
        """Whether each row is above the threshold: the model has seen nothing like it."""
        return np.asarray(self.share > self.threshold)


def surroundings(kernel: Kernel, points: Array, weights: Array, groups: Indices | None = None) -> Surroundings:
    """Return what training rows leave open under the terms of a kernel that forget; groups are left out whole."""
    near = forgetting(kernel, points.shape[1])
    variance = near.diagonal(points[:1])[0]
    R = near.gram(points) / variance
    R[np.diag_indices_from(R)] += _NOISE
    factor, failed = lapack.dpotrf(np.asfortranarray(R), lower=1, clean=1, overwrite_a=1)
    assert not failed  # the noise is far above rounding
    root, _ = lapack.dtrtri(factor, lower=1)
    own = 1.0 / np.einsum("ij,ij->j", root, root) if groups is None else _without_groups(root, groups)
    return Surroundings(near, points, root, np.clip(own - _NOISE, 0.0, 1.0), weights)


def _without_groups(root: Array, groups: Indices) -> Array:
    """Return the diagonals of [(R + σ²I)⁻¹]_gg⁻¹, the same for all rows of a group at once."""
    own = np.empty(len(groups))
    for rows in members_of(groups):
        half = root[:, rows].transpose(1, 0, 2)
        own[rows] = np.einsum("ijj->ij", np.linalg.inv(half.transpose(0, 2, 1) @ half))
    return own


def forgetting(kernel: Kernel, n_inputs: int) -> Kernel:
    """Return the terms whose prior variance is the same everywhere, but for the constant.

    A model of straight lines has none: then an RBF in units of how far apart rows are under its length scales.
    """
    terms = [term for term in kernel.terms if term.shape not in ("constant", "straight")]
    if terms:
        return terms[0] if len(terms) == 1 else Sum(*terms)
    lengths = np.asarray(kernel.lengths(n_inputs))
    return RBF(1.0, lengths * np.sqrt(2.0 * n_inputs) / np.exp(np.log(lengths).mean()))
