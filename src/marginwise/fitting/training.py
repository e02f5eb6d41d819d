"""Train the chosen members on all rows, and say what they say of rows that they have not seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from marginwise._arrays import Array
from marginwise.fitting.advice import advice
from marginwise.fitting.calibration import Calibration, calibration, cross_calibrated, evenly
from marginwise.fitting.config import Chosen, FitConfig, TrainingData
from marginwise.fitting.ensemble import Ensemble
from marginwise.fitting.labels import Scale, SoftmaxLabels, Trained
from marginwise.fitting.members import Member
from marginwise.fitting.schedule import SCHEDULE
from marginwise.fitting.searching import selected
from marginwise.fitting.stacking import combined, kept_weights
from marginwise.problem import Problem
from marginwise.search.progress import stage
from marginwise.status import CONVERGED, Code, Status

_OUT_OF_TIME = Status(
    False, "max_seconds was used up: searches ended early, and candidates may have been left out", Code.BUDGET
)


def train_ensemble(data: TrainingData, config: FitConfig, chosen: Chosen) -> Ensemble:
    """Return the ensemble of trained members, with calibration, the SVM if it is asked for, and advice."""
    stage("training")
    in_time = _OUT_OF_TIME if config.settings.limits.is_late else CONVERGED
    problem, policy = data.all, config.policy
    members, trained, growth = [], [], None
    for member in chosen.members:
        labels, model = member.candidate.labels, member.hyperparameters
        rows, seen = problem, data.seen
        if member.view is not None:
            rows, seen = selected(problem, member.view), member.view(seen)
        done = policy.train(labels, rows, seen, model, len(chosen.members), growth)
        growth = done[0].model.C / model.C
        for on, used, one in done:
            trained.append(one)
            scale = member.scale if used is model else Scale(used.C)
            own = replace(member, weight=member.weight / len(done), scale=scale, log_evidence=one.log_evidence)
            if on.inducing is None or on.partition is not None:
                members.append(replace(own, stored=one.stored, inducing=on.inducing, partition=on.partition))
            else:
                members.append(replace(own, few_points=one.predictor))
    if not (policy.exact or config.all_optima):
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
        config.declared.main.criterion.name,
        tuple(members),
        held_out,
        (),
        held.weights * config.importance[held.labels],
        corrected,
        config.vote,
        held_out_wrong=chosen.wrong if corrected is None else None,
        groups=held.groups,
    )
    statuses = [*(done.status for done in trained), _softmax_left_out(problem.n_classes), in_time]
    if config.svm:
        ensemble = ensemble.with_low_rank_svm(problem, config.importance)
    messages = advice(
        [member.tuning for member in members],
        statuses,
        config.declared.main.criterion,
        config.settings.limits.max_evaluations,
        config.all_optima,
    )
    left_out = combined(np.array([done.log_left_out for done in trained]), ensemble.weights, config.vote)
    if corrected is not None:
        left_out = corrected(left_out)
    return replace(ensemble, warnings=messages).with_latent_functions([done.predictor for done in trained], left_out)


def _stacked_again(
    problem: Problem, members: list[Member], trained: list[Trained]
) -> tuple[list[Member], list[Trained]]:
    """Return the members with weights from all rows, without those that these give too little.

    What a sample of the rows says of members need not hold for all: label models differ most where rows are many.
    """
    some = evenly(problem.n)
    labels = problem.labels[some, None]
    own = np.hstack([np.take_along_axis(done.log_left_out[some], labels, axis=1) for done in trained])
    weights = kept_weights(own, problem.weights[some]).tolist()
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
        logs[known] = cross_calibrated(*left_out, None if problem.groups is None else problem.groups[known])
        return np.exp(logs), calibration(*left_out)
    return np.exp(logs), None


def _softmax_left_out(n_classes: int) -> Status:
    """Return that the softmax likelihood was not tried, where classes are too many."""
    if SoftmaxLabels().suits(n_classes):
        return CONVERGED
    return Status(
        False,
        f"{n_classes} classes are predicted by least squares alone: the softmax likelihood, which suits classes that "
        f"overlap, is tried for up to {SCHEDULE.softmax_classes}, to bound the time",
    )
