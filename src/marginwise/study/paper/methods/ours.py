"""Trials of what the library adds: TunedSVC as it comes, and ensembles of local optima."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from marginwise.criteria import as_criterion
from marginwise.datasets import Benchmark
from marginwise.errors import ConvergenceWarning
from marginwise.estimators import TunedSVC
from marginwise.inference.api import site_posterior
from marginwise.likelihoods import LINEAR
from marginwise.study.judge import Judge, flat, thinned, to_columns
from marginwise.study.plan import Effort, Trial
from marginwise.study.record import Outcome
from marginwise.study.searches import first_or_random, timed_tune
from marginwise.svm import solve_problem


@dataclass(frozen=True)
class SelfTuned:
    """TunedSVC with the paper's kernel; the folds that judge its rungs are drawn anew in each trial."""

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
            "loo_error": model.loo_error_,
            "loo_log_loss": model.loo_log_loss_,
        }
        return Outcome(
            message="; ".join(messages) or "fitted",
            evaluations=len(model.trace_),
            hyperparameters=flat(model.hyperparameters_),
            criterion_value=model.criterion_value_,
            test_error=scores["posterior_error"],
            extra=extra,
            trace=to_columns(thinned(model.trace_.accepted), model.trace_.names),
            **scores,
        )


@dataclass(frozen=True)
class CombinedOptima:
    """Local optima of a criterion, from random starts, combined: the SVMs by voting, the posteriors by averaging.

    "One possible productive use of the high variability … could be to combine the resulting classifiers in some
    ensemble or voting scheme" (section results). ``extra`` has the mean error of the single SVMs to compare with.
    """

    criterion: str = "ep-evidence"
    slack: str = "linear"

    def run(self, data: Benchmark, trial: Trial, effort: Effort) -> Outcome:
        """Climb from many starts and let all ends predict."""
        criterion = as_criterion(self.criterion, self.slack)
        tuning, seconds = timed_tune(
            data,
            criterion,
            start=first_or_random(data, trial),
            restarts=effort.optima - 1,
            random_state=trial.seed,
            max_evaluations=effort.newton_evaluations,
        )
        judge = Judge.of(data, criterion.likelihood)
        votes = np.zeros(len(data.y_test))
        errors, probabilities = [], []
        for run in tuning.restarts:
            setting = run.hyperparameters
            solution = solve_problem(judge.problem, setting, judge.slack)
            signed = (judge.problem.y * solution.alpha)[solution.support]
            cross = setting.kernel.cross(judge.test.X, judge.problem.X[solution.support])
            label = np.where(cross @ signed > 0.0, 1.0, -1.0)
            votes += (
                1.5 * label if run.trace is tuning.trace else label
            )  # the best optimum decides where votes are equal
            errors.append(float(np.mean(label != judge.test.y)))
            posterior = site_posterior(judge.problem, setting, judge.slack)
            if posterior.status.ok:
                probabilities.append(posterior.predict_proba(judge.test.X)[:, 1])
        scores: dict[str, Any] = judge.probability_scores(np.mean(probabilities, axis=0)) if probabilities else {}
        evaluations = sum(len(run.trace) for run in tuning.restarts)
        return Outcome(
            message=f"{len(tuning.restarts)} optima; the best: {tuning.status.message}",
            evaluations=evaluations,
            hyperparameters=flat(tuning.hyperparameters),
            criterion_value=tuning.value,
            test_error=float(np.mean(votes * judge.test.y < 0.0)),
            extra={
                "optima": float(len(errors)),
                "single_error": float(np.mean(errors)),
                "best_single_error": min(errors),
                "step_seconds": seconds / evaluations,
            },
            **scores,
        )
