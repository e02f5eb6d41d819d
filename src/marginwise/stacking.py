"""How free should the length scales be? A ladder of priors, climbed while it helps, and its rungs combined.

The criterion itself can't tell: with many free length scales it is optimistic. So each rung is judged by folds: on
each fold the search goes on from the rung before, and predicts the examples left out. A rung that does not gain on the
first folds ends the climb before the others are tried. The predictions of the rungs that gained are averaged with the
weights under which the examples left out were most probable (stacking: Wolpert 1992).

Where rows are many, the searches begin on random parts of them, and those of the first folds serve the others as well.
So many examples can tell length scales apart: the most freedom is tried first, and less only if it gains nothing.
Where the freedom is given there is nothing to judge, and the searches begin in the same way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from marginwise._summary import summary
from marginwise.criteria import Criterion
from marginwise.hyperparameters import Hyperparameters
from marginwise.inference.api import site_posterior
from marginwise.priors import Prior
from marginwise.problem import Problem
from marginwise.search import QuasiNewton, Search
from marginwise.search.progress import counter
from marginwise.search.quasi_newton import Pairs, pairs_of
from marginwise.tuning import Tuning, tune

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]

#: Standard deviations of ln l_a around a shared ln l, rung by rung above one shared length scale.
SPREADS = (0.3, 1.0)

#: A rung with less weight than this is left out: it would cost a search and change next to nothing.
LEAST_WEIGHT = 0.125

#: Examples that the weights count as already seen, spread evenly over the rungs: few examples can't set a weight to 0.
_PSEUDO_COUNTS = 4.0

#: Most rows that the first search begins on, and that a fold's search goes on with.
_FIRST_ROWS, _FOLD_ROWS = 600, 700

#: Of a rare label at least so many rows stay in a part of them.
_RARE_ROWS = 10

#: A probability of zero counts as this.
_TINY = 1e-300

#: Folds, and those of them on which a rung must gain before it is tried on the others.
_FOLDS, _PROBES = 4, 2

#: Evaluations of a search on a fold, and of the last one on all examples from what was found on parts of them; fewer
#: where rows are many, because each costs more and the search begins nearer to its end.
_FOLD_EVALUATIONS, _LAST_EVALUATIONS = (10, 8), (8, 3)


@dataclass(frozen=True, eq=False)
class Component:
    """A tuned model in the stack: its weight, the freedom of its length scales, and the search that found it."""

    weight: float
    spread: float
    tuning: Tuning

    @property
    def hyperparameters(self) -> Hyperparameters:
        """The hyperparameters found."""
        return self.tuning.hyperparameters


@dataclass(frozen=True, eq=False)
class Stack:
    """Tuned models with weights that sum to 1.

    ``held_out`` is the stack's probability for the label of each example, from folds without it; None if there were
    no folds.
    """

    components: tuple[Component, ...]
    held_out: Array | None

    __repr__ = summary


@dataclass(frozen=True, eq=False)
class _Judged:
    """A fold: the probabilities of its labels, the hyperparameters that they are from, and the search's curvature."""

    probability: Array
    hyperparameters: Hyperparameters
    learnt: Pairs


def climb(
    problem: Problem,
    criterion: Criterion,
    *,
    prior: Prior,
    spreads: Sequence[float] = SPREADS,
    n_folds: int = _FOLDS,
    seed: int = 0,
    n_jobs: int | None = None,
    **options: Any,
) -> Stack:
    """Tune with one length scale, then with as much freedom as the folds gain by; stack the rungs."""
    part, shared = _begin(problem, criterion, prior, seed, n_jobs, options)
    n_folds = min(n_folds, _rarer_label(problem))
    begun = _judged(criterion, shared)
    found = [[begun] * n_folds]

    def last(weight: float, spread: float, judged: list[_Judged]) -> Component:
        """Search on all examples, unless that was done or is for a rung that is not the main one."""
        done = spread == 0 and (part is problem or weight < 0.5)
        tuning = shared if done else _last_search(problem, criterion, prior, spread, judged, options)
        return Component(weight, spread, tuning if spread > 0 else with_restarts(shared, tuning))

    if n_folds < 2:
        return Stack((last(1.0, 0.0, [begun]),), None)
    folds = _Folds.draw(problem, n_folds, np.random.default_rng(seed))
    many = part is not problem
    order = tuple(spreads)[:: -1 if many else 1] if problem.X.shape[1] > 1 else ()
    rungs, columns = [0.0], []
    asked = {name: options[name] for name in ("search", "max_evaluations") if name in options}
    with Parallel(n_jobs=n_jobs) as parallel, counter(None, "folds", n_folds * (1 + len(order))) as count:

        def judge(numbers: range, starts: list[_Judged], under: Prior | None) -> list[_Judged]:
            jobs = (delayed(_fold)(*folds.parts(k, seed), criterion, under, starts[k], asked) for k in numbers)
            results = parallel(jobs)
            count(len(numbers))
            return list(results)

        columns.append(_column(judge(range(n_folds), found[0], None)))
        for spread in order:
            under = replace(prior, spread=spread)
            judged = judge(range(_PROBES), found[-1], under)
            gained = folds.gain(judged, columns[-1]) > 0.0
            if gained:
                mean = replace(judged[0], hyperparameters=_mean(judged))
                others = ([mean] * n_folds, None) if many else (found[-1], under)
                judged += judge(range(_PROBES, n_folds), *others)
                gained = folds.gain(judged, columns[-1]) > 0.0
            if gained:
                rungs.append(spread)
                found.append(judged)
                columns.append(_column(judged))
            if gained == many:  # up while it helps, or down until it does
                break
    table = np.column_stack(columns)
    weights = stacking_weights(table, folds.weights)
    weights = np.where(weights < LEAST_WEIGHT, 0.0, weights)
    weights /= weights.sum()
    components = tuple(
        last(float(weight), spread, judged)
        for spread, weight, judged in zip(rungs, weights, found, strict=True)
        if weight > 0
    )
    return Stack(components, folds.average(table @ weights))


def settle(
    problem: Problem,
    criterion: Criterion,
    *,
    prior: Prior,
    spread: float,
    seed: int = 0,
    n_jobs: int | None = None,
    **options: Any,
) -> Stack:
    """Tune with the freedom that is given, begun with one length scale as a climb is; with one input there is none."""
    part, shared = _begin(problem, criterion, prior, seed, n_jobs, options)
    spread = spread if problem.X.shape[1] > 1 else 0.0
    tuning = shared
    if spread > 0:
        free = {"start": shared.hyperparameters, "isotropic": False, "random_state": seed, "n_jobs": n_jobs}
        tuning = _tune(part, criterion, prior=replace(prior, spread=spread), **{**options, **free, "restarts": 0})
    if part is not problem:
        last = _last_search(problem, criterion, prior, spread, [_judged(criterion, tuning)], options)
        tuning = with_restarts(tuning, last)
    return Stack((Component(1.0, spread, tuning),), None)


def shortened(options: dict[str, Any], evaluations: int) -> dict[str, Any]:
    """Return the options of a search that goes on from another: so many evaluations, but no more than asked for."""
    budget = options.get("max_evaluations")
    return {**options, "restarts": 0, "max_evaluations": evaluations if budget is None else min(budget, evaluations)}


def with_restarts(earlier: Tuning, later: Tuning) -> Tuning:
    """Return the later tuning with the searches that were asked for, if the earlier one had several."""
    return later if len(earlier.restarts) < 2 else replace(later, restarts=earlier.restarts)


def stacking_weights(probabilities: Array, example_weights: Array, *, n_iterations: int = 300) -> Array:
    """Return the convex weights under which the examples' labels are most probable; columns are the models.

    Maximises Σ_i w_i ln(p_i·q) + (c/m) Σ_k ln q_k, c pseudo-counts over m models, which is concave: each step of the
    EM algorithm increases it.
    """
    m = probabilities.shape[1]
    weights = np.full(m, 1.0 / m)
    total = float(example_weights.sum()) + _PSEUDO_COUNTS
    for _ in range(n_iterations):
        share = probabilities * weights
        share /= share.sum(axis=1, keepdims=True)
        weights = (example_weights @ share + _PSEUDO_COUNTS / m) / total
    return weights


def fold_weights(y: Array, weights: Array, n_folds: int, rng: np.random.Generator) -> Array:
    """Return the weight of each example in each fold, shape (n, n_folds), both labels spread evenly.

    Where all weights are whole numbers the repetitions of a row are dealt out one by one, otherwise each row whole.
    """
    counts = weights.astype(int) if _whole(weights) else np.ones(len(y), dtype=int)
    dealt = np.zeros((len(y), n_folds))
    first = 0
    for label in (-1.0, 1.0):
        rows = np.flatnonzero(y == label)
        rows = rng.permutation(np.repeat(rows, counts[rows]))
        np.add.at(dealt, (rows, (np.arange(len(rows)) + first) % n_folds), 1.0)
        first += len(rows)
    return dealt * (weights / counts)[:, None]


@dataclass(frozen=True, eq=False)
class _Folds:
    """Examples dealt out to folds; the examples left out, fold by fold, are the rows of a long table."""

    problem: Problem
    dealt: Array

    @classmethod
    def draw(cls, problem: Problem, n_folds: int, rng: np.random.Generator) -> _Folds:
        return cls(problem, fold_weights(problem.y, problem.weights, n_folds, rng))

    @cached_property
    def rows(self) -> list[Indices]:
        """The examples in each fold."""
        return [np.flatnonzero(column) for column in self.dealt.T]

    @cached_property
    def weights(self) -> Array:
        """Weights in the long table."""
        return np.concatenate([self.dealt[rows, k] for k, rows in enumerate(self.rows)])

    def parts(self, k: int, seed: int) -> tuple[Problem, Problem]:
        """Return the problem without fold k, or a part of it, and the examples of fold k."""
        rest = self.problem.weights - self.dealt[:, k]
        rows = np.flatnonzero(rest > 0.0)
        inside = replace(self.problem.subset(rows), weights=rest[rows])
        return _part(inside, _FOLD_ROWS, np.random.default_rng([seed, k])), self.problem.subset(self.rows[k])

    def gain(self, first: list[_Judged], before: Array) -> float:
        """Return by how much the log-probability of the first folds is above that of another column."""
        column = _column(first)
        logs = np.log(np.maximum(column, _TINY)) - np.log(np.maximum(before[: len(column)], _TINY))
        return float(self.weights[: len(column)] @ logs)

    def average(self, column: Array) -> Array:
        """Return the mean over the folds for each example."""
        return np.bincount(np.concatenate(self.rows), self.weights * column) / self.problem.weights


def _begin(
    problem: Problem, criterion: Criterion, prior: Prior, seed: int, n_jobs: int | None, options: dict[str, Any]
) -> tuple[Problem, Tuning]:
    """Return the rows that searches begin on, all if they are few, and the tuning with one length scale there."""
    part = _part(problem, _FIRST_ROWS, np.random.default_rng([seed, _FOLDS]))
    return part, _tune(part, criterion, prior=prior, isotropic=True, n_jobs=n_jobs, random_state=seed, **options)


def _tune(problem: Problem, criterion: Criterion, **options: Any) -> Tuning:
    options |= {"sample_weight": problem.weights, "inducing": problem.inducing}
    return tune(problem.X, problem.y, criterion, **options)


def _fold(
    inside: Problem,
    outside: Problem,
    criterion: Criterion,
    prior: Prior | None,
    start: _Judged,
    asked: dict[str, Any],
) -> _Judged:
    """Search on the examples that stay in, unless there is no prior, and look at the labels of the others.

    On one thread, so that the digits do not depend on the number of processes beside it.
    """
    hyperparameters, learnt = start.hyperparameters, start.learnt
    with threadpool_limits(1, user_api="blas"):
        if prior is not None:
            options = shortened(asked, _FOLD_EVALUATIONS[inside.n > _FIRST_ROWS])
            options["search"] = _going_on(asked, () if hyperparameters.is_isotropic else learnt)
            options |= {"start": hyperparameters, "isotropic": False, "random_state": 0, "progress": False}
            tuning = _tune(inside, criterion, prior=prior, **options)
            hyperparameters, learnt = tuning.hyperparameters, _learnt(criterion, tuning)
        posterior = site_posterior(inside, hyperparameters, criterion.slack, with_gradient=False)
        probability = posterior.predict_proba(outside.X)
    return _Judged(probability[np.arange(outside.n), (outside.y > 0).astype(int)], hyperparameters, learnt)


def _last_search(
    problem: Problem,
    criterion: Criterion,
    prior: Prior,
    spread: float,
    judged: list[_Judged],
    options: dict[str, Any],
) -> Tuning:
    """Search on all examples from the mean of what was found on parts of them."""
    # What one part says of many length scales is further away than what several say on average.
    near = spread == 0 or len(judged) > 1
    options = shortened(options, _LAST_EVALUATIONS[near and problem.n > _FIRST_ROWS])
    options["search"] = _going_on(options, judged[0].learnt)
    under = replace(prior, spread=spread) if spread > 0 else prior
    start = {"start": _mean(judged), "isotropic": spread == 0, "random_state": 0}
    return _tune(problem, criterion, prior=under, **start, **options)


def _judged(criterion: Criterion, tuning: Tuning) -> _Judged:
    """Return what a search found, before it is judged."""
    return _Judged(np.empty(0), tuning.hyperparameters, _learnt(criterion, tuning))


def _learnt(criterion: Criterion, tuning: Tuning) -> Pairs:
    """Return what the search has learnt of the curvature, if it followed gradients that can be relied on."""
    path = [record.point for record in tuning.trace.accepted]
    known = criterion.smooth and all(point.gradient is not None and np.isfinite(point.score) for point in path)
    return pairs_of(path) if known else ()


def _going_on(asked: dict[str, Any], learnt: Pairs) -> Search[Any] | str:
    """Return the search that was asked for, with what another has learnt of the curvature if it can use that."""
    search: Search[Any] | str = asked.get("search", "auto")
    if learnt and search in ("auto", QuasiNewton.name):
        return QuasiNewton(learnt=learnt)
    return replace(search, learnt=learnt) if isinstance(search, QuasiNewton) else search


def _column(judged: list[_Judged]) -> Array:
    return np.concatenate([fold.probability for fold in judged])


def _mean(judged: list[_Judged]) -> Hyperparameters:
    return Hyperparameters.from_vector(np.mean([fold.hyperparameters.to_vector() for fold in judged], axis=0))


def _part(problem: Problem, n_rows: int, rng: np.random.Generator) -> Problem:
    """Return the problem of some rows, few enough for the exact Gram matrix; the problem itself if it has no more."""
    if problem.n <= n_rows:
        return problem
    rows = []
    for label in (-1.0, 1.0):
        own = np.flatnonzero(problem.y == label)
        size = max(round(n_rows * len(own) / problem.n), min(_RARE_ROWS, len(own)))
        rows.append(rng.permutation(own)[:size])
    return replace(problem.subset(np.sort(np.concatenate(rows))), inducing=None)


def _rarer_label(problem: Problem) -> int:
    """Return how often the rarer label can be dealt out."""
    counts = problem.weights if _whole(problem.weights) else np.ones(problem.n)
    return int(min(counts[problem.y > 0].sum(), counts[problem.y < 0].sum()))


def _whole(weights: Array) -> bool:
    return bool((weights == np.round(weights)).all())
