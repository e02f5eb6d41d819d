"""The paper's own method: gradient ascent on the exact evidence, whose gradient is sampled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from marginwise.criteria.evidence import TO_FOLLOW, Evidence
from marginwise.datasets.benchmarks import Benchmark
from marginwise.hyperparameters import Hyperparameters, random_start
from marginwise.inference.sampling.collect import Precision
from marginwise.search.gradient_ascent import GradientAscent
from marginwise.study.judge import Judge
from marginwise.study.paper.names import REPEATED
from marginwise.study.plan import Effort, Trial
from marginwise.study.record import Outcome
from marginwise.study.searches import outcome, timed_tune

#: The paper ends an ascent when the gradients are "a small fraction of their peak magnitude": here a tenth, which takes
#: 20 to 40 steps. Beyond, the evidence of separable data is a ridge along which k0 grows without end and sampling
#: takes ten times as long, to no effect on the test error.
THOROUGH = GradientAscent(tolerance=0.1)

#: Settings with which ascents take nearly the 40 to 80 steps of the paper and end near its k0: short moves, a rate that
#: is raised slowly, and a fifth for "a small fraction".
AS_IN_PAPER = GradientAscent(first_move=0.1, largest_move=0.3, raise_by=1.1, tolerance=0.2)


@dataclass(frozen=True)
class Ascent:
    """Gradient ascent on the sampled evidence, section gradient_ascent.

    The paper's column of early stopping is the least test error along the path, which is an oracle; ``early_error`` is
    that of stopping by an independent validation set, see :meth:`~marginwise.study.Judge.stopped_early`.

    Parameters
    ----------
    search : GradientAscent
    sampler : {"guided", "paper"}
        How gradients are sampled; see :class:`~marginwise.criteria.evidence.Evidence`.
    start : {"random", "same", "equal"}
        Where a trial begins: at random in the paper's ranges; at one such place for all trials and samplers, so that
        they differ in the noise of the gradients alone; or in the middle of these ranges with equal length scales, as
        in the paper's figures (twonorm_ll) and (twonorm_kkc).
    precision : Precision
        Of the guided sampler.
    """

    search: GradientAscent = THOROUGH
    sampler: Literal["guided", "paper"] = "guided"
    start: Literal["random", "same", "equal"] = "random"
    precision: Precision = TO_FOLLOW

    def run(self, data: Benchmark, trial: Trial, effort: Effort) -> Outcome:
        """Ascend, and look at the test error along the path."""
        criterion = Evidence(
            "linear", precision=self.precision, seed=trial.seed, sampler=self.sampler, hmc_steps=effort.hmc_steps
        )
        tuning, seconds = timed_tune(
            data,
            criterion,
            search=self.search,
            start=self._begin(data, trial),
            random_state=trial.seed,
            max_evaluations=effort.ascent_evaluations,
        )
        judge = Judge.of(data, criterion.likelihood)
        return outcome(judge, tuning, seconds, early_error=judge.stopped_early(tuning.trace))

    def _begin(self, data: Benchmark, trial: Trial) -> Hyperparameters:
        """Return where the trial begins."""
        if self.start == "equal":  # the middle of C ∈ [0.4, 0.8], ln k0 ∈ [-1, 1], ln koff ∈ [-2, -1], ln l ∈ [-1, 2]
            return Hyperparameters(0.6, 1.0, np.exp(-1.5), np.full(data.n_inputs, np.exp(0.5)))
        seed = (Trial(trial.dataset, REPEATED, 0) if self.start == "same" else trial).seed
        return random_start(data.n_inputs, np.random.default_rng(seed))
