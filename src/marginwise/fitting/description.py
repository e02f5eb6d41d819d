"""What the latent functions of an ensemble are like: which inputs and shapes make them up, and where rows have been."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from marginwise._arrays import Array, Indices
from marginwise._runtime.once import computed_once
from marginwise._runtime.threads import threads_for
from marginwise.fitting.novelty import Surroundings, surroundings
from marginwise.fitting.views import View
from marginwise.inference.prediction import LatentPredictor, Piece, Predictor
from marginwise.shapley import Expansion

if TYPE_CHECKING:
    from marginwise.fitting.ensemble import Ensemble
    from marginwise.fitting.members import Member

#: Slopes of latent functions that relevances are the mean of, rows times functions; of more, rows at even steps.
_MOST_SLOPES = 4000

#: Training rows that say where a model has been.
_MOST_SURROUNDINGS = 1500


@dataclass(frozen=True, eq=False)
class Description:
    """What is read off the members of an ensemble, each thing when it is first asked for."""

    ensemble: Ensemble

    @property
    def _pairs(self) -> list[tuple[Member, Predictor]]:
        """Each member and its latent functions."""
        return list(zip(self.ensemble.members, self.ensemble.latent_functions, strict=True))

    @computed_once
    def relevances(self) -> Array:
        """How much the latent function varies with each input in each member, with sum 1; shape (n_members, d).

        That is its mean squared slope times the variance of the input, added over the classes where each has a latent
        function. A length scale alone tells less: it is long for an input with a strong but straight effect, and the
        same for all inputs where one serves all.
        """
        return np.array([self._relevance(*pair) for pair in self._pairs])

    @computed_once
    def term_shares(self) -> dict[str, float]:
        """How much of the latent function is straight, smooth, stepwise: the mean over the members, with sum 1.

        Members whose kernel leaves no choice are left out, unless there are no others.
        """
        telling = [pair for pair in self._pairs if not pair[0].candidate.auxiliary] or self._pairs
        total = sum(member.weight for member, _ in telling)
        shares: dict[str, float] = {}
        for member, predictor in telling:
            for shape, share in predictor.term_shares(self._points(member)[1]).items():
                shares[shape] = shares.get(shape, 0.0) + member.weight / total * share
        return shares

    def _points(self, member: Member) -> tuple[Array, Array]:
        """Return the points that a member's latent function is looked at, and their weights."""
        if member.few_points is None:
            return member.inputs(self.ensemble.X), self.ensemble.sample_weight
        assert isinstance(member.few_points, LatentPredictor)
        points = member.few_points.points
        return points, np.ones(len(points))

    def _relevance(self, member: Member, predictor: Predictor) -> Array:
        parts = strengths(predictor, *self._points(member), member.view, self.ensemble.X.shape[1])
        total = parts.sum()
        return parts / total if total > 0 and np.isfinite(total) else np.full(len(parts), 1.0 / len(parts))

    @property
    def is_additive(self) -> bool:
        """Whether the latent function is a sum of functions of single columns in every member."""
        terms = [term for member in self.ensemble.members for term in member.hyperparameters.kernel.terms]
        return all(term.composition == "sum" for term in terms)

    def latent_expansions(self, X: Array) -> Iterator[tuple[Indices, Expansion]]:
        """Yield the functions that make up the latent mean of :meth:`Ensemble.latent`, and which rows each is for.

        A row's latent values are the sum of those that are for it. Members with the same kernel and points are one.
        """
        merged: list[tuple[Indices, Expansion]] = []
        for member, one in self._pairs:
            for piece in one.pieces_at(member.inputs(X)):
                own = _in_log_odds(one, member, piece)
                same = merged and np.array_equal(merged[-1][0], piece.numbers) and merged[-1][1].joined(own)
                if same:
                    merged[-1] = piece.numbers, same
                else:
                    merged.append((piece.numbers, own))
        return iter(merged)

    @computed_once
    def surroundings(self) -> Surroundings:
        """Where the training rows are, under the main member's kernel; of many, some at even steps of their order."""
        ensemble, main = self.ensemble, self.ensemble.main
        step = -(-len(ensemble.rows) // _MOST_SURROUNDINGS)
        groups = None if ensemble.groups is None else ensemble.groups[::step]
        rows, weights = main.inputs(ensemble.X[::step]), ensemble.sample_weight[::step]
        with threads_for(min(len(ensemble.X), _MOST_SURROUNDINGS)):
            return surroundings(main.hyperparameters.kernel, rows, weights, groups)


def strengths(predictor: Predictor, points: Array, weights: Array, view: View | None, n_inputs: int) -> Array:
    """Return how much a latent function varies with each input: its mean squared slope times the input's variance."""
    centre = weights @ points / weights.sum()
    variance = weights @ (points - centre) ** 2 / weights.sum()
    step = -(-len(points) * predictor.n_functions // _MOST_SLOPES)
    parts = predictor.squared_slopes(weights, step) * variance
    if view is not None:
        own, parts = parts, np.zeros(n_inputs)
        parts[view.inputs] = own
    return parts


def _in_log_odds(one: Predictor, member: Member, piece: Piece) -> Expansion:
    """Return a member's part in the latent function: log-odds are a straight line of latent means."""
    c = piece.coefficients
    offset, _ = one.latent_in_log_odds(np.zeros_like(c[:1]), np.zeros(1))
    slopes = one.latent_in_log_odds(c, np.zeros(len(c)))[0] - offset
    return Expansion(
        one.kernel,
        piece.points,
        member.weight * slopes.reshape(len(c), -1),
        member.weight * np.reshape(offset, -1),
        member.view,
        None if member.view is None else member.view.inputs,
    )
