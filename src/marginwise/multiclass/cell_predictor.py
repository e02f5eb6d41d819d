"""Predictions where each cell of the inputs has inducing inputs of its own: a new row goes to the one it falls into."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import lapack

from marginwise._arrays import Array, Indices
from marginwise._runtime.once import computed_once
from marginwise.covariance.cells import CellFeatures, Cells
from marginwise.covariance.features import Features
from marginwise.inference.prediction import Piece
from marginwise.kernels.base import Kernel
from marginwise.multiclass.link import Link
from marginwise.multiclass.posterior import ClassPredictor, ClassScores, Moments
from marginwise.problem import check_inputs


@dataclass(frozen=True, eq=False)
class CellClassPredictor(ClassScores):
    """Latent functions that are sums over the inducing inputs of all, and over those of the cell that a row is in.

    Of each cell a triangle is kept. What predictions take of it is there when it is asked for.

    Attributes
    ----------
    kernel : Kernel
    inducing : array of shape (m, d)
        The shared inducing inputs.
    cells : Cells
    roots : tuple of arrays
        Γ of each cell, the rows of a lower triangle one after the other: ΓᵀΓ is the covariance of the weights that the
        cell's rows are linear in, those of the shared features first.
    means : tuple of arrays of shape (number of weights, K)
        Their means.
    scale : float
        The features are those of the kernel times this.
    """

    kernel: Kernel
    inducing: Array
    cells: Cells
    roots: tuple[Array, ...]
    means: tuple[Array, ...]
    scale: float
    offset: Array
    unit: float
    link: Link | None = None

    @classmethod
    def of(
        cls,
        features: CellFeatures,
        kernel: Kernel,
        roots: Sequence[Array],
        means: Sequence[Array],
        units: tuple[float, float],
        offset: Array,
    ) -> CellClassPredictor:
        """Return the predictor of weights with these roots and means, of features of the kernel times a scale.

        ``units`` are the scale, and the factor of the variances.
        """
        assert features.cells is not None
        packed = tuple(root[np.tril_indices(len(root))] for root in roots)
        return cls(kernel, features.inducing, features.cells, packed, tuple(means), units[0], offset, units[1])

    @computed_once
    def parts(self) -> tuple[ClassPredictor, ...]:
        """The predictor of each cell; its points are the shared inducing inputs, and then the cell's own."""
        parts = []
        for own, root, mean in self._of_cells():
            half = own.dual(np.eye(len(root)) - root.T @ root)
            coefficients = np.sqrt(self.scale) * own.dual(mean)
            gain = own.dual(half.T)
            parts.append(ClassPredictor(own.inducing, coefficients, gain, self.kernel, self.offset, self.unit))
        return tuple(parts)

    @computed_once
    def _ties(self) -> tuple[Array, ...]:
        """H of each cell: covariances between rows x, x' of different cells are (k(x)ᵀH)·(k'(x')ᵀH').

        With Σ = ΓᵀΓ the weights of two cells have the covariance Σ_cu Σ_uu⁻¹ Σ_uc', u the shared ones; H follows from
        the Cholesky factor of Σ_uu.
        """
        ties, m = [], len(self.inducing)
        for own, root, _ in self._of_cells():
            shared = root[:, :m]
            factor, _ = lapack.dpotrf(np.asfortranarray(shared.T @ shared), lower=1, clean=1)
            through = lapack.dtrtrs(factor, shared.T @ root, lower=1)[0]
            ties.append(own.dual(np.asfortranarray(through.T)))
        return tuple(ties)

    def _of_cells(self) -> Iterator[tuple[Features, Array, Array]]:
        """Yield the features of each cell, Γ, and the means of the weights."""
        features = CellFeatures(self.kernel, self.inducing, self.cells)
        for own, packed, mean in zip(features.own, self.roots, self.means, strict=True):
            root = np.zeros((len(mean), len(mean)))
            root[np.tril_indices(len(mean))] = packed
            yield own, root, mean

    @cached_property
    def points(self) -> Array:
        """The inducing inputs of all cells."""
        return np.concatenate(self.cells.points)

    @property
    def n_points(self) -> int:
        """The number of points that a prediction is a sum over."""
        return max(map(len, self.means))

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields alone: what follows from them is there again when it is asked for."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def latent_mean_and_variance(self, X_new: npt.ArrayLike) -> tuple[Array, Array]:
        X = check_inputs(X_new, "X_new")
        mean, variance = np.empty((len(X), len(self.offset))), np.empty(len(X))
        for rows, cell in self._present(X):
            mean[rows], variance[rows] = self.parts[cell].latent_mean_and_variance(X[rows])
        return mean, variance

    def latent_mean(self, X_new: npt.ArrayLike) -> Array:
        X = check_inputs(X_new, "X_new")
        mean = np.empty((len(X), len(self.offset)))
        for rows, cell in self._present(X):
            mean[rows] = self.parts[cell].latent_mean(X[rows])
        return mean

    def moments(self, X: Array) -> Moments:
        """Return what a link takes."""
        return self._moments(*self.latent_mean_and_variance(X))

    def with_expansion(self, points: Array, coefficients: Array, gain: Array) -> ClassPredictor:
        return ClassPredictor(points, coefficients, gain, self.kernel, self.offset, self.unit, self.link)

    def pieces(self, step: int = 1) -> Iterator[Piece]:
        """Yield the inducing inputs of the cells."""
        begin = 0
        for part, own in zip(self.parts, self.cells.points, strict=True):
            numbers = begin + np.arange(0, len(own), step)
            yield Piece(numbers, own[::step], part.points, part.coefficients)
            begin += len(own)

    def pieces_at(self, X: Array) -> Iterator[Piece]:
        for rows, cell in self._present(X):
            part = self.parts[cell]
            yield Piece(rows, X[rows], part.points, part.coefficients)

    def variance_of_sum(self, X: Array, weights: Array) -> float:
        """Return the sum of the variances within the cells, and what the shared weights add between them."""
        total, together = 0.0, np.zeros(len(self.inducing))
        for rows, cell in self._present(X):
            part, w = self.parts[cell], weights[rows]
            tie = (w @ part.covariances(X[rows])) @ self._ties[cell]
            total += part.variance_of_sum(X[rows], w) - float(tie @ tie)
            together += tie
        return max(total + float(together @ together), 0.0)

    def _present(self, X: Array) -> Iterator[tuple[Indices, int]]:
        """Yield the numbers of the rows that fall into a cell, and its own."""
        numbers = self.cells.partition.assign(X)
        for cell in np.unique(numbers):
            yield np.flatnonzero(numbers == cell), int(cell)
