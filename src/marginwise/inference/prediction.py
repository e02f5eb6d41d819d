"""A Gaussian approximation of the posterior: moments and label probabilities at new points."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import log_softmax

from marginwise._arrays import Array, Indices
from marginwise._runtime.interrupts import safe_point
from marginwise.covariance.local import MeanWeights
from marginwise.covariance.local_gaussian import LocalGaussian
from marginwise.covariance.triangles import QuadraticForm
from marginwise.kernels.base import Kernel
from marginwise.likelihoods.base import WeightedLikelihood
from marginwise.problem import check_inputs

#: Numbers in a block of covariances of new points: what predictions take of memory, whatever the number of points.
_BLOCK_NUMBERS = 2**22

#: Smallest share of the prior variance that is reported; differences below it are rounding.
_LEAST_SHARE = 1e-14


class Piece(NamedTuple):
    """Some of the rows that a predictor speaks for, and what the latent means are there: Σ_j b_j K(x, z_j)."""

    numbers: Indices
    rows: Array
    points: Array
    coefficients: Array


class Predictor(ABC):
    """Gaussian processes given data, at new points: one, or several that share their covariance.

    Attributes
    ----------
    kernel : Kernel
        The prior covariance function.
    """

    kernel: Kernel

    @abstractmethod
    def latent_mean_and_variance(self, X_new: npt.ArrayLike) -> tuple[Array, Array]:
        """Return mean, of several processes in columns, and variance of the latent values."""

    @abstractmethod
    def latent_mean(self, X_new: npt.ArrayLike) -> Array:
        """Return the mean alone."""

    @abstractmethod
    def log_proba_of(self, mean: Array, variance: Array) -> Array:
        """Return the logarithms of the class probabilities, shape (n, n_classes), from the moments of latent values."""

    def log_proba(self, X: Array) -> Array:
        """Return the logarithms of the class probabilities at the rows of X."""
        return self.log_proba_of(*self.latent_mean_and_variance(X))

    def log_proba_of_few(self, X: Array) -> Array:
        """Return the same without what only many rows pay for."""
        return self.log_proba(X)

    @abstractmethod
    def scores_of(self, mean: Array) -> Array:
        """Return numbers, shape (n, n_classes), of which the largest is that of the most probable class."""

    @abstractmethod
    def latent_in_log_odds(self, mean: Array, variance: Array) -> tuple[Array, Array]:
        """Return moments in the unit in which the log-odds have slope 1 where they are 0: the same for all models.

        For two classes those of the second, for more those of all.
        """

    def blurring(self, variance: Array) -> Array:
        """Return the variance of latent values whose average over labels is what :meth:`log_proba_of` says."""
        return variance

    @property
    @abstractmethod
    def n_functions(self) -> int:
        """The number of latent functions; of two classes with one each, one is minus the other."""

    @abstractmethod
    def pieces(self, step: int = 1) -> Iterator[Piece]:
        """Yield the rows that the predictor speaks for, or every so many of them, some at a time."""

    @abstractmethod
    def variance_of_sum(self, X: Array, weights: Array) -> float:
        """Return the variance of Σ_i w_i f(x_i), f a latent function."""

    @abstractmethod
    def pieces_at(self, X: Array) -> Iterator[Piece]:
        """Yield new rows with what the latent means are there; those that share a function come together."""

    @abstractmethod
    def with_expansion(self, points: Array, coefficients: Array, gain: Array) -> LatentPredictor:
        """Return the same labels for other sums over points: see :class:`LatentPredictor`."""

    def squared_slopes(self, weights: Array, step: int = 1) -> Array:
        """Return the mean over these rows, weighted, of the squared derivative of the latent mean in each input.

        Those of several latent means are added; ``step`` takes every so many rows only.
        """
        total: Array | float = 0.0
        size = 0.0
        for piece in self.pieces(step):
            own = weights[piece.numbers]
            size += float(own.sum())
            for column in piece.coefficients.reshape(len(piece.points), -1).T[: self.n_functions]:
                total = total + own @ self.kernel.slopes(piece.rows, piece.points, column) ** 2
        return np.asarray(total / size)

    def term_shares(self, weights: Array) -> dict[str, float]:
        """Return the share of each shape of functions in the latent mean, by its variance over these rows, weighted.

        The latent mean is a sum of parts f_s, one for each shape s, to which all of the kernel's terms of that shape
        contribute; the constant has no variance. The share of a shape is var f_s / Σ_r var f_r, its structural part in
        the variance of the sum (Li et al. 2010, J. Phys. Chem. A 114, 6022), normalised. Unlike cov(f_s, f)/var f it is
        never negative; the two are the same if the parts are uncorrelated. Variances of several latent means are added.
        """
        centre = weights / weights.sum()
        parts: dict[str, Array] = {}
        for term in self.kernel.terms:
            if term.shape != "constant":
                parts[term.shape] = parts.get(term.shape, 0.0) + self._latent_of(term, len(weights))
        variances = {shape: float((centre @ (part - centre @ part) ** 2).sum()) for shape, part in parts.items()}
        total = sum(variances.values())
        return {shape: v / total if total > 0.0 else 1.0 / len(parts) for shape, v in variances.items()}

    def _latent_of(self, term: Kernel, n: int) -> Array:
        """Return the part of a term in the latent means at these n rows, in columns."""
        parts = []
        places = np.empty(n, dtype=np.intp)
        done = 0
        for piece in self.pieces():
            places[piece.numbers] = np.arange(done, done + len(piece.rows))
            done += len(piece.rows)
            b = piece.coefficients.reshape(len(piece.points), -1)[:, : self.n_functions]
            parts.append(term.cross(piece.rows, piece.points) @ b)
        return np.concatenate(parts)[places]


class LabelPredictor(Predictor):
    """One process, and the likelihood of a label."""

    likelihood: WeightedLikelihood

    def log_label_probability(self, X_new: npt.ArrayLike) -> Array:
        """Return ln Q(y|x, D), columns y = -1, +1: the latent value is normal, so that its average is a ln Z."""
        return self.log_label_probability_of(*self.latent_mean_and_variance(X_new))

    def log_label_probability_of(self, mean: Array, variance: Array) -> Array:
        """Return the same from the moments of the latent value."""
        one = self.likelihood.unweighted(len(mean))
        columns = [one.tilted(mean, variance, np.full(len(mean), y)).value for y in (-1.0, 1.0)]
        return np.column_stack(columns) + self.likelihood.log_kappa

    def log_proba_of(self, mean: Array, variance: Array) -> Array:
        """Return ln Q normalised over the two labels, in columns."""
        return log_softmax(self.log_label_probability_of(mean, variance), axis=1)

    def scores_of(self, mean: Array) -> Array:
        return np.column_stack([-mean, mean])

    @property
    def n_functions(self) -> int:
        return 1

    def latent_in_log_odds(self, mean: Array, variance: Array) -> tuple[Array, Array]:
        """By 2C, from eq. (lh) with both slacks between the margins."""
        unit = 2.0 * self.likelihood.C
        return unit * mean, unit**2 * variance


class BasisPredictor(Predictor):
    """Processes that see of a row its values of some functions, the same ones wherever the row is: the basis.

    Its values take a large part of the time of a prediction, and several predictors may have the same basis.
    """

    @property
    @abstractmethod
    def basis_points(self) -> Array:
        """The points z_j that the basis follows from, with the kernel."""

    @abstractmethod
    def basis(self, X: Array) -> Array:
        """Return the values of the basis at the rows of X."""

    @abstractmethod
    def moments_of(self, X: Array, basis: Array) -> tuple[Array, Array]:
        """Return mean and variance at the rows of X from the values of the basis there."""

    @abstractmethod
    def mean_of(self, X: Array, basis: Array) -> Array:
        """Return the mean alone."""

    @abstractmethod
    def shares_basis(self, other: Predictor) -> bool:
        """Say whether another predictor has the same basis."""

    def _follows_from_same(self, other: BasisPredictor) -> bool:
        own, others = self.basis_points, other.basis_points
        return self.kernel == other.kernel and (own is others or np.array_equal(own, others))

    def latent_mean_and_variance(self, X_new: npt.ArrayLike) -> tuple[Array, Array]:
        """Return mean, of several processes in columns, and variance of the latent values, a block at a time."""
        X = check_inputs(X_new, "X_new")
        blocks = [self.moments_of(rows, self.basis(rows)) for rows in self._in_blocks(X)]
        return tuple(np.concatenate(part) for part in zip(*blocks, strict=True))  # type: ignore[return-value]

    def latent_mean(self, X_new: npt.ArrayLike) -> Array:
        X = check_inputs(X_new, "X_new")
        return np.concatenate([self.mean_of(rows, self.basis(rows)) for rows in self._in_blocks(X)])

    def _in_blocks(self, X: Array) -> Iterator[Array]:
        step = max(1, _BLOCK_NUMBERS // len(self.basis_points))
        for start in range(0, len(X), step):
            safe_point()
            yield X[start : start + step]

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields alone: what follows from them is there again when it is asked for."""
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class LatentPredictor(BasisPredictor):
    """Gaussian processes given data, as far as predictions need them: one, or several that share their covariance.

    Attributes
    ----------
    points : array of shape (m, d)
        Points z_j whose covariances k_j(x) = K(x, z_j) say all about x.
    coefficients : array of shape (m,) or (m, K)
        b: the latent mean is k(x)ᵀb.
    gain : array of shape (m, m) or (m, r)
        W, symmetric: the latent variance is K(x, x) - k(x)ᵀWk(x). Or F with few columns and FFᵀ ≈ W.
    kernel : Kernel
        The prior covariance function.
    """

    points: Array
    coefficients: Array
    gain: Array
    kernel: Kernel

    @property
    def basis_points(self) -> Array:
        return self.points

    def basis(self, X: Array) -> Array:
        """Return the covariances of the rows with the points."""
        return self.covariances(X)

    def shares_basis(self, other: Predictor) -> bool:
        return isinstance(other, LatentPredictor) and self._follows_from_same(other)

    @cached_property
    def covariances(self) -> Callable[[Array], Array]:
        """From rows to their covariances with the points."""
        return self.kernel.with_points(self.points)

    @cached_property
    def _explained(self) -> Callable[[Array], Array]:
        """From the rows k(x) of a matrix to k(x)ᵀWk(x)."""
        if self.gain.shape[1] == len(self.points):
            return QuadraticForm.of(self.gain)
        return self._by_factor

    def _by_factor(self, k: Array) -> Array:
        image = k @ self.gain
        return np.einsum("ij,ij->i", image, image)

    def moments_of(self, X: Array, basis: Array) -> tuple[Array, Array]:
        """Return k(x)ᵀb and K(x, x) - k(x)ᵀWk(x) (Rasmussen & Williams 2006, eqs. 3.60, 3.61)."""
        prior = self.kernel.diagonal(X)
        return basis @ self.coefficients, at_least_rounding(prior - self._explained(basis), prior)

    def mean_of(self, X: Array, basis: Array) -> Array:
        return basis @ self.coefficients

    def log_proba_of_few(self, X: Array) -> Array:
        k, whole = self.covariances(X), self.gain.shape[1] == len(self.points)
        prior = self.kernel.diagonal(X)
        explained = np.einsum("ij,ij->i", k @ self.gain, k) if whole else self._by_factor(k)
        return self.log_proba_of(k @ self.coefficients, at_least_rounding(prior - explained, prior))

    def with_expansion(self, points: Array, coefficients: Array, gain: Array) -> LatentPredictor:
        return replace(self, points=points, coefficients=coefficients, gain=gain)

    def pieces(self, step: int = 1) -> Iterator[Piece]:
        numbers = np.arange(0, len(self.points), step)
        done = 0
        for rows in self._in_blocks(self.points[numbers]):
            yield Piece(numbers[done : done + len(rows)], rows, self.points, self.coefficients)
            done += len(rows)

    def pieces_at(self, X: Array) -> Iterator[Piece]:
        yield Piece(np.arange(len(X)), X, self.points, self.coefficients)

    def variance_of_sum(self, X: Array, weights: Array) -> float:
        """Return wᵀKw - (wᵀk)W(wᵀk)ᵀ."""
        explained = self._explained((weights @ self.covariances(X))[None])
        prior = float(weights @ self.kernel.gram(X) @ weights)
        return max(prior - float(explained[0]), _LEAST_SHARE * prior)


@dataclass(frozen=True, eq=False)
class LocalPredictor(BasisPredictor):
    """The same where covariances are exact within blocks only: a new row is predicted with the block it falls into.

    Attributes
    ----------
    gaussian : LocalGaussian
        The processes at the rows of the table.
    dual : array of shape (n,) or (n, K)
        b = ν - τμ, which a row's own block is weighted by.
    weights : array of shape (m,) or (m, K)
        The mean of u, which features are weighted by.
    """

    gaussian: LocalGaussian
    dual: Array
    weights: Array

    @property
    def basis_points(self) -> Array:
        return self.gaussian.prior.features.inducing

    def basis(self, X: Array) -> Array:
        """Return the features of the rows, whatever blocks they fall into."""
        return self.gaussian.prior.features.at(X)

    def shares_basis(self, other: Predictor) -> bool:
        return isinstance(other, LocalPredictor) and self._follows_from_same(other)

    @cached_property
    def _mean_weights(self) -> MeanWeights:
        return self.gaussian.prior.mean_weights(self.dual, self.weights)

    def moments_of(self, X: Array, basis: Array) -> tuple[Array, Array]:
        mean, variance = self.gaussian.moments_at(X, basis, self._mean_weights)
        return mean, at_least_rounding(variance, self.kernel.diagonal(X))

    def mean_of(self, X: Array, basis: Array) -> Array:
        return self.gaussian.prior.means_at(X, basis, self._mean_weights)

    @property
    def kernel(self) -> Kernel:  # type: ignore[override]
        return self.gaussian.prior.kernel

    def pieces(self, step: int = 1) -> Iterator[Piece]:
        """Yield the rows of the table, block by block."""
        for numbers, rows, *expansion in self.gaussian.prior.expansions(self.dual, self.weights):
            yield Piece(numbers[::step], rows[::step], *expansion)

    def variance_of_sum(self, X: Array, weights: Array) -> float:
        return max(self.gaussian.variance_of_sum(X, weights), 0.0)

    def pieces_at(self, X: Array) -> Iterator[Piece]:
        for piece in self.gaussian.prior.expansions_at(X, self.dual, self.weights):
            yield Piece(*piece)


@dataclass(frozen=True, eq=False)
class GaussianPredictor(LatentPredictor, LabelPredictor):
    """A Gaussian process given data, and the likelihood of a label."""

    likelihood: WeightedLikelihood

    def with_expansion(self, points: Array, coefficients: Array, gain: Array) -> GaussianPredictor:
        return GaussianPredictor(points, coefficients, gain, self.kernel, self.likelihood.unweighted(1))


@dataclass(frozen=True, eq=False)
class LocalGaussianPredictor(LocalPredictor, LabelPredictor):
    """The same with blocks."""

    likelihood: WeightedLikelihood

    def with_expansion(self, points: Array, coefficients: Array, gain: Array) -> GaussianPredictor:
        return GaussianPredictor(points, coefficients, gain, self.kernel, self.likelihood.unweighted(1))


def at_least_rounding(variance: Array, prior: Array) -> Array:
    """Return variances, none below what rounding leaves of the prior's."""
    return np.maximum(variance, _LEAST_SHARE * prior)
