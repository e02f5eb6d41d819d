"""Fits below the estimators, with the settings that a test is about."""

from __future__ import annotations

from typing import Any

import numpy as np

from marginwise.criteria import Criterion
from marginwise.fitting.candidates import candidates
from marginwise.fitting.config import FitConfig, TrainingData
from marginwise.fitting.ensemble import Ensemble
from marginwise.fitting.fit import fit_ensemble
from marginwise.fitting.rank import RankPolicy
from marginwise.fitting.stacking import Vote
from marginwise.hyperparameters import Hyperparameters
from marginwise.kernels import Blend
from marginwise.likelihoods import as_slack
from marginwise.model import Model
from marginwise.priors import Prior
from marginwise.problem import Problem
from marginwise.search.settings import SearchSettings

#: The paper's kernel, and the default one.
RBF, BLEND = Hyperparameters(), Model(1.0, Blend())


def config_of(
    problem: Problem,
    *,
    ard: str | float = "auto",
    kernel: Model = RBF,
    criterion: Criterion | None = None,
    svm: bool = False,
    rank: int | None = None,
    all_optima: bool = False,
    vote: Vote | None = None,
    **settings: Any,
) -> FitConfig:
    """Return how a problem is fitted as TunedSVC would, but for standardising; ``settings`` are of the searches."""
    slack, prior = as_slack("linear"), Prior()
    declared = candidates(
        kernel,
        problem.X.shape,
        problem.n_classes,
        columns=None,
        ard=ard,
        criterion=criterion,
        slack=slack,
        prior=prior,
        svm=svm,
        exact=rank is None,
    )
    return FitConfig(
        declared,
        slack,
        SearchSettings(prior=prior, progress=False, **settings),
        np.zeros(problem.n, dtype=bool),
        np.ones(problem.n_classes),
        RankPolicy(rank),
        all_optima=all_optima,
        vote=vote,
        svm=svm,
    )


def fitted(problem: Problem, *, n_jobs: int = 1, **options: Any) -> Ensemble:
    """Return the ensemble of a problem."""
    return fit_ensemble(TrainingData(problem, None), config_of(problem, **options), n_jobs)
