"""The evidence of the classifiers of previous work, as criteria: what table (prevresults) of the paper compares with.

Seeger (2000), Bayesian model selection for support vector machines, Gaussian processes and other kernel classifiers;
Opper & Winther (2000), Gaussian processes for classification: mean field algorithms.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import cho_solve, cholesky, solve_triangular
from scipy.special import expit, log_expit

from marginwise._arrays import Array
from marginwise.criteria.base import Criterion, Evaluation
from marginwise.inference.sites import site_posterior
from marginwise.likelihoods.base import Likelihood
from marginwise.likelihoods.classifiers import Logistic
from marginwise.model import Model
from marginwise.problem import Problem
from marginwise.status import CONVERGED, Status

#: Newton's method on the mode: it ends when no latent value moves by more than this, and gives up after so many steps.
_MOVE, _STEPS = 1e-9, 100

#: Shortest part of a Newton step that is tried, and by how much rounding may lower the objective.
_SHORTEST, _ROUNDING = 1e-6, 1e-12


class ClassifierEvidence(Criterion):
    """The evidence of a classifier that can also predict; C is kept at 1."""

    direction = "maximise"
    any_likelihood = True
    smooth = True
    scale_free = True  # in the sense that a search keeps C at 1

    @abstractmethod
    def probability(self, problem: Problem, model: Model, X_new: Array) -> Array:
        """Return the probability of label +1 at new points."""


class SiteEvidence(ClassifierEvidence):
    """The normalised log evidence, or a bound on it, of a posterior by sites.

    With a logistic or probit likelihood nothing depends on C. With a slack it is the SVM's likelihood at C = 1,
    to which Seeger's approach effectively fixes it (section results_gradient_ascent).

    Parameters
    ----------
    method : str
        "ep" or "variational".
    likelihood : Likelihood or str
    """

    name = "site-evidence"
    equation = "eq. (pyx1) by expectation propagation (Minka 2001) or bounded from below (Seeger 2000)"

    def __init__(self, method: str, likelihood: Likelihood | str) -> None:
        super().__init__(likelihood)
        self.method = method

    def evaluate(self, problem: Problem, model: Model, state: Any = None, *, with_gradient: bool = True) -> Evaluation:
        """Return the evidence and its gradient, which costs next to nothing."""
        found = site_posterior(problem, model, self.likelihood, self.method, start=state)
        assert found.log_evidence is not None
        return Evaluation(found.log_evidence / problem.weights.sum(), found.gradient, found.status, found.sites)

    def probability(self, problem: Problem, model: Model, X_new: Array) -> Array:
        """Return the probability of label +1 at new points."""
        found = site_posterior(problem, model, self.likelihood, self.method)
        found.status.require()
        return found.predict_proba(X_new)[:, 1]


class LaplaceGPEvidence(ClassifierEvidence):
    """The Laplace approximation to the evidence of a Gaussian process classifier with the logistic likelihood.

    ln Q(Y|X) ≈ ln p(y|f̂) - ½ f̂ᵀK⁻¹f̂ - ½ ln |I + W^½KW^½|, f̂ the mode and W = -∇∇ ln p(y|f̂). For weights of one.
    """

    name = "gp-laplace-evidence"
    equation = "Rasmussen & Williams (2006), eq. 3.32 and algorithms 3.1, 3.2, 5.1"

    def __init__(self) -> None:
        super().__init__(Logistic())

    def evaluate(self, problem: Problem, model: Model, state: Any = None, *, with_gradient: bool = True) -> Evaluation:
        """Return the evidence and its gradient, the mode sought from the last one."""
        covariance = problem.dense_covariance(model)
        mode = _find_mode(covariance.gram, problem.y, state)
        gradient = None
        if with_gradient:
            by_kernel = covariance.contract(mode.gram_cotangent(covariance.gram))
            gradient = np.concatenate([[0.0], by_kernel]) / problem.n
        return Evaluation(mode.log_evidence() / problem.n, gradient, mode.status, mode.latent)

    def probability(self, problem: Problem, model: Model, X_new: Array) -> Array:
        """Return the probability of label +1, the logistic function averaged over the normal latent value."""
        mode = _find_mode(problem.dense_covariance(model).gram, problem.y, None)
        mode.status.require()
        k = model.kernel.cross(problem.X, X_new)
        mean = k.T @ mode.dual
        explained = solve_triangular(mode.factor, mode.root[:, None] * k, lower=True)
        variance = model.kernel.diagonal(X_new) - np.einsum("ij,ij->j", explained, explained)
        logistic = Logistic().weighted(1.0, np.ones(len(X_new)))
        return np.exp(logistic.tilted(mean, np.maximum(variance, 1e-12), np.ones(len(X_new))).value)


@dataclass(frozen=True, eq=False)
class _Mode:
    """The maximum f̂ of the posterior, a = K⁻¹f̂ = ∇ ln p(y|f̂), W^½, and the factor L of B = I + W^½KW^½ = LLᵀ."""

    latent: Array
    dual: Array
    root: Array
    factor: Array
    y: Array
    status: Status = CONVERGED

    def log_evidence(self) -> float:
        return _objective(self.latent, self.dual, self.y) - float(np.log(self.factor.diagonal()).sum())

    def gram_cotangent(self, gram: Array) -> Array:
        """Return ∂ln Q/∂K = ½(aaᵀ - R) + sym(v aᵀ), R = (K + W⁻¹)⁻¹ = W^½B⁻¹W^½, v = (I + WK)⁻¹s.

        s = ½ diag(Σ) ∇³ln p, Σ = K - KRK, is how the determinant changes with the mode, which moves by (I + KW)⁻¹ dK a
        (Rasmussen & Williams, eqs. 5.21 to 5.24).
        """
        explained = solve_triangular(self.factor, self.root[:, None] * gram, lower=True)
        variance = gram.diagonal() - np.einsum("ij,ij->j", explained, explained)
        right, wrong = expit(self.latent), expit(-self.latent)
        s = 0.5 * variance * right * wrong * (right - wrong)
        R = self.root[:, None] * cho_solve((self.factor, True), np.diag(self.root))
        v = s - R @ (gram @ s)
        half = 0.5 * np.outer(v, self.dual)
        return 0.5 * (np.outer(self.dual, self.dual) - R) + half + half.T


def _find_mode(gram: Array, y: Array, start: Array | None) -> _Mode:
    """Maximise ln p(y|f) - ½ fᵀK⁻¹f, which is concave, by Newton's method; a step that would lower it is halved."""
    latent = np.zeros(len(y)) if start is None else start
    dual, best = np.zeros(len(y)), -np.inf  # of no account before the first step, which is taken whole
    for _ in range(_STEPS):
        curvature = expit(latent) * expit(-latent)
        root = np.sqrt(curvature)
        factor = cholesky(np.eye(len(y)) + root[:, None] * gram * root, lower=True)
        b = curvature * latent + y * expit(-y * latent)
        aim = b - root * cho_solve((factor, True), root * (gram @ b))
        step, dual_step = gram @ aim - latent, aim - dual
        part, value = 1.0, _objective(latent + step, dual + dual_step, y)
        while value < best - _ROUNDING * abs(best) and part > _SHORTEST:
            part *= 0.5
            value = _objective(latent + part * step, dual + part * dual_step, y)
        latent, dual, best = latent + part * step, dual + part * dual_step, value
        if float(np.abs(step).max()) <= _MOVE * (1.0 + float(np.abs(latent).max())):
            return _Mode(latent, dual, root, factor, y)
    return _Mode(latent, dual, root, factor, y, Status(False, f"the mode was not found in {_STEPS} Newton steps"))


def _objective(latent: Array, dual: Array, y: Array) -> float:
    """Return ln p(y|f) - ½ fᵀK⁻¹f; ``dual`` is K⁻¹f."""
    return float(log_expit(y * latent).sum()) - 0.5 * float(latent @ dual)
