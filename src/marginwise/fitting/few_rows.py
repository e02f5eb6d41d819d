"""The members where rows are few: candidates, one search each, common folds, stacking."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from marginwise._arrays import Array
from marginwise._runtime.threads import one_thread
from marginwise.fitting.candidates import Candidate
from marginwise.fitting.config import Choice, Chosen, FitConfig
from marginwise.fitting.ensemble import svm_model, train_pairs_of
from marginwise.fitting.folds import Folds
from marginwise.fitting.judging import Judged, Jury, Searched
from marginwise.fitting.optima import Optimum, best_only, distinct_optima
from marginwise.fitting.schedule import SCHEDULE
from marginwise.fitting.searching import Searcher, WarmStart, screened_search, selected, selections_of, with_restarts
from marginwise.fitting.views import Selection
from marginwise.problem import Problem
from marginwise.tuning import Tuning


def choose(problem: Problem, whole: Problem, config: FitConfig) -> Chosen:
    """Return what to train: tuned on some rows, judged on folds of the whole, stacked.

    The two differ by rows that stop searches early. Folds have them as all others: part of equal rows with both labels
    would be easier to predict.
    """
    with one_thread(problem.n <= SCHEDULE.exact_rows or not config.policy.exact):
        # k-means does not depend on a length scale that all inputs share.
        small = config.policy.for_tuning(problem, config.declared.start)
        searcher = Searcher(small, config.declared.criterion, config.settings)
        first, config = _first(searcher, config)
        folds = Folds.assign(replace(whole, inducing=small.inducing), config.settings.seed)
        if folds is None:
            chosen = _given(searcher, first, config)
        else:
            jury = Jury(searcher, folds, config.declared, thorough=config.all_optima)
            jury.hear(first, config.settings.n_jobs)
            chosen = _stacked(jury, first, config)
        if small.inducing is None:
            return chosen
        # Label models that share a search share what it is polished to.
        polished: dict[Tuning, Tuning] = {}
        for choice in chosen.choices:
            if choice.tuning not in polished:
                again = config.policy.for_tuning(problem, choice.tuning.hyperparameters)
                own = replace(searcher, criterion=config.declared.family_of(choice.candidate.labels).criterion)
                polished[choice.tuning] = own.polished(again, choice.candidate.spread, choice.tuning)
        return chosen._replace(choices=[one._replace(tuning=polished[one.tuning]) for one in chosen.choices])


def _first(searcher: Searcher, config: FitConfig) -> tuple[Tuning, FitConfig]:
    """Return the first search, and how to go on: with the richer form of the kernel if it gains enough by that."""
    declared = config.declared
    first = searcher.first(declared.start, config.settings)
    if declared.richer is None or config.all_optima or config.settings.limits.is_late:
        return first, config
    found = searcher.enriched(declared.richer.start, first.hyperparameters)
    if not found.value - first.value > SCHEDULE.additive_gain:
        return first, config
    return with_restarts(first, found), replace(config, declared=declared.richer)


def _stacked(jury: Jury, first: Tuning, config: FitConfig) -> Chosen:
    """Return the candidates that stacking gives a weight, searched on all rows."""
    searcher, folds, judged, weights = jury.searcher, jury.folds, jury.judged, jury.weights().tolist()
    by_search: dict[Searched, float] = {}
    for one, weight in zip(judged, weights, strict=True):
        by_search[one.searched] = by_search.get(one.searched, 0.0) + weight
    full = [search for search in by_search if not (search.auxiliary or search.screen or search.view)]
    main = max(full, key=lambda search: by_search[search])
    screened = any(search.screen and weight > 0.0 for search, weight in by_search.items())
    selections = selections_of(searcher.problem, config.declared) if screened else {}
    optima = {
        search: best_only(_screened(searcher, config, selections[search.screen]))
        if search.screen
        else _optima(searcher, search, weight, first, restarted=config.all_optima and search is main)
        for search, weight in by_search.items()
        if weight > 0.0
    }
    choices = []
    for one, weight in zip(judged, weights, strict=True):
        for optimum in optima[one.searched] if weight > 0.0 else ():
            # far from where folds have found the scale
            scale = searcher.scaled(one.labels, optimum.tuning) if config.all_optima else one.scale
            view = one.searched.view or selections.get(one.searched.screen)
            choices.append(Choice(one.candidate, optimum.tuning, scale or one.scale, weight * optimum.share, view))
    mixed = _svm_on_folds(folds, judged[int(np.argmax(weights))], config) if config.svm else jury.held_out(config.vote)
    # Errors are counted on each fold: where copies of a row have both labels, means over folds of probabilities near a
    # half are on the wrong side for both, because a fold that leaves out more of one label has seen more of the other.
    told = mixed if config.svm or config.vote is not None else mixed + np.log(config.importance)
    wrong = (told.argmax(axis=1) != folds.labels)[:, None]
    return Chosen(choices, folds.by_row(np.exp(mixed)), folds.by_row(wrong)[:, 0])


def _svm_on_folds(folds: Folds, judged: Judged, config: FitConfig) -> Array:
    """Return what SVMs without them say of the rows that folds leave out, for the member that the SVM goes with."""
    logs = []
    for k, fit in enumerate(judged.searched.fits):
        inside, outside = folds.split(k)
        inside = replace(inside, weights=inside.weights * config.importance[inside.labels])
        model = svm_model(judged.labels, fit.model, judged.scale(fit.model), config.slack)
        logs.append(train_pairs_of(inside, model, config.slack).log_proba(outside, model.C, config.slack))
    return np.concatenate(logs)


def _given(searcher: Searcher, first: Tuning, config: FitConfig) -> Chosen:
    """Return what to train where a class is too rare for folds: all label models, with the spread that is given."""
    declared = config.declared
    spread = 0.0 if declared.gated or not declared.spreads else declared.spreads[0]
    choices: list[Choice] = []
    for family in declared.families:
        own = replace(searcher, criterion=family.criterion)
        tuning = own.first(declared.start, own.quiet) if choices else first
        if spread > 0:
            tuning = own.restarted(tuning.hyperparameters.as_ard(searcher.problem.X.shape[1]), spread)
        for optimum in distinct_optima(tuning) if config.all_optima else best_only(tuning):
            scales = [(labels, own.scaled(labels, optimum.tuning)) for labels in family.labels]
            usable = [(labels, scale) for labels, scale in scales if scale is not None]
            for labels, scale in usable:
                candidate = Candidate(declared.start, spread, labels)
                share = optimum.share / (len(usable) * len(declared.families))
                choices.append(Choice(candidate, _on_all(own, spread, optimum), scale, share))
    return Chosen(choices, None)


def _screened(searcher: Searcher, config: FitConfig, selection: Selection) -> Tuning:
    return screened_search(searcher.problem, searcher.criterion, searcher.quiet, config.declared, selection)


def _optima(searcher: Searcher, searched: Searched, weight: float, first: Tuning, *, restarted: bool) -> list[Optimum]:
    """Return where the search of a candidate ends on all rows; with ``restarted`` the optima of all its restarts.

    One that goes on from the first search keeps what that had restarted.
    """
    problem = searcher.problem if searched.view is None else selected(searcher.problem, searched.view)
    searcher = replace(searcher, problem=problem, criterion=searched.criterion)
    if restarted:
        found = searched.begun or searcher.restarted(WarmStart.mean(searched.fits).model, searched.spread)
        optima = distinct_optima(found)
        return [Optimum(one.share, _on_all(searcher, searched.spread, one)) for one in optima]
    begun = searched.begun
    if begun is None:
        return best_only(with_restarts(first, searcher.last(searched.spread, searched.fits)))
    if not searcher.are_many or weight < 0.5:
        return best_only(begun)
    return best_only(with_restarts(begun, searcher.last(searched.spread, searched.fits)))


def _on_all(searcher: Searcher, spread: float, optimum: Optimum) -> Tuning:
    """Search on from an optimum on all rows, where it was found on a part of them."""
    if not searcher.are_many:
        return optimum.tuning
    after = WarmStart.after(searcher.criterion, optimum.tuning)
    return with_restarts(optimum.tuning, searcher.last(spread, [after]))
