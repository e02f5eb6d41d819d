"""How a table with many rows is made small enough: fewer rows to tune on, a Gram matrix of low rank to train with."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np

from marginwise._arrays import Array
from marginwise.covariance import LowRankCovariance, Sites, as_blocks, choose_inducing
from marginwise.ensemble import TunedModel
from marginwise.errors import InvalidInputError
from marginwise.inference.api import site_posterior
from marginwise.inference.prediction import GaussianPosterior
from marginwise.likelihoods import Slack
from marginwise.many import METHODS, ClassPosterior
from marginwise.model import Model
from marginwise.problem import ClassProblem, Problem

# The numbers here were chosen by ``benchmarks/scale.py``.

#: Rows up to which "auto" keeps the exact Gram matrix. Beyond, its cubed time is what counts; just
#: above, low rank is not faster yet.
EXACT_ROWS = 1500

#: Rows that "auto" tunes on. Hyperparameters are few, and time is better spent on the last fit.
TUNING_ROWS = 5000

#: Most inducing inputs of "auto": while tuning, where C and length scales are all that counts, and for the last fit,
#: of two classes and of more.
_MOST_TUNING, _MOST, _MOST_CLASSES = 200, 1448, 1024

#: Multiplications nm² of one pass over the rows in the last fit of two classes, for all members together, where
#: inducing inputs are not fewer than while tuning. One member has 1,448 of them with 100,000 rows; with a million it
#: has 524, whose features take 2 GiB.
_PASS = 2**38

#: Features of all rows together in the last fit of more classes, 2 GiB of numbers.
_FEATURES = 2**28

#: Evaluations of the search on all tuning rows that follows the climb.
POLISHING = 25

#: Root mean square residual of the last fit, in standard deviations of the posterior.
_TOLERANCE = 1e-3

#: The last fit is begun with a smaller rank, which brings the sites near at a sixteenth of the cost.
_COARSER = 4


@dataclass(frozen=True, eq=False)
class Scale:
    """The rank that a model is tuned and trained with.

    Attributes
    ----------
    rank : "auto", int or None
        Number of inducing inputs, "auto" as many as leave little, None for the exact Gram matrix.
    seed : int
        Draws the start of the inducing inputs.
    """

    rank: str | int | None = None
    seed: int = 0

    def order(self, n: int) -> int:
        """Return the most rows of a square matrix in the fit of a table of n rows."""
        return n if self.rank is None else _MOST if isinstance(self.rank, str) else self.rank

    def for_tuning(self, problem: Problem, start: Model) -> Problem:
        """Return the problem to tune on, with inducing inputs chosen for ``start`` where the rank is limited."""
        if self.rank is None:
            return problem
        number = _MOST_TUNING if isinstance(self.rank, str) else self.rank
        return replace(problem, inducing=choose_inducing(problem.X, start.kernel, number, seed=self.seed))

    def posterior(
        self, problem: Problem, rows: Array, hyperparameters: Model, slack: Slack, members: int = 1
    ) -> GaussianPosterior:
        """Return the posterior of one of some members; inducing inputs, if any, are chosen from ``rows``."""
        if self.rank is None:
            return site_posterior(problem, hyperparameters, slack, with_gradient=False)
        inducing = self._inducing(rows, hyperparameters, min(_MOST, int(np.sqrt(_PASS / (members * problem.n)))))
        start: Sites | None = None
        few = len(inducing) // _COARSER
        if few > 1:
            coarse = choose_inducing(rows, hyperparameters.kernel, few, seed=self.seed)
            start = _last_fit(problem, coarse, hyperparameters, slack, None).sites
        return _last_fit(problem, inducing, hyperparameters, slack, start)

    def class_posterior(self, problem: ClassProblem, rows: Array, model: TunedModel) -> ClassPosterior:
        """Return the posterior of a problem of several classes, which all share the inducing inputs."""
        h = model.hyperparameters
        if self.rank is not None:
            most = min(_MOST_CLASSES, _FEATURES // problem.n)
            problem = replace(problem, inducing=self._inducing(rows, h, most))
        return METHODS[model.method](problem, h)

    def _inducing(self, rows: Array, hyperparameters: Model, most: int) -> Array:
        """Return the inducing inputs of the last fit, chosen from ``rows``."""
        number = None if isinstance(self.rank, str) else self.rank
        most = max(_MOST_TUNING, most)
        return choose_inducing(rows, hyperparameters.kernel, number, most=most, seed=self.seed)


def _last_fit(
    problem: Problem, inducing: Array, hyperparameters: Model, slack: Slack, start: Sites | None
) -> GaussianPosterior:
    """Return the posterior with these inducing inputs, whose features are of single precision."""
    covariance = LowRankCovariance(hyperparameters.kernel, as_blocks(problem.X), inducing, single=True)
    whole = replace(problem, inducing=inducing)
    return site_posterior(
        *(whole, hyperparameters, slack),
        start=start,
        tolerance=_TOLERANCE,
        with_gradient=False,
        typical=True,
        covariance=covariance,
    )


#: Nothing is left out.
EXACT = Scale()


def check_scale(rank: Any, subset: Any) -> None:
    """Raise if one of TunedSVC's parameters has a value that is not allowed."""
    for name, value, unit in (("rank", rank, "inducing inputs"), ("subset", subset, "rows")):
        whole = isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= 1
        if not (value is None or whole or (isinstance(value, str) and value == "auto")):
            raise InvalidInputError(name, value, f'"auto", a number of {unit}, or None for no limit')


def chosen_rank(rank: str | int | None, X: Any) -> str | int | None:
    """Return what ``rank`` means for a table: "auto", a number, or None for the exact Gram matrix."""
    if not isinstance(X, np.ndarray):
        if rank is None:
            raise InvalidInputError("rank", None, '"auto" or a number of inducing inputs, for rows that Dask holds')
        return rank
    return None if rank == "auto" and len(X) <= EXACT_ROWS else rank


def chosen_subset(subset: str | int | None, n: int) -> int | None:
    """Return how many of n rows to tune on, None for all."""
    size = TUNING_ROWS if isinstance(subset, str) else subset
    return None if size is None or size >= n else int(size)
