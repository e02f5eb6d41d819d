"""What stacks of tuned models have in common: members with weights, and what their latent functions look like."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import fields
from functools import cached_property
from typing import Any

import numpy as np

from marginwise._arrays import Array
from marginwise.ensemble import TunedModel, Vote, main_of
from marginwise.inference.prediction import LatentPredictor

#: Slopes of latent functions that relevances are the mean of, rows times functions; of more, rows at even steps.
_MOST_SLOPES = 4000


class Stack:
    """Tuned models of one table. Subclasses are frozen dataclasses with these fields."""

    X: Array
    sample_weight: Array
    members: tuple[TunedModel, ...]
    vote: Vote | None

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields alone: posteriors hold n×n matrices, and are there again when they are asked for."""
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]

    @property
    @abstractmethod
    def predictors(self) -> Sequence[LatentPredictor]:
        """The latent functions of each member, as far as predictions need them."""

    @property
    def n_points(self) -> int:
        """The number of points that a prediction is a sum over: training examples, or inducing inputs."""
        return max(len(self.X) if member.inducing is None else len(member.inducing) for member in self.members)

    @property
    def main(self) -> TunedModel:
        """The member that stands for all."""
        return main_of(self.members)

    @property
    def weights(self) -> Array:
        """The weight of each member."""
        return np.array([member.weight for member in self.members])

    @cached_property
    def relevances(self) -> Array:
        """How much the latent function varies with each input in each member, with sum 1; shape (n_members, d).

        That is its mean squared slope times the variance of the input, added over the classes where each has a latent
        function. A length scale alone tells less: it is long for an input with a strong but straight effect, and the
        same for all inputs where one serves all.
        """
        return np.array([self._relevance(*pair) for pair in zip(self.members, self.predictors, strict=True)])

    @cached_property
    def term_shares(self) -> dict[str, float]:
        """How much of the latent function is straight, smooth, stepwise: the mean over the members, with sum 1.

        Members whose kernel leaves no choice are left out, unless there are no others.
        """
        pairs = list(zip(self.members, self.predictors, strict=True))
        telling = [pair for pair in pairs if not pair[0].beside] or pairs
        total = sum(member.weight for member, _ in telling)
        shares: dict[str, float] = {}
        for member, predictor in telling:
            for shape, share in predictor.term_shares(self._point_weights(member, predictor)).items():
                shares[shape] = shares.get(shape, 0.0) + member.weight / total * share
        return shares

    def _point_weights(self, member: TunedModel, predictor: LatentPredictor) -> Array:
        return self.sample_weight if member.inducing is None else np.ones(len(predictor.points))

    def _relevance(self, member: TunedModel, predictor: LatentPredictor) -> Array:
        points = predictor.points
        weights = self._point_weights(member, predictor)
        centre = weights @ points / weights.sum()
        variance = weights @ (points - centre) ** 2 / weights.sum()
        functions = predictor.coefficients.size // len(points)
        step = 1 if functions == 1 else -(-len(points) * functions // _MOST_SLOPES)
        parts = predictor.squared_slopes(weights, step) * variance
        total = parts.sum()
        return parts / total if total > 0 and np.isfinite(total) else np.full(len(parts), 1.0 / len(parts))
