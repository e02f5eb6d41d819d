"""Searches that take over from each other: from half of the rows to all of them, each from where one before it ended.

An evaluation on few rows costs little, and what a search has learnt of the curvature is of use to the next one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from marginwise.criteria import Criterion
from marginwise.folds import Fold, mean_of, part_of
from marginwise.model import Model
from marginwise.problem import Problem
from marginwise.search import QuasiNewton, Search
from marginwise.search.quasi_newton import Pairs, pairs_of
from marginwise.tuning import SearchSettings, Tuning, tune_problem

#: Most rows that the first search begins on, and from how many rows on it begins on half of them.
FIRST_ROWS, _ENOUGH_TO_HALVE = 600, 300

#: What a first search makes large, where it is a mean log-probability of labels, and comes with its gradient.
_LOG_PROBABILITIES = frozenset({"ep-loo", "ep-evidence", "ls-loo"})

#: Such a search, on which others follow, ends when so many moves raised the sum over all labels by no more than this.
_NO_GAIN, _MOVES = 0.05, 3

#: Evaluations of the last search on all examples from what was found on parts of them; fewer where rows are many,
#: because each costs more and the search begins nearer to its end.
_LAST_EVALUATIONS = 8, 3

#: With the seed they draw the rows that searches begin on, and half of these.
_PART, _HALF = 4, 5


def are_many(problem: Problem) -> bool:
    """Say whether searches begin on a part of the rows."""
    return problem.n > FIRST_ROWS


def first_part(problem: Problem, settings: SearchSettings) -> Problem:
    """Return the rows that searches begin on, all if they are few."""
    return part_of(problem, FIRST_ROWS, np.random.default_rng([settings.seed, _PART]))


def begin(problem: Problem, criterion: Criterion, start: Model, settings: SearchSettings) -> Tuning:
    """Return the tuning with one length scale, on some of the rows where they are many."""
    return tune_problem(first_part(problem, settings), criterion, start, settings)


def begin_roughly(problem: Problem, criterion: Criterion, start: Model, settings: SearchSettings) -> Tuning:
    """Return the same for a climb, where other searches follow: up to what examples would show.

    Without other wishes it begins on half of the rows, where an evaluation costs a quarter or less.
    """
    part = first_part(problem, settings)
    search = rough(part, criterion, settings.search)
    if settings.search is None and search is not None and part.n >= _ENOUGH_TO_HALVE and settings.restarts == 0:
        half = part_of(part, part.n // 2, np.random.default_rng([settings.seed, _HALF]))
        inside = SearchSettings(search, settings.prior, limits=settings.limits, progress=False)
        found = tune_problem(half, criterion, start, inside)
        start, search = found.hyperparameters, with_curvature(search, learnt(criterion, found))
    return tune_problem(part, criterion, start, replace(settings, search=search))


def rough(problem: Problem, criterion: Criterion, search: Search[Any] | None) -> Search[Any] | None:
    """Return the search that was asked for; by default one that ends when it gains nothing that examples would show."""
    if search is not None or criterion.name not in _LOG_PROBABILITIES:
        return search
    return QuasiNewton(gain_tolerance=_NO_GAIN / float(problem.weights.sum()), moves=_MOVES)


def last_search(
    problem: Problem, criterion: Criterion, spread: float, folds: list[Fold], settings: SearchSettings
) -> Tuning:
    """Search on all examples from the mean of what was found on parts of them."""
    # What one part says of many length scales is not as near as a mean of several.
    near = spread == 0 or len(folds) > 1
    settings = settings.with_spread(spread).going_on(_LAST_EVALUATIONS[near and are_many(problem)])
    search = with_curvature(settings.search, folds[0].learnt)
    return tune_problem(problem, criterion, mean_of(folds), replace(settings, search=search, seed=0, n_jobs=1))


def begun(criterion: Criterion, tuning: Tuning) -> Fold:
    """Return what a search found, before folds say anything."""
    return Fold(np.empty(0), tuning.hyperparameters, learnt(criterion, tuning))


def learnt(criterion: Criterion, tuning: Tuning) -> Pairs:
    """Return what the search has learnt of the curvature, if it followed gradients that can be relied on."""
    path = [record.point for record in tuning.trace.accepted]
    known = criterion.smooth and all(point.gradient is not None and np.isfinite(point.score) for point in path)
    return pairs_of(path) if known else ()


def with_curvature(search: Search[Any] | None, pairs: Pairs) -> Search[Any] | None:
    """Return the search that was asked for, with what another has learnt of the curvature if it can use that."""
    if search is None and pairs:
        return QuasiNewton(learnt=pairs)
    return replace(search, learnt=pairs) if isinstance(search, QuasiNewton) else search


def with_restarts(earlier: Tuning, later: Tuning) -> Tuning:
    """Return the later tuning with the searches that were asked for, if the earlier one had several."""
    return later if len(earlier.restarts) < 2 else replace(later, restarts=earlier.restarts)
