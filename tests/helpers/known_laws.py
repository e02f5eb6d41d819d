"""Posteriors that are known exactly: by quadrature over few latent values, and by an integral over one number."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import log_ndtr, logsumexp

from marginwise.hyperparameters import Hyperparameters
from marginwise.inference.sampling.sampler import Target
from marginwise.likelihoods import Slack
from marginwise.model import Model
from marginwise.problem import Problem, as_problem


def few(n: int, *, seed: int = 0, weighted: bool = False) -> Problem:
    """A problem of ``n`` examples and two inputs, with labels of both signs."""
    rng = np.random.default_rng(seed)
    weights = rng.uniform(0.5, 2.0, size=n) if weighted else None
    return as_problem(rng.normal(size=(n, 2)), [1.0, -1.0, 1.0, 1.0][:n], weights)


@dataclass(frozen=True, eq=False)
class KnownTarget(Target):
    """A target with its Gram matrix at hand."""

    gram: np.ndarray


def target_of(problem: Problem, h: Hyperparameters, slack: Slack) -> KnownTarget:
    """The posterior of a problem."""
    return KnownTarget(problem.y, problem.penalties(h.C), slack, h.kernel.gram(problem.X))


@dataclass(frozen=True, eq=False)
class Quadrature:
    """The posterior as weighted points: latent values of shape (n, points), probabilities, and the log evidence."""

    latent: np.ndarray
    probability: np.ndarray
    log_evidence: float

    def mean(self, values: np.ndarray) -> np.ndarray:
        """Posterior mean of a function given at the points (last axis)."""
        return values @ self.probability


def quadrature(problem: Problem, h: Model, slack: Slack) -> Quadrature:
    """Integrate over all latent values of a problem with n ≤ 3.

    Each is integrated by Gauss and Legendre's rule on both sides of its kink, so that the integrand is smooth there
    and the error that of rounding.
    """
    n, K = problem.n, h.kernel.gram(problem.X)
    x, w = np.polynomial.legendre.leggauss({1: 200, 2: 100, 3: 36}[n])
    nodes, weights = [], []
    for y, sd in zip(problem.y, np.sqrt(np.diag(K)), strict=True):
        low, high = -8.0 * sd, 8.0 * sd
        assert low < y < high
        nodes.append(np.concatenate([low + (y - low) * (x + 1) / 2, y + (high - y) * (x + 1) / 2]))
        weights.append(np.concatenate([w * (y - low) / 2, w * (high - y) / 2]))
    latent = np.stack([g.ravel() for g in np.meshgrid(*nodes, indexing="ij")])
    log_rule = sum(np.log(g.ravel()) for g in np.meshgrid(*weights, indexing="ij"))
    L = np.linalg.cholesky(K)
    z = np.linalg.solve(L, latent)
    log_weight = log_rule - 0.5 * np.einsum("ij,ij->j", z, z)
    log_weight -= problem.penalties(h.C) @ slack.loss(problem.y[:, None] * latent)
    total = logsumexp(log_weight)
    log_evidence = total - np.log(np.diag(L)).sum() - 0.5 * n * np.log(2 * np.pi)
    log_evidence += problem.weights.sum() * slack.log_kappa(h.C)
    return Quadrature(latent, np.exp(log_weight - total), float(log_evidence))


def exact_draws(problem: Problem, h: Hyperparameters, slack: Slack, rng: np.random.Generator, size: int) -> np.ndarray:
    """Independent draws from the posterior, shape (n, size): prior draws kept with the likelihood's probability."""
    L = np.linalg.cholesky(h.kernel.gram(problem.X))
    kept: list[np.ndarray] = []
    while sum(block.shape[1] for block in kept) < size:
        latent = L @ rng.normal(size=(problem.n, size))
        loss = problem.penalties(h.C) @ slack.loss(problem.y[:, None] * latent)
        kept.append(latent[:, rng.random(size) < np.exp(-loss)])
    return np.concatenate(kept, axis=1)[:, :size].copy()


def quadrature_gradient(problem: Problem, h: Model, slack: Slack, step: float = 1e-4) -> np.ndarray:
    """Central differences of ln Q(Y|X)/n by quadrature; n is the sum of the weights."""
    logs = h.to_vector()
    slopes = []
    for k in range(len(logs)):
        move = np.zeros(len(logs))
        move[k] = step
        up, down = (quadrature(problem, h.with_vector(logs + s * move), slack) for s in (1, -1))
        slopes.append((up.log_evidence - down.log_evidence) / (2 * step))
    return np.array(slopes) / problem.weights.sum()


def scattered(n: int, *, seed: int = 0) -> Problem:
    """Examples so far apart for length scales below 0.1 that K = k0 I + koff 11ᵀ; labels of both signs."""
    rng = np.random.default_rng(seed)
    return as_problem(np.arange(n)[:, None] + np.zeros((n, 2)), np.where(rng.random(n) < 0.6, 1.0, -1.0))


def scattered_log_evidence(problem: Problem, h: Hyperparameters, slack: Slack) -> float:
    """ln Q(Y|X) of scattered examples: an integral over the common offset, of products of closed-form integrals."""
    offset = np.linspace(-9.0, 9.0, 4001)
    values = -0.5 * offset**2 - 0.5 * np.log(2 * np.pi)
    for label in (-1.0, 1.0):
        count = problem.weights[problem.y == label].sum()
        mean = label * np.sqrt(h.koff) * offset
        values = values + count * _log_normaliser(mean, h.k0, h.C, slack)
    integral = logsumexp(values) + np.log(offset[1] - offset[0])
    return float(integral + problem.weights.sum() * slack.log_kappa(h.C))


def scattered_gradient(problem: Problem, h: Hyperparameters, slack: Slack, step: float = 1e-4) -> np.ndarray:
    """Derivatives of ln Q(Y|X)/n by log C, log k0 and log koff."""
    logs = h.to_vector()
    slopes = []
    for k in range(3):
        move = np.zeros(len(logs))
        move[k] = step
        up, down = (
            scattered_log_evidence(problem, Hyperparameters.from_vector(logs + s * move), slack) for s in (1, -1)
        )
        slopes.append((up - down) / (2 * step))
    return np.array(slopes) / problem.weights.sum()


def _log_normaliser(m: np.ndarray, v: float, C: float, slack: Slack) -> np.ndarray:
    """ln ∫ N(f; m, v) exp[-C l_p(f)] df, as the sum of the two sides of the margin."""
    s = np.sqrt(v)
    beyond = log_ndtr((m - 1) / s)
    if slack.power == 1:
        inside = -C * (1 - m) + 0.5 * C**2 * v + log_ndtr((1 - m - C * v) / s)
    else:
        w = 1 + C * v
        inside = -0.5 * np.log(w) - 0.5 * C * (1 - m) ** 2 / w + log_ndtr((1 - (m + C * v) / w) / (s / np.sqrt(w)))
    return np.logaddexp(beyond, inside)
