"""Two remarks of the paper, put to the test on data with a known law: what k0 tells of noise, what sampling costs."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from marginwise.criteria.evidence import Evidence
from marginwise.datasets import generated
from marginwise.datasets.benchmarks import Benchmark
from marginwise.hyperparameters import Hyperparameters
from marginwise.problem import as_problem
from marginwise.study.data import Source
from marginwise.study.judge import Judge
from marginwise.study.plan import Effort, Method, Trial
from marginwise.study.record import Outcome

#: Test rows of a draw, and repeats of a gradient.
_TEST, _REPEATS = 2000, 4


@dataclass(frozen=True)
class KnownNoise:
    """Inputs of Twonorm with labels by the side of a plane they are on, of which a part is flipped."""

    rows: int = 300
    flipped: float = 0.0
    draw: int = 0

    def load(self) -> Benchmark:
        """Return the set."""
        rng = np.random.RandomState(self.draw)
        X, _ = generated.twonorm(self.rows + _TEST, rng)
        y = np.sign(generated.twonorm_log_odds(X)) * np.where(rng.uniform(size=len(X)) < self.flipped, -1.0, 1.0)
        names = tuple(f"x{a}" for a in range(1, X.shape[1] + 1))
        made = f"Twonorm by the Bayes rule, {self.flipped:.0%} of labels flipped."
        parts = X[: self.rows], y[: self.rows], X[self.rows :], y[self.rows :]
        return Benchmark("noise", *parts, names, self.flipped, made)


@dataclass(frozen=True)
class SampledGradient:
    """The gradient of the evidence by the paper's sampler at one place, several times: how long, how noisy, and if any.

    Recorded are the seconds of one, ``noise``: the standard deviation over repeats by the norm, and ``zeros``: the
    share of repeats in which every derivative in the kernel is 0, as the paper reports at large C.
    """

    C: float = 1.0

    def run(self, data: Benchmark, trial: Trial, effort: Effort) -> Outcome:
        """Sample the gradient."""
        place = Hyperparameters(self.C, 10.0, 0.1, np.full(data.n_inputs, 5.0))
        problem, begun = as_problem(data.X_train, data.y_train), time.process_time()
        seeds = range(_REPEATS * trial.number, _REPEATS * (trial.number + 1))
        sampled = (Evidence("linear", sampler="paper", seed=seed, hmc_steps=effort.hmc_steps) for seed in seeds)
        gradients = np.array([criterion.evaluate(problem, place).gradient for criterion in sampled])
        seconds = (time.process_time() - begun) / _REPEATS
        noise = np.linalg.norm(gradients.std(axis=0, ddof=1)) / np.linalg.norm(gradients.mean(axis=0))
        zeros = np.mean(~gradients[:, 1:].any(axis=1))
        judge = Judge.of(data, Evidence("linear").likelihood)
        extra = {"step_seconds": seconds, "noise": float(noise), "zeros": float(zeros)}
        return Outcome(message="sampled", evaluations=_REPEATS, test_error=judge.svm_error(place), extra=extra)


#: Shares of flipped labels, draws of each, numbers of rows, and values of C that are tried.
FLIPPED, NOISE_DRAWS, ROWS, CS = (0.0, 0.02, 0.05, 0.1, 0.2), 5, (75, 150, 300, 600), (1.0, 10.0, 100.0)

NOISY: Mapping[str, Source] = {
    f"noise-{flipped:g}-{draw}": KnownNoise(300, flipped, draw) for flipped in FLIPPED for draw in range(NOISE_DRAWS)
}
SIZED: Mapping[str, Source] = {f"rows-{rows}": KnownNoise(rows, 0.05) for rows in ROWS}
GRADIENTS: Mapping[str, Method] = {f"hmc-gradient-{C:g}": SampledGradient(C) for C in CS}
