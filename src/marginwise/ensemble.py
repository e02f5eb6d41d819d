"""Tuned models that predict together: by the mean of their probabilities or by their votes, and with what weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.special import log_softmax

from marginwise._arrays import Array, Indices
from marginwise._summary import summary
from marginwise.inference.prediction import GaussianPosterior, LatentPredictor
from marginwise.many import EP, ClassPosterior, SoftmaxLink
from marginwise.model import Model
from marginwise.tuning import Tuning

#: Examples that the weights count as already seen, spread evenly over the rungs: few examples can't set a weight to 0.
_PSEUDO_COUNTS = 4.0

#: Part of the mean of all probabilities in a share of votes. It decides between equal votes, and no model has as little
#: weight, so that it never turns a majority.
_TIE_BREAK = 1e-6

_NONE: Array = np.empty(0)


@dataclass(frozen=True, eq=False)
class TunedModel:
    """A tuned model of an ensemble, and once it is trained what predictions need.

    Attributes
    ----------
    weight, spread : float
        Its weight in the ensemble, and the freedom that its length scales had.
    tuning : Tuning
        The search that found it.
    method : str
        How labels are predicted with it: by expectation propagation, or for more than two classes by least squares or
        the softmax likelihood.
    C : float or None
        In the place of that which was found, where the softmax likelihood has its own.
    link : SoftmaxLink or None
        What makes probabilities of several latent functions.
    beside : bool
        Whether it stands beside the others with a simpler kernel, whose terms tell nothing of the decision's shape.
    tau, nu : arrays of shape (n,)
        The sites of expectation propagation: with the kernel they are the posterior. Empty where it is of low rank.
    log_evidence : float
        ln Q(Y|X) by expectation propagation.
    inducing, coefficients, gain : arrays of shape (m, d), (m,), (m, m), or None
        Where the covariance is of low rank, its inducing inputs, and what predictions need beside them.
    """

    weight: float
    spread: float
    tuning: Tuning
    method: str = EP
    C: float | None = None
    tau: Array = field(default_factory=lambda: _NONE)
    nu: Array = field(default_factory=lambda: _NONE)
    log_evidence: float = np.nan
    inducing: Array | None = None
    coefficients: Array | None = None
    gain: Array | None = None
    link: SoftmaxLink | None = None
    beside: bool = False

    @property
    def hyperparameters(self) -> Model:
        """The hyperparameters found."""
        found = self.tuning.hyperparameters
        return found if self.C is None else found.with_C(self.C)

    def pruned(self) -> TunedModel:
        """Return the model without terms of its kernel that carry nothing."""
        return replace(self, tuning=replace(self.tuning, hyperparameters=self.tuning.hyperparameters.pruned()))

    def trained(self, posterior: GaussianPosterior) -> TunedModel:
        """Return the model with what predictions need of its posterior."""
        evidence = np.nan if posterior.log_evidence is None else posterior.log_evidence
        if posterior.problem.inducing is None:
            return replace(self, tau=posterior.sites.tau, nu=posterior.sites.nu, log_evidence=evidence)
        p = posterior.predictor
        assert isinstance(p, LatentPredictor)
        return replace(self, log_evidence=evidence, inducing=p.points, coefficients=p.coefficients, gain=p.gain)

    def trained_classes(self, posterior: ClassPosterior) -> TunedModel:
        """Return the same for several latent functions."""
        link = posterior.fitted_link()
        if posterior.problem.inducing is None:
            return replace(self, link=link)
        p = posterior.predictor
        assert isinstance(p, LatentPredictor)
        return replace(self, link=link, inducing=p.points, coefficients=p.coefficients, gain=p.gain)

    def __repr__(self) -> str:
        return summary(self, "weight", "spread", "hyperparameters", "log_evidence", "inducing")


def main_of(models: Sequence[TunedModel]) -> TunedModel:
    """Return the model with the largest weight, of those with the whole kernel if there are any."""
    return max(models, key=lambda model: (not model.beside, model.weight))


@dataclass(frozen=True, eq=False)
class Ensemble:
    """Tuned models with weights that sum to 1.

    ``held_out`` is the ensemble's probability for the label of each example, or where these are more than two for each
    class, from folds without it; None if there were no folds.
    """

    models: tuple[TunedModel, ...]
    held_out: Array | None

    __repr__ = summary

    @property
    def main(self) -> TunedModel:
        """The model that stands for all."""
        return main_of(self.models)


@dataclass(frozen=True, eq=False)
class Vote:
    """Each model gives its weight to the class that it holds for the most probable one.

    Attributes
    ----------
    importance : array of shape (n_classes,)
        c: a class counts as c_k p_k, and models vote with that in mind.
    """

    importance: Array

    __repr__ = summary

    def log_shares(self, log_proba: Array, weights: Array) -> Array:
        """Return the logarithm of each class's share of the votes, shape (n, n_classes).

        From the models' log-probabilities, shape (n_models, n, n_classes). Shares contain a little of the mean of all
        probabilities, so that equal votes are decided by it and logarithms are finite.
        """
        logs = log_softmax(log_proba + np.log(self.importance / self.importance.max()), axis=2)
        ballots = np.zeros_like(logs)
        np.put_along_axis(ballots, logs.argmax(axis=2)[:, :, None], 1.0, axis=2)
        mixed = (1.0 - _TIE_BREAK) * ballots + _TIE_BREAK * np.maximum(np.exp(logs), np.finfo(float).tiny)
        return np.asarray(np.log(np.tensordot(weights, mixed, axes=1)))

    def held_out(self, probability: Array, weights: Array, labels: Indices) -> Array:
        """Return the share of each class, or for two classes that of the label, for examples held out.

        ``probability`` is what models say of each class, shape (n_models, n, n_classes), or of the label,
        (n_models, n).
        """
        if probability.ndim == 3:
            return np.exp(self.log_shares(_log(probability), weights))
        second = np.where(labels == 1, probability, 1.0 - probability)
        columns = np.stack([1.0 - second, second], axis=2)
        return np.exp(self.log_shares(_log(columns), weights))[np.arange(len(labels)), labels]


def stacking_weights(probabilities: Array, example_weights: Array, *, n_iterations: int = 300) -> Array:
    """Return the convex weights under which the examples' labels are most probable; columns are the models.

    Maximises Σ_i w_i ln(p_i·q) + (c/m) Σ_k ln q_k, c pseudo-counts over m models, which is concave: each step of the
    EM algorithm increases it.
    """
    m = probabilities.shape[1]
    weights = np.full(m, 1.0 / m)
    total = float(example_weights.sum()) + _PSEUDO_COUNTS
    for _ in range(n_iterations):
        share = probabilities * weights
        share /= share.sum(axis=1, keepdims=True)
        weights = (example_weights @ share + _PSEUDO_COUNTS / m) / total
    return weights


def _log(probability: Array) -> Array:
    return np.log(np.maximum(probability, np.finfo(float).tiny))
