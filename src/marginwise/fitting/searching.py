"""The searches of a fit, each warm-started from its neighbour: hyperparameters, and what was learnt of the curvature.

An evaluation on few rows costs little, so searches begin on part of the rows and are refined on all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from marginwise.criteria.base import Criterion
from marginwise.fitting.candidates import CandidateList, start_of
from marginwise.fitting.folds import sample_of
from marginwise.fitting.labels import LabelModel, Scale
from marginwise.fitting.schedule import SCHEDULE
from marginwise.fitting.screening import Screening
from marginwise.fitting.views import Selection, View
from marginwise.model import Model
from marginwise.problem import Problem
from marginwise.search.base import Search
from marginwise.search.quasi_newton import Pairs, QuasiNewton, pairs_of
from marginwise.search.restarts import tune_problem
from marginwise.search.settings import SearchSettings
from marginwise.search.trace import Tuning

#: With the seed they draw the rows that searches begin on, half of these, and those of single terms.
_COARSE, _HALF, _FEW = 4, 5, 6


@dataclass(frozen=True, eq=False)
class Searcher:
    """Searches of one criterion on one table, and on parts of it."""

    problem: Problem
    criterion: Criterion
    settings: SearchSettings

    @property
    def are_many(self) -> bool:
        """Whether searches begin on a part of the rows."""
        return SCHEDULE.are_many(self.problem.n)

    @property
    def coarse(self) -> Problem:
        """The rows that searches begin on, all if they are few."""
        return sample_of(self.problem, SCHEDULE.coarse_rows, np.random.default_rng([self.settings.seed, _COARSE]))

    @property
    def few(self) -> Problem:
        """The rows that single terms of the kernel are tuned on."""
        return sample_of(self.coarse, SCHEDULE.auxiliary_rows, np.random.default_rng([self.settings.seed, _FEW]))

    def scaled(self, labels: LabelModel, tuning: Tuning) -> Scale | None:
        """Return the scale of a label model where a search ended, from as many rows as that is worth."""
        found = labels.scale(self.coarse, tuning.hyperparameters)
        return None if found is None else found[0]

    @property
    def quiet(self) -> SearchSettings:
        """Settings of searches that the user does not see: no held-out sets, callbacks or bars."""
        s = self.settings
        return SearchSettings(s.search, s.prior, limits=s.limits, progress=False, seed=s.seed)

    def first(self, start: Model, settings: SearchSettings) -> Tuning:
        """Return the tuning with one length scale, on some of the rows where they are many.

        Other searches follow, so that it ends when it gains nothing that examples would show. Without other wishes it
        begins on half of the rows, where an evaluation costs a quarter or less. Searches from several starts go on to
        their ends, or ends of the same optimum would be taken for several.
        """
        part = self.coarse
        search = self._rough(part, settings.search) if settings.restarts == 0 else settings.search
        if settings.search is None and search is not None and part.n >= SCHEDULE.halve_from:
            half = sample_of(part, part.n // 2, np.random.default_rng([settings.seed, _HALF]))
            found = tune_problem(half, self.criterion, start, replace(self.quiet, search=search))
            start, search = found.hyperparameters, with_curvature(search, curvature_of(self.criterion, found))
        return tune_problem(part, self.criterion, start, replace(settings, search=search))

    def enriched(self, form: Model, found: Model) -> Tuning:
        """Return the tuning of a form with further terms, from what was found without them.

        From the prior's mean it would take three times as long where these terms are not called for, and end in a poor
        optimum now and then.
        """
        known = dict(zip(found.names, found.values.tolist(), strict=True))
        values = [known.get(name, own) for name, own in zip(form.names, form.values.tolist(), strict=True)]
        start = form.with_values(np.array(values))
        settings = replace(self.quiet, search=self._rough(self.coarse, self.settings.search))
        return tune_problem(self.coarse, self.criterion, start, settings)

    def restarted(self, start: Model, spread: float) -> Tuning:
        """Search with this spread and the restarts that were asked for, on some of the rows if they are many."""
        return tune_problem(self.coarse, self.criterion, start, self.settings.with_spread(spread))

    def last(self, spread: float, found: Sequence[Tuning]) -> Tuning:
        """Search on all rows from the mean of what was found on parts of them."""
        # What one part says of many length scales is not as near as a mean of several.
        near = self.are_many and (spread == 0 or len(found) > 1)
        budget = SCHEDULE.many_last_evaluations if near else SCHEDULE.last_evaluations
        settings = after(self.criterion, found[0], self.settings.with_spread(spread).going_on(budget))
        return tune_problem(self.problem, self.criterion, mean_of(found), replace(settings, seed=0, n_jobs=1))

    def refined(self, found: Tuning, spread: float) -> Tuning:
        """Search on from an optimum on all rows, where it was found on a part of them."""
        return with_restarts(found, self.last(spread, [found])) if self.are_many else found

    def polished(self, problem: Problem, spread: float, tuning: Tuning) -> Tuning:
        """Search on with new inducing inputs, those of ``problem``: at a low rank an evaluation is cheap."""
        settings = replace(self.settings.with_spread(spread).going_on(SCHEDULE.polish_evaluations), n_jobs=1)
        return with_restarts(tuning, tune_problem(problem, self.criterion, tuning.hyperparameters, settings))

    def _rough(self, problem: Problem, search: Search[Any] | None) -> Search[Any] | None:
        """Return the search asked for; by default one that ends when it gains nothing that examples would show."""
        return self._ending(problem, search, SCHEDULE.no_gain, SCHEDULE.no_gain_moves)

    def near(self, problem: Problem, start: Model, spread: float, evaluations: int, curvature: Pairs = ()) -> Tuning:
        """Search on other rows with a length scale for each input, from where another has ended.

        By default it ends at a move that gains less than what is open about one or two hyperparameters anyway.
        """
        settings = self.settings.with_spread(spread).going_on(evaluations)
        search = self._ending(problem, settings.search, SCHEDULE.small_gain, 1)
        settings = replace(settings, search=with_curvature(search, curvature), seed=0, n_jobs=1)
        return tune_problem(problem, self.criterion, start, settings)

    def _ending(self, problem: Problem, search: Search[Any] | None, gain: float, moves: int) -> Search[Any] | None:
        """Return the search asked for; by default one that ends when moves gain so little in the sum."""
        if search is not None or not self.criterion.log_probability:
            return search
        return QuasiNewton(gain_tolerance=gain / float(problem.weights.sum()), moves=moves)


def mean_of(found: Sequence[Tuning]) -> Model:
    """Return the mean in the logarithms of where several searches ended."""
    models = [one.hyperparameters for one in found]
    return models[0].with_vector(np.mean([model.to_vector() for model in models], axis=0))


def curvature_of(criterion: Criterion, found: Tuning) -> Pairs:
    """Return what a search has learnt of the curvature, if it followed gradients that can be relied on."""
    path = [record.point for record in found.trace.accepted]
    known = criterion.smooth and all(point.gradient is not None and np.isfinite(point.score) for point in path)
    return pairs_of(path) if known else ()


def after(criterion: Criterion, found: Tuning, settings: SearchSettings) -> SearchSettings:
    """Return settings of a search that goes on near where another has ended, with what that has learnt."""
    return replace(settings, search=with_curvature(settings.search, curvature_of(criterion, found)))


def selections_of(problem: Problem, declared: CandidateList) -> dict[str, Selection]:
    """Return the declared selections of inputs, screened on these rows; on some of them if they are very many."""
    few = sample_of(problem, SCHEDULE.coarse_rows, np.random.default_rng(0))
    found = Screening.of(few.X, few.labels, few.weights, declared.columns).selections()
    return {screen: found[screen] for screen in declared.screens}


def selected(problem: Problem, view: View) -> Problem:
    """Return the problem with the inputs seen in another way; of rows that Dask holds, block by block."""
    X = problem.X
    return replace(problem, X=view(X) if isinstance(X, np.ndarray) else X.map_blocks(view, dtype=float))


def screened_search(seen: Problem, settings: SearchSettings, declared: CandidateList, selection: Selection) -> Tuning:
    """Search with one length scale for the inputs of a selection, which are all that is seen.

    From the prior's mean: labels have chosen these inputs already.
    """
    own = None
    if declared.columns is not None:
        own = tuple(np.unique(np.asarray(declared.columns)[selection.inputs], return_inverse=True)[1].tolist())
    assert settings.prior is not None
    start = start_of(declared.form, own, len(selection.inputs), settings.prior)
    short = replace(settings.going_on(SCHEDULE.screened_evaluations), n_jobs=1, seed=0)
    return tune_problem(seen, declared.main.criterion, start, short)


def with_curvature(search: Search[Any] | None, pairs: Pairs) -> Search[Any] | None:
    """Return the search that was asked for, with what another has learnt of the curvature if it can use that."""
    if search is None and pairs:
        return QuasiNewton(curvature_pairs=pairs)
    return replace(search, curvature_pairs=pairs) if isinstance(search, QuasiNewton) else search


def with_restarts(earlier: Tuning, later: Tuning) -> Tuning:
    """Return the later tuning with the searches that were asked for, if the earlier one had several."""
    return later if len(earlier.restarts) < 2 else replace(later, restarts=earlier.restarts)
