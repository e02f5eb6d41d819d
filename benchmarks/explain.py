"""Exact contributions: time, and the error of what is sampled elsewhere.

    python benchmarks/explain.py [--peers]

A TunedSVC of 300 rows × 30 columns; 1,000 rows are explained against one and against 100 background rows. With
``--peers`` also shap's KernelExplainer and PermutationExplainer of the same latent function (10 rows, 100 background
rows; their errors are in units of the mean size of the exact values), and shapiq's ProductKernelExplainer, which takes
an SVC of scikit-learn with one gamma: its rows are explained here as a sum over support vectors. There absent columns
have the factor 1, which is another game, so that only times are compared. CPU seconds. Set OPENBLAS_NUM_THREADS=1.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.datasets import make_classification
from sklearn.svm import SVC

from marginwise import TunedSVC
from marginwise.kernels import RBF
from marginwise.shapley import Expansion, contributions
from marginwise.shapley.expansion import Background

ROWS, COLUMNS, EXPLAINED = 300, 30, 1000


def timed(function: Callable[[], Any]) -> tuple[Any, float]:
    """Return a result, and the CPU seconds that it took."""
    start = time.process_time()
    result = function()
    return result, time.process_time() - start


def ours(model: TunedSVC, Z: np.ndarray, X: np.ndarray) -> None:
    """Print times, and how far sums are from predictions."""
    model.explain(Z[:2], X[:2])  # compiled
    latent, _ = model.latent_mean_and_variance(Z)
    for size in (1, 100):
        found, seconds = timed(lambda size=size: model.explain(Z, X[:size]))
        error = np.abs(found.latent - latent).max()
        print(f"marginwise, {len(Z)} rows, {size} background rows: {seconds:.2f} s, sums are off by {error:.0e}")
    few = Z[:20]
    _, seconds = timed(lambda: model.explain(few, X[:100], interactions=True))
    print(f"marginwise, with pair interactions: {seconds / len(few):.3f} s a row")


def sampled(model: TunedSVC, Z: np.ndarray, X: np.ndarray) -> None:
    """Print times and errors of shap's explainers."""
    import shap

    def latent(rows: np.ndarray) -> np.ndarray:
        return model.latent_mean_and_variance(rows)[0]

    rows, background = Z[:10], X[:100]
    exact = model.explain(rows, background).values
    explainers = {
        "KernelExplainer": lambda: shap.KernelExplainer(latent, background).shap_values(rows, silent=True),
        "KernelExplainer, l1_reg=0": lambda: shap.KernelExplainer(latent, background).shap_values(
            rows, silent=True, l1_reg=0
        ),
        "PermutationExplainer": lambda: shap.PermutationExplainer(latent, background)(rows, silent=True).values,
    }
    for name, run in explainers.items():
        values, seconds = timed(run)
        error = np.abs(values - exact).mean() / np.abs(exact).mean()
        print(f"shap {name}: {seconds / len(rows):.2f} s a row, mean error {100 * error:.1f} %")
    _, seconds = timed(lambda: model.explain(rows, background))
    print(f"marginwise: {seconds / len(rows):.4f} s a row, exact")


def product_kernels(X: np.ndarray, y: np.ndarray, Z: np.ndarray) -> None:
    """Print times for an SVC of scikit-learn."""
    from shapiq.explainer.product_kernel import ProductKernelExplainer

    machine = SVC(gamma=1.0 / (2.0 * COLUMNS)).fit(X, y)
    explainer = ProductKernelExplainer(machine)
    explainer.explain(Z[0])
    _, seconds = timed(lambda: [explainer.explain(row) for row in Z[:5]])
    print(f"shapiq ProductKernelExplainer: {seconds / 5:.3f} s a row ({len(machine.support_)} support vectors)")
    kernel = RBF(1.0, float(np.sqrt(COLUMNS)))
    function = Expansion(kernel, machine.support_vectors_, machine.dual_coef_.T, machine.intercept_)
    background = Background(X[:1], np.ones(1))
    found, seconds = timed(lambda: contributions(function, Z, background, np.arange(COLUMNS)))
    error = np.abs(found.base + found.values.sum(axis=1) - machine.decision_function(Z)[:, None]).max()
    print(f"marginwise, same machine, one background row: {seconds / len(Z):.5f} s a row, sums off by {error:.0e}")


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--peers", action="store_true")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    X, y = make_classification(ROWS + EXPLAINED, COLUMNS, n_informative=8, random_state=0)
    model = TunedSVC(random_state=0).fit(X[:ROWS], y[:ROWS])
    print(f"{len(model.ensemble_.members)} members")
    ours(model, X[ROWS:], X[:ROWS])
    if arguments.peers:
        sampled(model, X[ROWS:], X[:ROWS])
        product_kernels(X[:ROWS], y[:ROWS], X[ROWS:])


if __name__ == "__main__":
    main()
