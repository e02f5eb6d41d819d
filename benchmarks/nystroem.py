"""The sampled evidence gradient with few inducing inputs beside the exact one: seconds, memory, differences.

    python benchmarks/nystroem.py [--rows 2000] [--ranks 25 50 100 200 400]

Rows are made up, three inputs. Each line runs in a process of its own, whose peak of memory is its own. Differences are
those of the norm of all components per example, and their standard error by sampling. Set OPENBLAS_NUM_THREADS=1.
"""

import argparse
import multiprocessing
import resource
import time

import numpy as np

from marginwise import Hyperparameters, posterior
from marginwise.covariance import choose_inducing

H = Hyperparameters(1.5, 4.0, 0.5, [1.0, 1.2, 3.0])


def table(rows):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 3))
    return X, np.where(np.sin(2 * X[:, 0]) + X[:, 1] + 0.5 * rng.normal(size=rows) > 0, 1.0, -1.0)


def measured(rows, rank):
    """Return CPU seconds and memory of one gradient, the gradient, its errors, and that of expectation propagation."""
    X, y = table(rows)
    inducing = None if rank is None else choose_inducing(X, H.kernel, rank=rank)
    posterior(X[:50], y[:50], H, method="sample", inducing=None if rank is None else inducing[:9])  # compiles
    begin = time.process_time()
    result = posterior(X, y, H, method="sample", inducing=inducing)
    seconds = time.process_time() - begin
    ep = posterior(X, y, H, inducing=inducing)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return seconds, peak, result.gradient, result.gradient_se, ep.gradient, result.status.ok


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--ranks", type=int, nargs="*", default=[25, 50, 100, 200, 400])
    parser.add_argument("--without-exact", action="store_true")
    arguments = parser.parse_args()
    exact = None
    print(
        "| rank | CPU s | GB | away from the exact gradient | standard error | EP of this rank away from it |\n|"
        + "---|" * 6
    )
    for rank in [*([] if arguments.without_exact else [None]), *arguments.ranks]:
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            seconds, peak, gradient, error, ep, ok = pool.apply(measured, (arguments.rows, rank))
        exact = gradient if rank is None else exact
        away = "" if exact is None else f"{np.linalg.norm(gradient - exact):.5f}"
        cells = [rank or "exact", f"{seconds:.1f}", f"{peak:.2f}", away, f"{np.linalg.norm(error):.5f}"]
        cells.append(f"{np.linalg.norm(ep - gradient):.5f}" + ("" if ok else " (not converged)"))
        print("| " + " | ".join(map(str, cells)) + " |", flush=True)


if __name__ == "__main__":
    main()
