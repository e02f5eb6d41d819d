"""What to do with gaps: ways to give them to the kernel, side by side, where the truth is known.

    python benchmarks/gaps.py [--splits 4] [--rows 200]

Complete tables lose 10, 30 and 50 % of their cells, at random or by their own value (the larger, the more likely), in
training and test rows alike. Printed is the mean test log-loss of

- mean: the column's mean, and nothing else;
- own scale: the mean, and an input that says so, with a length scale of its own;
- shared: as TunedSVC does it, such an input with the column's length scale;
- expected: the RBF's expectation over a normal law of the missing cell, in closed form:
  E exp(-½(u - x)²/l²) = l/√(l² + 1) exp(-½x²/(l² + 1)) for one gap, l/√(l² + 2) for two.

All with one RBF kernel and a constant, because there the expectation has a closed form; the last column is the default
kernel with shared gaps. ``sure`` is the mean largest probability on complete test rows, and after gaps were cut in.
"""

from __future__ import annotations

import argparse
import math
import time
import warnings
from dataclasses import dataclass

import numpy as np

from marginwise import TunedSVC
from marginwise._runtime.jit import compiled
from marginwise.kernels import Constant
from marginwise.kernels.rbf import RBF

SHARES = (0.1, 0.3, 0.5)


@compiled
def _expected(A, B, gaps_a, gaps_b, l2, log_k, by_scale, G):
    """Fill the logarithms of the factors' products; with G, sum G K ∂ln factor/∂ln l_a into by_scale."""
    for i in range(len(A)):
        for j in range(len(B)):
            total = 0.0
            for a in range(A.shape[1]):
                gaps = gaps_a[i, a] + gaps_b[j, a]
                difference = A[i, a] - B[j, a]  # of the mean, 0, where there is a gap
                width = l2[a] + gaps
                if gaps == 2:
                    difference = 0.0
                total += 0.5 * np.log(l2[a] / width) - 0.5 * difference * difference / width
            log_k[i, j] = total
            if len(G):
                for a in range(A.shape[1]):
                    gaps = gaps_a[i, a] + gaps_b[j, a]
                    difference = 0.0 if gaps == 2 else A[i, a] - B[j, a]
                    width = l2[a] + gaps
                    by_scale[a] += G[i, j] * (1.0 - l2[a] / width + difference * difference * l2[a] / width**2)


@dataclass(frozen=True)
class ExpectedRBF(RBF):
    """The RBF's expectation over gaps; inputs are values, 0 at gaps, and beside them 1 at gaps."""

    def _parts(self, X):
        d = X.shape[1] // 2
        return np.ascontiguousarray(X[:, :d]), np.ascontiguousarray(X[:, d:])

    def _logs(self, A, B, G=None):
        (a, gaps_a), (b, gaps_b) = self._parts(A), self._parts(B)
        scales = np.full(a.shape[1], self.length_scales[0]) if len(self.length_scales) == 1 else self.length_scales
        logs, by_scale = np.empty((len(a), len(b))), np.zeros(a.shape[1])
        weights = np.empty((0, 0)) if G is None else np.ascontiguousarray(G)
        _expected(a, b, gaps_a, gaps_b, np.square(scales), logs, by_scale, weights)
        return logs, by_scale

    def cross(self, A, B):
        K = self.k0 * np.exp(self._logs(A, B)[0])
        if A is B:
            K[np.diag_indices(len(A))] = self.k0  # a cell that is missing is one cell
        return K

    def contract(self, G, K, A, B):
        W = G * K
        if A is B:
            own = W.copy()
            own[np.diag_indices(len(A))] = 0.0
            by_scale = self._logs(A, B, own)[1]
        else:
            by_scale = self._logs(A, B, W)[1]
        return self._by_hyperparameter(W, by_scale)

    def check_inputs(self, n_inputs):
        super().check_inputs(n_inputs // 2)


def tables(rng, n):
    """Yield complete tables of which the probability of the second class is known, by name."""
    X = rng.normal(size=(n, 6))
    mixed = X.copy()
    mixed[:, 1:] = 0.6 * X[:, :-1] + 0.8 * X[:, 1:]
    yield "straight", X, 1.5 * (X[:, 0] + X[:, 1] - X[:, 2])
    yield "correlated", mixed, 1.5 * (mixed[:, 0] - mixed[:, 2] + mixed[:, 4])
    yield "ring", X, 4.0 * (np.hypot(X[:, 0], X[:, 1]) - 1.2)
    yield "product", X, 3.0 * X[:, 0] * X[:, 1] + X[:, 2]


def cut(X, share, by_value, rng):
    """Return the table with this share of its cells missing, the larger ones first if by value."""
    pull = 2.0 * X if by_value else np.zeros(X.shape)
    noise = rng.gumbel(size=X.shape)
    score = pull + noise
    return np.where(score > np.quantile(score, 1.0 - share, axis=0), np.nan, X)


def losses(X, y, X_test, y_test, complete):
    """Return log-loss by method, and how sure the default is on complete and on cut rows."""
    spread = np.nanstd(X, axis=0)
    centre = np.nanmean(X, axis=0)
    Z, Z_test = (X - centre) / spread, (X_test - centre) / spread
    gaps, gaps_test = np.isnan(Z) * 1.0, np.isnan(Z_test) * 1.0
    filled, filled_test = np.nan_to_num(Z), np.nan_to_num(Z_test)
    known = gaps.any(axis=0)
    own = np.hstack([filled, gaps[:, known]])
    own_test = np.hstack([filled_test, gaps_test[:, known]])
    result = {}
    quiet = {"random_state": 0, "ard": 0.3}
    for name, train, test in (
        ("mean", filled, filled_test),
        ("own scale", own, own_test),
        ("shared", X, X_test),
    ):
        model = TunedSVC(kernel="rbf", **quiet).fit(train, y)
        result[name] = _loss(model.predict_proba(test), y_test)
    kernel = ExpectedRBF(3.0, np.full(X.shape[1], math.sqrt(2 * X.shape[1]))) + Constant(0.3)
    signs = np.where(y > 0, 1.0, -1.0)
    inputs = np.hstack([filled, gaps])
    result["expected"] = _expected_loss(inputs, signs, np.hstack([filled_test, gaps_test]), y_test, kernel)
    default = TunedSVC(random_state=0).fit(X, y)
    result["default"] = _loss(default.predict_proba(X_test), y_test)
    result["sure complete"] = default.predict_proba(complete).max(axis=1).mean()
    result["sure cut"] = default.predict_proba(X_test).max(axis=1).mean()
    return result


def _expected_loss(inputs, signs, inputs_test, y_test, kernel):
    from marginwise import Prior
    from marginwise.criteria import as_criterion
    from marginwise.inference.sites import site_posterior
    from marginwise.model import Model
    from marginwise.problem import as_problem
    from marginwise.search import Limits
    from marginwise.search.restarts import tune_problem
    from marginwise.search.settings import SearchSettings

    problem = as_problem(inputs, signs)
    d = inputs.shape[1] // 2

    class HalfPrior(Prior):
        def log_density(self, model, n_inputs):
            return super().log_density(model, n_inputs // 2)

    settings = SearchSettings(prior=HalfPrior(spread=0.3), seed=0, limits=Limits(100), progress=False)
    start = Prior(spread=0.3).mean_of(Model(1.0, kernel), d)
    criterion = as_criterion("ep-loo")
    found = tune_problem(problem, criterion, start, settings).hyperparameters
    fitted = site_posterior(problem, found, criterion.likelihood, with_gradient=False)
    return _loss(fitted.predict_proba(inputs_test), y_test)


def _loss(probability, y):
    return float(-np.log(np.maximum(probability[np.arange(len(y)), y], 1e-15)).mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--splits", type=int, default=4)
    parser.add_argument("--rows", type=int, default=200)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    rows: dict[tuple[str, str, float], list[dict[str, float]]] = {}
    start = time.process_time()
    for split in range(arguments.splits):
        rng = np.random.default_rng([7, split])
        for name, X, latent in tables(rng, arguments.rows + 1000):
            y = (rng.random(len(X)) < 1.0 / (1.0 + np.exp(-latent))).astype(int)
            for way in ("random", "by value"):
                for share in SHARES:
                    holes = cut(X, share, way == "by value", rng)
                    n = arguments.rows
                    found = losses(holes[:n], y[:n], holes[n:], y[n:], X[n:])
                    rows.setdefault((name, way, share), []).append(found)
    methods = list(next(iter(rows.values()))[0])
    print("| table | gaps | share | " + " | ".join(methods) + " |")
    print("|---" * (3 + len(methods)) + "|")
    total = dict.fromkeys(methods, 0.0)
    for (name, way, share), found in rows.items():
        means = {method: float(np.mean([one[method] for one in found])) for method in methods}
        total = {method: total[method] + means[method] / len(rows) for method in methods}
        print(f"| {name} | {way} | {share:.0%} | " + " | ".join(f"{means[m]:.3f}" for m in methods) + " |")
    print("| mean | | | " + " | ".join(f"{total[m]:.3f}" for m in methods) + " |")
    print(f"\n{time.process_time() - start:.0f} s")


if __name__ == "__main__":
    main()
