"""The main job in a minute: train on one of the benchmark sets and print test errors."""

from __future__ import annotations

import sys
import time

import numpy as np

from marginwise.datasets import load_benchmark
from marginwise.estimators import MarginSVC


def main() -> None:
    """Train SVMs of both slacks on the Pima data at a few penalties, and show their errors."""
    data = load_benchmark("pima")
    write = sys.stdout.write
    write(f"{data.name}: {len(data.y_train)} training rows, {len(data.y_test)} test rows, {data.n_inputs} inputs\n\n")
    write(f"{'slack':<10} {'C':>6} {'support vectors':>16} {'training error':>15} {'test error':>11} {'seconds':>8}\n")
    scale = np.sqrt(data.n_inputs)
    for slack in ("linear", "quadratic"):
        for C in (0.1, 1.0, 10.0, 100.0):
            start = time.perf_counter()
            model = MarginSVC(C=C, length_scales=scale, slack=slack).fit(data.X_train, data.y_train)
            seconds = time.perf_counter() - start
            train = 100 * (1 - model.score(data.X_train, data.y_train))
            test = 100 * (1 - model.score(data.X_test, data.y_test))
            write(f"{slack:<10} {C:>6g} {len(model.support_):>16} {train:>13.1f} % {test:>9.1f} % {seconds:>8.3f}\n")


if __name__ == "__main__":
    main()
