"""The problems that tests are run on: ordinary ones, and the hard list."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from marginwise.hyperparameters import Hyperparameters, paper_start
from marginwise.problem import Problem, as_problem


def blobs(n: int = 60, d: int = 3, *, shift: float = 1.0, seed: int = 0) -> Problem:
    """Two overlapping normal clouds, the first input the more telling the larger ``shift``."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    X = rng.normal(size=(n, d))
    X[:, 0] += shift * y
    return as_problem(X, y)


def twonorm(n: int, *, seed: int = 0) -> Problem:
    """Breiman's twonorm: N(±a 1, I) in 20 inputs, a = 2/√20."""
    rng = np.random.default_rng(seed)
    y = rng.choice([-1.0, 1.0], size=n)
    return as_problem(rng.normal(size=(n, 20)) + np.outer(y, np.full(20, 2 / np.sqrt(20))), y)


def random_hyperparameters(rng: np.random.Generator, d: int, spread: float = 1.0) -> Hyperparameters:
    """Hyperparameters whose logarithms are normal around the paper's start."""
    return Hyperparameters.from_vector(paper_start(d).to_vector() + spread * rng.normal(size=3 + d))


def hard_problems() -> Iterator[tuple[str, Problem, Hyperparameters]]:
    """Yield the cases that break naive solvers: name, problem, hyperparameters."""
    base = blobs(40, 2)
    start = paper_start(2)
    yield "one row", as_problem([[0.3]], [1]), paper_start(1)
    yield "one class", as_problem(base.X, np.ones(base.n)), start
    yield "repeated rows", as_problem(np.repeat(base.X[:8], 5, axis=0), np.repeat(base.y[:8], 5)), start
    yield (
        "opposite labels on one point",
        as_problem(np.repeat(base.X[:10], 4, axis=0), np.tile([1.0, -1.0, 1.0, 1.0], 10)),
        start,
    )
    yield "all rows equal", as_problem(np.zeros((12, 2)), np.tile([1.0, -1.0, 1.0], 4)), start
    yield "constant column", as_problem(np.c_[base.X[:, 0], np.zeros(base.n)], base.y), start
    for C in (1e-6, 1e6):
        yield f"C={C:g}", base, Hyperparameters(C, 1, 0.1, [1, 1])
    for k0 in (1e-6, 1e6):
        yield f"k0={k0:g}", base, Hyperparameters(1, k0, 0.1, [1, 1])
    for scale in (1e-3, 1e6):
        yield f"l={scale:g}", base, Hyperparameters(1, 1, 0.1, [scale, scale])
        yield f"C=1e6, l={scale:g}", base, Hyperparameters(1e6, 1, 0.1, [scale, scale])
    yield "C=1e6, k0=1e6", base, Hyperparameters(1e6, 1e6, 0.1, [1, 1])
    yield "koff=1e6", base, Hyperparameters(1, 1, 1e6, [1, 1])
    rng = np.random.default_rng(3)
    weights = rng.uniform(0.01, 100, size=base.n)
    yield "weights", as_problem(base.X, base.y, weights), Hyperparameters(10, 1, 0.1, [1, 1])
    yield (
        "repeated rows, C=1e4",
        as_problem(np.repeat(base.X[:8], 5, axis=0), np.tile(base.y[:8], 5)),
        (Hyperparameters(1e4, 10, 0.1, [1, 1])),
    )
