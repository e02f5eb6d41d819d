"""An ensemble whose rows have changed, with all that was tuned as it is.

What stays: hyperparameters, the scales of label models, members and their weights, views, inducing inputs, partitions
and the calibration. What is found again from all rows: posteriors, links, the SVM. In double precision expectation
propagation and the mode of the softmax likelihood begin at the sites that the rows had, and end where they would have
ended from anywhere: a fit with these hyperparameters on all rows gives the same. With features or blocks of single
precision the way there shows in the last digits, and training begins from nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from marginwise._arrays import Array, Indices, Mask
from marginwise._runtime.threads import threads_for
from marginwise.covariance.gaussian import Sites
from marginwise.fitting.ensemble import Ensemble
from marginwise.fitting.labels import SlackLabels, Trained
from marginwise.fitting.members import Member
from marginwise.fitting.searching import selected
from marginwise.fitting.stacking import combined
from marginwise.inference.prediction import LatentPredictor, Predictor
from marginwise.problem import Problem


@dataclass(frozen=True, eq=False)
class ChangedRows:
    """The distinct rows that a model is to have.

    Attributes
    ----------
    problem : Problem
        All of them.
    before : array of int, shape (n,)
        Their numbers among the rows that it had, -1 for new ones.
    seen_first : array of shape (n, n_classes)
        Log-probabilities of the classes of new rows by the model that had not seen them; not looked at for others.
    known : array of bool, shape (n,)
        The new rows of groups that it had rows of: what it said of them was not honest.
    importance : array of shape (n_classes,)
        Factors of the rows' weights in the SVM.
    """

    problem: Problem
    before: Indices
    seen_first: Array
    known: Mask
    importance: Array

    @property
    def new(self) -> Mask:
        """Which rows are new."""
        return self.before < 0


def updated(ensemble: Ensemble, rows: ChangedRows, *, svm: bool) -> Ensemble:
    """Return the ensemble of the rows; ``svm`` says whether the SVM predicts."""
    problem = rows.problem
    with threads_for(problem.n if ensemble.is_exact else ensemble.n_points):
        before = zip(ensemble.members, ensemble.latent_functions, strict=True)
        pairs = [_trained(member, predictor, rows) for member, predictor in before]
        members, trained = tuple(member for member, _ in pairs), [done for _, done in pairs]
        left_out = combined(np.array([done.log_left_out for done in trained]), ensemble.weights, ensemble.vote)
        if ensemble.calibration is not None:
            left_out = ensemble.calibration(left_out)
        held_out, wrong = _held_out(ensemble, rows, np.full_like(left_out, np.nan) if svm else left_out, svm)
        failed = [done.status.message for done in trained if not done.status.ok]
        same = replace(
            ensemble,
            X=problem.X,
            codes=problem.labels,
            sample_weight=problem.weights,
            members=members,
            held_out=held_out,
            held_out_wrong=wrong,
            warnings=tuple(dict.fromkeys([*ensemble.warnings, *failed])),
            svm_weights=problem.weights * rows.importance[problem.labels],
            machines=None,
            groups=problem.groups,
        )
        if ensemble.machines is not None:
            same = same.with_low_rank_svm(problem, rows.importance)
    return same.with_latent_functions([done.predictor for done in trained], left_out)


def _trained(member: Member, before: Predictor, rows: ChangedRows) -> tuple[Member, Trained]:
    """Return a member trained on the rows; ``before`` is what it was on those that it had."""
    problem, labels = rows.problem, member.candidate.labels
    if member.view is not None:
        problem = selected(problem, member.view)
    if member.few_points is not None:
        assert isinstance(member.few_points, LatentPredictor)
        problem = replace(problem, inducing=member.few_points.points, single=not isinstance(labels, SlackLabels))
        done = labels.train(problem, member.hyperparameters)
        return replace(member, few_points=done.predictor, log_evidence=done.log_evidence), done
    if member.partition is not None:
        problem = replace(problem, inducing=member.inducing, partition=member.partition, single=True)
        start = None
    else:
        start = _widened(labels.near(member.hyperparameters, member.stored, before), rows.before)
    done = labels.train(problem, member.hyperparameters, start)
    return replace(member, stored=done.stored, log_evidence=done.log_evidence), done


def _widened(sites: Sites | None, before: Indices) -> Sites | None:
    """Return the sites of the rows that had some, and none for the others."""
    if sites is None:
        return None
    old = np.flatnonzero(before >= 0)
    tau, nu = np.zeros(len(before)), np.zeros((len(before), *sites.nu.shape[1:]))
    tau[old], nu[old] = sites.tau[before[old]], sites.nu[before[old]]
    return Sites(tau, nu)


def _held_out(ensemble: Ensemble, rows: ChangedRows, left_out: Array, svm: bool) -> tuple[Array, Array | None]:
    """Return class probabilities of all rows by models without them, and which are wrong.

    Rows that the model had keep theirs. New ones have what it said of them before it saw them; of groups that it knows,
    what it says now without the whole group.
    """
    old = rows.before[~rows.new]
    logs = np.where(rows.known[:, None], left_out, rows.seen_first)
    held_out = np.exp(logs)
    held_out[~rows.new] = ensemble.held_out[old]
    if ensemble.held_out_wrong is None:
        return held_out, None
    told = logs if svm or ensemble.vote is not None else logs + np.log(rows.importance)
    wrong = (told.argmax(axis=1) != rows.problem.labels).astype(float)
    wrong[~rows.new] = ensemble.held_out_wrong[old]
    return held_out, wrong
