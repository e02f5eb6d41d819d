"""A criterion of two classes for more of them: its mean over all pairs of classes, with one model for all."""

from __future__ import annotations

from typing import Any

import numpy as np

from marginwise.criteria.base import Criterion, Evaluation
from marginwise.criteria.training import OWN_STATE
from marginwise.errors import InvalidInputError
from marginwise.model import Model
from marginwise.problem import MulticlassProblem, Problem
from marginwise.status import CONVERGED


class OverPairs(Criterion):
    """The mean of a criterion over the pairs of classes, weighted with their rows, each a problem of its own."""

    name = "over-pairs"
    direction = "maximise"
    smooth = True
    multiclass = True
    equation = "one against one (Knerr, Personnaz & Dreyfus 1990), with hyperparameters that all pairs share"

    def __init__(self, inner: Criterion) -> None:
        self.inner, self.likelihood = inner, inner.likelihood
        # What the class declares of itself is what the criterion inside is.
        for name in ("name", "direction", "smooth", "scale_free", "log_probability", "leaves_rows", "slacks"):
            setattr(self, name, getattr(inner, name))

    def evaluate(self, problem: Problem, model: Model, state: Any = None, *, with_gradient: bool = True) -> Evaluation:
        """Return the mean value and gradient."""
        assert isinstance(problem, MulticlassProblem)
        pairs = [pair for pair, _ in problem.pairs()]
        states = [None] * len(pairs) if state is None else state
        if not (isinstance(states, list) and len(states) == len(pairs)):
            raise InvalidInputError("state", state, OWN_STATE)
        parts = [
            self.inner.evaluate(pair, model, own, with_gradient=with_gradient)
            for pair, own in zip(pairs, states, strict=True)
        ]
        shares = np.array([pair.weights.sum() for pair in pairs])
        shares /= shares.sum()
        gradients = [part.gradient for part in parts]
        known = [gradient for gradient in gradients if gradient is not None]
        return Evaluation(
            float(shares @ [part.value for part in parts]),
            shares @ np.array(known) if len(known) == len(parts) else None,
            next((part.status for part in parts if not part.status.ok), CONVERGED),
            [part.state for part in parts],
        )
