"""Time and memory of each criterion, value and gradient, in units of one SVM solution on the same problem.

    python benchmarks/criteria.py                 the cheap criteria, n = 100 … 2000, d = 20
    python benchmarks/criteria.py --all --sizes 100 300

Both the solution and the evaluation start from nothing and make their own Gram matrix. They are timed in turns, and
the least time of each counts, one thread each; memory is the peak of what numpy allocates, in units of one n×n matrix
of doubles.
"""

from __future__ import annotations

import argparse
import os
import time
import tracemalloc
from collections.abc import Callable

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np  # noqa: E402

from marginwise.criteria import Criterion, as_criterion, criterion_class, criterion_names  # noqa: E402
from marginwise.hyperparameters import Hyperparameters  # noqa: E402
from marginwise.likelihoods import SLACKS, as_slack  # noqa: E402
from marginwise.problem import Problem, as_problem  # noqa: E402
from marginwise.svm import solve_problem  # noqa: E402

D = 20

#: Criteria that need more than the solution and its support block: many SVMs, or the posterior; with --all only.
COSTLY = (
    "loo",
    "cross-validation",
    "cross-validation-log-loss",
    "kwok-evidence",
    "ep-evidence",
    "ep-loo",
    "evidence",
)

#: Those that shall cost at most GOAL solutions.
GOAL, WITH_GOAL = 4.0, ("laplace-evidence", "gacv", "span")


def twonorm(n: int) -> Problem:
    """Return Breiman's twonorm, the paper's fourth benchmark."""
    rng = np.random.default_rng(0)
    y = rng.choice([-1.0, 1.0], size=n)
    return as_problem(rng.normal(size=(n, D)) + np.outer(y, np.full(D, 2 / np.sqrt(D))), y)


def shortest(*actions: Callable[[], object], budget: float = 2.0) -> list[float]:
    """Return the least time of each action, taken in turns so that a busy machine slows all of them alike."""
    times: list[list[float]] = [[] for _ in actions]
    for action in actions:
        action()
    begin = time.perf_counter()
    while len(times[0]) < 5 or (time.perf_counter() - begin < budget and len(times[0]) < 200):
        for action, taken in zip(actions, times, strict=True):
            start = time.perf_counter()
            action()
            taken.append(time.perf_counter() - start)
    return [min(taken) for taken in times]


def peak_memory(action: Callable[[], object]) -> float:
    """Return the peak of allocated bytes."""
    tracemalloc.start()
    action()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return float(peak)


def row(criterion: Criterion, problem: Problem, h: Hyperparameters) -> str:
    """Return a line of the table."""
    unit, seconds = shortest(
        lambda: solve_problem(problem, h, as_slack(criterion.likelihood)), lambda: criterion.evaluate(problem, h)
    )
    memory = peak_memory(lambda: criterion.evaluate(problem, h)) / (8 * problem.n**2)
    ratio = seconds / unit
    verdict = "" if criterion.name not in WITH_GOAL else "yes" if ratio <= GOAL else "no"
    return f"| {criterion.name} | {1e3 * unit:.2f} | {1e3 * seconds:.2f} | {ratio:.2f} | {verdict} | {memory:.1f} |"


def main() -> None:
    """Print one table for each size, slack and length scale."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 300, 1000, 2000])
    parser.add_argument("--length-scales", type=float, nargs="+", default=[1.0, 2.0, 4.0])
    parser.add_argument("--all", action="store_true", help="time the costly criteria too")
    arguments = parser.parse_args()
    for n in arguments.sizes:
        problem = twonorm(n)
        for length in arguments.length_scales:
            h = Hyperparameters(1.0, 1.0, 0.1, np.full(D, length))
            for slack in SLACKS:
                solution = solve_problem(problem, h, as_slack(slack))
                print(f"\nn = {n}, l = {length:g}, {slack} slack: {len(solution.support)} support vectors,")
                print(f"{len(solution.marginal)} of them free\n")
                print("| criterion | solution, ms | criterion, ms | ratio | within 4 | memory / n² |")
                print("|---|---|---|---|---|---|")
                for name in criterion_names():
                    if slack in criterion_class(name).slacks and (arguments.all or name not in COSTLY):
                        print(row(as_criterion(name, slack), problem, h), flush=True)


if __name__ == "__main__":
    main()
