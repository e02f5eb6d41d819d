"""Trials of the methods of previous work that table (prevresults) of the paper lists."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from marginwise.criteria.cross_validation import CrossValidationError
from marginwise.datasets.benchmarks import Benchmark
from marginwise.hyperparameters import Hyperparameters
from marginwise.likelihoods.slack import LINEAR
from marginwise.model import Model
from marginwise.study.judge import Judge, flat, thinned, to_columns
from marginwise.study.paper.gp_evidence import ClassifierEvidence, LaplaceGPEvidence, SiteEvidence
from marginwise.study.plan import Effort, Trial
from marginwise.study.record import Outcome
from marginwise.study.searches import first_or_random, outcome, timed_tune

#: The offset of "SVM CV" is unrestricted, koff → ∞: so large a prior variance leaves the bias free.
FREE_OFFSET = 1e6


@dataclass(frozen=True)
class CrossValidated:
    """SVM with one length scale; it and k0 are those of a grid with the least ten-fold cross-validation error.

    Of equal errors the smoothest classifier is taken: the largest length scale, then the smallest amplitude. The folds
    are drawn anew in each trial.
    """

    length_scales: tuple[float, ...] = tuple(2.0 ** (0.5 * power) for power in range(-2, 13))
    amplitudes: tuple[float, ...] = tuple(4.0**power for power in range(-2, 8))
    folds: int = 10

    def run(self, data: Benchmark, trial: Trial, effort: Effort) -> Outcome:
        """Evaluate the grid."""
        criterion = CrossValidationError("linear", folds=self.folds, seed=trial.seed)
        judge = Judge.of(data, criterion.likelihood)
        best, least, n = None, np.inf, 0
        for length_scale in sorted(self.length_scales, reverse=True):
            state = None
            for k0 in sorted(self.amplitudes):
                setting = Hyperparameters(1.0, k0, FREE_OFFSET, length_scale)
                found = criterion.evaluate(judge.problem, setting, state)
                state, n = found.state, n + 1
                if found.status.ok and found.value < least:
                    best, least = setting, found.value
        if best is None:
            found.status.require()
        assert best is not None
        return Outcome(message=f"the best of {n} settings", evaluations=n, criterion_value=least, **judge.scores(best))


@dataclass(frozen=True)
class VariationalSVM:
    """SVM whose hyperparameters maximise the variational bound on its evidence at C = 1 (Seeger 2000)."""

    def run(self, data: Benchmark, trial: Trial, effort: Effort) -> Outcome:
        """Maximise the bound; predict with the SVM."""
        criterion = SiteEvidence("variational", LINEAR)
        tuning, seconds = timed_tune(
            data, criterion, start=_start(data, trial), max_evaluations=effort.newton_evaluations
        )
        return outcome(Judge.of(data, criterion.likelihood), tuning, seconds)


@dataclass(frozen=True)
class GaussianProcess:
    """Gaussian process classifier that maximises the evidence of its own approximation, and predicts with it.

    ``approximation`` is "laplace" (logistic likelihood), "variational" (the same) or "ep" (probit: the mean field
    method of Opper & Winther 2000 finds the fixed points of expectation propagation).
    """

    approximation: str

    def run(self, data: Benchmark, trial: Trial, effort: Effort) -> Outcome:
        """Maximise the evidence."""
        criterion: ClassifierEvidence = {
            "laplace": LaplaceGPEvidence(),
            "variational": SiteEvidence("variational", "logistic"),
            "ep": SiteEvidence("ep", "probit"),
        }[self.approximation]
        tuning, seconds = timed_tune(
            data, criterion, start=_start(data, trial), max_evaluations=effort.newton_evaluations
        )
        judge = Judge.of(data, LINEAR)  # whose test set is all that counts here
        scores = judge.probability_scores(criterion.probability(judge.problem, tuning.hyperparameters, judge.test.X))
        return Outcome(
            message=tuning.status.message,
            evaluations=len(tuning.trace),
            hyperparameters=flat(tuning.hyperparameters),
            criterion_value=tuning.value,
            test_error=scores["posterior_error"],
            posterior_error=scores["posterior_error"],
            log_loss=scores["log_loss"],
            extra={"step_seconds": seconds / len(tuning.trace)},
            trace=to_columns(thinned(tuning.trace.accepted), tuning.trace.names),
        )


def _start(data: Benchmark, trial: Trial) -> Model:
    """Return the start of a trial with C = 1: a kernel that stands for itself does not take C in."""
    start = first_or_random(data, trial)
    return start.with_C(1.0)
