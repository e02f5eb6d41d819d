"""The members where rows are few: candidates, one search each, common folds, stacking."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from marginwise._arrays import Array
from marginwise._runtime.threads import one_thread
from marginwise.fitting.config import Chosen, FitConfig
from marginwise.fitting.folds import Folds
from marginwise.fitting.judged import Searched
from marginwise.fitting.judging import Jury
from marginwise.fitting.machines import svm_model, train_pairs_of
from marginwise.fitting.members import Member
from marginwise.fitting.optima import optima_of
from marginwise.fitting.schedule import SCHEDULE
from marginwise.fitting.searching import Searcher, mean_of, screened_search, selected, selections_of, with_restarts
from marginwise.fitting.views import Selection, View
from marginwise.problem import Problem
from marginwise.search.trace import Tuning


def choose(problem: Problem, whole: Problem, config: FitConfig) -> Chosen:
    """Return what to train: tuned on some rows, judged on folds of the whole, stacked.

    The two differ by rows that stop searches early. Folds have them as all others: part of equal rows with both labels
    would be easier to predict.
    """
    main, policy = config.declared.main, config.policy
    with one_thread(problem.n <= SCHEDULE.exact_rows or not policy.exact):
        # k-means does not depend on a length scale that all inputs share.
        small = policy.for_tuning(problem, main.start)
        searcher = Searcher(small, main.criterion, config.settings)
        first, config = _first(searcher, config)
        folds = Folds.assign(replace(whole, inducing=small.inducing), config.settings.seed)
        if folds is None:
            chosen = Chosen(_unjudged(searcher, first, config), None)
        else:
            jury = Jury(searcher, folds, config.declared, thorough=config.all_optima)
            with jury.in_session(config.settings.n_jobs):
                for family in config.declared.families:
                    jury.hear(family, first)
                jury.hear_screened()
            stack = _Stack(jury, jury.weights)
            optima = {search: stack.optima(search, first) for search in stack.searches}
            chosen = Chosen(stack.members(optima), *_held_out(jury, config))
        return chosen if small.inducing is None else _polished(problem, searcher, chosen, config)


def _first(searcher: Searcher, config: FitConfig) -> tuple[Tuning, FitConfig]:
    """Return the first search, and how to go on: with the richer form of the kernel if it gains enough by that."""
    declared = config.declared
    first = searcher.first(declared.main.start, config.settings)
    if declared.richer is None or config.all_optima or config.settings.limits.is_late:
        return first, config
    found = searcher.enriched(declared.richer.main.start, first.hyperparameters)
    if not found.value - first.value > SCHEDULE.additive_gain:
        return first, config
    return with_restarts(first, found), replace(config, declared=declared.richer)


@dataclass(frozen=True, eq=False)
class _Stack:
    """The candidates that were judged, with their weights; on all rows those with a weight become members."""

    jury: Jury
    weights: Array

    @cached_property
    def searches(self) -> dict[Searched, float]:
        """The searches of candidates with a weight, and the sum of these."""
        totals: dict[Searched, float] = {}
        for one, weight in zip(self.jury.judged, self.weights.tolist(), strict=True):
            if weight > 0.0:
                totals[one.searched] = totals.get(one.searched, 0.0) + weight
        return totals

    @cached_property
    def views(self) -> dict[Searched, View | None]:
        """How these searches see the inputs; those of screened inputs screen all rows."""
        views = {search: search.view for search in self.searches}
        if any(search.screen for search in views):
            selections = selections_of(self.jury.searcher.problem, self.jury.declared)
            views |= {search: selections[search.screen] for search in views if search.screen}
        return views

    @property
    def main(self) -> Searched | None:
        """The search with the largest weight among those of the whole kernel, None if none of these has any."""
        whole = [search for search in self.searches if search.is_whole]
        return max(whole, key=lambda search: self.searches[search], default=None)

    def optima(self, search: Searched, first: Tuning) -> list[tuple[Tuning, float]]:
        """Return where a search ends on all rows, or for the main one the optima of all restarts if these are wanted.

        One that goes on from the first search keeps what that had restarted.
        """
        searcher, begun, view = self.jury.searcher, search.begun, self.views[search]
        problem = searcher.problem if view is None else selected(searcher.problem, view)
        searcher = replace(searcher, problem=problem, criterion=search.family.criterion)
        if isinstance(view, Selection):
            return [(screened_search(problem, searcher.quiet, self.jury.declared, view), 1.0)]
        if self.jury.thorough and search is self.main:
            found = begun or searcher.restarted(mean_of(search.ends), search.spread)
            return [(searcher.refined(tuning, search.spread), share) for tuning, share in optima_of(found)]
        if begun is not None and not (searcher.are_many and self.searches[search] >= 0.5):
            return [(begun, 1.0)]
        return [(with_restarts(begun or first, searcher.last(search.spread, search.ends)), 1.0)]

    def members(self, optima: dict[Searched, list[tuple[Tuning, float]]]) -> list[Member]:
        """Return the members, each of them once for each optimum of its search."""
        members, jury = [], self.jury
        for one, weight in zip(jury.judged, self.weights.tolist(), strict=True):
            for tuning, share in optima[one.searched] if weight > 0.0 else ():
                # Other optima are far from where folds have found the scale.
                scale = jury.searcher.scaled(one.labels, tuning) if jury.thorough else one.scale
                view = self.views[one.searched]
                members.append(Member(one.candidate, weight * share, tuning, scale or one.scale, view))
        return members


def _held_out(jury: Jury, config: FitConfig) -> tuple[Array, Array]:
    """Return what the members, or SVMs, say of rows left out: probabilities of the classes, and how often a wrong one.

    Errors are counted on each fold: where copies of a row have both labels, means over folds of probabilities near a
    half are on the wrong side for both, because a fold that leaves out more of one label has seen more of the other.
    """
    folds = jury.folds
    logs = _svm_on_folds(jury, config) if config.svm else jury.held_out(config.vote)
    told = logs if config.svm or config.vote is not None else logs + np.log(config.importance)
    wrong = (told.argmax(axis=1) != folds.labels)[:, None]
    return folds.by_row(np.exp(logs)), folds.by_row(wrong)[:, 0]


def _svm_on_folds(jury: Jury, config: FitConfig) -> Array:
    """Return what SVMs without them say of the rows that folds leave out, for the member that the SVM goes with."""
    judged, logs = jury.judged[int(np.argmax(jury.weights))], []
    for k in range(len(jury.folds)):
        inside, outside = jury.folds.split(k)
        inside = replace(inside, weights=inside.weights * config.importance[inside.labels])
        tuned = judged.searched.model(k)
        model = svm_model(judged.labels, tuned, judged.scale(tuned), config.slack)
        logs.append(train_pairs_of(inside, model, config.slack).log_proba(outside, model.C, config.slack))
    return np.concatenate(logs)


def _unjudged(searcher: Searcher, first: Tuning, config: FitConfig) -> list[Member]:
    """Return the members where a class is too rare for folds: all label models, with the spread that is given."""
    declared = config.declared
    spread = 0.0 if declared.gated or not declared.spreads else declared.spreads[0]
    families = [family for family in declared.families if not family.auxiliary]
    members: list[Member] = []
    for family in families:
        own = replace(searcher, criterion=family.criterion)
        tuning = own.first(family.start, own.quiet) if members else first
        if spread > 0:
            tuning = own.restarted(tuning.hyperparameters.as_ard(searcher.problem.X.shape[1]), spread)
        for optimum, share in optima_of(tuning, several=config.all_optima):
            scales = {labels: own.scaled(labels, optimum) for labels in family.labels}
            usable = {labels: scale for labels, scale in scales.items() if scale is not None}
            refined = own.refined(optimum, spread)
            for labels, scale in usable.items():
                weight = share / (len(usable) * len(families))
                members.append(Member(family.candidate(spread, labels), weight, refined, scale))
    return members


def _polished(problem: Problem, searcher: Searcher, chosen: Chosen, config: FitConfig) -> Chosen:
    """Return the same after searches with new inducing inputs; label models that share a search share that, too."""
    found: dict[Tuning, Tuning] = {}
    for member in chosen.members:
        if member.tuning not in found:
            again = config.policy.for_tuning(problem, member.tuning.hyperparameters)
            family = config.declared.family_of(member.candidate.labels)
            own = replace(searcher, criterion=family.criterion)
            found[member.tuning] = own.polished(again, member.spread, member.tuning)
    return chosen._replace(members=[replace(member, tuning=found[member.tuning]) for member in chosen.members])
