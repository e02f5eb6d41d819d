"""Candidates judged on common folds: which of them gain, and with what weights they are stacked.

The criterion itself can't tell: it is optimistic, the more so with many free length scales and few rows. So on each
fold the search goes on from its neighbour, without the rows left out, and predicts them. A spread of the length scales
that does not gain on the first folds ends the list of spreads, and a label model or kernel that would have no weight
there is dropped (successive halving).

Where rows are many, the searches of the first folds serve the others as well. So many rows can tell length scales
apart: the largest spread is tried first, and smaller ones only if it gains nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from joblib import delayed

from marginwise._arrays import Array
from marginwise._runtime.processes import job_runner, outcomes
from marginwise._runtime.threads import one_thread
from marginwise.criteria.base import Criterion
from marginwise.fitting.candidates import Candidate, CandidateList
from marginwise.fitting.folds import Folds
from marginwise.fitting.labels import LabelModel, Scale
from marginwise.fitting.schedule import SCHEDULE
from marginwise.fitting.searching import (
    Searcher,
    WarmStart,
    for_fold,
    screened_search,
    selected,
    selections_of,
)
from marginwise.fitting.stacking import Vote, cross_fitted, kept_weights, stacking_weights
from marginwise.fitting.views import NormalScores, View
from marginwise.model import Model
from marginwise.problem import Problem
from marginwise.search.progress import counter
from marginwise.tuning import SearchSettings, Tuning, tune_problem


@dataclass(frozen=True, eq=False)
class Searched:
    """A kernel and a spread, and where the searches of the folds by a criterion ended.

    ``begun`` is the search on all rows, or on those that searches begin on, if there was one; ``view`` how the kernel
    sees the inputs, None for as they are.
    """

    start: Model
    spread: float
    fits: Sequence[WarmStart]
    criterion: Criterion
    begun: Tuning | None = None
    auxiliary: bool = False
    screen: str = ""
    view: View | None = None

    def starts(self, n_inputs: int) -> list[WarmStart]:
        """Return where searches of the folds with a length scale for each input begin: near the optimum of all rows."""
        near = self.fits if self.begun is None else [WarmStart.after(self.criterion, self.begun)] * len(self.fits)
        return [one.freed(n_inputs) for one in near]


@dataclass(frozen=True, eq=False)
class Judged:
    """A candidate that was judged: its search, its label model and scale, and what it says of the rows left out.

    ``log_proba`` are log-probabilities of all classes in the long table of the folds.
    """

    searched: Searched
    labels: LabelModel
    scale: Scale
    log_proba: Array

    @property
    def candidate(self) -> Candidate:
        """What was judged."""
        s = self.searched
        return Candidate(s.start, s.spread, self.labels, s.auxiliary, s.screen)


@dataclass(eq=False)
class Jury:
    """Judges the candidates of one fit; ``thorough`` if the last search on all rows is no short one."""

    searcher: Searcher
    folds: Folds
    declared: CandidateList
    thorough: bool = False
    judged: list[Judged] = field(default_factory=list)
    _growth: dict[LabelModel, float] = field(default_factory=dict)  # of C, from the search to other label models

    def weights(self) -> Array:
        """Return the weights of all that were judged, 0 for those that are dropped."""
        return kept_weights(self._table([one.log_proba for one in self.judged]), self.folds.weights)

    @property
    def _late(self) -> bool:
        """Whether no time is left for further candidates."""
        return self.searcher.settings.limits.is_late

    def _table(self, columns: Sequence[Array]) -> Array:
        return np.column_stack([self.folds.own(column) for column in columns])

    def hear(self, first: Tuning, n_jobs: int | None) -> None:
        """Judge all candidates, those of the main kernel from its first search on."""
        declared = self.declared
        passes = sum(len(declared.spreads) + len(family.labels) for family in declared.families)
        passes += len(declared.auxiliaries)
        self._parallel: Any = job_runner(n_jobs)
        with self._parallel, counter(None, "folds", len(self.folds) * passes) as self._count:
            for family in declared.families:
                if self.judged and self._late:
                    break
                own = replace(self.searcher, criterion=family.criterion)
                tuning = own.first(declared.start, own.quiet) if self.judged else first
                self._family(self._on_folds(declared.start, tuning, family.criterion), family.labels)
            for further in (self._auxiliaries, self._screened):
                if not self._late:
                    further()

    def _family(self, shared: Searched, labels: Sequence[LabelModel]) -> None:
        """Judge a search with one length scale, those with several, other label models, and another view."""
        many = self.searcher.are_many and self.declared.gated
        main = self._one_length_scale(shared, labels[0])
        for spread in self.declared.spreads[:: -1 if many else 1]:
            if self.judged and self._late:
                break
            found = self._with_spread(spread, main, many)
            if found is not None:
                self.judged.append(found)
                main = found
            if (found is not None) == many:  # up while it helps, or down until it does
                break
        if not self._late:
            self._other_labels(main, labels[1:])
        if not self._late:
            self._other_view(main)

    def held_out(self, vote: Vote | None) -> Array:
        """Return what the members together say of rows left out: log-probabilities in the long table of the folds."""
        logs, folds = np.array([one.log_proba for one in self.judged]), self.folds
        return cross_fitted(logs, folds.labels, folds.weights, folds.numbers, vote)

    def _on_folds(self, start: Model, tuning: Tuning, criterion: Criterion, *, auxiliary: bool = False) -> Searched:
        """Return a search on all rows with one length scale, and where it ends without the rows of each fold.

        With the curvature known, a step of Newton's method takes it there (as in the infinitesimal jackknife).
        Auxiliary models, which have few hyperparameters, leave out half of the folds at once. Rows that are many hardly
        move them, and one search serves all folds.
        """
        after, K = WarmStart.after(criterion, tuning), len(self.folds)
        fits = [after] * K
        if not self.searcher.are_many:
            groups = [range(K // 2), range(K // 2, K)] if auxiliary else [range(k, k + 1) for k in range(K)]
            parts = [self.folds.without(group) for group in groups]
            calls = [
                delayed(_search)(part, criterion, self.searcher.quiet, after, SCHEDULE.shared_fold_evaluations)
                for part in parts
            ]
            found = outcomes(self._parallel, calls)
            fits = [fit for fit, group in zip(found, groups, strict=True) for _ in group]
        return Searched(start, 0.0, fits, criterion, tuning, auxiliary)

    def _one_length_scale(self, shared: Searched, labels: LabelModel) -> Judged:
        """Judge one length scale for all inputs, which is a candidate unless a spread is given."""
        judged = Judged(shared, labels, Scale(), self._predict(shared, labels, Scale()))
        if self.declared.gated or not self.declared.spreads:
            self.judged.append(judged)
        return judged

    def _with_spread(self, spread: float, below: Judged, many: bool) -> Judged | None:
        """Return the candidate with a spread; None if it gains nothing."""
        gated = self.declared.gated

        def gains(logs: Array) -> bool:
            undecided = many and len(logs) < len(below.log_proba)
            return not gated or undecided or self.folds.gain(logs, below.log_proba) > 0.0

        # Where the spread is given, searches of folds are as long as that of all rows, or they would tell too little.
        budget = self.searcher.settings.limits.max_evaluations if self.thorough and not gated else None
        searched = replace(below.searched, spread=spread, begun=None)
        starts = below.searched.starts(self.folds.problem.X.shape[1])
        return self._searched(searched, starts, budget, below.labels, below.scale, many, gains)

    def _searched(
        self,
        searched: Searched,
        starts: Sequence[WarmStart],
        budget: int | None,
        labels: LabelModel,
        scale: Scale,
        many: bool,
        pays: Callable[[Array], bool],
    ) -> Judged | None:
        """Search on each fold from its neighbour; None as soon as that does not pay, on the first folds or on all."""
        settings = self.searcher.quiet.with_spread(searched.spread)
        jobs: list[tuple[Any, ...]] = [(k, one, settings, budget, labels, scale) for k, one in enumerate(starts)]
        first = self._jobs(searched, jobs[: SCHEDULE.first_folds])
        fits, logs = [fit for fit, _ in first], np.concatenate([log for _, log in first])
        if not pays(logs):
            return None
        rest = jobs[SCHEDULE.first_folds :]
        if many:  # they take what was found
            mean = WarmStart.mean(fits)
            rest = [(k, mean, None, None, labels, scale) for k, *_ in rest]
        if rest:
            others = self._jobs(searched, rest)
            fits, logs = [*fits, *(fit for fit, _ in others)], np.concatenate([logs, *(log for _, log in others)])
            if not pays(logs):
                return None
        return Judged(replace(searched, fits=fits), labels, scale, logs)

    def _other_labels(self, main: Judged, others: Sequence[LabelModel]) -> None:
        """Judge the search that gained most with other label models."""
        searched = main.searched
        found = WarmStart.mean(searched.fits).model
        for labels in others:
            scale = labels.scale(self.searcher.coarse, found)
            if scale is not None:
                self._growth[labels] = scale(found).C / found.C
                self._try(searched, labels, scale)

    def _other_view(self, main: Judged) -> None:
        """Judge normal scores of the inputs, searched from where the inputs as they are have led, if they differ."""
        problem = self.folds.problem
        view = NormalScores.of(problem.X, problem.weights) if self.declared.scored else None
        if view is None or view.distance(problem.X, problem.weights) < SCHEDULE.scored_from:
            return
        searched = replace(main.searched, begun=None, view=view)
        starts, many = main.searched.fits, self.searcher.are_many
        found = self._searched(searched, starts, None, main.labels, main.scale, many, self._has_weight)
        if found is not None:
            self.judged.append(found)

    def _has_weight(self, logs: Array) -> bool:
        """Say whether stacking would give a candidate a weight, by what it says of first rows of the long table."""
        others = [one.log_proba[: len(logs)] for one in self.judged]
        weights = stacking_weights(self._table([*others, logs]), self.folds.weights[: len(logs)])
        return bool(weights[-1] >= 0.5 * SCHEDULE.least_weight)

    def _try(self, searched: Searched, labels: LabelModel, scale: Scale) -> None:
        """Judge a candidate on the first folds, and on all if stacking would give it a weight there."""
        logs = self._predict(searched, labels, scale, range(min(SCHEDULE.first_folds, len(self.folds))))
        if not self._has_weight(logs):
            return
        rest = range(SCHEDULE.first_folds, len(self.folds))
        if len(rest):
            logs = np.concatenate([logs, self._predict(searched, labels, scale, rest)])
        self.judged.append(Judged(searched, labels, scale, logs))

    def _auxiliaries(self) -> None:
        """Judge each term of the main kernel alone, by the last label model that can be used.

        Its C is as many times that of the search as with the main kernel: that depends on the table more than on terms.
        """
        few, labels = replace(self.searcher, problem=self.searcher.few), self.declared.labels[0]
        labels = [labels, *(one for one in self.declared.labels if one in self._growth)][-1]
        for start in self.declared.auxiliaries:
            if self._late:
                break
            searched = self._on_folds(start, few.first(start, few.quiet), few.criterion, auxiliary=True)
            C = WarmStart.mean(searched.fits).model.C
            self._try(searched, labels, Scale(C * self._growth[labels]) if labels in self._growth else Scale())

    def _screened(self) -> None:
        """Judge models of screened inputs; each fold screens by itself, from rows that it does not leave out."""
        declared = self.declared
        if not declared.screens:
            return
        criterion, settings = self.searcher.criterion, self.searcher.quiet
        calls = [
            delayed(_judge_screens)(*self.folds.split(k), criterion, settings, declared) for k in range(len(self.folds))
        ]
        folds = list(outcomes(self._parallel, calls))
        self._count(len(calls))
        for screen in declared.screens:
            if all(screen in fold for fold in folds):
                logs = np.concatenate([fold[screen] for fold in folds])
                searched = Searched(declared.start, 0.0, (), criterion, screen=screen)
                self.judged.append(Judged(searched, declared.labels[0], Scale(), logs))

    def _predict(self, searched: Searched, labels: LabelModel, scale: Scale, which: range | None = None) -> Array:
        """Return what models without a search of their own say of the rows that folds leave out."""
        numbers = range(len(self.folds)) if which is None else which
        jobs = [(k, searched.fits[k], None, None, labels, scale) for k in numbers]
        return np.concatenate([logs for _, logs in self._jobs(searched, jobs)])

    def _folds_of(self, searched: Searched) -> Folds:
        """Return the folds as a candidate sees them."""
        if searched.view is None:
            return self.folds
        return replace(self.folds, problem=selected(self.folds.problem, searched.view))

    def _jobs(self, searched: Searched, jobs: Sequence[tuple[Any, ...]]) -> list[tuple[WarmStart, Array]]:
        folds = self._folds_of(searched)
        calls = [delayed(_judge)(*folds.split(k), searched.criterion, *rest) for k, *rest in jobs]
        results = list(outcomes(self._parallel, calls))
        self._count(len(calls))
        return results


def _judge_screens(
    inside: Problem, outside: Array, criterion: Criterion, settings: SearchSettings, declared: CandidateList
) -> dict[str, Array]:
    """Screen the inputs on the rows that stay in, search from the prior's mean, and predict the others."""
    with one_thread():
        found = {}
        for screen, selection in selections_of(inside, declared).items():
            if len(selection.inputs):
                tuning = screened_search(inside, criterion, settings, declared, selection)
                trained = declared.labels[0].train(selected(inside, selection), tuning.hyperparameters)
                found[screen] = trained.predictor.log_proba(selection(outside))
        return found


def _search(
    inside: Problem, criterion: Criterion, settings: SearchSettings, start: WarmStart, evaluations: int | None
) -> WarmStart:
    """Return where a search on the rows that stay in ends, on one thread."""
    with one_thread():
        settings = for_fold(settings, inside.n, start, evaluations)
        return WarmStart.after(criterion, tune_problem(inside, criterion, start.model, settings))


def _judge(
    inside: Problem,
    outside: Array,
    criterion: Criterion,
    start: WarmStart,
    settings: SearchSettings | None,
    evaluations: int | None,
    labels: LabelModel,
    scale: Scale,
) -> tuple[WarmStart, Array]:
    """Search on the rows that stay in, unless there are no settings, and predict the others.

    On one thread, so that the digits do not depend on the number of other processes.
    """
    if settings is not None:
        start = _search(inside, criterion, settings, start, evaluations)
    with one_thread():
        return start, labels.train(inside, scale(start.model)).predictor.log_proba(outside)
