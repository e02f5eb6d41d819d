"""Candidates judged on common folds: which of them gain, and with what weights they are stacked.

The criterion itself can't tell: it is optimistic, the more so with many free length scales and few rows. So on each
fold the search goes on from its neighbour, without the rows left out, and predicts them. A spread of the length scales
that does not gain on the first folds ends the list of spreads, and a label model or kernel that would have no weight
there is dropped (successive halving).

Where rows are many, the searches of the first folds serve the others as well. So many rows can tell length scales
apart: the largest spread is tried first, and smaller ones only if it gains nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from joblib import delayed

from marginwise._arrays import Array
from marginwise._runtime.processes import job_runner, outcomes
from marginwise._runtime.threads import one_thread
from marginwise.criteria.base import Criterion
from marginwise.fitting.candidates import CandidateList, Family
from marginwise.fitting.folds import Folds
from marginwise.fitting.judged import Judged, Searched
from marginwise.fitting.labels import LabelModel, Scale
from marginwise.fitting.schedule import SCHEDULE
from marginwise.fitting.searching import Searcher, after, mean_of, screened_search, selected, selections_of
from marginwise.fitting.stacking import Vote, cross_fitted, kept_weights, stacking_weights
from marginwise.fitting.views import NormalScores
from marginwise.model import Model
from marginwise.problem import Problem
from marginwise.search.driver import drive
from marginwise.search.progress import counter
from marginwise.search.settings import SearchSettings
from marginwise.search.trace import Tuning


@dataclass(eq=False)
class Jury:
    """Judges the candidates of one fit; ``thorough`` if the last search on all rows is no short one."""

    searcher: Searcher
    folds: Folds
    declared: CandidateList
    thorough: bool = False
    judged: list[Judged] = field(default_factory=list)
    _growth: dict[LabelModel, float] = field(default_factory=dict)  # of C, from the main search to other label models

    @contextmanager
    def in_session(self, n_jobs: int | None) -> Iterator[None]:
        """Hear candidates within, on so many processes, and show how far that is."""
        families = self.declared.families
        passes = sum(len(one.labels) + (0 if one.auxiliary else len(self.declared.spreads)) for one in families)
        self._parallel: Any = job_runner(n_jobs)
        with self._parallel, counter(None, "folds", len(self.folds) * passes) as self._count:
            yield

    def hear(self, family: Family, first: Tuning) -> None:
        """Judge one length scale, several of them, other label models, and another view; ``first`` is the main search.

        Nothing of this where no time is left and something was judged.
        """
        if self.judged and self.is_late:
            return
        if family.auxiliary:
            self._auxiliary(family)
            return
        declared, labels = self.declared, family.labels[0]
        own = replace(self.searcher, criterion=family.criterion)
        begun = own.first(family.start, own.quiet) if self.judged else first
        one = self._one_length_scale(family, begun, [range(k, k + 1) for k in range(len(self.folds))])
        main = Judged(one, labels, Scale(), self._predict(one, labels, Scale(), range(len(self.folds))))
        if declared.gated or not declared.spreads:  # otherwise it is not asked for
            self.judged.append(main)
        for spread in declared.spreads[:: -1 if self._many else 1]:
            if self.judged and self.is_late:
                break
            wider = replace(main.searched, spread=spread)
            found = self._searched(wider, labels, Scale(), self._gains(main))
            if found is not None:
                self.judged.append(found)
                main = found
            if (found is not None) == self._many:  # up while it helps, or down until it does
                break
        if not self.is_late:
            self._other_labels(main.searched, family.labels[1:])
        if not self.is_late:
            self._other_view(main)

    def hear_screened(self) -> None:
        """Judge models of screened inputs; each fold screens by itself, from rows that it does not leave out."""
        declared = self.declared
        if not declared.screens or self.is_late:
            return
        splits = [self.folds.split(k) for k in range(len(self.folds))]
        jobs = [delayed(_judge_screens)(*split, self.searcher.quiet, declared) for split in splits]
        folds = list(outcomes(self._parallel, jobs))
        self._count(len(jobs))
        for screen in declared.screens:
            if all(screen in fold for fold in folds):
                logs = np.concatenate([fold[screen] for fold in folds])
                searched = Searched(declared.main, 0.0, self.folds, screen=screen)
                self.judged.append(Judged(searched, declared.main.labels[0], Scale(), logs))

    @property
    def is_late(self) -> bool:
        """Whether no time is left for further candidates."""
        return self.searcher.settings.limits.is_late

    @property
    def weights(self) -> Array:
        """The weights of all that were judged, 0 for those that are dropped."""
        return kept_weights(self._table([one.log_proba for one in self.judged]), self.folds.weights)

    def held_out(self, vote: Vote | None) -> Array:
        """Return what the members together say of rows left out: log-probabilities in the long table of the folds."""
        logs, folds = np.array([one.log_proba for one in self.judged]), self.folds
        return cross_fitted(logs, folds.labels, folds.weights, folds.numbers, vote)

    def _auxiliary(self, family: Family) -> None:
        """Judge one term of the kernel; few rows tell its few hyperparameters, and so do those of half of the folds.

        Its C is as many times that of its search as with all terms: that depends on the table more than on terms.
        """
        own = replace(self.searcher, problem=self.searcher.few, criterion=family.criterion)
        half, whole = len(self.folds) // 2, len(self.folds)
        begun = own.first(family.start, own.quiet)
        searched = self._one_length_scale(family, begun, [range(half), range(half, whole)])
        labels, model = family.labels[0], mean_of(searched.ends)
        known = self._growth.get(labels)
        found = labels.scale(own.problem, model) if known is None else (Scale(known * model.C), None)
        if found is not None:
            self._try(searched, labels, found[0])

    def _one_length_scale(self, family: Family, begun: Tuning, left_out: Sequence[range]) -> Searched:
        """Return a search on all rows with one length scale, and where it ends without some folds, then some others.

        With the curvature known, a step of Newton's method takes it there (as in the infinitesimal jackknife). Rows
        that are many hardly move the few hyperparameters, and one search serves all folds.
        """
        searched = Searched(family, 0.0, self.folds, (begun,) * len(self.folds), begun)
        if self.searcher.are_many:
            return searched
        settings = after(family.criterion, begun, self.searcher.quiet.going_on(SCHEDULE.shared_fold_evaluations))
        jobs = [
            delayed(_search)(self.folds.without(some), family.criterion, begun.hyperparameters, settings)
            for some in left_out
        ]
        found = list(outcomes(self._parallel, jobs))
        return replace(searched, ends=tuple(end for end, some in zip(found, left_out, strict=True) for _ in some))

    def _searched(
        self, near: Searched, labels: LabelModel, scale: Scale, pays: Callable[[Array], bool]
    ) -> Judged | None:
        """Judge a candidate by a search of its own; None as soon as that does not pay, on the first folds or on all.

        On each fold it begins where that of its neighbour has ended: ``near`` still has those ends.
        """
        first, rest = self.folds.halves
        found = replace(near, begun=None, ends=tuple(outcomes(self._parallel, self._searches(near, first))))
        logs = self._predict(found, labels, scale, first)
        if not pays(logs):
            return None
        if not self._many:  # otherwise these folds take what was found
            found = replace(found, ends=(*found.ends, *outcomes(self._parallel, self._searches(near, rest))))
        logs = np.concatenate([logs, self._predict(found, labels, scale, rest)])
        return Judged(found, labels, scale, logs) if pays(logs) else None

    def _try(self, searched: Searched, labels: LabelModel, scale: Scale) -> None:
        """Judge a candidate on the first folds, and on all if stacking would give it a weight there."""
        first, rest = self.folds.halves
        logs = self._predict(searched, labels, scale, first)
        if self._has_weight(logs):
            logs = np.concatenate([logs, self._predict(searched, labels, scale, rest)])
            self.judged.append(Judged(searched, labels, scale, logs))

    def _other_labels(self, searched: Searched, others: Sequence[LabelModel]) -> None:
        """Judge the search that gained most with other label models."""
        model = mean_of(searched.ends)
        for labels in others:
            found = labels.scale(self.searcher.coarse, model)
            if found is not None:
                scale, _ = found
                self._growth[labels] = scale(model).C / model.C
                self._try(searched, labels, scale)

    def _other_view(self, main: Judged) -> None:
        """Judge normal scores of the inputs, searched from where the inputs as they are have led, if they differ."""
        problem = self.folds.problem
        view = NormalScores.of(problem.X, problem.weights) if self.declared.scored else None
        if view is None or view.distance(problem.X, problem.weights) < SCHEDULE.scored_from:
            return
        folds = replace(self.folds, problem=selected(problem, view))
        seen = replace(main.searched, begun=None, folds=folds, view=view)
        found = self._searched(seen, main.labels, main.scale, self._has_weight)
        if found is not None:
            self.judged.append(found)

    def _searches(self, near: Searched, which: range) -> list[Any]:
        """Return the jobs that search without the rows of some folds, from where ``near`` has ended.

        Those with a length scale for each input begin at the optimum of all rows with one; what was learnt of the
        curvature there tells nothing of them.
        """
        criterion, splits = near.family.criterion, [near.folds.split(k)[0] for k in which]
        settings = self.searcher.quiet.with_spread(near.spread)
        jobs = []
        for k, inside in zip(which, splits, strict=True):
            end = near.begun or near.ends[k]
            own = settings.going_on(self._evaluations(inside.n))
            if end.hyperparameters.is_isotropic and near.spread > 0:
                start = end.hyperparameters.as_ard(inside.X.shape[1])
            else:
                start, own = end.hyperparameters, after(criterion, end, own)
            jobs.append(delayed(_search)(inside, criterion, start, own))
        return jobs

    def _predict(self, searched: Searched, labels: LabelModel, scale: Scale, which: range) -> Array:
        """Return what a candidate says of the rows that some folds leave out."""
        jobs = [delayed(_predict)(*searched.folds.split(k), labels, scale(searched.model(k))) for k in which]
        logs = [np.empty((0, self.folds.problem.n_classes)), *outcomes(self._parallel, jobs)]
        self._count(len(jobs))
        return np.concatenate(logs)

    @property
    def _many(self) -> bool:
        """Whether the searches of the first folds serve the others."""
        return self.searcher.are_many and self.declared.gated

    def _evaluations(self, n_rows: int) -> int:
        """Return the evaluations of a search on so many rows of a fold.

        Where the spread is given they are as many as on all rows, or they would tell too little.
        """
        most = self.searcher.settings.limits.max_evaluations
        if self.thorough and not self.declared.gated and most is not None:
            return most
        return SCHEDULE.many_fold_evaluations if SCHEDULE.are_many(n_rows) else SCHEDULE.fold_evaluations

    def _gains(self, before: Judged) -> Callable[[Array], bool]:
        """Return whether first rows of the long table are more probable than before, if that is asked for."""

        def gains(logs: Array) -> bool:
            undecided = self._many and len(logs) < len(before.log_proba)
            return not self.declared.gated or undecided or self.folds.gain(logs, before.log_proba) > 0.0

        return gains

    def _has_weight(self, logs: Array) -> bool:
        """Say whether stacking would give a candidate a weight, by what it says of first rows of the long table."""
        others = [one.log_proba[: len(logs)] for one in self.judged]
        weights = stacking_weights(self._table([*others, logs]), self.folds.weights[: len(logs)])
        return bool(weights[-1] >= 0.5 * SCHEDULE.least_weight)

    def _table(self, columns: Sequence[Array]) -> Array:
        return np.column_stack([self.folds.own(column) for column in columns])


def _search(inside: Problem, criterion: Criterion, start: Model, settings: SearchSettings) -> Tuning:
    """Search on the rows that stay in, on one thread: digits do not depend on the number of other processes."""
    with one_thread():
        return drive(settings.task(inside, criterion, start))


def _predict(inside: Problem, outside: Array, labels: LabelModel, model: Model) -> Array:
    """Return log-probabilities of the rows left out from a model trained on the others, on one thread."""
    with one_thread():
        return labels.train(inside, model).predictor.log_proba(outside)


def _judge_screens(
    inside: Problem, outside: Array, settings: SearchSettings, declared: CandidateList
) -> dict[str, Array]:
    """Screen the inputs on the rows that stay in, search from the prior's mean, and predict the others."""
    with one_thread():
        found = {}
        for screen, selection in selections_of(inside, declared).items():
            if len(selection.inputs):
                seen = selected(inside, selection)
                tuning = screened_search(seen, settings, declared, selection)
                trained = declared.main.labels[0].train(seen, tuning.hyperparameters)
                found[screen] = trained.predictor.log_proba(selection(outside))
        return found
