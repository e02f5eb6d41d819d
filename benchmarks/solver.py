"""The SVM solver side by side with scikit-learn's SVC, on the same Gram matrices, one thread each.

    python benchmarks/solver.py [--quick]

Prints time to the end of each method, the relative duality gap it ended with, and ratios; then a path of 30
neighbouring settings, cold and warm-started; then the time of a first import and a first fit in a new process.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np  # noqa: E402
from sklearn.svm import SVC  # noqa: E402

from marginwise.covariance import DenseCovariance  # noqa: E402
from marginwise.datasets import benchmark_names, load_benchmark  # noqa: E402
from marginwise.hyperparameters import Hyperparameters  # noqa: E402
from marginwise.likelihoods import LINEAR  # noqa: E402
from marginwise.svm import solve_gram, solve_svm  # noqa: E402

PENALTIES = (1.0, 100.0, 10000.0)


def problems(quick: bool):
    """Yield name, inputs and labels: the five data sets, and larger draws of twonorm."""
    for name in benchmark_names():
        data = load_benchmark(name)
        yield name, data.X_train, data.y_train
    for n in (1000, 3000) if quick else (1000, 3000, 10000):
        rng = np.random.default_rng(n)
        y = rng.choice([-1.0, 1.0], size=n)
        yield f"twonorm {n}", rng.normal(size=(n, 20)) + np.outer(y, np.full(20, 2 / np.sqrt(20))), y


def best_time(function, repetitions: int):
    """Return the shortest time of several calls, and the last result."""
    times = []
    for _ in range(repetitions):
        start = time.perf_counter()
        result = function()
        times.append(time.perf_counter() - start)
    return min(times), result


def gap_of_svc(model: SVC, K: np.ndarray, y: np.ndarray, C: float) -> float:
    """Relative duality gap of a fitted SVC; its primal has a free bias."""
    beta = np.zeros(len(y))
    beta[model.support_] = model.dual_coef_[0]
    latent = K @ beta
    dual = np.abs(beta).sum() - 0.5 * beta @ latent
    primal = 0.5 * beta @ latent + C * LINEAR.loss(y * (latent + model.intercept_[0])).sum()
    return (primal - dual) / abs(dual)


def compare(quick: bool) -> None:
    """Print one row for each problem and penalty."""
    print("times in ms; ratio = SVC / marginwise (public call, input checks included)\n")
    print(
        f"{'problem':<14}{'C·k0':>7}{'ours':>9}{'gap':>9}{'inside':>9}"
        f"{'SVC 1e-3':>10}{'gap':>9}{'ratio':>7}{'SVC 1e-6':>10}{'gap':>9}{'ratio':>7}"
    )
    for name, X, y in problems(quick):
        n, d = X.shape
        K = Hyperparameters(1.0, 1.0, 0.1, np.sqrt(d)).kernel.gram(X)
        repetitions = 15 if n < 1000 else 7 if n < 5000 else 3
        for C in PENALTIES:
            ours, solution = best_time(lambda K=K, y=y, C=C: solve_gram(K, y, C), repetitions)
            penalties = np.full(n, C)
            inside, _ = best_time(
                lambda K=K, y=y, p=penalties: solve_svm(DenseCovariance.of_matrix(K), y, p, LINEAR), repetitions
            )
            row = f"{name:<14}{C:>7g}{1e3 * ours:>9.2f}{solution.duality_gap / solution.objective:>9.0e}"
            row += f"{1e3 * inside:>9.2f}"
            for tolerance in (1e-3, 1e-6):
                model = SVC(C=C, kernel="precomputed", tol=tolerance, cache_size=1000)
                theirs, fitted = best_time(lambda m=model, K=K, y=y: m.fit(K, y), repetitions)
                row += f"{1e3 * theirs:>10.2f}{gap_of_svc(fitted, K, y, C):>9.0e}{theirs / ours:>7.1f}"
            print(row, flush=True)


def path(quick: bool) -> None:
    """Print the time of 30 neighbouring settings, solved cold and warm-started (Gram matrices not counted)."""
    print("\npath of 30 settings, each hyperparameter moved by 2 % a step: ms for all, cold and warm\n")
    for name, X, y in problems(quick):
        if len(y) > 3000:
            continue
        start = np.log([10.0, 1.0, 0.1, np.sqrt(X.shape[1])])
        settings = [Hyperparameters.from_vector(start + 0.02 * k * np.array([1, 1, -1, -0.5])) for k in range(30)]
        grams = [h.kernel.gram(X) for h in settings]
        penalties = [np.full(len(y), h.C) for h in settings]

        def run(warm, grams=grams, penalties=penalties, y=y):
            solution = None
            for K, p in zip(grams, penalties, strict=True):
                solution = solve_svm(DenseCovariance.of_matrix(K), y, p, LINEAR, start=solution if warm else None)

        cold, _ = best_time(lambda: run(False), 3)
        warm, _ = best_time(lambda: run(True), 3)
        print(f"{name:<14} cold {1e3 * cold:>8.1f}   warm {1e3 * warm:>8.1f}   ratio {cold / warm:>5.1f}", flush=True)


def first_use() -> None:
    """Print the time of a first import and of a first fit in new processes, with the compilation cache emptied once."""
    fit = (
        "import numpy as np; from marginwise import MarginSVC; r = np.random.default_rng(0);"
        "X = r.normal(size=(300, 20)); y = np.sign(X[:, 0] + 0.5 * r.normal(size=300)); MarginSVC().fit(X, y)"
    )
    print("\nnew processes, seconds")
    for label, code in (("import marginwise", "import marginwise"), ("import and fit, n=300", fit)):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)
        print(f"{label:<40} {time.perf_counter() - start:5.2f}")
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", fit], check=True, env={**os.environ, "NUMBA_CACHE_DIR": folder})
        print(f"{'the same, nothing compiled before':<40} {time.perf_counter() - start:5.2f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="leave out n = 10000")
    options = parser.parse_args()
    first_use()
    compare(options.quick)
    path(options.quick)
