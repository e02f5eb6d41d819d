"""Trials that search for hyperparameters: the paper's walks and ascents, and quasi-Newton on the same criteria."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from marginwise.criteria import Criterion, as_criterion
from marginwise.criteria.cross_validation import stratified_folds
from marginwise.criteria.evidence import TO_CLIMB, Evidence
from marginwise.datasets import Benchmark
from marginwise.hyperparameters import Hyperparameters, paper_start, random_start
from marginwise.inference import Precision
from marginwise.priors import Prior
from marginwise.search import GradientAscent, RandomWalk
from marginwise.status import Status
from marginwise.study.plan import Effort, Trial
from marginwise.study.judge import Judge, Outcome
from marginwise.tuning import Tuning, tune

#: The paper ends a walk when its steps or its gains have "become very small" (section ztmc), without numbers: here,
#: when every step is below 0.001, or when 20 sweeps over all hyperparameters have gained less than 1e-5. A tenth of
#: that takes half as long again, and changes test errors by less than one in a hundred.
WALK = RandomWalk(step_tolerance=1e-3, gain_tolerance=1e-5, sweeps=20)

#: The paper ends an ascent when the gradients are "a small fraction of their peak magnitude", after 40 to 80 steps:
#: here a tenth, which takes 20 to 40. Beyond, the evidence of separable data is a ridge along which k0 grows without
#: end and sampling takes ten times as long, to no effect on the test error.
ASCENT = GradientAscent(tolerance=0.1)

#: One row in so many is kept for validation by honest early stopping.
_VALIDATION_FOLDS = 5


@dataclass(frozen=True)
class Walk:
    """The greedy random walk of section ztmc from the paper's fixed start, its steps drawn anew in each trial.

    ``companion`` is another criterion that is looked at along the path, as in figure (twonorm_lz).
    """

    criterion: str
    slack: str
    companion: str | None = None
    search: RandomWalk = WALK

    def run(self, data: Benchmark, trial: Trial, effort: Effort) -> Outcome:
        """Walk, and look at the test error along the path afterwards."""
        criterion = as_criterion(self.criterion, self.slack)
        tuning, seconds = timed_tune(
            data,
            criterion,
            search=self.search,
            start=paper_start(data.n_inputs),
            random_state=trial.seed,
            max_evaluations=effort.walk_evaluations,
        )
        companion = None if self.companion is None else as_criterion(self.companion, self.slack)
        return outcome(Judge.of(data, criterion.slack), tuning, seconds, companion)


@dataclass(frozen=True)
class Ascent:
    """Gradient ascent on the sampled evidence, section gradient_ascent, from a random start.

    The paper's column of early stopping is the least test error along the path, which is an oracle. The honest one
    repeats the ascent on four fifths of the rows, stopped by the error on the rest, and then trains on all.
    """

    search: GradientAscent = ASCENT
    precision: Precision = TO_CLIMB
    patience: int = 8

    def run(self, data: Benchmark, trial: Trial, effort: Effort) -> Outcome:
        """Ascend twice from the same random start: on all rows, and on some with early stopping by the others."""
        criterion = Evidence("linear", precision=self.precision, seed=trial.seed)
        options: dict[str, Any] = {
            "search": self.search,
            "start": random_start(data.n_inputs, np.random.default_rng(trial.seed)),
            "random_state": trial.seed,
            "max_evaluations": effort.ascent_evaluations,
            "progress": False,
        }
        tuning, seconds = timed_tune(data, criterion, test=(data.X_test, data.y_test), **options)
        held = stratified_folds(data.y_train, _VALIDATION_FOLDS, trial.seed) == 0
        early = tune(
            data.X_train[~held],
            data.y_train[~held],
            criterion,
            validation=(data.X_train[held], data.y_train[held]),
            patience=self.patience,
            **options,
        )
        judge = Judge.of(data, criterion.slack)
        return outcome(
            judge,
            tuning,
            seconds,
            early_error=judge.svm_error(early.hyperparameters),
            more={"early_evaluations": float(len(early.trace))},
        )


@dataclass(frozen=True)
class Newton:
    """Quasi-Newton ascent on a criterion: trial 0 from the paper's fixed start, the others from random ones.

    With a ``prior``, trial 0 begins at its mean.
    """

    criterion: str
    slack: str
    isotropic: bool = False
    prior: Prior | None = None

    def run(self, data: Benchmark, trial: Trial, effort: Effort) -> Outcome:
        """Climb."""
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
        return outcome(Judge.of(data, criterion.slack), tuning, seconds)


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
    more: dict[str, float] | None = None,
) -> Outcome:
    """Return the outcome of a search that took so many CPU seconds: scores at its end, and along its path."""
    fields = judge.scores(tuning.hyperparameters)
    fields["extra"] |= {"step_seconds": seconds / len(tuning.trace), **(more or {})}
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
