"""Fit an ensemble: candidates, one search each, common folds, stacking; then train the members on all rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from marginwise._arrays import Array, Mask
from marginwise._runtime.processes import leave_no_processes
from marginwise._runtime.threads import one_thread
from marginwise.covariance.blocks import as_blocks
from marginwise.covariance.low_rank import LowRankCovariance
from marginwise.fitting.advice import advice
from marginwise.fitting.calibration import Calibration, calibration, cross_calibrated
from marginwise.fitting.candidates import Candidate, CandidateList
from marginwise.fitting.ensemble import Ensemble, Member, svm_model, train_pairs_of
from marginwise.fitting.folds import Folds, sample_of
from marginwise.fitting.judging import Judged, Jury, Searched
from marginwise.fitting.labels import Scale, SoftmaxLabels, Trained
from marginwise.fitting.optima import Optimum, best_only, distinct_optima
from marginwise.fitting.rank import RankPolicy
from marginwise.fitting.schedule import SCHEDULE
from marginwise.fitting.searching import Searcher, WarmStart, screened_search, selected, selections_of, with_restarts
from marginwise.fitting.stacking import Vote, combined, kept_weights
from marginwise.fitting.views import NormalScores, Selection, View
from marginwise.inference.prediction import LatentPredictor
from marginwise.likelihoods.slack import Slack
from marginwise.model import Model
from marginwise.problem import Problem
from marginwise.search.held_out import VALIDATION
from marginwise.search.progress import stage
from marginwise.search.trace import Trace
from marginwise.status import CONVERGED, Status
from marginwise.svm.api import solve_svm
from marginwise.svm.pairs import PairMachines
from marginwise.tuning import SearchSettings, Tuning


@dataclass(frozen=True, eq=False)
class FitConfig:
    """How an ensemble is fitted.

    Attributes
    ----------
    declared : CandidateList
    slack : Slack
        That of the SVM.
    settings : SearchSettings
        How searches go on.
    validation : array of bool, shape (n,)
        Rows that searches do not see: their error stops them.
    importance : array of shape (n_classes,)
        Factors of the rows' weights in the SVM, which has no probabilities that they could shift.
    policy : RankPolicy
        The rank of covariances where rows are many.
    all_optima : bool
        Whether the optima of all searches predict together, and not the best alone.
    vote : Vote or None
        How they vote; None if their probabilities are averaged.
    svm : bool
        Whether the SVM is trained with the ensemble.
    """

    declared: CandidateList
    slack: Slack
    settings: SearchSettings
    validation: Mask
    importance: Array
    policy: RankPolicy
    all_optima: bool = False
    vote: Vote | None = None
    svm: bool = False


class TrainingData(NamedTuple):
    """The rows to train on, and a sample to tune on where these are too many."""

    all: Problem
    sample: Problem | None

    @property
    def seen(self) -> Array:
        """The inputs that are in memory."""
        return self.all.X if self.sample is None else self.sample.X

    @property
    def tuned(self) -> Problem:
        """The rows to tune on."""
        return self.all if self.sample is None else self.sample


class Choice(NamedTuple):
    """A member to be trained: what was found, its scale and weight, and how it sees the inputs."""

    candidate: Candidate
    tuning: Tuning
    scale: Scale
    weight: float
    view: View | None = None


class Chosen(NamedTuple):
    """The members to be trained, and what folds said of the rows that they left out, if there were folds.

    That is: class probabilities, and in what share of the folds the class was wrong.
    """

    choices: list[Choice]
    held_out: Array | None
    wrong: Array | None = None


def fit_ensemble(data: TrainingData, config: FitConfig, n_jobs: int | None) -> Ensemble:
    """Return the ensemble of a table. Ctrl-C leaves no process behind."""
    with leave_no_processes(n_jobs):
        config = replace(config, settings=replace(config.settings, n_jobs=n_jobs))
        aside = config.validation
        rows = data.tuned
        if aside.any():
            outside = data.all.subset(np.flatnonzero(aside))
            config = replace(config, settings=replace(config.settings, held_out={VALIDATION: outside}))
            rows = data.all.subset(np.flatnonzero(~aside)) if data.sample is None else data.sample
        chosen = _choose(rows, data.tuned, _wide(data, config), config)
        return _trained(data, config, chosen if data.sample is None else chosen._replace(held_out=None, wrong=None))


def ensemble_at(data: TrainingData, config: FitConfig, hyperparameters: Model) -> Ensemble:
    """Return the ensemble of one member with these hyperparameters, as if a search had ended there."""
    tuning = Tuning(hyperparameters, np.nan, Trace(()), CONVERGED, ())
    candidate = Candidate(hyperparameters, 0.0, config.declared.labels[0])
    alone = replace(config, all_optima=False, vote=None)
    return _trained(data, alone, Chosen([Choice(candidate, tuning, Scale(), 1.0)], None))


def _wide(data: TrainingData, config: FitConfig) -> Problem | None:
    """Return the rows that last searches see with local blocks, where the exact matrix of all rows is too large."""
    if data.sample is None or not isinstance(config.policy.rank, str) or not isinstance(data.all.X, np.ndarray):
        return None
    seen = data.all.subset(np.flatnonzero(~config.validation))
    return sample_of(seen, SCHEDULE.wide_rows, np.random.default_rng(config.settings.seed))


def _choose(problem: Problem, whole: Problem, wide: Problem | None, config: FitConfig) -> Chosen:
    """Return what to train: tuned on some rows, judged on folds of the whole, stacked.

    The two differ by rows that stop searches early. Folds have them as all others: part of equal rows with both labels
    would be easier to predict.
    """
    with one_thread(problem.n <= SCHEDULE.exact_rows or not config.policy.exact):
        # k-means does not depend on a length scale that all inputs share.
        small = config.policy.for_tuning(problem, config.declared.start)
        declared = config.declared
        free = wide is not None and declared.gated and declared.spreads  # so many rows can tell length scales apart
        least = SCHEDULE.spreads[0] if free else 0.0
        searcher = Searcher(small, declared.criterion, config.settings, wide=wide, least_spread=least)
        first = searcher.first(config.declared.start, config.settings)
        folds = Folds.assign(replace(whole, inducing=small.inducing), config.settings.seed)
        chosen = _given(searcher, first, config) if folds is None else _stacked(searcher, first, folds, config)
        if small.inducing is None:
            return chosen
        # Label models that share a search share what it is polished to.
        polished: dict[Tuning, Tuning] = {}
        for choice in chosen.choices:
            if choice.tuning not in polished:
                again = config.policy.for_tuning(problem, choice.tuning.hyperparameters)
                polished[choice.tuning] = searcher.polished(again, choice.candidate.spread, choice.tuning)
        return chosen._replace(choices=[one._replace(tuning=polished[one.tuning]) for one in chosen.choices])


def _stacked(searcher: Searcher, first: Tuning, folds: Folds, config: FitConfig) -> Chosen:
    """Judge the candidates on folds, and return those that stacking gives a weight."""
    juries = _juries(searcher, first, folds, config)
    judged = [one for jury in juries for one in jury.judged]
    # Each view of the inputs keeps a weight: all rows will weigh them again, and they err in different places.
    weights = (np.concatenate([_weights_of(jury) for jury in juries]) / len(juries)).tolist()
    by_search: dict[Searched, float] = {}
    for one, weight in zip(judged, weights, strict=True):
        by_search[one.searched] = by_search.get(one.searched, 0.0) + weight
    full = [search for search in by_search if not (search.auxiliary or search.screen)]
    main = max(full, key=lambda search: by_search[search])
    screened = any(search.screen and weight > 0.0 for search, weight in by_search.items())
    selections = selections_of(searcher.problem, config.declared) if screened else {}
    searchers = {one.searched: jury.searcher for jury in juries for one in jury.judged}
    optima = {
        search: best_only(_screened(searcher, config, selections[search.screen]))
        if search.screen
        else _optima(searchers[search], search, weight * len(juries), restarted=config.all_optima and search is main)
        for search, weight in by_search.items()
        if weight > 0.0
    }
    choices = []
    for one, weight in zip(judged, weights, strict=True):
        own = searchers[one.searched]
        for optimum in optima[one.searched] if weight > 0.0 else ():
            moved = config.all_optima or own.wide is not None  # far from where folds have found the scale
            scale = own.scaled(one.labels, optimum.tuning) if moved else one.scale
            view = selections.get(one.searched.screen, own.view)
            candidate = replace(one.candidate, spread=max(one.candidate.spread, own.least_spread))
            choices.append(Choice(candidate, optimum.tuning, scale or one.scale, weight * optimum.share, view))
    if config.svm:
        mixed = _svm_on_folds(folds, judged[int(np.argmax(weights))], config)
    else:
        mixed = juries[0].held_out(config.vote)  # of several views, all rows will tell
    # Errors are counted on each fold: where copies of a row have both labels, means over folds of probabilities near a
    # half are on the wrong side for both, because a fold that leaves out more of one label has seen more of the other.
    told = mixed if config.svm or config.vote is not None else mixed + np.log(config.importance)
    wrong = (told.argmax(axis=1) != folds.labels)[:, None]
    return Chosen(choices, folds.by_row(np.exp(mixed)), folds.by_row(wrong)[:, 0])


def _weights_of(jury: Jury) -> Array:
    """Return the weights of what was judged; of the best search alone, where it goes on with far more rows."""
    weights = jury.weights()
    if jury.searcher.wide is None:
        return weights
    totals: dict[Searched, float] = {}
    for one, weight in zip(jury.judged, weights.tolist(), strict=True):
        totals[one.searched] = totals.get(one.searched, 0.0) + weight
    best = max(totals, key=totals.__getitem__)
    kept = np.where([one.searched is best for one in jury.judged], weights, 0.0)
    return np.asarray(kept / kept.sum())


def _juries(searcher: Searcher, first: Tuning, folds: Folds, config: FitConfig) -> list[Jury]:
    """Return who has judged the candidates, on the inputs as they are and, where that is tried, on normal scores."""
    declared, n_jobs = config.declared, config.settings.n_jobs
    juries = [Jury(searcher, folds, declared, thorough=config.all_optima)]
    juries[0].hear(first, n_jobs)
    if declared.scored:
        view = NormalScores.of(folds.problem.X, folds.problem.weights)
        own = searcher.through(view)
        jury = Jury(own, replace(folds, problem=selected(folds.problem, view)), replace(declared, auxiliaries=()))
        jury.hear(own.first(first.hyperparameters, own.quiet), n_jobs)
        juries.append(jury)
    return juries


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
    tuning = first
    if spread > 0:
        tuning = searcher.restarted(first.hyperparameters.as_ard(searcher.problem.X.shape[1]), spread)
    optima = distinct_optima(tuning) if config.all_optima else best_only(tuning)
    choices = []
    for optimum in optima:
        scales = [(labels, searcher.scaled(labels, optimum.tuning)) for labels in declared.labels]
        usable = [(labels, scale) for labels, scale in scales if scale is not None]
        for labels, scale in usable:
            candidate = Candidate(declared.start, spread, labels)
            choices.append(Choice(candidate, _on_all(searcher, spread, optimum), scale, optimum.share / len(usable)))
    return Chosen(choices, None)


def _screened(searcher: Searcher, config: FitConfig, selection: Selection) -> Tuning:
    return screened_search(searcher.problem, searcher.criterion, searcher.quiet, config.declared, selection)


def _optima(searcher: Searcher, searched: Searched, weight: float, *, restarted: bool) -> list[Optimum]:
    """Return where the search of a candidate ends on all rows; with ``restarted`` the optima of all its restarts."""
    searcher = replace(searcher, criterion=searched.criterion)
    if restarted:
        found = searched.begun or searcher.restarted(WarmStart.mean(searched.fits).model, searched.spread)
        optima = distinct_optima(found)
        return [Optimum(one.share, _on_all(searcher, searched.spread, one)) for one in optima]
    begun = searched.begun
    if begun is None:
        return best_only(searcher.last(searched.spread, searched.fits))
    if not searcher.are_many or (weight < 0.5 and searcher.wide is None):
        return best_only(begun)
    return best_only(with_restarts(begun, searcher.last(searched.spread, searched.fits)))


def _on_all(searcher: Searcher, spread: float, optimum: Optimum) -> Tuning:
    """Search on from an optimum on all rows, where it was found on a part of them."""
    if not searcher.are_many:
        return optimum.tuning
    after = WarmStart.after(searcher.criterion, optimum.tuning)
    return with_restarts(optimum.tuning, searcher.last(spread, [after]))


def _trained(data: TrainingData, config: FitConfig, chosen: Chosen) -> Ensemble:
    """Return the ensemble of trained members, with calibration, the SVM if it is asked for, and advice."""
    stage("training")
    problem, policy = data.all, config.policy
    members, trained = [], []
    if data.sample is not None:
        chosen = chosen._replace(choices=_with_many_rows(chosen.choices, problem))
    for choice in chosen.choices:
        labels, model = choice.candidate.labels, choice.scale(choice.tuning.hyperparameters.pruned())
        rows, seen = problem, data.seen
        if choice.view is not None:
            rows, seen = selected(problem, choice.view), choice.view(seen)
        rows = policy.for_training(labels, rows, seen, model, len(chosen.choices))
        done = labels.train(rows, model, policy.start(labels, rows, seen, model))
        trained.append(done)
        member = Member(choice.candidate, choice.weight, choice.tuning, model, log_evidence=done.log_evidence)
        if rows.inducing is None or rows.partition is not None:
            member = replace(member, stored=done.stored, inducing=rows.inducing, partition=rows.partition)
        else:
            member = replace(member, few_points=done.predictor)
        members.append(replace(member, view=choice.view))
    if data.sample is not None and not config.all_optima:
        members, trained = _stacked_again(problem, members, trained)
    held_out, corrected = _held_out(problem, config, chosen.held_out, members, trained)
    # Sites and blocks belong to all rows; inducing inputs speak for themselves.
    held = problem
    if data.sample is not None and all(member.few_points is not None for member in members):
        held = data.sample
    ensemble = Ensemble(
        held.X,
        held.labels,
        held.weights,
        problem.n_classes,
        config.slack,
        config.declared.criterion.name,
        tuple(members),
        held_out,
        (),
        held.weights * config.importance[held.labels],
        corrected,
        config.vote,
        held_out_wrong=chosen.wrong if corrected is None else None,
    )
    statuses = [*(done.status for done in trained), _softmax_left_out(problem.n_classes)]
    if config.svm and not policy.exact and problem.n_classes == 2:
        ensemble = ensemble.with_machines(_low_rank_svm(problem, config, ensemble))
    messages = advice(
        [member.tuning for member in members],
        statuses,
        config.declared.criterion,
        config.settings.limits.max_evaluations,
        config.all_optima,
    )
    left_out = combined(np.array([done.log_left_out for done in trained]), ensemble.weights, config.vote)
    if corrected is not None:
        left_out = corrected(left_out)
    return replace(ensemble, warnings=messages).with_latent_functions([done.predictor for done in trained], left_out)


def _with_many_rows(choices: list[Choice], problem: Problem) -> list[Choice]:
    """Return the members with the label model of each search that suits many rows.

    Softmax, if a sample of the rows gives it a weight and classes are two: the more rows, the more a likelihood of
    labels gains on least squares. Of more classes, whose latent functions take their time, the one with the larger
    weight. With very many rows the mode of softmax is a long way, and least squares are trained instead.
    """
    of_search: dict[Tuning, list[Choice]] = {}
    for choice in choices:
        of_search.setdefault(choice.tuning, []).append(choice)
    kept = []
    for own in of_search.values():
        softmax = [one for one in own if isinstance(one.candidate.labels, SoftmaxLabels)]
        others = [one for one in own if one not in softmax]
        if problem.n > SCHEDULE.softmax_rows and others:
            suitable = others
        else:
            suitable = softmax if softmax and problem.n_classes == 2 else own
        best = max(suitable, key=lambda one: one.weight)
        kept.append(best._replace(weight=sum(one.weight for one in own)))
    return kept


def _stacked_again(
    problem: Problem, members: list[Member], trained: list[Trained]
) -> tuple[list[Member], list[Trained]]:
    """Return the members with weights from all rows, without those that these give too little.

    What a sample of the rows says of members need not hold for all: label models differ most where rows are many.
    """
    own = np.column_stack([done.log_left_out[np.arange(problem.n), problem.labels] for done in trained])
    weights = kept_weights(own, problem.weights).tolist()
    kept = [k for k, weight in enumerate(weights) if weight > 0.0]
    return [replace(members[k], weight=weights[k]) for k in kept], [trained[k] for k in kept]


def _held_out(
    problem: Problem,
    config: FitConfig,
    held_out: Array | None,
    members: Sequence[Member],
    trained: Sequence[Trained],
) -> tuple[Array, Calibration | None]:
    """Return class probabilities of all rows without them, recalibrated where rows are many, and the calibration.

    From the folds; where rows were too many to be tuned on all of them, from the leave-one-out distributions of the
    members, whose hyperparameters a single row has hardly moved. Otherwise a member that was tuned on a row has seen
    it, and there are none.
    """
    if held_out is None:
        honest = not config.policy.exact or all(member.spread == 0.0 for member in members)
        if config.svm or not honest:  # nor do leave-one-out distributions of posteriors tell how good an SVM is
            return np.full((problem.n, problem.n_classes), np.nan), None
        weights = np.array([member.weight for member in members])
        logs = combined(np.array([done.log_left_out for done in trained]), weights, config.vote)
    else:
        logs = np.log(np.maximum(held_out, np.finfo(float).tiny))
    # Votes are not probabilities that could be calibrated.
    calibrated = config.vote is None and not config.svm
    if problem.n_classes == 2 and problem.n > SCHEDULE.calibration_rows and calibrated:
        known = ~np.isnan(logs[:, 0])
        left_out = logs[known], problem.labels[known], problem.weights[known]
        logs[known] = cross_calibrated(*left_out)
        return np.exp(logs), calibration(*left_out)
    return np.exp(logs), None


def _low_rank_svm(problem: Problem, config: FitConfig, ensemble: Ensemble) -> PairMachines:
    """Return the SVM of two classes with the main member's inducing inputs, trained on all rows; none is kept."""
    main, model = ensemble.main, ensemble.svm_model
    assert isinstance(main.few_points, LatentPredictor)
    covariance = LowRankCovariance(model.kernel, as_blocks(problem.X), main.few_points.points)
    penalties = model.C * problem.weights * config.importance[problem.labels]
    solution = solve_svm(covariance, problem.y, penalties, config.slack)
    solution.status.require()
    points, coefficients = covariance.expansion(problem.y * solution.alpha)
    return PairMachines(2, model.kernel, points, coefficients[None], solution.support, None)


def _softmax_left_out(n_classes: int) -> Status:
    """Return that the softmax likelihood was not tried, where classes are too many."""
    if n_classes <= SCHEDULE.softmax_classes:
        return CONVERGED
    return Status(
        False,
        f"{n_classes} classes are predicted by least squares alone: the softmax likelihood, which suits classes that "
        f"overlap, is tried for up to {SCHEDULE.softmax_classes}, to bound the time",
    )
