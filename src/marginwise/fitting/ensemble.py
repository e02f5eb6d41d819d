"""Tuned models that predict together: members, their weights, and what was held out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from marginwise._arrays import Array, Indices
from marginwise._runtime.once import computed_once
from marginwise._runtime.threads import threads_for
from marginwise._summary import summary
from marginwise.errors import Finding, InvalidInputError
from marginwise.fitting.calibration import Calibration
from marginwise.fitting.description import Description
from marginwise.fitting.doubt import Doubt, doubt
from marginwise.fitting.machines import low_rank_svm, svm_model, train_pairs_of
from marginwise.fitting.members import Member
from marginwise.fitting.stacking import Vote, combined
from marginwise.inference.prediction import BasisPredictor, LatentPredictor, Predictor
from marginwise.inference.reduction import reduced
from marginwise.likelihoods.slack import Slack
from marginwise.model import Model
from marginwise.multiclass.cell_predictor import CellClassPredictor
from marginwise.problem import Problem, labelled_problem
from marginwise.svm.pairs import PairMachines

#: Distance between the two largest scores, in units of the largest, below which only probabilities decide.
_TIE = 1e-9


@dataclass(frozen=True, eq=False)
class Ensemble:
    """Members with weights that sum to 1.

    Attributes
    ----------
    X, codes, sample_weight : arrays
        The training rows as the model sees them, and their class numbers; where rows are many, those that it was tuned
        on.
    n_classes : int
    slack : Slack
        That of the SVM.
    criterion : str
        The name of what searches maximised.
    members : tuple of Member
    held_out : array of shape (n, n_classes)
        Class probabilities of each training row from models without it, NaN if there are none.
    held_out_wrong : array of shape (n,) or None
        The share of a row's copies that models without them took for another class; None if there are none.
    warnings : tuple of str
        What a user should know of the searches and approximations.
    svm_weights : array or None
        Weights of the rows in the SVM, where these are not ``sample_weight``.
    calibration : Calibration or None
        What recalibrates the probabilities of two classes, where rows are many. ``held_out`` is recalibrated already.
    vote : Vote or None
        How members vote; None if their probabilities are averaged.
    machines : PairMachines or None
        The SVM, where it was trained with the ensemble.
    groups : array of int or None
        Numbers of the groups of rows that were left out together.
    """

    X: Array
    codes: Indices
    sample_weight: Array
    n_classes: int
    slack: Slack
    criterion: str
    members: tuple[Member, ...]
    held_out: Array
    warnings: tuple[str, ...]
    svm_weights: Array | None = None
    calibration: Calibration | None = None
    vote: Vote | None = None
    machines: PairMachines | None = None
    held_out_wrong: Array | None = None
    groups: Indices | None = None

    def __repr__(self) -> str:
        return summary(self, "X", "n_classes", "members")

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields alone: predictors hold n×n matrices, and are there again when they are asked for."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @property
    def problem(self) -> Problem:
        """The training rows."""
        return labelled_problem(self.X, self.codes, self.sample_weight, self.n_classes)

    @property
    def main(self) -> Member:
        """The member that stands for all: that of the largest weight, among those with the main kernel if any."""
        return max(self.members, key=lambda member: (not member.candidate.auxiliary, member.weight))

    @property
    def weights(self) -> Array:
        """The weight of each member."""
        return np.array([member.weight for member in self.members])

    @computed_once
    def latent_functions(self) -> tuple[Predictor, ...]:
        """The latent functions of each member, given the data."""
        return tuple(map(self._restored, self.members))

    def with_latent_functions(self, trained: Sequence[Predictor], log_left_out: Array) -> Ensemble:
        """Return the same with the members' latent functions at hand, which need not be made again.

        ``log_left_out`` are log-probabilities of each row without one of its examples.
        """
        same = replace(self)
        same.__dict__["latent_functions"] = tuple(trained)  # where the cached property keeps them
        same.__dict__["log_left_out"] = log_left_out
        return same

    @cached_property
    def log_left_out(self) -> Array:
        """Log-probabilities of each row without one of its examples; known until the model is stored."""
        raise AttributeError("log_left_out is not kept in stored models")

    @computed_once
    def predictors(self) -> tuple[Predictor, ...]:
        """The same, with variances from few columns where these are enough: a first prediction pays for that."""
        with threads_for(self.n_points):
            few = self.latent_functions
            return tuple(reduced(one) if isinstance(one, LatentPredictor) else one for one in few)

    def _restored(self, member: Member) -> Predictor:
        if member.few_points is not None:
            return member.few_points
        X = member.inputs(self.X)
        local = member.partition is not None
        seen = replace(self.problem, X=X, inducing=member.inducing, partition=member.partition, single=local)
        return member.candidate.labels.restored(seen, member.hyperparameters, member.stored)

    @property
    def is_exact(self) -> bool:
        """Whether the covariances of all members are exact."""
        return all(member.few_points is None and member.partition is None for member in self.members)

    @property
    def n_points(self) -> int:
        """The number of points that a prediction is a sum over: training rows, inducing inputs, those of a block."""
        return max(map(self.points_of, self.members))

    @property
    def basis_size(self) -> int:
        """The number of values that a row has while it is predicted: blocks have theirs one after the other."""
        return max(
            self.points_of(member) if member.partition is None or member.inducing is None else len(member.inducing)
            for member in self.members
        )

    def points_of(self, member: Member) -> int:
        """Return the number of points that a prediction of a member is a sum over."""
        if member.few_points is not None:
            one = member.few_points
            return one.n_points if isinstance(one, CellClassPredictor) else len(_expansion(one).points)
        if member.partition is None or member.inducing is None:
            return len(self.X)
        return len(member.inducing) + -(-len(self.X) // member.partition.n_blocks)

    def without_rows(self) -> Ensemble:
        """Return the same without training rows, where members do without them."""
        X, codes, sample_weight, held_out = self.X[:0], self.codes[:0], self.sample_weight[:0], self.held_out[:0]
        none = replace(self, X=X, codes=codes, sample_weight=sample_weight, held_out=held_out)
        return replace(none, held_out_wrong=None, svm_weights=None, groups=None)

    @property
    def rows(self) -> Array:
        """The training rows; an error where they were not kept."""
        if not len(self.X):
            found = Finding("is compact and has no training rows, which this needs")
            raise InvalidInputError("model", found, "the model it was made from, or compact(model, keep_rows=True)")
        return self.X

    def log_proba(self, X: Array) -> Array:
        """Return the logarithms of the class probabilities, shape (n, n_classes)."""
        return self._combined([one.log_proba_of(*moments) for one, moments in self._moments(X)])

    def log_proba_of_few(self, X: Array) -> Array:
        """Return the same without what makes variances cheap for many rows, and what a first prediction pays for."""
        pairs = zip(self.members, self.latent_functions, strict=True)
        return self._combined([one.log_proba_of_few(member.inputs(X)) for member, one in pairs])

    def _combined(self, logs: Sequence[Array]) -> Array:
        mixed = combined(np.array(logs), self.weights, self.vote)
        return mixed if self.calibration is None else self.calibration(mixed)

    def best(self, X: Array) -> Indices:
        """Return the number of the most probable class; -1 where latent means alone do not tell.

        The largest score is that of the most probable class in each member, and if all agree in their average.
        """
        agreed = np.full(len(X), -1)
        if self.calibration is not None:
            return agreed
        for number, (one, rows, basis) in enumerate(self._bases(X)):
            scores = one.scores_of(one.latent_mean(rows) if basis is None else _by_basis(one).mean_of(rows, basis))
            top = np.partition(scores, -2, axis=1)[:, -2:]
            clear = top[:, 1] - top[:, 0] > _TIE * np.maximum(1.0, np.abs(scores).max(axis=1))
            best = scores.argmax(axis=1)
            agreed = np.where(clear & ((number == 0) | (agreed == best)), best, -1)
        return agreed

    def _moments(self, X: Array) -> Iterator[tuple[Predictor, tuple[Array, Array]]]:
        """Yield each member's predictor, and mean and variance of its latent functions."""
        for one, rows, basis in self._bases(X):
            yield one, one.latent_mean_and_variance(rows) if basis is None else _by_basis(one).moments_of(rows, basis)

    def _bases(self, X: Array) -> Iterator[tuple[Predictor, Array, Array | None]]:
        """Yield each member's predictor, what it sees of X, and the values of its basis there, if it has one.

        They are computed once for members with the same basis.
        """
        basis = np.empty(0)
        for member, one, same in zip(self.members, self.predictors, self._same_as_before, strict=True):
            rows = member.inputs(X)
            if not isinstance(one, BasisPredictor):
                yield one, rows, None
                continue
            if not same:
                basis = one.basis(rows)
            yield one, rows, basis

    @computed_once
    def _same_as_before(self) -> tuple[bool, ...]:
        """Whether each member's predictor has the basis of the one before."""
        pairs = zip(self.predictors, self.predictors[1:], strict=False)
        return False, *(isinstance(one, BasisPredictor) and one.shares_basis(other) for one, other in pairs)

    def latent(self, X: Array) -> tuple[Array, Array]:
        """Return mean and variance of the latent functions under the mixture of the members.

        In units of log-odds (:meth:`Predictor.latent_in_log_odds`), so that those of different label models can be
        added; one column for two classes, that of the second, or one for each of more.
        """
        moments = [one.latent_in_log_odds(*moments) for one, moments in self._moments(X)]
        means, variances = np.array([m for m, _ in moments]), np.array([v for _, v in moments])
        mean = np.tensordot(self.weights, means, axes=1)
        return mean, np.tensordot(self.weights, variances + (means - mean) ** 2, axes=1)

    @computed_once
    def description(self) -> Description:
        """What the latent functions are like."""
        return Description(self)

    def doubt(self, X: Array) -> Doubt:
        """Return what kind of doubt there is about the labels of rows, without recalibration."""
        moments = [(one, *moments) for one, moments in self._moments(X)]
        return doubt(moments, self.weights)

    def latent_sum(self, X: Array, weights: Array) -> tuple[Array, Array]:
        """Return mean and variance of Σ_i w_i f(x_i) for the latent functions f of :meth:`latent`, shape (K,)."""
        moments = []
        for member, one in zip(self.members, self.latent_functions, strict=True):
            rows = member.inputs(X)
            raw, variance = weights @ one.latent_mean(rows), one.variance_of_sum(rows, weights)
            offset, _ = one.latent_in_log_odds(np.zeros_like(raw)[None], np.zeros(1))
            mean, spread = one.latent_in_log_odds(raw[None], np.array([variance]))
            moments.append((np.reshape(mean + (weights.sum() - 1.0) * offset, -1), np.reshape(spread, -1)))
        means, variances = np.array([m for m, _ in moments]), np.array([v for _, v in moments])
        mean = self.weights @ means
        return mean, self.weights @ (variances + (means - mean) ** 2)

    @computed_once
    def svm(self) -> PairMachines:
        """The SVM of each two classes, trained when it is asked for unless it was with the ensemble."""
        if self.machines is not None:
            return self.machines
        if self._svm_inducing is not None and len(self.held_out) > len(self.X):
            raise InvalidInputError(
                "predictor",
                Finding(f"is the SVM, which needs all {len(self.held_out)} training rows; {len(self.X)} are kept"),
                '"posterior"; to predict by the SVM, fit with predictor="svm"',
            )
        weights = self.sample_weight if self.svm_weights is None else self.svm_weights
        rows = replace(self.problem, X=self.main.inputs(self.rows), weights=weights)
        return train_pairs_of(rows, self.svm_model, self.slack, self._svm_inducing)

    @property
    def _svm_inducing(self) -> Array | None:
        """The inducing inputs of the SVM of two classes, which is trained on all rows or not at all."""
        few = self.main.few_points
        if few is None or self.n_classes > 2:
            return None
        return few.inducing if isinstance(few, CellClassPredictor) else _expansion(few).points

    def with_low_rank_svm(self, problem: Problem, importance: Array) -> Ensemble:
        """Return the same with an SVM trained on all rows, if it has inducing inputs."""
        inducing = self._svm_inducing
        if inducing is None:
            return self
        machines = low_rank_svm(problem, importance, self.svm_model, self.slack, inducing)
        return replace(self, machines=machines)

    def svm_log_proba(self, X: Array) -> Array:
        """Return logarithms of the class probabilities of the SVM."""
        return self.svm.log_proba(self.main.inputs(X), self.svm_model.C, self.slack)

    def svm_decision(self, X: Array) -> Array:
        """Return the SVM's latent function of two classes, a column, or its votes for each of more."""
        return self.svm.decision(self.main.inputs(X))

    @property
    def svm_model(self) -> Model:
        """The model of the SVM, that of the main member."""
        main = self.main
        return svm_model(main.candidate.labels, main.tuning.hyperparameters, main.hyperparameters, self.slack)


def _expansion(one: Predictor) -> LatentPredictor:
    assert isinstance(one, LatentPredictor)
    return one


def _by_basis(one: Predictor) -> BasisPredictor:
    assert isinstance(one, BasisPredictor)
    return one


def same_expansion(one: Predictor, other: Predictor) -> bool:
    """Say whether two predictors are sums over the same points with the same kernel."""
    return isinstance(one, LatentPredictor) and one.shares_basis(other)
