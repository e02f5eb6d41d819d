"""How free should the length scales be? A ladder of priors, climbed while it helps, and its rungs combined.

The criterion itself can't tell: with many free length scales it is optimistic. So each rung is judged by folds: on
each fold the search goes on from the rung before, and predicts the examples left out. A rung that does not gain on the
first folds ends the climb before the others are tried. The predictions of the rungs that gained are averaged with the
weights under which the examples left out were most probable (stacking: Wolpert 1992).

With more than two classes the last rung is judged a second time, with the softmax likelihood in the place of least
squares: which of the two suits a table better depends on how noisy it is, and stacking tells.

Where rows are many, the searches begin on random parts of them, and those of the first folds serve the others as well.
So many examples can tell length scales apart: the most freedom is tried first, and less only if it gains nothing.
Where the freedom is given there is nothing to judge, and the searches begin in the same way.

Where the ends of all searches are to predict together, searches from random starts are also made with the freedom that
was given, or that has the largest weight, and their ends share its weight.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from joblib import delayed

from marginwise._runtime.processes import job_runner, outcomes
from marginwise._runtime.threads import one_thread
from marginwise.criteria import Criterion
from marginwise.ends import End, all_ends, alone
from marginwise.ensemble import Ensemble, TunedModel, Vote, stacking_weights
from marginwise.folds import Dealt, Fold, classes_of, column_of, mean_of, part_of, rarer_label
from marginwise.methods import Method, first_method, second_method
from marginwise.model import Model
from marginwise.problem import ClassProblem, Problem
from marginwise.search import QuasiNewton, Search
from marginwise.search.progress import counter
from marginwise.search.quasi_newton import Pairs, pairs_of
from marginwise.tuning import SearchSettings, Tuning, tune_problem

#: Standard deviations of ln l_a around a shared ln l, rung by rung above one shared length scale. This ladder and what
#: belongs to it below were chosen by ``benchmarks/default.py``, on splits that no comparison contains.
SPREADS = (0.3, 1.0)

#: A rung with less weight than this is left out: it would cost a search and change next to nothing.
LEAST_WEIGHT = 0.125

#: Most rows that the first search begins on.
_FIRST_ROWS = 600

#: Folds, and those of them on which a rung must gain before it is tried on the others.
_FOLDS, _PROBES = 4, 2

#: Evaluations of a search on a fold, and of the last one on all examples from what was found on parts of them; fewer
#: where rows are many, because each costs more and the search begins nearer to its end.
_FOLD_EVALUATIONS, _LAST_EVALUATIONS = (10, 8), (8, 3)


def climb(
    problem: Problem,
    criterion: Criterion,
    start: Model,
    settings: SearchSettings,
    *,
    spreads: Sequence[float] = SPREADS,
    n_folds: int = _FOLDS,
    several: bool = False,
    vote: Vote | None = None,
) -> Ensemble:
    """Tune with one length scale, then with as much freedom as the folds gain by; combine the rungs.

    ``start`` has one length scale. ``several`` makes models of all ends of searches from random starts, with the
    freedom of the largest weight. With a ``vote`` the probabilities held out are shares of the rungs' votes.
    """
    shared = _begin(problem, criterion, start, settings)
    many = problem.n > _FIRST_ROWS
    n_folds = min(n_folds, rarer_label(problem))
    found = [[_begun(criterion, shared)] * max(1, n_folds)]

    def last(weight: float, spread: float, folds: list[Fold]) -> Tuning:
        """Search on all examples, unless that was done or is for a rung that is not the main one."""
        done = spread == 0 and (not many or weight < 0.5)
        tuning = shared if done else _last_search(problem, criterion, spread, folds, settings)
        return tuning if spread > 0 else with_restarts(shared, tuning)

    if n_folds < 2:
        ends = all_ends(shared) if several else alone(shared)
        return _given(problem, _gone_on(problem, criterion, ends, 0.0, settings), 0.0, settings)
    dealt = Dealt.draw(problem, n_folds, np.random.default_rng(settings.seed))
    order = tuple(spreads)[:: -1 if many else 1] if _has_freedom(problem, start) else ()
    first = first_method(problem)
    rungs = [0.0]
    # No held-out sets, callbacks or bars: these are for the searches that the user sees.
    inside = SearchSettings(settings.search, settings.prior, limits=settings.limits, progress=False)
    parallel = job_runner(settings.n_jobs)
    passes = 1 + len(order) + isinstance(problem, ClassProblem)
    with parallel, counter(None, "folds", n_folds * passes) as count:

        def judge(numbers: range, starts: list[Fold], under: SearchSettings | None, by: Method = first) -> list[Fold]:
            jobs = [delayed(_judge)(*dealt.parts(k, settings.seed), criterion, starts[k], under, by) for k in numbers]
            results = list(outcomes(parallel, jobs))
            count(len(numbers))
            return results

        heard = [judge(range(n_folds), found[0], None)]
        for spread in order:
            under = inside.with_spread(spread)
            judged = judge(range(_PROBES), found[-1], under)
            gained = dealt.gain(judged, column_of(heard[-1])) > 0.0
            if gained:
                mean = replace(judged[0], hyperparameters=mean_of(judged))
                others = ([mean] * n_folds, None) if many else (found[-1], under)
                judged += judge(range(_PROBES, n_folds), *others)
                gained = dealt.gain(judged, column_of(heard[-1])) > 0.0
            if gained:
                rungs.append(spread)
                found.append(judged)
                heard.append(judged)
            if gained == many:  # up while it helps, or down until it does
                break
        second = second_method(_first_part(problem, settings), mean_of(found[-1]))
        if second is not None:
            heard.append(judge(range(n_folds), found[-1], None, second))
    table = np.column_stack([column_of(folds) for folds in heard])
    weights = stacking_weights(table, dealt.weights)
    weights = np.where(weights < LEAST_WEIGHT, 0.0, weights)
    weights /= weights.sum()
    totals = weights[: len(rungs)] + np.append(np.zeros(len(rungs) - 1), weights[len(rungs) :].sum())
    models = []
    for rung, (spread, folds) in enumerate(zip(rungs, found, strict=True)):
        parts = [(first, float(weights[rung]))]
        if second is not None and rung == len(rungs) - 1:
            parts.append((second, float(weights[-1])))
        if totals[rung] == 0:
            continue
        if several and rung == totals.argmax():
            searched = shared if spread == 0 else _restarted(problem, criterion, mean_of(folds), spread, settings)
            ends = _gone_on(problem, criterion, all_ends(searched), spread, settings)
        else:
            ends = alone(last(float(totals[rung]), spread, folds))
        for end in ends:
            for by, weight in parts:
                if weight > 0:
                    suited = _suited(by, problem, end, settings) if several else by
                    models.append(_member(end.tuning, spread, suited, weight * end.share))
    mixed, by_class = table @ weights, isinstance(problem, ClassProblem)
    classes = np.array([classes_of(folds) for folds in heard]) if by_class else np.empty(0)
    if vote is not None:
        mixed = vote.held_out(classes if by_class else table.T, weights, problem.labels[np.concatenate(dealt.rows)])
    elif by_class:
        mixed = np.tensordot(weights, classes, axes=1)
    return Ensemble(tuple(models), dealt.average(mixed))


def settle(
    problem: Problem,
    criterion: Criterion,
    start: Model,
    settings: SearchSettings,
    *,
    spread: float,
    several: bool = False,
) -> Ensemble:
    """Tune with the freedom that is given, begun with one length scale as a climb is; with one input there is none.

    ``several`` makes models of all ends of searches from random starts with that freedom.
    """
    tuning = _begin(problem, criterion, start, settings)
    spread = spread if _has_freedom(problem, start) else 0.0
    if spread > 0:
        free = tuning.hyperparameters.as_ard(problem.X.shape[1])
        again = settings if several else replace(settings, restarts=0)
        tuning = _restarted(problem, criterion, free, spread, again)
    ends = all_ends(tuning) if several else alone(tuning)
    return _given(problem, _gone_on(problem, criterion, ends, spread, settings), spread, settings)


def _restarted(problem: Problem, criterion: Criterion, start: Model, spread: float, settings: SearchSettings) -> Tuning:
    """Search with so much freedom, on some of the rows where they are many."""
    return tune_problem(_first_part(problem, settings), criterion, start, settings.with_spread(spread))


def _gone_on(
    problem: Problem, criterion: Criterion, ends: list[End], spread: float, settings: SearchSettings
) -> list[End]:
    """Search on from each end on all rows, where that was done on a part of them."""
    if problem.n <= _FIRST_ROWS:
        return ends
    on_all = [_last_search(problem, criterion, spread, [_begun(criterion, end.tuning)], settings) for end in ends]
    return [End(end.share, with_restarts(end.tuning, last)) for end, last in zip(ends, on_all, strict=True)]


def _given(problem: Problem, ends: list[End], spread: float, settings: SearchSettings) -> Ensemble:
    """Return the ensemble of ends that no folds have judged: where there are two methods, each has the same weight."""
    models = []
    for end in ends:
        second = second_method(_first_part(problem, settings), end.tuning.hyperparameters)
        methods = [first_method(problem)] if second is None else [first_method(problem), second]
        models += [_member(end.tuning, spread, by, end.share / len(methods)) for by in methods]
    return Ensemble(tuple(models), None)


def _suited(by: Method, problem: Problem, end: End, settings: SearchSettings) -> Method:
    """Return a method with the C that suits this end, if it has its own."""
    if by.C is None:
        return by
    return second_method(_first_part(problem, settings), end.tuning.hyperparameters) or by


def _member(tuning: Tuning, spread: float, by: Method, weight: float) -> TunedModel:
    return TunedModel(weight, spread, tuning, by.name, by.C)


def with_restarts(earlier: Tuning, later: Tuning) -> Tuning:
    """Return the later tuning with the searches that were asked for, if the earlier one had several."""
    return later if len(earlier.restarts) < 2 else replace(later, restarts=earlier.restarts)


def _begin(problem: Problem, criterion: Criterion, start: Model, settings: SearchSettings) -> Tuning:
    """Return the tuning with one length scale, on some of the rows where they are many."""
    return tune_problem(_first_part(problem, settings), criterion, start, settings)


def _first_part(problem: Problem, settings: SearchSettings) -> Problem:
    """Return the rows that searches begin on, all if they are few."""
    return part_of(problem, _FIRST_ROWS, np.random.default_rng([settings.seed, _FOLDS]))


def _judge(
    inside: Problem, outside: Problem, criterion: Criterion, start: Fold, settings: SearchSettings | None, by: Method
) -> Fold:
    """Search on the examples that stay in, unless there are no settings, and look at the labels of the others.

    On one thread, so that the digits do not depend on the number of processes beside it.
    """
    model, learnt = start.hyperparameters, start.learnt
    with one_thread():
        if settings is not None:
            settings = settings.going_on(_FOLD_EVALUATIONS[inside.n > _FIRST_ROWS])
            settings = replace(settings, search=_with_curvature(settings.search, () if model.is_isotropic else learnt))
            tuning = tune_problem(inside, criterion, model.as_ard(inside.X.shape[1]), settings)
            model, learnt = tuning.hyperparameters, _learnt(criterion, tuning)
        probability = by.probability(inside, criterion, model, outside.X)
    return Fold(probability[np.arange(outside.n), outside.labels], model, learnt, probability)


def _last_search(
    problem: Problem, criterion: Criterion, spread: float, folds: list[Fold], settings: SearchSettings
) -> Tuning:
    """Search on all examples from the mean of what was found on parts of them."""
    # What one part says of many length scales is not as near as a mean of several.
    near = spread == 0 or len(folds) > 1
    settings = settings.with_spread(spread).going_on(_LAST_EVALUATIONS[near and problem.n > _FIRST_ROWS])
    search = _with_curvature(settings.search, folds[0].learnt)
    return tune_problem(problem, criterion, mean_of(folds), replace(settings, search=search, seed=0, n_jobs=1))


def _begun(criterion: Criterion, tuning: Tuning) -> Fold:
    """Return what a search found, before folds say anything."""
    return Fold(np.empty(0), tuning.hyperparameters, _learnt(criterion, tuning))


def _learnt(criterion: Criterion, tuning: Tuning) -> Pairs:
    """Return what the search has learnt of the curvature, if it followed gradients that can be relied on."""
    path = [record.point for record in tuning.trace.accepted]
    known = criterion.smooth and all(point.gradient is not None and np.isfinite(point.score) for point in path)
    return pairs_of(path) if known else ()


def _with_curvature(search: Search[Any] | None, learnt: Pairs) -> Search[Any] | None:
    """Return the search that was asked for, with what another has learnt of the curvature if it can use that."""
    if search is None and learnt:
        return QuasiNewton(learnt=learnt)
    return replace(search, learnt=learnt) if isinstance(search, QuasiNewton) else search


def _has_freedom(problem: Problem, start: Model) -> bool:
    """Say whether columns could have length scales of their own."""
    return start.kernel.n_columns(problem.X.shape[1]) > 1 and bool(start.groups)
