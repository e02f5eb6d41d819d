"""The members where rows are many: searched on a sample, the last search with local blocks; no folds.

So many rows tell length scales apart, and what a member says of each row without it is as good as folds. Members differ
in how they see the inputs, as they are and by their normal scores: they err in different places, and the leave-one-out
probabilities of all rows weigh them when they are trained.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from marginwise._arrays import Array, Indices
from marginwise._runtime.threads import one_thread
from marginwise.fitting.candidates import Family
from marginwise.fitting.config import Chosen, FitConfig
from marginwise.fitting.folds import sample_of, sample_rows
from marginwise.fitting.labels import LabelModel, Scale, ThresholdLabels
from marginwise.fitting.members import Member
from marginwise.fitting.optima import optima_of
from marginwise.fitting.rank import in_blocks
from marginwise.fitting.schedule import SCHEDULE
from marginwise.fitting.searching import Searcher, curvature_of, selected, with_restarts
from marginwise.fitting.views import NormalScores, View
from marginwise.model import Model
from marginwise.multiplicity import assign_groups, units_of
from marginwise.problem import Problem
from marginwise.search.trace import Tuning

#: With the seed it draws the rows that searches with many length scales begin on.
_NEAR = 7

#: Parts that groups are assigned to, one of which chooses the spread.
_PARTS = 3


def choose(sample: Problem, n_rows: int, config: FitConfig) -> Chosen:
    """Return what to train on so many rows, of which there is a sample to tune on."""
    declared = config.declared
    members: list[Member] = []
    with one_thread():
        for family in declared.families:
            if members and config.settings.limits.is_late:
                break
            own = _Searches(sample, n_rows, None, config, family)
            begun = own.searcher.first(family.start, own.searcher.quiet if members else config.settings)
            spreads = declared.spreads
            for tuning, share in optima_of(begun, several=config.all_optima):
                members.append(own.member(tuning, spreads, share))
                spreads = (members[-1].spread,)  # the others take it
        view = NormalScores.of(sample.X, sample.weights) if declared.scored else None
        differs = view is not None and view.distance(sample.X, sample.weights) >= SCHEDULE.many_scored_from
        if view is not None and differs and not config.settings.limits.is_late:
            seen = selected(sample, view)
            families = [declared.family_of(member.candidate.labels) for member in members]
            others = [_Searches(seen, n_rows, view, config, family) for family in families]
            members += [own.again(member) for own, member in zip(others, members, strict=True)]
    total = sum(member.weight for member in members)
    return Chosen([replace(member, weight=member.weight / total) for member in members], None)


class _Searches(NamedTuple):
    """Searches on a sample of so many rows, seen in one way, for a family of label models."""

    rows: Problem
    n_rows: int
    view: View | None
    config: FitConfig
    family: Family

    @property
    def searcher(self) -> Searcher:
        return Searcher(self.rows, self.family.criterion, self.config.settings)

    def member(self, begun: Tuning, spreads: tuple[float, ...], weight: float) -> Member:
        """Return a member from where a search with one length scale has ended, with the best of some spreads."""
        spread, near = self._near(begun, spreads)
        tuning = with_restarts(begun, self._last(spread, near, SCHEDULE.wide_evaluations))
        labels, scale = self._labels(tuning.hyperparameters)
        return Member(self.family.candidate(spread, labels), weight, tuning, scale, self.view)

    def again(self, found: Member) -> Member:
        """Return a member from where another's search has ended, who saw the same rows in another way."""
        tuning = self._last(found.spread, found.tuning, SCHEDULE.view_evaluations)
        return replace(found, tuning=tuning, view=self.view)

    def _near(self, begun: Tuning, spreads: tuple[float, ...]) -> tuple[float, Tuning]:
        """Search with a length scale for each input on few rows; the others choose among several spreads.

        The criterion could not: it is optimistic, the more so the more freely length scales may differ. A larger spread
        gains with the rows, and is taken unless it is clearly worse.
        """
        searcher, n = self.searcher, self.rows.n
        quiet = replace(searcher, settings=searcher.quiet)
        chosen, before = (0.0, begun), None
        start = begun.hyperparameters.as_ard(self.rows.X.shape[1])
        rng = np.random.default_rng([self.config.settings.seed, _NEAR])
        few, left = _parted(self.rows, min(SCHEDULE.near_rows, 2 * n // 3), rng)
        near, others = self.rows.subset(few), self.rows.subset(left)
        for spread in sorted(spreads):
            found = quiet.near(near, start, spread, SCHEDULE.near_evaluations)
            told = self._told(near, others, found.hyperparameters) if len(spreads) > 1 else None
            if told is None or before is None or not _clearly_negative(told - before, others):
                chosen, before = (spread, found), told
        return chosen

    def _told(self, near: Problem, others: Problem, model: Model) -> Array:
        """Return the log-probabilities of the labels of other rows, of the model trained on a few."""
        logs = self.family.labels[0].train(near, model).predictor.log_proba(others.X)
        return logs[np.arange(others.n), others.labels]

    def _last(self, spread: float, near: Tuning, evaluations: int) -> Tuning:
        """Search on the sample in blocks."""
        start, criterion = near.hyperparameters, self.family.criterion
        rows = self._in_blocks(self.rows, start, single=criterion.closed_form)
        return self.searcher.near(rows, start, spread, evaluations, curvature_of(criterion, near))

    def _labels(self, model: Model) -> tuple[LabelModel, Scale]:
        """Return the label model under which rows left out are most probable, with its scale.

        The scale is found on many rows: latent functions of few are too small for many. The more classes, the fewer
        rows can be afforded.
        """
        declared = self.family.labels
        few = sample_of(self.rows, 2 * SCHEDULE.wide_rows // self.rows.n_classes, np.random.default_rng(0))
        rows = self._in_blocks(few, model, single=True)
        best: tuple[LabelModel, Scale] = declared[0], Scale()
        best_value = -np.inf
        for labels in declared:
            if isinstance(labels, ThresholdLabels) and self.n_rows > SCHEDULE.threshold_rows:
                continue  # its mode is a long way
            found = labels.scale(rows, model)
            if found is not None and len(declared) > 1:
                scale, value = found
                if value is None:
                    left_out = labels.train(rows, scale(model)).log_left_out
                    value = float(rows.weights @ left_out[np.arange(rows.n), rows.labels])
                if value > best_value:
                    best, best_value = (labels, scale), value
        return best

    def _in_blocks(self, rows: Problem, model: Model, *, single: bool) -> Problem:
        seed = self.config.policy.seed
        return in_blocks(rows, self.rows.X, model.kernel, SCHEDULE.wide_local, seed, single=single)


def _parted(rows: Problem, size: int, rng: np.random.Generator) -> tuple[Indices, Indices]:
    """Return about so many random rows, and the others; of groups, none has rows in both."""
    if rows.groups is None:
        few = sample_rows(rows, size, rng)
        return few, np.setdiff1d(np.arange(rows.n), few)
    inside = np.flatnonzero(assign_groups(rows.labels, rows.groups, _PARTS, rng) > 0)
    outside = np.setdiff1d(np.arange(rows.n), inside)
    return inside[sample_rows(rows.subset(inside), min(size, len(inside)), rng)], outside


def _clearly_negative(gains: Array, rows: Problem) -> bool:
    """Say whether the mean of gains is negative at the level of the schedule; groups of rows are one each."""
    shares = rows.weights / rows.weights.sum()
    mean = float(shares @ gains)
    error = np.linalg.norm(np.bincount(units_of(rows.groups, rows.n), shares * (gains - mean)))
    return bool(mean < ndtri(SCHEDULE.worse_level) * error)
