"""The paper's own method: gradient ascent on the exact evidence, whose gradient is sampled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from marginwise.criteria.cross_validation import stratified_folds
from marginwise.criteria.evidence import TO_CLIMB, Evidence
from marginwise.datasets import Benchmark
from marginwise.hyperparameters import random_start
from marginwise.inference import Precision
from marginwise.search import GradientAscent
from marginwise.study.judge import Judge
from marginwise.study.plan import Effort, Trial
from marginwise.study.record import Outcome
from marginwise.study.searches import outcome, timed_tune
from marginwise.tuning import tune

#: The paper ends an ascent when the gradients are "a small fraction of their peak magnitude", after 40 to 80 steps:
#: here a tenth, which takes 20 to 40. Beyond, the evidence of separable data is a ridge along which k0 grows without
#: end and sampling takes ten times as long, to no effect on the test error.
ASCENT = GradientAscent(tolerance=0.1)

#: One row in so many is kept for validation by honest early stopping.
_VALIDATION_FOLDS = 5


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
        judge = Judge.of(data, criterion.likelihood)
        return outcome(
            judge,
            tuning,
            seconds,
            early_error=judge.svm_error(early.hyperparameters),
            more={"early_evaluations": float(len(early.trace))},
        )
