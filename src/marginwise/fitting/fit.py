"""Fit an ensemble: choose its members, on folds or, where rows are many, on a sample; then train them on all rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from marginwise._runtime.processes import leave_no_processes
from marginwise.fitting import few_rows, many_rows
from marginwise.fitting.candidates import Candidate
from marginwise.fitting.config import Chosen, FitConfig, TrainingData
from marginwise.fitting.ensemble import Ensemble
from marginwise.fitting.members import Member
from marginwise.fitting.training import train_ensemble
from marginwise.model import Model
from marginwise.search.held_out import VALIDATION
from marginwise.search.trace import Trace, Tuning
from marginwise.status import CONVERGED


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
        if config.policy.automatic:
            chosen = many_rows.choose(rows, data.all.n, config)
        else:
            chosen = few_rows.choose(rows, data.tuned, config)
        return train_ensemble(
            data, config, chosen if data.sample is None else chosen._replace(held_out=None, wrong=None)
        )


def ensemble_at(data: TrainingData, config: FitConfig, hyperparameters: Model) -> Ensemble:
    """Return the ensemble of one member with these hyperparameters, as if a search had ended there."""
    tuning = Tuning(hyperparameters, np.nan, Trace(()), CONVERGED, ())
    candidate = Candidate(hyperparameters, 0.0, config.declared.main.labels[0])
    alone = replace(config, all_optima=False, vote=None)
    return train_ensemble(data, alone, Chosen([Member(candidate, 1.0, tuning)], None))
