"""How free should the length scales be? A ladder of priors, climbed while it helps, and its rungs combined.

The criterion itself can't tell: with many free length scales it is optimistic. So each rung is judged by folds: on
each fold the search goes on from the rung before, and predicts the examples left out. The rungs' predictions are then
averaged with the weights under which the examples left out were most probable (stacking: Wolpert 1992).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed

from marginwise.criteria import Criterion
from marginwise.hyperparameters import Hyperparameters
from marginwise.inference.api import site_posterior
from marginwise.priors import Prior
from marginwise.problem import Problem
from marginwise.search.progress import counter
from marginwise.tuning import Tuning, tune

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]

#: Standard deviations of ln l_a around a shared ln l, rung by rung above one shared length scale.
SPREADS = (0.3, 1.0, 3.0)

#: A rung with less weight than this is left out: it would cost a search and change next to nothing.
LEAST_WEIGHT = 0.05

#: Examples that the weights count as already seen, spread evenly over the rungs: few examples can't set a weight to 0.
_PSEUDO_COUNTS = 4.0

#: Evaluations of a search on a fold, and of the last one on all examples from the mean of what the folds found.
_FOLD_EVALUATIONS, _LAST_EVALUATIONS = 10, 8


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


def climb(
    problem: Problem,
    criterion: Criterion,
    *,
    prior: Prior,
    spreads: Sequence[float] = SPREADS,
    n_folds: int = 4,
    seed: int = 0,
    n_jobs: int | None = None,
    **options: Any,
) -> Stack:
    """Tune with one length scale, then with more and more freedom while the folds gain by it; stack the rungs."""
    shared = tune(
        problem.X,
        problem.y,
        criterion,
        prior=prior,
        isotropic=True,
        sample_weight=problem.weights,
        n_jobs=n_jobs,
        random_state=seed,
        **options,
    )
    alone = Stack((Component(1.0, 0.0, shared),), None)
    n_folds = min(n_folds, int(min((problem.y > 0).sum(), (problem.y < 0).sum())))
    if n_folds < 2 or problem.X.shape[1] == 1:
        return alone
    folds = stratified_folds(problem.y, n_folds, np.random.default_rng(seed))
    found = [[shared.hyperparameters] * n_folds]
    columns: list[Array] = []
    rungs = (0.0, *spreads)
    with Parallel(n_jobs=n_jobs) as parallel, counter(None, "folds", n_folds * len(rungs)) as count:
        for spread in rungs:
            under = replace(prior, spread=spread) if spread > 0 else None
            results = parallel(
                delayed(_fold)(problem, folds == k, criterion, under, start) for k, start in enumerate(found[-1])
            )
            column = np.empty(problem.n)
            for k, (probability, _) in enumerate(results):
                column[folds == k] = probability
            columns.append(column)
            count(n_folds)
            if spread > 0:
                found.append([hyperparameters for _, hyperparameters in results])
            if len(columns) > 1 and _mean_log(columns[-1], problem) <= _mean_log(columns[-2], problem):
                break
    table = np.column_stack(columns)
    weights = stacking_weights(table, problem.weights)
    weights = np.where(weights < LEAST_WEIGHT, 0.0, weights)
    weights /= weights.sum()
    components = []
    for spread, weight, settings in zip(rungs, weights, found, strict=False):
        if weight > 0:
            tuning = shared if spread == 0 else _last_search(problem, criterion, prior, spread, settings, options)
            components.append(Component(float(weight), spread, tuning))
    return Stack(tuple(components), table @ weights)


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


def stratified_folds(y: Array, n_folds: int, rng: np.random.Generator) -> Indices:
    """Return a fold number for each example, both labels spread evenly."""
    folds = np.empty(len(y), dtype=np.intp)
    first = 0
    for label in (-1.0, 1.0):
        rows = rng.permutation(np.flatnonzero(y == label))
        folds[rows] = (np.arange(len(rows)) + first) % n_folds
        first += len(rows)
    return folds


def _fold(
    problem: Problem, out: npt.NDArray[np.bool_], criterion: Criterion, prior: Prior | None, start: Hyperparameters
) -> tuple[Array, Hyperparameters]:
    """Search on the examples that stay in, unless there is no prior; return probabilities of the others' labels."""
    inside, outside = problem.subset(np.flatnonzero(~out)), problem.subset(np.flatnonzero(out))
    if prior is not None:
        start = tune(
            inside.X,
            inside.y,
            criterion,
            prior=prior,
            start=start,
            isotropic=False,
            sample_weight=inside.weights,
            max_evaluations=_FOLD_EVALUATIONS,
            random_state=0,
            progress=False,
        ).hyperparameters
    probability = site_posterior(inside, start, criterion.slack).predict_proba(outside.X)
    return probability[np.arange(outside.n), (outside.y > 0).astype(int)], start


def _last_search(
    problem: Problem,
    criterion: Criterion,
    prior: Prior,
    spread: float,
    settings: list[Hyperparameters],
    options: dict[str, Any],
) -> Tuning:
    """Search on all examples from the mean of what the folds found."""
    start = Hyperparameters.from_vector(np.mean([setting.to_vector() for setting in settings], axis=0))
    options = {**options, "restarts": 0, "max_evaluations": _LAST_EVALUATIONS}
    return tune(
        problem.X,
        problem.y,
        criterion,
        prior=replace(prior, spread=spread),
        start=start,
        isotropic=False,
        sample_weight=problem.weights,
        random_state=0,
        **options,
    )


def _mean_log(probability: Array, problem: Problem) -> float:
    return float(problem.weights @ np.log(np.maximum(probability, 1e-300))) / float(problem.weights.sum())
