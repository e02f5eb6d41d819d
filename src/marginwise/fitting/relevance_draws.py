"""How sure relevances are: what they would be with other labels, other hyperparameters, another member.

Each draw takes labels from the probabilities of a member at its rows, and hyperparameters from the normal law that the
curvature of criterion and prior has at the optimum (Laplace's approximation), and trains the member anew. The function
that the labels were drawn from is known, and so is by how much the strength s* of a column in the new one differs from
its strength s: noise adds to the squares of slopes, and smoothing takes from them. If s differs as much from the truth,
2s - s* is what the draw says of it (the basic bootstrap, Davison & Hinkley 1997, section 5.2, from a fitted model).
What is left of a column that is nothing but noise is 0 in most draws. All s* are multiplied by one factor first, which
gives them the sum of the s at their median: relevances are shares, and of no size.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from marginwise._arrays import Array, Indices
from marginwise._runtime.interrupts import safe_point
from marginwise.errors import NotConvergedError
from marginwise.fitting.description import strengths
from marginwise.fitting.ensemble import Ensemble
from marginwise.fitting.members import Member
from marginwise.inference.prediction import Predictor
from marginwise.model import Model
from marginwise.priors import Prior
from marginwise.problem import Problem, labelled_problem
from marginwise.search.base import Space
from marginwise.search.objective import Objective

#: Rows that members are trained on anew; of more, some at even steps.
_MOST_ROWS = 1000

#: Largest sum of the strengths of a draw, in units of the member's own.
_LARGEST = 1.5

#: Step of the differences of gradients, in logarithms.
_STEP = 0.02

#: Largest standard deviation of a logarithm, where criterion and prior are flat.
_WIDEST = 1.5


def relevance_draws(ensemble: Ensemble, columns: Indices, prior: Prior, n_draws: int, seed: int) -> Array:
    """Return what draws say of the relevances of the columns, shape (n_draws, n_columns), with sum 1 each.

    ``columns`` are those of the inputs. Members have as many draws as their weights say.
    """
    rng = np.random.default_rng(seed)
    owners = rng.choice(len(ensemble.members), n_draws, p=ensemble.weights / ensemble.weights.sum())
    sizes = np.bincount(owners, minlength=len(ensemble.members))
    step = -(-len(ensemble.X) // _MOST_ROWS)
    parts = []
    for member, size in zip(ensemble.members, sizes.tolist(), strict=True):
        if size:
            rows = member.inputs(ensemble.X[::step])
            kept = ensemble.codes[::step], ensemble.sample_weight[::step]
            groups = None if ensemble.groups is None else ensemble.groups[::step]
            problem = labelled_problem(rows, *kept, ensemble.n_classes, groups=groups)
            parts.append(_Redrawn.of(member, problem, columns, prior).draws(size, rng))
    return np.concatenate(parts)


@dataclass(frozen=True, eq=False)
class _Redrawn:
    """A member that can be trained anew.

    ``root`` is that of the covariance of its logarithms; ``strength`` of columns and ``reached``, the cumulative class
    probabilities of rows, are those of the member itself.
    """

    member: Member
    problem: Problem
    columns: Indices
    root: Array
    strength: Array
    reached: Array

    @classmethod
    def of(cls, member: Member, problem: Problem, columns: Indices, prior: Prior) -> _Redrawn:
        """Return a member trained on these rows."""
        own = member.candidate.labels.train(problem, member.hyperparameters).predictor
        reached = np.exp(own.log_proba(problem.X)).cumsum(axis=1)
        strength = _by_column(own, problem, member, columns)
        return cls(member, problem, columns, curvature_root(member, problem, prior), strength, reached)

    def draws(self, size: int, rng: np.random.Generator) -> Array:
        """Return what so many draws say of the relevances."""
        found: list[Array] = []
        failed = 0
        while len(found) < size:
            safe_point()
            try:
                found.append(self._drawn(rng))
            except NotConvergedError:
                failed += 1
                if failed > size:
                    raise
        drawn = np.array(found)
        drawn *= self.strength.sum() / max(float(np.median(drawn.sum(axis=1))), np.finfo(float).tiny)
        # One that is larger altogether says nothing of shares: it is made no larger than this.
        drawn /= np.maximum(1.0, drawn.sum(axis=1, keepdims=True) / (_LARGEST * self.strength.sum()))
        said = np.maximum(2.0 * self.strength - drawn, 0.0)
        return said / said.sum(axis=1, keepdims=True)

    def _drawn(self, rng: np.random.Generator) -> Array:
        """Return the strengths of the columns with other labels and hyperparameters."""
        tuned = self.member.tuning.hyperparameters
        logs = tuned.to_vector() + self.root @ rng.standard_normal(self.root.shape[1])
        model: Model = tuned.with_vector(np.clip(logs, *tuned.log_bounds)).pruned()
        model = model.with_C(model.C * self.member.hyperparameters.C / tuned.C)  # at the scale of its labels
        codes = (rng.random((self.problem.n, 1)) > self.reached[:, :-1]).sum(axis=1)
        X, weights, groups = self.problem.X, self.problem.weights, self.problem.groups
        drawn = labelled_problem(X, codes, weights, self.problem.n_classes, groups=groups)
        predictor = self.member.candidate.labels.train(drawn, model).predictor
        return _by_column(predictor, drawn, self.member, self.columns)


def _by_column(predictor: Predictor, problem: Problem, member: Member, columns: Indices) -> Array:
    own = strengths(predictor, problem.X, problem.weights, member.view, len(columns))
    return np.maximum(np.bincount(columns, own), np.finfo(float).tiny)


def curvature_root(member: Member, problem: Problem, prior: Prior) -> Array:
    """Return a square root of the covariance of a member's logarithms: of the inverse curvature of n times the score.

    The score is the leave-one-out log-probability by least squares and the prior, whose gradient is differentiated once
    more by central differences.
    """
    space = Space.around(member.tuning.hyperparameters)
    law = prior if member.spread == 0 else replace(prior, spread=member.spread)
    objective = Objective(member.candidate.labels.criterion, problem, space, law)
    rows = []
    for place in range(space.size):
        step = np.zeros(space.size)
        step[place] = _STEP
        ends = [np.clip(space.start + sign * step, space.lower, space.upper) for sign in (1.0, -1.0)]
        upper, lower = (objective.evaluate(end)[0].gradient for end in ends)
        if upper is None or lower is None:
            raise NotConvergedError("the criterion has no gradient near its optimum")
        rows.append((lower - upper) / (ends[0] - ends[1])[place])
    curvature = np.array(rows) * problem.weights.sum()
    values, vectors = np.linalg.eigh(0.5 * (curvature + curvature.T))
    root = np.zeros((len(space.origin), space.size))
    root[space.free] = vectors / np.sqrt(np.maximum(values, _WIDEST**-2))
    return root
