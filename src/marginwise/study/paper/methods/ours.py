"""Trials of what the library adds: TunedSVC as it comes."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass

from marginwise.datasets.benchmarks import Benchmark
from marginwise.errors import ConvergenceWarning
from marginwise.estimators.tuned_svc import TunedSVC
from marginwise.likelihoods.slack import LINEAR
from marginwise.study.judge import Judge, flat, thinned, to_columns
from marginwise.study.plan import Effort, Trial
from marginwise.study.record import Outcome


@dataclass(frozen=True)
class SelfTuned:
    """TunedSVC with the paper's kernel; the folds that judge its candidates are drawn anew in each trial."""

    def run(self, data: Benchmark, trial: Trial, effort: Effort) -> Outcome:
        """Fit and predict."""
        begun = time.process_time()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ConvergenceWarning)
            model = TunedSVC(kernel="rbf", random_state=trial.seed % 2**31, n_jobs=1).fit(data.X_train, data.y_train)
        seconds = time.process_time() - begun
        messages = [str(warning.message) for warning in caught if issubclass(warning.category, ConvergenceWarning)]
        scores = Judge.of(data, LINEAR).probability_scores(model.predict_proba(data.X_test)[:, 1])
        extra = {
            "fit_seconds": seconds,
            "expected_error": model.expected_error_,
            "expected_log_loss": model.expected_log_loss_,
        }
        return Outcome(
            message="; ".join(messages) or "fitted",
            evaluations=len(model.trace_),
            hyperparameters=flat(model.ensemble_.main.tuning.hyperparameters),
            criterion_value=model.criterion_value_,
            test_error=scores["posterior_error"],
            extra=extra,
            trace=to_columns(thinned(model.trace_.accepted), model.trace_.names),
            **scores,
        )
