"""Intervals of relevances: how often is the truth in them?

    python benchmarks/relevances.py [--tables 20]

Eight normal columns; labels are drawn from a known latent function of the first two or three of them. The true
relevance of a column is its mean squared slope, 0 for the others. For each law and size: how often 90 % intervals have
the truth, for columns that matter and for those that do not, how often they begin above 0, and CPU seconds.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from scipy.special import expit

from marginwise import TunedSVC
from marginwise.inspection import relevance_intervals

D = 8

#: Latent functions, and their slopes in the columns that matter.
LAWS = {
    "line": (lambda X: 1.5 * X[:, 0] + 0.75 * X[:, 1], lambda X: [1.5 + 0 * X[:, 0], 0.75 + 0 * X[:, 0]]),
    "curves": (
        lambda X: 2 * np.sin(1.5 * X[:, 0]) + X[:, 1] ** 2 - 1,
        lambda X: [3 * np.cos(1.5 * X[:, 0]), 2 * X[:, 1]],
    ),
    "product": (lambda X: 2 * X[:, 0] * X[:, 1] + X[:, 2], lambda X: [2 * X[:, 1], 2 * X[:, 0], 1 + 0 * X[:, 0]]),
}


def truth(slopes) -> np.ndarray:
    """Return the true relevances."""
    parts = np.array([np.mean(part**2) for part in slopes(np.random.default_rng(99).normal(size=(100_000, D)))])
    return np.concatenate([parts / parts.sum(), np.zeros(D - len(parts))])


def measured(law: str, n: int, seed: int) -> list[float]:
    """Return the measurements of one table."""
    latent, slopes = LAWS[law]
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, D))
    model = TunedSVC(random_state=0).fit(X, rng.random(n) < expit(latent(X)))
    start = time.process_time()
    low, high = relevance_intervals(model)
    seconds = time.process_time() - start
    true = truth(slopes)
    inside, above, matters = (low <= true) & (true <= high), low > 0, true > 0
    return [inside[matters].mean(), inside[~matters].mean(), above[matters].mean(), above[~matters].mean(), seconds]


def main() -> None:
    """Print means over tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--tables", type=int, default=20)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"{'':16}" + "".join(f"{name:>14}" for name in ("matter", "do not", "begin > 0", "begin > 0", "seconds")))
    means = []
    for law in LAWS:
        for n in (150, 400):
            means.append(np.mean([measured(law, n, seed) for seed in range(arguments.tables)], axis=0))
            print(f"{law:8}{n:6}  " + "".join(f"{value:14.3f}" for value in means[-1]), flush=True)
    print(f"{'mean':16}" + "".join(f"{value:14.3f}" for value in np.mean(means, axis=0)))


if __name__ == "__main__":
    main()
