"""Many classes by pairs: an SVM for each two classes, all with one kernel; their votes, and probabilities coupled."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, log_expit

from marginwise._arrays import Array, Indices
from marginwise._summary import summary
from marginwise.covariance.dense import DenseCovariance
from marginwise.covariance.low_rank import LowRankCovariance
from marginwise.kernels.base import Kernel
from marginwise.likelihoods.slack import Slack
from marginwise.model import Model
from marginwise.problem import Problem
from marginwise.row_hash import group_ids, repeats_of
from marginwise.svm.api import MAX_MEMORY, solve_svm, svm_covariance
from marginwise.svm.base import Solution

#: Numbers in the largest array of a block of rows: 64 MB.
_BLOCK_NUMBERS = 2**23


@dataclass(frozen=True, eq=False)
class PairMachines:
    """SVMs of all pairs of classes (i, j), i < j, in the order (0, 1), (0, 2), …, (1, 2), …; positive speaks for j.

    Build them with :func:`train_pairs`.

    Attributes
    ----------
    n_classes : int
    kernel : Kernel
        That of all pairs.
    points : array of shape (m, d)
        What the latent functions are sums over: the support vectors of any pair, class by class, or inducing inputs.
    coefficients : array of shape (n_classes - 1, m), or (n_pairs, m) for inducing inputs
        Column of a support vector of class k: its y_i α_i in the pairs of k with each other class, in order. No more,
        because a row of class k is in no other pair: the layout of ``SVC.dual_coef_``.
    support : array of int
        Numbers of the support vectors among the training rows, class by class.
    n_support : array of shape (n_classes,) or None
        How many of each class; None where the points are inducing inputs.
    """

    n_classes: int
    kernel: Kernel
    points: Array
    coefficients: Array
    support: Indices
    n_support: Indices | None

    __repr__ = summary

    @property
    def one_pair(self) -> bool:
        """Whether there are two classes, so that one latent function says it all: no votes, nothing to couple."""
        return self.n_classes == 2

    def latent(self, X: Array) -> Array:
        """Return the latent function of each pair, shape (n, n_pairs), from one cross-Gram matrix."""
        cross = self.kernel.cross(X, self.points)
        if self.n_support is None:
            return cross @ self.coefficients.T
        parts = np.zeros((len(X), self.n_classes, self.n_classes))  # [:, k, l]: rows of k, in the pair of k and l
        ends = np.cumsum(self.n_support)
        for k, (start, end) in enumerate(zip(ends - self.n_support, ends, strict=True)):
            part = cross[:, start:end] @ self.coefficients[:, start:end].T
            parts[:, k, :k], parts[:, k, k + 1 :] = part[:, :k], part[:, k:]
        first, second = pairs_of(self.n_classes)
        return parts[:, first, second] + parts[:, second, first]

    def coefficients_by_pair(self) -> Array:
        """Return the coefficient of each point in the latent function of each pair, shape (m, n_pairs)."""
        if self.n_support is None:
            return np.ascontiguousarray(self.coefficients.T)
        own = np.repeat(np.arange(self.n_classes), self.n_support)
        first, second = (side[None] for side in pairs_of(self.n_classes))
        table, rows = self.coefficients.T, np.arange(len(own))[:, None]
        as_first, as_second = (own[:, None] == side for side in (first, second))
        return np.where(as_first, table[rows, second - 1], np.where(as_second, table[rows, first], 0.0))

    def log_proba(self, X: Array, C: float, slack: Slack) -> Array:
        """Return logarithms of class probabilities: the pairs' from eq. (lh), normalised over two labels, coupled."""
        latent = self.latent(X)
        log_odds = C * (slack.loss(-latent) - slack.loss(latent))
        if self.one_pair:
            return log_expit(np.column_stack([-log_odds, log_odds]))
        p = couple(expit(log_odds), self.n_classes)
        return np.log(np.maximum(p, np.finfo(float).tiny))

    def decision(self, X: Array) -> Array:
        """Return the latent function of two classes, a column, or :func:`votes` of those of all pairs."""
        return self.latent(X) if self.one_pair else self._votes(X)

    def _votes(self, X: Array) -> Array:
        """Return :func:`votes`, in blocks of rows that bound the memory."""
        step = max(1, _BLOCK_NUMBERS // max(len(self.points), self.n_classes**2))
        blocks = [X[start : start + step] for start in range(0, len(X), step)]
        return np.vstack([votes(self.latent(rows), self.n_classes) for rows in blocks])


def train_pairs(
    X: Array,
    codes: Indices,
    n_classes: int,
    weights: Array,
    model: Model,
    slack: Slack,
    *,
    inducing: Array | None = None,
) -> tuple[PairMachines, list[Solution]]:
    """Train the SVM of each pair of classes; return the machines, and the solution of each pair on its own rows.

    Where the Gram matrix of all rows fits into memory it is computed once for all pairs.

    Parameters
    ----------
    X, codes, n_classes, weights
        Inputs, class numbers below ``n_classes``, and positive weights; each class has at least one row.
    model, slack
        Kernel, C and slack of all pairs.
    inducing : array of shape (m, d), optional
        Inducing inputs that all pairs share, for tables with many rows.
    """
    fits = inducing is None and 8 * len(X) ** 2 <= MAX_MEMORY
    covariance = DenseCovariance.of(model.kernel, X) if fits else None
    repeats = repeats_of(group_ids(X), codes) if inducing is None else None
    by_class = [np.flatnonzero(codes == k) for k in range(n_classes)]
    table = np.zeros((n_classes - 1, len(X)))
    solutions, by_inducing = [], []
    for i, j in zip(*pairs_of(n_classes), strict=True):
        rows = np.sort(np.concatenate([by_class[i], by_class[j]]))
        is_second = codes[rows] == j
        problem = Problem(X[rows], np.where(is_second, 1.0, -1.0), weights[rows], inducing)
        own = svm_covariance(problem, model) if covariance is None else covariance.principal(rows)
        groups = None if repeats is None else np.unique(repeats[rows], return_inverse=True)[1]
        solution = solve_svm(own, problem.y, problem.penalties(model.C), slack, repeats=groups)
        solutions.append(solution)
        signed = problem.y * solution.alpha
        table[np.where(is_second, i, j - 1), rows] = signed
        if isinstance(own, LowRankCovariance):
            by_inducing.append(own.expansion(signed)[1])
    support = np.concatenate([rows[table[:, rows].any(axis=0)] for rows in by_class])
    if inducing is not None:
        return PairMachines(n_classes, model.kernel, inducing, np.array(by_inducing), support, None), solutions
    n_support = np.bincount(codes[support], minlength=n_classes)
    return PairMachines(n_classes, model.kernel, X[support], table[:, support], support, n_support), solutions


def pairs_of(n_classes: int) -> tuple[Indices, Indices]:
    """Return the first and the second class of each pair."""
    return np.triu_indices(n_classes, 1)


def votes(latent: Array, n_classes: int) -> Array:
    """Return how many pairs each class wins, shape (n, n_classes), and less than 1/2 more or less for how clearly.

    The sum c of a class's latent values breaks ties between votes as c/(3(|c| + 1)), which never turns a majority: the
    decision values of scikit-learn's classifiers by pairs (``sklearn.multiclass.OneVsOneClassifier``).
    """
    first, second = pairs_of(n_classes)
    values = np.zeros((len(latent), n_classes, n_classes))
    values[:, first, second] = latent > 0.0
    values[:, second, first] = latent <= 0.0
    won = values.sum(axis=1)
    values[:, first, second], values[:, second, first] = latent, -latent
    confidence = values.sum(axis=1)
    return won + confidence / (3.0 * (np.abs(confidence) + 1.0))


def couple(second: Array, n_classes: int) -> Array:
    """Return class probabilities, shape (n, n_classes), from those of the second class of each pair, (n, n_pairs).

    With r_ij the probability of i among i and j, they minimise Σ_i Σ_j≠i (r_ji p_i - r_ij p_j)² = 2 pᵀQp under
    Σ_i p_i = 1 (Wu, Lin & Weng 2004, eq. 21: their second method), where Q_ii = Σ_j r_ji² and Q_ij = -r_ij r_ji.
    Adding eeᵀ to Q adds a constant to pᵀQp and makes it positive definite, even where some r_ij are 0 or 1: if
    r_ji v_i = r_ij v_j for all pairs, all entries of v have the same sign, so that v is not perpendicular to e. So
    p is proportional to (Q + eeᵀ)⁻¹e.
    """
    step = max(1, _BLOCK_NUMBERS // n_classes**2)
    blocks = [second[start : start + step] for start in range(0, len(second), step)]
    return np.vstack([_coupled(rows, n_classes) for rows in blocks])


def _coupled(second: Array, n_classes: int) -> Array:
    i, j = pairs_of(n_classes)
    r = np.zeros((len(second), n_classes, n_classes))
    r[:, i, j], r[:, j, i] = 1.0 - second, second
    Q = 1.0 - r * r.transpose(0, 2, 1)
    diagonal = np.arange(n_classes)
    Q[:, diagonal, diagonal] += np.einsum("nji,nji->ni", r, r)
    p = np.maximum(np.linalg.solve(Q, np.ones((1, n_classes, 1)))[:, :, 0], 0.0)  # never negative but for rounding
    return p / p.sum(axis=1, keepdims=True)
