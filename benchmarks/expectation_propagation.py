"""Criteria of expectation propagation, value and gradient, in units of one bare Cholesky factorisation of that size.

    python benchmarks/expectation_propagation.py [sizes, 300 and 1000 by default]

Twonorm, d = 20, at four settings from short to long length scales; "warm" starts from a setting whose logarithms all
differ by 0.05. Processor time, taken in turns with the factorisation; the median counts. One thread.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from functools import partial

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np  # noqa: E402
from scipy.linalg import lapack  # noqa: E402

from marginwise.criteria.ep import EPEvidence, EPLeaveOneOut  # noqa: E402
from marginwise.hyperparameters import Hyperparameters  # noqa: E402
from marginwise.likelihoods import SLACKS  # noqa: E402
from marginwise.problem import Problem, as_problem  # noqa: E402

D = 20
SETTINGS = {
    "paper's start": Hyperparameters(1.0, 1.0, 0.1, np.ones(D)),
    "prior mean": Hyperparameters(1.0, 3.0, 0.3, np.full(D, np.sqrt(2.0 * D))),
    "middle": Hyperparameters(1.0, 20.0, 0.1, np.full(D, 4.0)),
    "late": Hyperparameters(4.0, 600.0, 5.0, np.full(D, 8.0)),
}

#: At most so many factorisations: evidence cold, warm, leave-one-out cold, warm.
GOALS = (60, 25, 100, 60)


def twonorm(n: int) -> Problem:
    """Return Breiman's twonorm, the paper's fourth benchmark."""
    rng = np.random.default_rng(0)
    y = rng.choice([-1.0, 1.0], size=n)
    return as_problem(rng.normal(size=(n, D)) + np.outer(y, np.full(D, 2 / np.sqrt(D))), y)


def medians(actions: list[Callable[[], object]], repetitions: int) -> np.ndarray:
    """Return the median processor time of each action, taken in turns."""
    times = np.empty((repetitions, len(actions)))
    for row in times:
        for k, action in enumerate(actions):
            start = time.thread_time()
            action()
            row[k] = time.thread_time() - start
    return np.median(times, axis=0)


def main() -> None:
    """Print the ratios."""
    print(f"{'n':>5} {'setting':14} {'slack':10} evidence cold  warm   leave-one-out cold  warm   (goals {GOALS})")
    for n in [int(size) for size in sys.argv[1:]] or [300, 1000]:
        problem = twonorm(n)
        for setting, h in SETTINGS.items():
            near = Hyperparameters.from_vector(h.to_vector() + 0.05 * np.where(np.arange(3 + D) % 2, 1.0, -1.0))
            B = np.asfortranarray(h.kernel.gram(problem.X) + np.eye(n))
            for slack in SLACKS:
                actions: list[Callable[[], object]] = [partial(lapack.dpotrf, B, lower=1, clean=0)]
                for criterion in (EPEvidence(slack), EPLeaveOneOut(slack)):
                    state = criterion.evaluate(problem, near).state
                    actions += [
                        partial(criterion.evaluate, problem, h),
                        partial(criterion.evaluate, problem, h, state),
                    ]
                unit, *taken = medians(actions, 30 if n <= 500 else 7)
                e_cold, e_warm, l_cold, l_warm = np.array(taken) / unit
                print(f"{n:5} {setting:14} {slack:10} {e_cold:13.1f} {e_warm:5.1f} {l_cold:20.1f} {l_warm:5.1f}")


if __name__ == "__main__":
    main()
