"""Criteria along the line between two settings: whether two optima are two, or one not yet reached."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from marginwise._arrays import Array
from marginwise._summary import summary
from marginwise.criteria.base import Criterion
from marginwise.errors import InvalidInputError, choose
from marginwise.model import Model
from marginwise.problem import Problem


@dataclass(frozen=True, eq=False)
class LineScan:
    """Criteria along the segment, straight in the logarithms, between two settings of the hyperparameters.

    Attributes
    ----------
    fractions : array of shape (n_points,)
        Where on the segment: 0 at its start, 1 at its end.
    logs : array of shape (n_points, k)
        The logarithms of the hyperparameters there.
    values : dict of arrays
        Each criterion by its name; NaN where it failed.
    signs : dict of int
        +1 for criteria of which larger values are better, -1 for the others.

    Examples
    --------
    >>> from marginwise import Hyperparameters, scan_line
    >>> ends = Hyperparameters(C=1), Hyperparameters(C=10)
    >>> line = scan_line("gacv", [[0.0], [1.0], [2.0]], [-1, 1, 1], *ends, n_points=3)
    >>> line.fractions.tolist(), line.logs.shape
    ([0.0, 0.5, 1.0], (3, 4))
    """

    fractions: Array
    logs: Array
    values: dict[str, Array]
    signs: dict[str, int]

    __repr__ = summary

    def barrier(self, name: str | None = None) -> float:
        """Return by how much a criterion gets worse between the ends, from the worse of the two.

        Positive if the ends are separated: no straight way leads from one to the other without loss, which is
        how section "Model selection using simple criteria" of Gold & Sollich (2003) told local optima from
        searches that had not converged. Zero if the worse end is the worst point.
        """
        name = self._name(name)
        scores = self.signs[name] * self.values[name]
        return float(min(scores[0], scores[-1]) - np.nanmin(scores))

    def _name(self, name: str | None) -> str:
        if name is None and len(self.values) == 1:
            return next(iter(self.values))
        return choose("name", name, self.values)


def scan(
    criteria: Sequence[Criterion],
    problem: Problem,
    start: Model,
    end: Model,
    n_points: int = 41,
) -> LineScan:
    """Evaluate criteria at equal distances along the segment, each evaluation started from the one before."""
    if n_points < 2:
        raise InvalidInputError("n_points", n_points, "at least 2")
    if start.is_isotropic != end.is_isotropic:
        n_inputs = problem.X.shape[1]
        start, end = start.as_ard(n_inputs), end.as_ard(n_inputs)
    fractions = np.linspace(0.0, 1.0, n_points)
    logs = np.outer(1.0 - fractions, start.to_vector()) + np.outer(fractions, end.to_vector())
    values = {criterion.name: _along(criterion, problem, start, logs) for criterion in criteria}
    return LineScan(fractions, logs, values, {criterion.name: criterion.sign for criterion in criteria})


def _along(criterion: Criterion, problem: Problem, start: Model, logs: Array) -> Array:
    state: Any = None
    values = []
    for vector in logs:
        evaluation = criterion.evaluate(problem, start.with_vector(vector), state, with_gradient=False)
        values.append(evaluation.value if evaluation.status.ok else np.nan)
        state = evaluation.state if evaluation.status.ok else None
    return np.array(values)
