"""How a table with many rows is made small enough: fewer rows to tune on, a Gram matrix of low rank to train with."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np

from marginwise.errors import InvalidInputError
from marginwise.hyperparameters import Hyperparameters
from marginwise.lowrank import choose_inducing
from marginwise.priors import Prior
from marginwise.problem import Problem

#: Rows up to which "auto" keeps the exact Gram matrix. Beyond, low rank is faster and its error no larger.
EXACT_ROWS = 1500

#: Rows that "auto" tunes on. Hyperparameters are few, and more rows change them by less than they are uncertain by.
TUNING_ROWS = 5000

#: Most inducing inputs of "auto": while tuning, where C and length scales are all that counts, and for the last fit.
_MOST_TUNING, _MOST = 200, 512


@dataclass(frozen=True)
class Scale:
    """Rows and rank that a model is tuned and trained with.

    Attributes
    ----------
    rank : "auto", int or None
        Number of inducing inputs, "auto" as many as leave little, None for the exact Gram matrix.
    subset : int or None
        Rows to tune on; None for all.
    seed : int
        Draws the rows and the start of the inducing inputs.
    """

    rank: str | int | None = None
    subset: int | None = None
    seed: int = 0

    def for_tuning(self, problem: Problem, prior: Prior) -> Problem:
        """Return the problem to tune on: random rows, both labels in their proportion, and inducing inputs."""
        if self.subset is not None and self.subset < problem.n:
            rng = np.random.default_rng(self.seed)
            parts = [rng.permutation(np.flatnonzero(problem.y == label)) for label in (-1.0, 1.0)]
            kept = [part[: max(1, round(self.subset * len(part) / problem.n))] for part in parts if len(part)]
            problem = problem.subset(np.sort(np.concatenate(kept)))
        # k-means does not depend on a length scale that all inputs share.
        start = prior.mean(problem.X.shape[1], isotropic=True)
        rank = _MOST_TUNING if self.rank == "auto" else self.rank
        return self._with_inducing(problem, start, rank, _MOST_TUNING)

    def for_training(self, problem: Problem, hyperparameters: Hyperparameters) -> Problem:
        """Return the problem to train on: all rows, inducing inputs chosen for these hyperparameters."""
        return self._with_inducing(problem, hyperparameters, self.rank, _MOST)

    def _with_inducing(
        self, problem: Problem, hyperparameters: Hyperparameters, rank: str | int | None, most: int
    ) -> Problem:
        if rank is None:
            return problem
        number = None if isinstance(rank, str) else rank
        return replace(problem, inducing=choose_inducing(problem.X, hyperparameters, number, most=most, seed=self.seed))


#: Nothing is left out.
EXACT = Scale()


def choose_scale(rank: Any, subset: Any, n: int, seed: int) -> Scale:
    """Check TunedSVC's parameters and return what they mean for a table of n rows."""
    _check("rank", rank, "inducing inputs")
    _check("subset", subset, "rows")
    if rank == "auto" and n <= EXACT_ROWS:
        rank = None
    if subset == "auto":
        subset = None if n <= TUNING_ROWS else TUNING_ROWS
    return Scale(rank, subset, seed)


def _check(name: str, value: Any, unit: str) -> None:
    whole = isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= 1
    if value is not None and value != "auto" and not whole:
        raise InvalidInputError(name, value, f'"auto", a number of {unit}, or None for no limit')
