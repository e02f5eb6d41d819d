"""What a second thread of BLAS gains and costs: wall and CPU seconds with one and two, from 200 to 5,000 rows.

    python benchmarks/threads.py products
    python benchmarks/threads.py fits [--rows 200 700 1400] [--evaluations 10]

Cholesky factorisations, products of square matrices, and fits of ``TunedSVC`` with the exact Gram matrix. One and two
threads take turns; medians. The last column is the wall seconds gained for each CPU second that a second thread costs:
it pays where that is above 1. Threads that wait for each other burn time that another job on the same cores lacks.
``ONE_THREAD_ROWS`` of ``marginwise._runtime.threads`` was chosen by it.
"""

import argparse
import time
import warnings

import numpy as np
from scipy.linalg import blas, lapack
from threadpoolctl import threadpool_limits

from marginwise import TunedSVC
from marginwise._runtime import threads as limits

SIZES = (200, 500, 1000, 1500, 2000, 3000, 5000)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["products", "fits"])
    parser.add_argument("--rows", type=int, nargs="+", default=SIZES)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--evaluations", type=int, default=10)
    arguments = parser.parse_args()
    print("| | rows | wall 1 | wall 2 | CPU 1 | CPU 2 | gained for a CPU second |")
    print("|---|---|---|---|---|---|---|")
    for n in arguments.rows:
        tasks = products(n) if arguments.what == "products" else fits(n, arguments.evaluations)
        for name, task in tasks.items():
            show(name, n, task, arguments.rounds)


def products(n):
    """Return what takes the time of a fit with the exact Gram matrix."""
    A = np.asfortranarray(np.random.default_rng(0).normal(size=(n, n)))
    K = np.asfortranarray(A @ A.T + n * np.eye(n))
    repeats = max(1, int(2e9 / n**3))

    def repeated(function):
        def task():
            for _ in range(repeats):
                function()

        return task

    return {
        "Cholesky": repeated(lambda: lapack.dpotrf(K, lower=1)),
        "product": repeated(lambda: blas.dgemm(1.0, A, A)),
    }


def fits(n, evaluations):
    """Return the whole fit; twelve inputs, two of which decide."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 12))
    y = X[:, 0] * X[:, 1] + X[:, 2] + 0.5 * rng.normal(size=n) > 0

    def task():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that so few evaluations are not enough
            TunedSVC(0, rank=None, subset=None, max_evaluations=evaluations, random_state=0).fit(X, y)

    return {"fit": task}


def show(name, n, task, rounds):
    """Print median wall and CPU seconds with one and two threads, which take turns."""
    limits.ONE_THREAD_ROWS = 0  # the limit is what is measured
    seconds = {1: [], 2: []}
    for _ in range(rounds):
        for threads, measured in seconds.items():
            with threadpool_limits(threads):
                wall, cpu = time.perf_counter(), time.process_time()
                task()
                measured.append((time.perf_counter() - wall, time.process_time() - cpu))
    (wall_1, cpu_1), (wall_2, cpu_2) = (np.median(measured, axis=0) for measured in seconds.values())
    cost = cpu_2 - cpu_1
    ratio = "all" if cost <= 0 else f"{(wall_1 - wall_2) / cost:.2f}"
    print(f"| {name} | {n} | {wall_1:.3f} | {wall_2:.3f} | {cpu_1:.3f} | {cpu_2:.3f} | {ratio} |", flush=True)


if __name__ == "__main__":
    main()
