"""The members where rows are many: searched on a sample, the last search with local blocks; no folds.

So many rows tell length scales apart, and what a member says of each row without it is as good as folds. Members differ
in how they see the inputs, as they are and by their normal scores: they err in different places, and the leave-one-out
probabilities of all rows weigh them when they are trained.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from marginwise._runtime.threads import one_thread
from marginwise.fitting.candidates import Candidate
from marginwise.fitting.config import Choice, Chosen, FitConfig
from marginwise.fitting.folds import sample_of
from marginwise.fitting.labels import LabelModel, Scale, SoftmaxLabels
from marginwise.fitting.optima import best_only, distinct_optima
from marginwise.fitting.rank import in_blocks
from marginwise.fitting.schedule import SCHEDULE
from marginwise.fitting.searching import Searcher, WarmStart, selected, with_curvature, with_restarts
from marginwise.fitting.views import NormalScores, View
from marginwise.model import Model
from marginwise.problem import Problem
from marginwise.tuning import Tuning, tune_problem

#: With the seed it draws the rows that searches with many length scales begin on.
_NEAR = 7


def choose(sample: Problem, n_rows: int, config: FitConfig) -> Chosen:
    """Return what to train on so many rows, of which there is a sample to tune on."""
    views: list[View | None] = [None]
    if config.declared.scored:
        views.append(NormalScores.of(sample.X, sample.weights))
    choices: list[Choice] = []
    start = config.declared.start
    with one_thread():
        for view in views:
            rows = sample if view is None else selected(sample, view)
            found = _Searches(rows, n_rows, view, config)
            begun = found.searcher.first(start, found.searcher.quiet if choices else config.settings)
            optima = distinct_optima(begun) if config.all_optima else best_only(begun)
            choices += [found.choice(one.tuning, one.share / len(views)) for one in optima]
            start = begun.hyperparameters
    return Chosen(choices, None)


class _Searches(NamedTuple):
    """Searches on a sample of so many rows, seen in one way."""

    rows: Problem
    n_rows: int
    view: View | None
    config: FitConfig

    @property
    def searcher(self) -> Searcher:
        return Searcher(self.rows, self.config.declared.criterion, self.config.settings)

    @property
    def spread(self) -> float:
        """The largest of the spreads: so many rows tell length scales apart."""
        return max(self.config.declared.spreads, default=0.0)

    def choice(self, begun: Tuning, weight: float) -> Choice:
        """Return a member from where a search with one length scale has ended."""
        tuning = with_restarts(begun, self._last(begun))
        labels, scale = self._labels(tuning.hyperparameters)
        candidate = Candidate(self.config.declared.start, self.spread, labels)
        return Choice(candidate, tuning, scale, weight, self.view)

    def _last(self, begun: Tuning) -> Tuning:
        """Search with a length scale for each input, on few rows and then on the sample in blocks."""
        searcher = self.searcher
        start = WarmStart.after(searcher.criterion, begun)
        settings = replace(self.config.settings.with_spread(self.spread), seed=0, n_jobs=1)
        if self.spread > 0.0:
            start = start.freed(self.rows.X.shape[1])
            near = sample_of(self.rows, SCHEDULE.near_rows, np.random.default_rng([self.config.settings.seed, _NEAR]))
            quiet = replace(searcher.quiet.with_spread(self.spread).going_on(SCHEDULE.near_evaluations), n_jobs=1)
            found = tune_problem(near, searcher.criterion, start.model, quiet)
            start = WarmStart.after(searcher.criterion, found)
        settings = settings.going_on(SCHEDULE.wide_evaluations)
        settings = replace(settings, search=with_curvature(settings.search, start.curvature))
        rows = self._in_blocks(self.rows, start.model, single=searcher.criterion.closed_form)
        return tune_problem(rows, searcher.criterion, start.model, settings)

    def _labels(self, model: Model) -> tuple[LabelModel, Scale]:
        """Return the label model under which rows left out are most probable, with its scale.

        The scale is found on many rows: latent functions of few are too small for many. The more classes, the fewer
        rows can be afforded.
        """
        declared = self.config.declared.labels
        few = sample_of(self.rows, 2 * SCHEDULE.wide_rows // self.rows.n_classes, np.random.default_rng(0))
        rows = self._in_blocks(few, model, single=True)
        best: tuple[LabelModel, Scale] = declared[0], Scale()
        best_value = -np.inf
        for labels in declared:
            if isinstance(labels, SoftmaxLabels) and self.n_rows > SCHEDULE.softmax_rows:
                continue  # its mode is a long way
            scale = labels.scale(rows, model)
            if scale is not None and len(declared) > 1:
                left_out = labels.train(rows, scale(model)).log_left_out
                value = float(rows.weights @ left_out[np.arange(rows.n), rows.labels])
                if value > best_value:
                    best, best_value = (labels, scale), value
        return best

    def _in_blocks(self, rows: Problem, model: Model, *, single: bool) -> Problem:
        seed = self.config.policy.seed
        return in_blocks(rows, self.rows.X, model.kernel, SCHEDULE.wide_local, seed, single=single)
