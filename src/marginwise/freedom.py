"""How free should the length scales be? A ladder of priors, climbed while it helps, and its rungs combined.

The criterion itself can't tell: with many free length scales it is optimistic. So each rung is judged by folds: on
each fold the search goes on from the rung before, and predicts the examples left out. A rung that does not gain on the
first folds ends the climb before the others are tried. The predictions of the rungs that gained are averaged with the
weights under which the examples left out were most probable (stacking: Wolpert 1992).

Beside the rungs stands a model with one length scale and a simpler kernel, if there is one: where the terms of a
blend of kernels are not called for, its average with them is better than either. It is left out where the covariance is
of low rank, since so many examples tell terms apart, and with more than two classes.

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
from dataclasses import dataclass, replace

import numpy as np
from joblib import delayed

from marginwise._runtime.processes import job_runner, outcomes
from marginwise._runtime.threads import one_thread
from marginwise.criteria import Criterion
from marginwise.ends import End, all_ends, alone
from marginwise.ensemble import Ensemble, TunedModel, Vote, stacking_weights
from marginwise.folds import Dealt, Fold, classes_of, column_of, mean_of, rarer_label
from marginwise.methods import Method, first_method, second_method
from marginwise.model import Model
from marginwise.problem import ClassProblem, Problem
from marginwise.relay import (
    are_many,
    begin,
    begin_roughly,
    begun,
    first_part,
    last_search,
    learnt,
    with_curvature,
    with_restarts,
)
from marginwise.search.progress import counter
from marginwise.tuning import SearchSettings, Tuning, tune_problem

#: Standard deviations of ln l_a around a shared ln l, rung by rung above one shared length scale. This ladder and what
#: belongs to it below were chosen by ``benchmarks/default.py``, on splits that no comparison contains.
SPREADS = (0.3, 1.0)

#: A rung with less weight than this is left out: it would cost a search and change next to nothing.
LEAST_WEIGHT = 0.125

_FOLDS = 4

#: So many folds are tried at first, then all, while the log-probability of labels gains more than this: with few rows,
#: and with many, where the first folds alone are searched on, so that the others cost next to nothing.
_STAGES = (((2, 0.0), (_FOLDS, 0.0)), ((2, -np.inf), (_FOLDS, 0.0)))

#: Evaluations of a search on a fold, with few rows and with many. More would not help: a short search stays near to one
#: length scale where nothing pulls it away.
_FOLD_EVALUATIONS = (7, 8)


@dataclass(frozen=True, eq=False)
class _Rung:
    """A candidate for the ensemble.

    ``found`` is where the search on each fold ended, ``heard`` what the folds say with that by a method; ``begun`` is
    the search on all rows, or on those that searches begin on, of which ``found`` are copies if there was one.
    """

    spread: float
    found: list[Fold]
    heard: list[Fold]
    by: Method
    begun: Tuning | None = None
    beside: bool = False


def climb(
    problem: Problem,
    criterion: Criterion,
    start: Model,
    settings: SearchSettings,
    *,
    spreads: Sequence[float] = SPREADS,
    several: bool = False,
    vote: Vote | None = None,
) -> Ensemble:
    """Tune with one length scale, then with as much freedom as the folds gain by; combine the rungs.

    ``start`` has one length scale. ``several`` makes models of all ends of searches from random starts, with the
    freedom of the largest weight. With a ``vote`` the probabilities held out are shares of the rungs' votes.
    """
    shared = begin_roughly(problem, criterion, start, settings)
    n_folds = min(_FOLDS, rarer_label(problem))
    if n_folds < 2:
        ends = all_ends(shared) if several else alone(shared)
        return _given(problem, _gone_on(problem, criterion, ends, 0.0, settings), 0.0, settings)
    dealt = Dealt.draw(problem, n_folds, np.random.default_rng(settings.seed))
    rungs = _judged(problem, criterion, start, shared, settings, dealt, spreads)
    table = np.column_stack([column_of(rung.heard) for rung in rungs])
    weights = stacking_weights(table, dealt.weights)
    weights = np.where(weights < LEAST_WEIGHT, 0.0, weights)
    weights /= weights.sum()

    def total(rung: _Rung) -> float:
        """The weight of all that one search serves."""
        return float(sum(weight for other, weight in zip(rungs, weights, strict=True) if other.found is rung.found))

    models: list[TunedModel] = []
    main = max((rung for rung in rungs if not rung.beside), key=total)
    searched: dict[int, list[End]] = {}
    for rung, weight in zip(rungs, weights.tolist(), strict=True):
        if weight == 0.0:
            continue
        if id(rung.found) not in searched:
            restarted = several and rung.found is main.found
            ends = _all_ends(problem, criterion, rung, settings) if restarted else []
            searched[id(rung.found)] = ends or alone(_last(problem, criterion, rung, settings, total(rung)))
        for end in searched[id(rung.found)]:
            by = _suited(rung.by, problem, end, settings) if several else rung.by
            models.append(_member(end.tuning, rung.spread, by, weight * end.share, beside=rung.beside))
    mixed, by_class = table @ weights, isinstance(problem, ClassProblem)
    classes = np.array([classes_of(rung.heard) for rung in rungs]) if by_class else np.empty(0)
    if vote is not None:
        mixed = vote.held_out(classes if by_class else table.T, weights, problem.labels[np.concatenate(dealt.rows)])
    elif by_class:
        mixed = np.tensordot(weights, classes, axes=1)
    return Ensemble(tuple(models), dealt.average(mixed))


def _judged(
    problem: Problem,
    criterion: Criterion,
    start: Model,
    shared: Tuning,
    settings: SearchSettings,
    dealt: Dealt,
    spreads: Sequence[float],
) -> list[_Rung]:
    """Return the rungs that gained on the folds, what stands beside them, and the last one by a second method."""
    n_folds, many, first = len(dealt.rows), are_many(problem), first_method(problem)
    order = tuple(spreads)[:: -1 if many else 1] if _has_freedom(problem, start) else ()
    # No held-out sets, callbacks or bars: these are for the searches that the user sees.
    inside = SearchSettings(settings.search, settings.prior, limits=settings.limits, progress=False)
    parallel = job_runner(settings.n_jobs)
    simpler = None if isinstance(problem, ClassProblem) or problem.inducing is not None else start.simpler()
    passes = 1 + len(order) + isinstance(problem, ClassProblem) + (simpler is not None)
    with parallel, counter(None, "folds", n_folds * passes) as count:

        def judge(numbers: range, starts: list[Fold], under: SearchSettings | None, by: Method = first) -> list[Fold]:
            jobs = [delayed(_judge)(*dealt.parts(k, settings.seed), criterion, starts[k], under, by) for k in numbers]
            results = list(outcomes(parallel, jobs))
            count(len(numbers))
            return results

        def stands(tuning: Tuning, *, beside: bool = False) -> _Rung:
            found = [begun(criterion, tuning)] * n_folds
            return _Rung(0.0, found, judge(range(n_folds), found, None), first, tuning, beside)

        rungs = [stands(shared)]
        for spread in order:
            below, under = rungs[-1], inside.with_spread(spread)
            judged: list[Fold] = []
            gained = True
            for upto, least in _STAGES[many]:
                others = range(len(judged), min(upto, n_folds))
                if many and judged:  # they take what was found
                    judged += judge(others, [replace(judged[0], hyperparameters=mean_of(judged))] * n_folds, None)
                else:
                    judged += judge(others, below.found, under)
                gained = dealt.gain(judged, column_of(below.heard)) > least
                if not gained:
                    break
            if gained:
                rungs.append(_Rung(spread, judged, judged, first))
            if gained == many:  # up while it helps, or down until it does
                break
        last = rungs[-1]
        second = second_method(first_part(problem, settings), mean_of(last.found))
        if second is not None:
            rungs.append(replace(last, heard=judge(range(n_folds), last.found, None, second), by=second))
        if simpler is not None:
            rungs.append(
                stands(begin_roughly(problem, criterion, simpler, replace(inside, seed=settings.seed)), beside=True)
            )
    return rungs


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
    tuning = begin(problem, criterion, start, settings)
    spread = spread if _has_freedom(problem, start) else 0.0
    if spread > 0:
        free = tuning.hyperparameters.as_ard(problem.X.shape[1])
        again = settings if several else replace(settings, restarts=0)
        tuning = _restarted(problem, criterion, free, spread, again)
    ends = all_ends(tuning) if several else alone(tuning)
    return _given(problem, _gone_on(problem, criterion, ends, spread, settings), spread, settings)


def _restarted(problem: Problem, criterion: Criterion, start: Model, spread: float, settings: SearchSettings) -> Tuning:
    """Search with so much freedom, on some of the rows where they are many."""
    return tune_problem(first_part(problem, settings), criterion, start, settings.with_spread(spread))


def _gone_on(
    problem: Problem, criterion: Criterion, ends: list[End], spread: float, settings: SearchSettings
) -> list[End]:
    """Search on from each end on all rows, where that was done on a part of them."""
    if not are_many(problem):
        return ends
    on_all = [last_search(problem, criterion, spread, [begun(criterion, end.tuning)], settings) for end in ends]
    return [End(end.share, with_restarts(end.tuning, last)) for end, last in zip(ends, on_all, strict=True)]


def _given(problem: Problem, ends: list[End], spread: float, settings: SearchSettings) -> Ensemble:
    """Return the ensemble of ends that no folds have judged: where there are two methods, each has the same weight."""
    models = []
    for end in ends:
        second = second_method(first_part(problem, settings), end.tuning.hyperparameters)
        methods = [first_method(problem)] if second is None else [first_method(problem), second]
        models += [_member(end.tuning, spread, by, end.share / len(methods)) for by in methods]
    return Ensemble(tuple(models), None)


def _suited(by: Method, problem: Problem, end: End, settings: SearchSettings) -> Method:
    """Return a method with the C that suits this end, if it has its own."""
    if by.C is None:
        return by
    return second_method(first_part(problem, settings), end.tuning.hyperparameters) or by


def _member(tuning: Tuning, spread: float, by: Method, weight: float, *, beside: bool = False) -> TunedModel:
    return TunedModel(weight, spread, tuning, by.name, by.C, beside=beside)


def _judge(
    inside: Problem, outside: Problem, criterion: Criterion, start: Fold, settings: SearchSettings | None, by: Method
) -> Fold:
    """Search on the examples that stay in, unless there are no settings, and look at the labels of the others.

    On one thread, so that the digits do not depend on the number of processes beside it.
    """
    model, known = start.hyperparameters, start.learnt
    with one_thread():
        if settings is not None:
            settings = settings.going_on(_FOLD_EVALUATIONS[are_many(inside)])
            settings = replace(settings, search=with_curvature(settings.search, () if model.is_isotropic else known))
            tuning = tune_problem(inside, criterion, model.as_ard(inside.X.shape[1]), settings)
            model, known = tuning.hyperparameters, learnt(criterion, tuning)
        probability = by.probability(inside, criterion, model, outside.X)
    return Fold(probability[np.arange(outside.n), outside.labels], model, known, probability)


def _last(problem: Problem, criterion: Criterion, rung: _Rung, settings: SearchSettings, weight: float) -> Tuning:
    """Search on all examples, unless that was done or is for a rung that is not the main one."""
    if rung.begun is None:
        return last_search(problem, criterion, rung.spread, rung.found, settings)
    if not are_many(problem) or weight < 0.5:
        return rung.begun
    return with_restarts(rung.begun, last_search(problem, criterion, rung.spread, rung.found, settings))


def _all_ends(problem: Problem, criterion: Criterion, rung: _Rung, settings: SearchSettings) -> list[End]:
    """Return the ends of searches from random starts with the freedom of a rung, each gone on with on all rows."""
    found = rung.begun or _restarted(problem, criterion, mean_of(rung.found), rung.spread, settings)
    return _gone_on(problem, criterion, all_ends(found), rung.spread, settings)


def _has_freedom(problem: Problem, start: Model) -> bool:
    """Say whether columns could have length scales of their own."""
    return start.kernel.n_columns(problem.X.shape[1]) > 1 and bool(start.groups)
