"""The model behind TunedSVC where classes are more than two: one kernel, and a latent function for each class."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy.special import log_expit, log_softmax, logsumexp

from marginwise._arrays import Array, Indices
from marginwise._summary import summary
from marginwise.ensemble import TunedModel, Vote
from marginwise.estimators._binary import BinaryModel
from marginwise.estimators._pairs import PairMachines, couple, train_pairs
from marginwise.estimators._stack import Stack
from marginwise.inference.reduction import reduced
from marginwise.likelihoods import Slack
from marginwise.many import LEAST_SQUARES, METHODS, ClassPredictor
from marginwise.model import Model
from marginwise.problem import ClassProblem

#: Distance between the two largest scores, in units of the largest, below which only probabilities decide.
_TIE = 1e-9

#: C of the SVMs of pairs in units of that of least squares, by slack.
_SVM_C = {"linear": 4.0, "quadratic": 1.0}


@dataclass(frozen=True, eq=False)
class ClassModel(Stack):
    """A stack of tuned models on one problem of several classes.

    Attributes
    ----------
    X, y, sample_weight : arrays
        The training examples as the model sees them, ``y`` their class numbers; where rows are many, those that it was
        tuned on.
    shares : array of shape (n_classes,)
        The share of each class in the weights of all training examples.
    slack : Slack
        That of the SVMs.
    members : tuple of TunedModel
        Tuned models with their weights: by least squares, or with the softmax likelihood.
    held_out : array of shape (n, n_classes)
        Class probabilities of each training example, from models without it.
    warnings : tuple of str
        What a user should know of the searches.
    svm_weights : array
        Weights of the examples in the SVMs.
    vote : Vote or None
        How members vote; None if their probabilities are averaged.
    """

    X: Array
    y: Array
    sample_weight: Array
    shares: Array
    slack: Slack
    members: tuple[TunedModel, ...]
    held_out: Array
    warnings: tuple[str, ...]
    svm_weights: Array
    vote: Vote | None = None

    def __repr__(self) -> str:
        return summary(self, "X", "shares", "members")

    @property
    def problem(self) -> ClassProblem:
        """The training examples."""
        return ClassProblem(self.X, self.y, self.sample_weight, n_classes=len(self.shares))

    @cached_property
    def predictors(self) -> tuple[ClassPredictor, ...]:
        """The latent functions of each member, as far as predictions need them."""
        return tuple(self._reduced(member) for member in self.members)

    def _reduced(self, member: TunedModel) -> ClassPredictor:
        latent, link = self._predictor(member), member.link
        assert link is not None
        return reduced(latent, lambda mean, v: np.exp(link.log_proba(mean + latent.offset, latent.unit * v)))

    def _predictor(self, member: TunedModel) -> ClassPredictor:
        h = member.hyperparameters
        if member.inducing is None or member.coefficients is None or member.gain is None:
            predictor = METHODS[member.method](self.problem, h).predictor
            assert isinstance(predictor, ClassPredictor)
            return predictor
        offset = 2.0 * self.shares if member.method == LEAST_SQUARES else np.zeros(len(self.shares))
        return ClassPredictor(member.inducing, member.coefficients, member.gain, h.kernel, offset, h.C)

    def log_proba(self, X: Array, predictor: str) -> Array:
        """Return the logarithms of the class probabilities, shape (n, n_classes)."""
        if predictor == "svm":
            return self._svm_log_proba(X)
        logs = []
        for member, (latent, cross) in zip(self.members, self._crosses(X), strict=True):
            assert member.link is not None
            logs.append(member.link.log_proba(*latent.moments(X, cross)))
        if self.vote is not None:
            return self.vote.log_shares(np.array(logs), self.weights)
        return logs[0] if len(logs) == 1 else logsumexp(logs, axis=0, b=self.weights[:, None, None])

    def _crosses(self, X: Array) -> Iterator[tuple[ClassPredictor, Array]]:
        """Yield each member's latent functions and K(x, z): one matrix for members with the same kernel, one by one."""
        before: ClassPredictor | None = None
        cross = np.empty(0)
        for latent in self.predictors:
            if before is None or latent.kernel != before.kernel or latent.points.shape != before.points.shape:
                cross = latent.kernel.cross(X, latent.points)
            before = latent
            yield latent, cross

    def decision(self, X: Array, predictor: str) -> Array:
        """Return the log-probabilities, or for the SVMs the pairs that each class wins."""
        return self.svm.decision(X) if predictor == "svm" else self.log_proba(X, predictor)

    def best(self, X: Array) -> Indices:
        """Return the number of the most probable class; -1 where latent means alone do not tell.

        The largest mean is that of the most probable class in each member, and if all agree in their average.
        """
        agreed = np.full(len(X), -1)
        for number, (latent, cross) in enumerate(self._crosses(X)):
            scores = cross @ latent.coefficients + latent.offset
            top = np.partition(scores, -2, axis=1)[:, -2:]
            clear = top[:, 1] - top[:, 0] > _TIE * np.abs(scores).max(axis=1)
            best = scores.argmax(axis=1)
            agreed = np.where(clear & ((number == 0) | (agreed == best)), best, -1)
        return agreed

    def latent(self, X: Array) -> tuple[Array, Array]:
        """Return mean and variance of the latent functions under the mixture of the members, shape (n, n_classes)."""
        moments = [latent.moments(X) for latent in self.predictors]
        means = np.array([m.mean for m in moments])
        variances = np.array([m.variance[:, None] for m in moments])
        mean = np.tensordot(self.weights, means, axes=1)
        return mean, np.tensordot(self.weights, variances + (means - mean) ** 2, axes=1)

    @cached_property
    def svm(self) -> PairMachines:
        """The SVM of each two classes, trained when it is asked for, on the examples that are held."""
        problem, h = self.problem, self.main.hyperparameters
        model = Model(_SVM_C[self.slack.name] * self.main.tuning.hyperparameters.C, h.kernel)
        machines, solutions = train_pairs(
            problem.X, problem.labels, problem.n_classes, self.svm_weights, model, self.slack
        )
        for solution in solutions:
            solution.status.warn()
        return machines

    def _svm_log_proba(self, X: Array) -> Array:
        """Return coupled probabilities of the pairs, each from eq. (lh) normalised over its two labels."""
        latent = self.svm.latent(X)
        C = _SVM_C[self.slack.name] * self.main.tuning.hyperparameters.C
        log_odds = C * (self.slack.loss(-latent) - self.slack.loss(latent))
        p = couple(np.exp(log_expit(log_odds)), len(self.shares))
        return np.log(np.maximum(p, np.finfo(float).tiny))


@dataclass(frozen=True, eq=False)
class OneAgainstRest:
    """The model that files of earlier versions hold: a two-class model for each class against the rest."""

    parts: tuple[BinaryModel, ...]

    #: There were no votes then.
    vote: ClassVar[None] = None

    def log_proba(self, X: Array, predictor: str) -> Array:
        """Return the logarithms of the class probabilities: those of the parts, normalised."""
        return log_softmax(log_expit(np.column_stack([part.log_odds(X, predictor) for part in self.parts])), axis=1)

    def decision(self, X: Array, predictor: str) -> Array:
        """Return the log-odds of each class against the rest, or the latent functions of the SVMs."""
        return np.column_stack([part.decision(X, predictor) for part in self.parts])

    def best(self, X: Array) -> Indices:
        """Return -1: probabilities decide."""
        return np.full(len(X), -1)

    def latent(self, X: Array) -> tuple[Array, Array]:
        """Return mean and variance of the latent function of each part."""
        moments = [part.latent(X) for part in self.parts]
        return np.column_stack([m for m, _ in moments]), np.column_stack([v for _, v in moments])

    @property
    def X(self) -> Array:
        """The training inputs."""
        return self.parts[0].X

    @property
    def problem(self) -> ClassProblem:
        """The training examples."""
        codes = np.argmax([part.y for part in self.parts], axis=0).astype(float)
        return ClassProblem(self.X, codes, self.parts[0].sample_weight, n_classes=len(self.parts))

    @property
    def slack(self) -> Slack:
        """That of all parts."""
        return self.parts[0].slack

    @property
    def main(self) -> TunedModel:
        """The main member of the first part."""
        return self.parts[0].main

    @property
    def members(self) -> tuple[TunedModel, ...]:
        """Those of all parts."""
        return tuple(member for part in self.parts for member in part.members)

    @property
    def weights(self) -> Array:
        """Those of all members, with sum 1."""
        return np.concatenate([part.weights for part in self.parts]) / len(self.parts)

    @property
    def n_points(self) -> int:
        """As for one part."""
        return max(part.n_points for part in self.parts)

    @property
    def relevances(self) -> Array:
        """Those of all members."""
        return np.vstack([part.relevances for part in self.parts])

    @property
    def held_out(self) -> Array:
        """Class probabilities of each training example, from models without it."""
        logs = np.log(np.maximum(np.column_stack([part.held_out for part in self.parts]), np.finfo(float).tiny))
        return np.exp(log_softmax(logs, axis=1))

    @property
    def warnings(self) -> tuple[str, ...]:
        """Those of all parts."""
        return tuple(dict.fromkeys(message for part in self.parts for message in part.warnings))
