"""What a fit is given, and what it chooses to train."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from marginwise._arrays import Array, Mask
from marginwise.fitting.candidates import CandidateList
from marginwise.fitting.members import Member
from marginwise.fitting.rank import RankPolicy
from marginwise.fitting.stacking import Vote
from marginwise.likelihoods.slack import Slack
from marginwise.problem import Problem
from marginwise.search.settings import SearchSettings


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


class Chosen(NamedTuple):
    """The members, still to be trained, and what folds said of the rows that they left out, if there were folds.

    That is: class probabilities, and in what share of the folds the class was wrong.
    """

    members: list[Member]
    held_out: Array | None
    wrong: Array | None = None
