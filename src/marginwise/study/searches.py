"""Trials that search for hyperparameters: random walks and quasi-Newton, on any criterion."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from marginwise.criteria.base import Criterion
from marginwise.criteria.registry import as_criterion
from marginwise.datasets.benchmarks import Benchmark
from marginwise.hyperparameters import Hyperparameters, paper_start, random_start
from marginwise.priors import Prior
from marginwise.search.random_walk import RandomWalk
from marginwise.search.trace import Tuning
from marginwise.status import Status
from marginwise.study.judge import Judge
from marginwise.study.plan import Effort, Trial
from marginwise.study.record import Outcome
from marginwise.tuning import tune

#: The paper ends a walk when its steps or its gains have "become very small" (section ztmc), without numbers: here,
#: when every step is below 0.001, or when 20 sweeps over all hyperparameters have gained less than 1e-5. A tenth of
#: that takes half as long again, and changes test errors by less than one in a hundred.
WALK = RandomWalk(step_tolerance=1e-3, gain_tolerance=1e-5, sweeps=20)


@dataclass(frozen=True)
class Walk:
    """The greedy random walk of section ztmc from the paper's fixed start, its steps drawn anew in each trial.

    ``companion`` is another criterion that is looked at along the path, as in figure (twonorm_lz).

    Parameters
    ----------
    criterion : Criterion or str
        What to optimise.
    slack : str, optional
        "linear" or "quadratic".
    companion : str, optional
        Another criterion that is looked at along the path.
    search : RandomWalk
        The walk, with its settings.
    bounds : mapping of str to (float, float), optional
        Bounds of hyperparameters by name, in the place of the usual ones.

    Examples
    --------
    >>> Walk("gacv", "linear").search.sweeps
    20
    """

    criterion: Criterion | str
    slack: str | None = None
    companion: str | None = None
    search: RandomWalk = WALK
    bounds: Mapping[str, tuple[float, float]] | None = None

    def run(self, data: Benchmark, trial: Trial, effort: Effort) -> Outcome:
        """Walk, and look at the test error along the path afterwards."""
        criterion = as_criterion(self.criterion, self.slack)
        tuning, seconds = timed_tune(
            data,
            criterion,
            search=self.search,
            start=paper_start(data.n_inputs),
            bounds=self.bounds,
            random_state=trial.seed,
            max_evaluations=effort.walk_evaluations,
        )
        companion = None if self.companion is None else as_criterion(self.companion, self.slack)
        return outcome(Judge.of(data, criterion.likelihood), tuning, seconds, companion)


@dataclass(frozen=True)
class Newton:
    """Quasi-Newton ascent on a criterion: trial 0 from the paper's fixed start, the others from random ones.

    With a ``prior``, trial 0 begins at its mean.

    Parameters
    ----------
    criterion : Criterion or str
        What to optimise.
    slack : str, optional
        "linear" or "quadratic".
    isotropic : bool, default=False
        Whether one length scale serves all inputs.
    prior : Prior, optional
        Its logarithm, divided by n, is added to the criterion.

    Examples
    --------
    >>> from marginwise import load_benchmark
    >>> from marginwise.study import Effort, Trial
    >>> method = Newton("laplace-evidence", "quadratic", isotropic=True)
    >>> outcome = method.run(load_benchmark("crabs"), Trial("crabs", "le2", 0), Effort(newton_evaluations=3))
    >>> outcome.evaluations, round(outcome.test_error, 2)
    (3, 0.05)
    """

    criterion: Criterion | str
    slack: str | None = None
    isotropic: bool = False
    prior: Prior | None = None

    def run(self, data: Benchmark, trial: Trial, effort: Effort) -> Outcome:
        """Search."""
        criterion = as_criterion(self.criterion, self.slack)
        tuning, seconds = timed_tune(
            data,
            criterion,
            search="quasi-newton",
            start=first_or_random(data, trial, isotropic=self.isotropic, prior=self.prior),
            isotropic=self.isotropic,
            prior=self.prior,
            random_state=trial.seed,
            max_evaluations=effort.newton_evaluations,
        )
        return outcome(Judge.of(data, criterion.likelihood), tuning, seconds)


def search_on(criterion: Criterion | str) -> Walk | Newton:
    """Return how a criterion is searched that is not in the paper: by quasi-Newton if it is smooth, else by walks.

    Parameters
    ----------
    criterion : Criterion or str
        What to optimise.

    Returns
    -------
    Newton or Walk

    Examples
    --------
    >>> type(search_on("ep-loo")).__name__, type(search_on("gacv")).__name__
    ('Newton', 'Walk')
    """
    return Newton(criterion) if as_criterion(criterion).smooth else Walk(criterion)


def first_or_random(
    data: Benchmark, trial: Trial, *, isotropic: bool = False, prior: Prior | None = None
) -> Hyperparameters:
    """Return the fixed start for trial 0 (the prior's mean, or the paper's), and a random one for the others."""
    if trial.number:
        return random_start(data.n_inputs, np.random.default_rng(trial.seed), isotropic=isotropic)
    if prior is not None:
        return prior.mean(data.n_inputs, isotropic=isotropic)
    return paper_start(data.n_inputs, isotropic=isotropic)


def timed_tune(data: Benchmark, criterion: Criterion, **options: Any) -> tuple[Tuning, float]:
    """Tune on the training set; return what was found, and the CPU seconds.

    It is an error if the criterion fails at the start: then there is nothing to judge.
    """
    begun = time.process_time()
    tuning = tune(data.X_train, data.y_train, criterion, **{"progress": False, **options})
    if not tuning.trace.accepted:
        Status(False, tuning.status.message).require()
    return tuning, time.process_time() - begun


def outcome(
    judge: Judge,
    tuning: Tuning,
    seconds: float,
    companion: Criterion | None = None,
    *,
    early_error: float | None = None,
) -> Outcome:
    """Return the outcome of a search that took so many CPU seconds: scores at its end, and along its path."""
    fields = judge.scores(tuning.hyperparameters)
    fields["extra"] |= {"step_seconds": seconds / len(tuning.trace)}
    path = judge.path(tuning.trace, companion)
    return Outcome(
        message=tuning.status.message,
        evaluations=len(tuning.trace),
        criterion_value=None if np.isnan(tuning.value) else tuning.value,
        oracle_error=min(path["test_error"]),
        early_error=early_error,
        trace=path,
        **fields,
    )
